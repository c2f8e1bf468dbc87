#!/usr/bin/env python3
"""readme.py BUILD [--check]: writes what the READMEs say of verdicts, by the committed rows.

The README opens with a table of their counts and two sentences on each paper; the README of a paper
has the sentences and a table of its headline claims. Each text stands between its marks. The figure
of speeds that FLYCOO's README shows is drawn anew.
`--check` writes nothing and fails where one is out of date.
"""
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "plots"))

from retensor.prose import sentences  # noqa: E402
from retensor.report.words import OUTCOMES, outcome  # noqa: E402
from written import keep  # noqa: E402

FIGURE = ("experiments/flycoo/gpu-speed.yaml", "gpu-speed.generated.svg",
          "experiments/results/nvidia-h200/flycoo-gpu-speed.svg")
OWN_DATA = ("real", "real pattern")
WIDTH = 160
KEYS = 2  # keys of rows that a line of a paper's table names


def main(arguments):
    """Write or check the texts; returns the exit code."""
    retensor = str(Path(arguments[0]).resolve() / "experiments/driver/retensor")
    code = keep(texts(verdicts(retensor)), arguments, "ci/readme.py BUILD")
    if "--check" not in arguments:
        draw(retensor)
    return code


def verdicts(retensor):
    """Those on the committed rows and on data sets that no cache has to hold."""
    with tempfile.TemporaryDirectory() as cache:
        found = subprocess.run([retensor, "verdict", "--json"], cwd=ROOT, check=True, text=True,
                               capture_output=True, env={**os.environ, "RETENSOR_CACHE": cache})
    return json.loads(found.stdout)


def texts(entries):
    """The READMEs by path, as they should be."""
    readme = ROOT / "README.md"
    papers = dict.fromkeys(entry["paper"] for entry in entries)
    own = {paper: [entry for entry in entries if entry["paper"] == paper] for paper in papers}
    found = {readme: between(readme, "verdicts",
                             counts(own) + "\n" + own_data(entries) +
                             "".join(summary(*item) for item in own.items()))}
    for paper, claims in own.items():
        path = ROOT / "papers" / paper / "README.md"
        found[path] = between(path, "headlines", headlines(claims))
    return found


def between(path, name, content):
    """The text of a README with this content between the marks of that name."""
    begin, end = f"<!-- {name}: written by ci/readme.py -->\n", f"<!-- end of {name} -->\n"
    text = path.read_text(encoding="utf-8")
    head, found, rest = text.partition(begin)
    _, found_end, tail = rest.partition(end)
    if not found or not found_end:
        sys.exit(f"{path}: found no lines {begin.strip()} and {end.strip()}, expected both, one "
                 "after the other")
    return head + begin + content + end + tail


def counts(own):
    """The table of verdicts on claims that rows can contradict; the set-up stands apart."""
    found = {paper: Counter() for paper in own}
    for paper, claims in own.items():
        for claim in claims:
            found[paper]["set-up" if claim["set_up"] else outcome(claim)] += 1
    found["all"] = sum(found.values(), Counter())
    lines = [f"| paper | claims | {' | '.join(OUTCOMES)} | set-up |\n",
             "|---" * (len(OUTCOMES) + 3) + "|\n"]
    for paper, said in found.items():
        name = paper if paper == "all" else f"[{paper}](papers/{paper}/README.md)"
        cells = [said.total() - said["set-up"], *(said[word] for word in OUTCOMES),
                 said["set-up"]]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |\n")
    return "".join(lines)


def own_data(entries):
    """How many claims are judged on the papers' own data, and how they came out."""
    judged = [entry for entry in entries if entry["data"] in OWN_DATA and not entry["set_up"] and
              entry["holds"] is not None]
    words = Counter(entry["verdict"] for entry in judged)
    came_out = ", ".join(f"{word}: {n}" for word, n in sorted(words.items()))
    return wrapped(f"- {len(judged)} claims have a verdict on the papers' own data ({came_out}).",
                   "  ")


def prose(claims):
    """What came of the headline claims."""
    return next((claim["prose"] for claim in claims if claim.get("prose")), [])


def summary(paper, claims):
    """A paper's two sentences on the first page; its README has all headline claims."""
    return wrapped(f"- [{paper}](papers/{paper}/README.md): {' '.join(sentences(claims))}", "  ")


def wrapped(text, indent=""):
    """Lines as long as the READMEs have them; no word is cut."""
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False) + "\n"


def headlines(claims):
    """The table of a paper's headline claims."""
    lines = ["| claim | headline | paper | here | verdict | shown by | rows |\n",
             "|---" * 7 + "|\n"]
    for claim in claims:
        if claim["headline"] is None:
            continue
        cause = claim["cause"]["shown_by"] if claim["cause"] else []
        missing = "cause not found" if claim["holds"] is False else ""
        lines.append(f"| {claim['id']} | {claim['headline']} | {claim['in_words']['paper']} "
                     f"| {claim['in_words']['here']} | {claim['verdict']} "
                     f"| {', '.join(cause) or missing} | {keys(claim['keys'])} |\n")
    found = [wrapped(f"- {sentence}", "  ") for sentence in prose(claims)]
    return "".join([*found, "\n", *lines])


def keys(found):
    """Keys of the cases that rows measured, shortened to what tells them apart."""
    found = list(dict.fromkeys(found))
    more = f" and {len(found) - KEYS} more" if len(found) > KEYS else ""
    return ", ".join(f"`{key[:8]}`" for key in found[:KEYS]) + more


def draw(retensor):
    """The figure beside the rows that it shows."""
    spec, drawn, kept = FIGURE
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([retensor, "plot", spec, "--out", folder], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
        (ROOT / kept).write_bytes((Path(folder) / drawn).read_bytes())


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: ci/readme.py BUILD [--check]")
    sys.exit(main(sys.argv[1:]))
