"""datasets/STAND-INS.md and the bands of figures: how far stand-ins are from real tensors.

`stand_ins.py` writes the tables of the page, and what bands have to be widened by, into
plots/retensor/band.json, by the committed rows of flycoo/stand-ins. `--check` changes nothing and
fails when they are out of date.
"""
import itertools
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "datasets/fits"))

import distances  # noqa: E402
from written import keep  # noqa: E402

PAGE = ROOT / "datasets/STAND-INS.md"
BAND = ROOT / "plots/retensor/band.json"
ROWS = ROOT / "experiments/results/nvidia-h200/flycoo-stand-ins.jsonl"
PAIRS = [("wordnet", "wordnet-like"), ("fb15k-237", "fb15k-237-like"),
         ("ratings", "ratings-like"), ("ratings", "ratings-like-2"),
         ("uber-apr-aug", "uber4d-like"), ("uber-apr-aug", "uber4d-like-2"),
         ("oscil_dcop-pattern", "oscil_dcop-like"), ("oscil_dcop-pattern", "oscil_dcop-like-2")]
METHODS = ("parti.cuda", "b_csf.cuda", "pasta.cuda.hicoo")
VARIANTS = ("", "@seed", "@skew", "@clustering")
SHARE = 0.8


def read(path):
    """Times by data set and method, and facts by data set, of the rows that are ok."""
    times, facts = {}, {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["kind"] == "row" and row["status"] == "ok":
            name = row["case"]["dataset"]
            times[name, row["case"]["method"]] = row["stats"]["median"]
            facts[name] = row["facts"]
    return times, facts


def pairs_of(facts):
    """The pairs that have rows of both tensors."""
    return [pair for pair in PAIRS if all(name in facts for name in pair)]


def fact_table(facts):
    lines = ["| real | stand-in | " + " | ".join(name for name, _ in distances.WHAT) + " |\n",
             "|---" * (2 + len(distances.WHAT)) + "|\n"]
    for real, like in pairs_of(facts):
        cells = [distances.distance(value(facts[real]), value(facts[like]))
                 for _, value in distances.WHAT]
        lines.append(line_of(real, like, cells))
    return "".join(lines)


def line_of(real, like, cells):
    shown = " | ".join(cell if isinstance(cell, str) else f"{cell:+.1f}" for cell in cells)
    return f"| `{real}` | `{like}` | {shown} |\n"


def time_table(times, facts):
    lines = [f"| real | stand-in | {' | '.join(f'`{m}`' for m in METHODS)} |\n",
             "|---" * (2 + len(METHODS)) + "|\n"]
    for real, like in pairs_of(facts):
        cells = []
        for method in METHODS:
            band = [times[like + variant, method] for variant in VARIANTS]
            found = distances.distance([times[real, method]], band[:1])
            inside = distances.outside(times[real, method], band) == 0
            cells.append(f"{found:+.1f}{' in' if inside else ''}")
        lines.append(line_of(real, like, cells))
    return "".join(lines)


def misses(times):
    """By real tensor how far times and ratios of times lie outside the bands of first stand-ins."""
    found = {"time": {}, "ratio": {}}
    for real, like in PAIRS:
        if like.endswith("-2"):
            continue
        taken = [{name: times[name, method] for name in (real, *(like + v for v in VARIANTS))}
                 for method in METHODS]
        found["time"][real] = [miss(one, real) for one in taken]
        found["ratio"][real] = [miss({name: a[name] / b[name] for name in a}, real)
                                for a, b in itertools.combinations(taken, 2)]
    return found


def miss(values, real):
    return distances.outside(values[real], [v for name, v in values.items() if name != real])


def calibrated(found):
    """What band.json holds of each quantity."""
    told = {"share": SHARE}
    for what, by_tensor in found.items():
        every = [one for own in by_tensor.values() for one in own]
        told[what] = {"factor": round(distances.factor(every, SHARE), 3), "values": len(every),
                      "inside_variants": sum(one == 0 for one in every),
                      "inside_left_out": round(distances.left_out(by_tensor, SHARE), 3)}
    return told


def band_table(told):
    lines = ["| values | inside the variants | widened by | inside with their tensor left out |\n",
             "|---|---|---|---|\n"]
    names = {"time": "times", "ratio": "ratios of two methods' times"}
    for what, name in names.items():
        one = told[what]
        lines.append(f"| {one['values']} {name} | {one['inside_variants']} | {one['factor']:.2f} | "
                     f"{one['inside_left_out']:.0%} |\n")
    return "".join(lines)


def between(text, name, content):
    """The text with this content between the marks of that name."""
    begin, end = f"<!-- {name}: written by ci/stand_ins.py -->\n", f"<!-- end of {name} -->\n"
    head, rest = text.split(begin, 1)
    return head + begin + content + end + rest.split(end, 1)[1]


def files():
    """Texts by path, as they should be."""
    times, facts = read(ROWS)
    told = calibrated(misses(times))
    page = PAGE.read_text(encoding="utf-8")
    for name, content in (("facts", fact_table(facts)), ("times", time_table(times, facts)),
                          ("bands", band_table(told))):
        page = between(page, name, content)
    return {PAGE: page, BAND: json.dumps(told, indent=1) + "\n"}


def main(arguments):
    """Write or check the page and the bands; returns the exit code."""
    return keep(files(), arguments, "ci/stand_ins.py")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
