#!/usr/bin/env python3
"""kernels_table.py BUILD [--check]: writes README's table of kernels beside their competitors, by
the committed rows of an H200.

A case is a data set with its mode, rank and contraction. Its best competitor is the fastest
published kernel of another paper or library, whatever its precision, and the paper's own kernel
where no other has a row; of the project's own kernels the fastest of the line's precision counts.
`--check` writes nothing and fails where the table is out of date.
"""
import json
import math
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from written import keep

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BEGIN, END = "<!-- kernels: written by ci/kernels_table.py -->\n", "<!-- end of kernels -->\n"
DEVICE = "NVIDIA H200"
SIXTEEN_BITS = {"fp16", "f16", "bf16"}
SINGLE, HALF, ANY = (False,), (True,), (False, True)

MTTKRP = ("flycoo/gpu-speed", "flycoo/cold", "flycoo/forms-cold")
DENSE_TILES = ("hlsto/gpu-speed", "hlsto/fibers", "hlsto/cold")
CHAINS = ("hlsto/fibers-chain", "hlsto/chain-cold")
SINGLE_MODES = ("pasta/gpu-speed", "pasta/cold")
CONTRACTIONS = ("bcb_sptc/fig9", "bcb_sptc/dense", "bcb_sptc/dense-cold", "bcb_sptc/large",
                "bcb_sptc/large-cold")

# What it is, the paper's method, artifacts, operation, whether own kernels round to 16 bits.
FAMILIES = (
    ("MTTKRP over all modes, fp32", "flycoo.cuda", MTTKRP + ("flycoo/forms",), "mttkrp_all",
     SINGLE),
    ("MTTKRP over all modes, 16-bit operands", "flycoo.cuda",
     MTTKRP + ("flycoo/wide", "flycoo/forms-f16"), "mttkrp_all", HALF),
    ("MTTKRP on dense tiles, fp32 or split fp16", "hlsto.cuda", DENSE_TILES, "mttkrp", SINGLE),
    ("MTTKRP on dense tiles, 16-bit operands", "hlsto.cuda", DENSE_TILES, "mttkrp", HALF),
    ("TTM-chain on dense tiles, split fp16", "hlsto.cuda", CHAINS, "ttm_chain", SINGLE),
    ("TTM-chain on dense tiles, 16-bit operands", "hlsto.cuda", CHAINS, "ttm_chain", HALF),
    ("TTM, fp32", "pasta.cuda.coo", SINGLE_MODES, "ttm", SINGLE),
    ("TTV, fp32", "pasta.cuda.coo", SINGLE_MODES, "ttv", SINGLE),
    ("contraction, fp32", "bcb_sptc.cuda", CONTRACTIONS, "contraction", SINGLE),
    ("contraction, 16-bit operands", "bcb_sptc.cuda", CONTRACTIONS, "contraction", HALF),
    ("SpMM, 16-bit operands and result, 50% to 99.9% zeros", "tca_spmm.cuda",
     ("tca_spmm/speed", "tca_spmm/cold"), "spmm", ANY),
)


def main(arguments):
    """Write or check the table; returns the exit code."""
    found = rows(str(Path(arguments[0]).resolve() / "experiments/driver/retensor"))
    head, rest = README.read_text(encoding="utf-8").split(BEGIN, 1)
    wanted = head + BEGIN + table(found) + END + rest.split(END, 1)[1]
    return keep({README: wanted}, arguments, "ci/kernels_table.py BUILD")


def rows(retensor):
    """The rows of the device that are ok."""
    lines = subprocess.run([retensor, "rows"], cwd=ROOT, check=True, text=True, capture_output=True)
    found = map(json.loads, lines.stdout.splitlines())
    return [row for row in found if row["kind"] == "row" and row["status"] == "ok"
            and row.get("device") == DEVICE and row.get("code") == "own"]


def table(found):
    """The lines of the table."""
    lines = ["| operation | best competitor (cases) | cases | paper's kernel | own kernel | "
             "own, smallest | cold: cases | cold: paper's | cold: own | share of copy rate |\n|"
             + "---|" * 10 + "\n"]
    for name, method, artifacts, operation, rounding in FAMILIES:
        taken = [row for row in found
                 if row["case"]["artifact"] in artifacts and row["case"]["operation"] == operation]
        warm, cold = (ratios(taken, method, rounding, cache) for cache in ("warm", "flushed"))
        shares = [row["copy"]["compulsory_share"] for row in warm["best"] if "copy" in row]
        cells = (name, most_often(warm["others"]), len(warm["own"]), mean(warm["published"]),
                 mean(warm["own"]), least(warm["own"]), len(cold["own"]), mean(cold["published"]),
                 mean(cold["own"]), percent(shares))
        lines.append(f"| {' | '.join(map(str, cells))} |\n")
    return "".join(lines)


def ratios(taken, method, rounding, cache):
    """Times of the best competitor over those of the published and of the own kernel, and the rows
    of the competitor and of the latter, a case each."""
    cases = defaultdict(lambda: defaultdict(list))
    for row in taken:
        case = row["case"]
        if case["cache"] != cache:
            continue
        key = case["dataset"], case["mode"], case["rank"], case["variant"]
        own = row["form"] == "own"
        rounds = not SIXTEEN_BITS.isdisjoint(map(str, case["params"].values()))
        if own and rounds in rounding:
            cases[key]["own"].append(row)
        elif not own:
            cases[key]["published" if case["method"] == method else "other"].append(row)
    found = {"published": [], "own": [], "best": [], "others": []}
    for groups in cases.values():
        fastest = {group: min(members, key=seconds) for group, members in groups.items()}
        other = fastest.get("other", fastest.get("published"))
        if other is None:
            continue
        for group in ("published", "own"):
            if group in fastest:
                found[group].append(seconds(other) / seconds(fastest[group]))
        if "own" in fastest:
            found["best"].append(fastest["own"])
            found["others"].append(other)
    return found


def most_often(others):
    """The two methods that are the best competitor in most cases."""
    counts = Counter(row["case"]["method"] for row in others)
    return ", ".join(f"`{method}` ({count})" for method, count in counts.most_common(2))


def seconds(row):
    """Median of a run."""
    return row["stats"]["median"]


def geometric(values):
    """Geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def mean(values):
    """Geometric mean in words of the table."""
    return f"{geometric(values):.2f}" if values else "not measured"


def percent(shares):
    """Geometric mean in percent."""
    return f"{100 * geometric(shares):.0f}%" if shares else ""


def least(values):
    """The least in words of the table."""
    return f"{min(values):.2f}" if values else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
