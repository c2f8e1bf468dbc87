#!/usr/bin/env python3
"""Rows of gpu-speed.yaml beside the bars of an H200.

    python3 experiments/pasta/gpu_bars.py <(retensor rows FILE...)

MTTKRP on coordinates is 1.5 times as fast as ParTI's by geometric mean and nowhere slower; TTM and
TTV twice as fast, and on tensors with 10 nonzeros a fiber at 75% of the time of their compulsory
bytes; TEW and TS move 90% of the bandwidth of a copy. ParTI written here is held to 0.95 of the
original's speed. Times are whole runs but for the zeroing of outputs: reductions count.
Exit code 1 when a bar is missed or has no row.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments.peers import (PARTI, Rows, geometric_mean, over_originals,  # noqa: E402
                               report, speedup, work_ms)
from plots.load import load_results  # noqa: E402: the tree is no installed package

PARTI_FIBERS = {("ttm", "nell2s"): 3.363, ("ttm", "g1like"): 0.270,  # ms, mode 2
                ("ttv", "nell2s"): 0.298, ("ttv", "g1like"): 0.169}
GEOMEAN, FIBER, COMPULSORY, COPY = 1.5, 2.0, 0.75, 0.9
LONG_FIBERS = ("g1like",)


def bars(rows):
    """(what, tensor, mode, measured or None, bar) of every bar."""
    yield from over_originals(rows, ("parti.cuda",))
    gains = []
    for dataset, times in PARTI.items():
        for mode, time in enumerate(times):
            gain = speedup(rows.pick("pasta.cuda.tuned", "mttkrp", dataset, mode), time)
            gains.append(gain)
            yield "tuned MTTKRP over ParTI", dataset, mode, gain, 1.0
    yield "tuned MTTKRP over ParTI, geometric mean", "all", "-", geometric_mean(gains), GEOMEAN
    for (operation, dataset), time in PARTI_FIBERS.items():
        rank = 32 if operation == "ttm" else None
        row = rows.pick("pasta.cuda.tuned", operation, dataset, 2, rank)
        yield f"tuned {operation.upper()} over ParTI", dataset, 2, speedup(row, time), FIBER
    yield from shares(rows)


def shares(rows):
    for dataset in LONG_FIBERS:
        for operation, rank in (("ttm", 16), ("ttm", 32), ("ttv", None)):
            for mode in range(3):
                row = rows.pick("pasta.cuda.tuned", operation, dataset, mode, rank)
                share = None if row is None else (
                    row["work.compulsory_bytes"] / rows.copy(row) / work_ms(row))
                what = f"tuned {operation.upper()}{f' R = {rank}' if rank else ''}"
                yield f"{what}, share of its bytes' time", dataset, mode, share, COMPULSORY
    for operation in ("tew", "ts"):
        row = rows.pick("pasta.cuda.tuned", operation, "uniform-40m")
        share = None if row is None else row["work.bytes"] / rows.copy(row) / work_ms(row)
        yield f"tuned {operation.upper()}, share of copy", "uniform-40m", "-", share, COPY


def main(paths):
    return report(bars(Rows(load_results(paths), "pasta/gpu-speed")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
