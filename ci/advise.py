#!/usr/bin/env python3
"""advise.py BUILD [--check]: trains the planner on the committed rows and judges it.

Writes common/advise/model.json and the tables between the marks of README.md and NOTES.md in
common/advise: what its choices cost, what choices by an earlier measurement of the same tensor do,
which no planner can be expected to beat, and which choices cost most. The program has the new table
after the next build. `--check` writes nothing and fails where one of them is out of date.
"""
import json
import math
import subprocess
import sys
import tempfile
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path

from written import keep

ROOT = Path(__file__).resolve().parent.parent
ROOM = ROOT / "common" / "advise"
REGRET = "<!-- regret: written by ci/advise.py -->\n", "<!-- end of regret -->\n"
MISSES = "<!-- misses: written by ci/advise.py -->\n", "<!-- end of misses -->\n"
BAR = "<!-- bar: written by ci/advise.py -->\n", "<!-- end of bar -->\n"
NOISE = "<!-- noise: written by ci/advise.py -->\n", "<!-- end of noise -->\n"
CALLS = (1, 10, 100, 1000)
MEAN = 1.1  # the bar of the geometric mean
PROBLEM = ("operation", "dataset", "mode", "rank", "rank2", "variant", "dtype", "values")


def main(arguments):
    """Write or check the table and the pages; returns the exit code."""
    retensor = str(Path(arguments[0]).resolve() / "experiments/driver/retensor")
    return keep(texts(retensor), arguments, "ci/advise.py BUILD")


def texts(retensor):
    """The files by path, as they should be."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.json"
        run(retensor, "advise", "--train", model)
        tables = {"Methods that round no operand": regret_tables(retensor, model),
                  "Methods that round operands too": regret_tables(retensor, model, "--error", "1")}
        trained = model.read_text(encoding="utf-8")
    readme, notes = ROOM / "README.md", ROOM / "NOTES.md"
    texts_by_path = {readme: put(readme.read_text(encoding="utf-8"), NOISE, noise_table()),
                     notes: notes.read_text(encoding="utf-8")}
    texts_by_path[readme] = put(texts_by_path[readme], BAR, bar_table(
        {title: lines_of(all_tables[0]) for title, all_tables in tables.items()}))
    for page, marks, which in ((readme, REGRET, slice(2)), (notes, MISSES, slice(2, None))):
        body = "\n".join(f"{title}:\n\n" + "\n".join(all_tables[which])
                         for title, all_tables in tables.items())
        texts_by_path[page] = put(texts_by_path[page], marks, body)
    return {ROOM / "model.json": trained, **texts_by_path}


def regret_tables(retensor, model, *options):
    """Regrets by calls, by operation, behind the libraries, and above 2."""
    printed = run(retensor, "advise", "--regret", "--model", model, *options)
    return [f"{table.rstrip()}\n" for table in printed.split("\n\n")]


def lines_of(table):
    """Of a printed table {column: cell} for each line."""
    head, _, *lines = [[cell.strip() for cell in line.split("|")[1:-1]]
                       for line in table.splitlines() if line.startswith("|")]
    return [dict(zip(head, line)) for line in lines]


def bar_table(regrets):
    """Which part of the bar holds, by whether operands may be rounded."""
    lines = ["| part of the bar | " + " | ".join(map(str.lower, regrets)) + " |\n",
             "|---" * (1 + len(regrets)) + "|\n"]
    for tensors in ("all", "real"):
        cells = [f"mean at most {MEAN:.2f}, {tensors} tensors"]
        for found in regrets.values():
            worst = max((line for line in found if line["tensors"] == tensors),
                        key=lambda line: float(line["mean with trial"]))
            mean = worst["mean with trial"]
            cells.append(f"{'yes' if float(mean) <= MEAN else 'no'}, largest {mean} at "
                         f"{worst['calls']} call{'s' if worst['calls'] != '1' else ''}")
        lines.append(f"| {' | '.join(cells)} |\n")
    cells = ["no regret above 2"]
    for found in regrets.values():
        above = [line["above 2 with trial"] for line in found if line["tensors"] == "all"]
        cells.append("yes" if not any(map(int, above)) else
                     f"no: {', '.join(above)} of {found[0]['problems']} problems")
    lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)


def put(text, marks, body):
    """The text with another body between the marks."""
    head, rest = text.split(marks[0])
    return head + marks[0] + body + marks[1] + rest.split(marks[1])[1]


@cache
def sessions_by_problem():
    """{device, problem, kind of data: {session: {candidate: (seconds to prepare, of a run)}}}."""
    found = defaultdict(lambda: defaultdict(dict))
    for path in sorted((ROOT / "experiments/results").glob("*/*.jsonl")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            if "case" not in row or not row.get("stats") or not row.get("check", {}).get("ok"):
                continue
            case = row["case"]
            problem = (path.parent.name, ".cuda" in case["method"],
                       case["data"].get("kind", ""), *(case[name] for name in PROBLEM))
            candidate = case["method"] + json.dumps(case["params"], sort_keys=True)
            found[problem][row["session"]].setdefault(
                candidate, (row["phases"]["prepare"], row["stats"]["median"]))
    return found


def noise_ratios(calls, real):
    """Times of choices by the session before over those of the best, by the later session."""
    ratios = []
    for problem, sessions in sessions_by_problem().items():
        if real and not problem[2].startswith("real"):
            continue
        for (_, before), (_, after) in pairwise(sorted(sessions.items())):
            both = before.keys() & after.keys()
            if len(both) > 1:
                totals = [{c: of[c][0] + calls * of[c][1] for c in both}
                          for of in (before, after)]
                choice = min(sorted(both), key=totals[0].get)
                ratios.append(totals[1][choice] / min(totals[1].values()))
    return ratios


def noise_table():
    """A line for each number of calls, of all tensors and of the real ones."""
    lines = ["| tensors | calls | choices | mean | largest | above 2 |\n",
             "|---|---|---|---|---|---|\n"]
    for name, real in (("all", False), ("real", True)):
        for calls in CALLS:
            ratios = noise_ratios(calls, real)
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            lines.append(f"| {name} | {calls} | {len(ratios)} | {mean:.3f} | {max(ratios):.2f} | "
                         f"{sum(r > 2 for r in ratios)} |\n")
    return "".join(lines)


def run(*command):
    """What a command prints."""
    return subprocess.run(list(map(str, command)), cwd=ROOT, check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
