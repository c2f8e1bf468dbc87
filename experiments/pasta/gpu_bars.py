#!/usr/bin/env python3
"""Rows of gpu-speed.yaml beside the bars of an H200.

    python3 experiments/pasta/gpu_bars.py ROWS.jsonl...

MTTKRP on coordinates is 1.5 times as fast as ParTI's by geometric mean and nowhere slower; TTM and
TTV twice as fast, and on tensors with 10 nonzeros a fiber at 75% of the time of their compulsory
bytes; TEW and TS move 90% of the bandwidth of a copy. ParTI and BLCO written here are held to 0.95
of the originals' speed. Times are whole runs but for the zeroing of outputs: reductions count.
Exit code 1 when a bar is missed or has no row.
"""
import math
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from plots.load import load_results  # noqa: E402: the tree is no installed package

# Milliseconds by mode on an H200, R = 32, single precision, zeroing excluded.
PARTI = {"nell2s": (2.856, 1.297, 1.165), "flickrs": (3.027, 2.931, 3.111),
         "uni": (2.032, 1.578, 1.583), "uberlike": (), "g1like": (2.397, 0.816, 0.807),
         "deli4s": ()}
BLCO = {"nell2s": (1.963, 2.119, 2.016), "flickrs": (2.397, 2.553, 2.568),
        "uni": (2.241, 2.463, 2.382), "uberlike": (0.286, 0.379, 0.328, 0.332),
        "g1like": (0.672, 0.677, 0.633), "deli4s": (2.809, 3.332, 3.301, 3.422)}
PARTI_FIBERS = {("ttm", "nell2s"): 3.363, ("ttm", "g1like"): 0.270,  # mode 2
                ("ttv", "nell2s"): 0.298, ("ttv", "g1like"): 0.169}
ORIGINAL, GEOMEAN, FIBER, COMPULSORY, COPY = 0.95, 1.5, 2.0, 0.75, 0.9
LONG_FIBERS = ("g1like",)


class Rows:
    """The ok rows of gpu-speed.yaml."""

    def __init__(self, results):
        rows = results.rows
        self.rows = rows[(rows["case.artifact"] == "pasta/gpu-speed") & (rows["status"] == "ok")]
        self.ceilings = results.ceilings

    def pick(self, method, operation, dataset, mode=None, rank=None):
        """The fastest row that agrees, None without one."""
        rows = self.rows
        rows = rows[(rows["case.method"] == method) & (rows["case.operation"] == operation)
                    & (rows["case.dataset"] == dataset)]
        if mode is not None:
            rows = rows[rows["case.mode"] == mode]
        if rank is not None:
            rows = rows[rows["case.rank"] == rank]
        return min((row for _, row in rows.iterrows()), key=work_ms, default=None)

    def copy(self, row):
        """Bytes a millisecond of a copy on the row's machine."""
        return 1e6 * self.ceilings[row["session"], "cuda"]["copy_dram"]["value"]


def work_ms(row):
    """Median milliseconds of a run without the stage zero."""
    zero = row.get("phases.stages.zero")
    if not isinstance(zero, list):
        zero = [0] * len(row["phases.run"])
    return 1e3 * statistics.median(run - z for run, z in zip(row["phases.run"], zero))


def speedup(row, milliseconds):
    return None if row is None else milliseconds / work_ms(row)


def bars(rows):
    """(what, tensor, mode, measured or None, bar) of every bar."""
    gains = []
    for method, original in (("parti.cuda", PARTI), ("blco.cuda", BLCO)):
        for dataset, times in original.items():
            for mode, time in enumerate(times):
                row = rows.pick(method, "mttkrp", dataset, mode)
                yield f"{method} over the original", dataset, mode, speedup(row, time), ORIGINAL
    for dataset, times in PARTI.items():
        for mode, time in enumerate(times):
            gain = speedup(rows.pick("pasta.cuda.tuned", "mttkrp", dataset, mode), time)
            gains.append(gain)
            yield "tuned MTTKRP over ParTI", dataset, mode, gain, 1.0
    known = [gain for gain in gains if gain]
    mean = math.exp(statistics.mean(map(math.log, known))) if len(known) == len(gains) else None
    yield "tuned MTTKRP over ParTI, geometric mean", "all", "-", mean, GEOMEAN
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
    missed = 0
    print(f"{'bar':45} {'tensor':12} mode  measured  bar")
    for what, dataset, mode, measured, bar in bars(Rows(load_results(paths))):
        fails = measured is None or measured < bar
        missed += fails
        number = "no row" if measured is None else f"{measured:.2f}"
        print(f"{what:45} {dataset:12} {mode!s:4} {number:>9}  {bar:.2f}"
              f"{'  MISSED' if fails else ''}")
    print(f"{missed} bars missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
