#!/usr/bin/env python3
"""Rows of gpu-speed.yaml and wide.yaml beside a model of the time that an H200 takes.

    python3 experiments/flycoo/rate_model.py <(retensor rows FILE...)

Over all modes, in milliseconds: `gather`, a factor row for each nonzero and one for each fiber and
upper mode (of the fibers that are fewest), at the rate at which the device gathers rows from
tables of the factors' size; `stream`, the packed records and the output rows at the rate of a copy;
`send`, with remapping the record written and the 8 bytes of streams read, at the same rate;
`convert`, factors read and written in 16 bits, those in f16 read twice. The
model is their sum, as if nothing overlapped and no row were found in a cache but by its table's
size, so that a share may exceed 1. Prints the table of papers/flycoo/NOTES.md, real tensors apart.
"""
import math
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plots")]

from experiments.rates import Rows, gather_rate, work_ms  # noqa: E402
from retensor.results import load_results  # noqa: E402: the tree is no installed package

REMAPS = {"flycoo.cuda.tuned": True, "flycoo.cuda.copies": False, "flycoo.cuda.wide": False}
VALUE_BYTES, SLOT_BYTES = 4, 8
LABELS = {"real": "", "generated": " (generated)", "stand-in": " (stand-in)"}


def record_bytes(dims):
    """Packed indices in whole words and a single-precision value."""
    bits = sum(max(math.ceil(math.log2(length)), 1) for length in dims)
    return 4 * math.ceil(bits / 32) + VALUE_BYTES


def model(row, copy, gathers):
    """Milliseconds by part, of all modes."""
    dims, nnz = row["case.data.dims"], row["case.data.nnz"]
    gather, remaps = row.get("case.params.gather"), REMAPS[row["case.method"]]
    narrow = gather in ("bf16", "f16")
    row_bytes = (2 if narrow else 4) * row["case.rank"]
    out_bytes = 4 * row["case.rank"]
    record = record_bytes(dims)
    parts = {"gather": 0.0, "stream": 0.0, "send": 0.0, "convert": 0.0}
    if narrow:
        parts["convert"] = sum(dims) * row["case.rank"] * (6 if gather == "bf16" else 10) / copy
    for mode, length in enumerate(dims):
        others = [m for m in range(len(dims)) if m != mode]
        fibers = min(row["facts.fibers"][leaf] for leaf in others)
        gathered = (nnz + (len(others) - 1) * fibers) * row_bytes
        parts["gather"] += gathered / gather_rate(
            sum(dims[m] for m in others) * row_bytes, gathers)
        parts["stream"] += (nnz * record + length * out_bytes) / copy
        if remaps:
            parts["send"] += nnz * (record + SLOT_BYTES) / copy
    return parts


def table(rows):
    """Lines of Markdown."""
    yield "| tensor | method | gather | stream | send | convert | model | measured | share | most |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    found = rows.rows[rows.rows["case.method"].isin(REMAPS)]
    cases = found[["case.data.kind", "case.dataset", "case.method"]].drop_duplicates()
    for _, (kind, dataset, method) in cases.sort_values(list(cases.columns)).iterrows():
        row = rows.pick(method, "mttkrp_all", dataset)
        parts = model(row, rows.copy(row), rows.gathers(row))
        total = sum(parts.values())
        cells = [dataset + LABELS.get(kind, f" ({kind})"), f"`{method}`",
                 *(f"{part:.3f}" for part in parts.values()), f"{total:.3f}",
                 f"{work_ms(row):.3f}", f"{total / work_ms(row):.0%}", max(parts, key=parts.get)]
        yield f"| {' | '.join(cells)} |"


def main(paths):
    for artifact in ("flycoo/gpu-speed", "flycoo/wide"):
        rows = Rows(load_results(paths), artifact)
        for line in table(rows) if len(rows.rows) else ():
            print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
