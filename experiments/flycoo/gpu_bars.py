#!/usr/bin/env python3
"""Rows of gpu-speed.yaml beside the bars of an H200.

    python3 experiments/flycoo/gpu_bars.py <(retensor rows FILE...)

All are times over all modes. BLCO, MM-CSF and B-CSF written here are held to 0.95 of the originals'
speed (ParTI mode by mode, by the script of experiments/pasta). Remapping included, the tuned
variant is slower than the best competitor on no tensor and 1.2 times as fast by geometric mean, the
variant with a copy per mode twice. Times are whole runs but for the zeroing of
outputs: reductions count. Exit code 1 when a bar is missed or has no row.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments.peers import (ORIGINALS, Rows, geometric_mean, over_totals,  # noqa: E402
                               report, speedup, work_ms)
from plots.load import load_results  # noqa: E402: the tree is no installed package

TENSORS = ("nell2s", "flickrs", "uni", "uberlike", "g1like", "deli4s")
HELD_TO_ORIGINALS = ("blco.cuda", "mm_csf.cuda", "b_csf.cuda")
TUNED, COPIES = 1.2, 2.0


def best_competitor(rows, dataset):
    """Milliseconds over all modes, None unless every competitor has a row."""
    found = [rows.pick(method, "mttkrp_all", dataset) for method in ORIGINALS]
    return None if any(row is None for row in found) else min(map(work_ms, found))


def bars(rows):
    """(what, tensor, mode, measured or None, bar) of every bar."""
    yield from over_totals(rows, HELD_TO_ORIGINALS)
    for method, bar in (("flycoo.cuda.tuned", TUNED), ("flycoo.cuda.copies", COPIES)):
        gains = []
        for dataset in TENSORS:
            best = best_competitor(rows, dataset)
            row = rows.pick(method, "mttkrp_all", dataset)
            gains.append(None if best is None else speedup(row, best))
            yield f"{method} over the best", dataset, "all", gains[-1], 1.0
        yield f"{method} over the best, mean", "all", "all", geometric_mean(gains), bar


def main(paths):
    return report(bars(Rows(load_results(paths), "flycoo/gpu-speed")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
