#!/usr/bin/env python3
"""readme.py BUILD: writes anew what the README opens with, by the rows that are here.

The table of verdicts stands between its marks; the figure lies beside the rows that it shows. Run
it after ci/reproduce, so that the claims about sizes, counts and errors have rows too.
"""
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- verdicts: written by ci/readme.py -->\n", "<!-- end of verdicts -->\n"
# Of the table: what a verdict says of the claim, or its word where it says nothing.
COLUMNS = {"holds": True, "does not": False, "fitted to": "fitted",
           "contradicts itself": "contradicts itself", "not tested": "not tested"}
FIGURE = ("experiments/flycoo/gpu-speed.yaml", "gpu-speed.generated.svg",
          "experiments/results/nvidia-h200/flycoo-gpu-speed.svg")


def main(build):
    retensor = [str(Path(build).resolve() / "experiments/driver/retensor")]
    found = subprocess.run([*retensor, "verdict", "--json"], cwd=ROOT, check=True, text=True,
                           capture_output=True).stdout
    readme = ROOT / "README.md"
    readme.write_text(with_table(readme.read_text(encoding="utf-8"), json.loads(found)),
                      encoding="utf-8")
    spec, drawn, kept = FIGURE
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*retensor, "plot", spec, "--out", folder], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
        (ROOT / kept).write_bytes((Path(folder) / drawn).read_bytes())
    return 0


def with_table(text, verdicts):
    """The README's text with the table of these verdicts."""
    papers = {}
    for verdict in verdicts:
        said = verdict["verdict"] if verdict["holds"] is None else verdict["holds"]
        papers.setdefault(verdict["paper"], Counter())[said] += 1
    papers["all"] = sum(papers.values(), Counter())
    lines = [f"| paper | claims | {' | '.join(COLUMNS)} |\n", "|---" * (len(COLUMNS) + 2) + "|\n"]
    for paper, counts in papers.items():
        name = paper if paper == "all" else f"[{paper}](papers/{paper}/README.md)"
        cells = [counts[said] for said in COLUMNS.values()]
        lines.append(f"| {name} | {sum(counts.values())} | {' | '.join(map(str, cells))} |\n")
    head, rest = text.split(BEGIN, 1)
    return head + BEGIN + "".join(lines) + END + rest.split(END, 1)[1]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: ci/readme.py BUILD")
    sys.exit(main(sys.argv[1]))
