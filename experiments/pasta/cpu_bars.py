#!/usr/bin/env python3
"""Rows of cpu-speed.yaml beside the bars that public codes set on the same tensors.

    python3 experiments/pasta/cpu_bars.py <(retensor rows FILE...)

A bar is a ratio to the sequential COO-MTTKRP of the same tensor and mode, so that machines compare:
HiCOO-MTTKRP, TTM and TTV reach those of the public code of the same format and the best MTTKRP is
1.3 times the privatised COO on two threads, as the public codes ran; on 16 cores the best MTTKRP is
level with ALTO's ratio; TEW and TS move 85% of the measured copy bandwidth.
Exit code 1 when a bar is missed or has no row.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from plots.load import load_results  # noqa: E402: the tree is no installed package

# Milliseconds by mode, R = 16, single precision, two threads of a shared machine (TTV: one thread).
# HiCOO, TTM and TTV are HiParTI's, run beside its sequential COO.
PUBLIC = {
    "peers-uniform": {"sequential": (8.5, 8.5, 8.6), "hicoo": (1.34, 1.24, 1.21),
                      "ttm": (5.1, 5.2, 5.3), "ttv": (3.3, 3.3, 3.2), "alto": (0.65, 0.68, 0.70)},
    "peers-blocks": {"sequential": (4.3, 4.2, 4.4), "hicoo": (0.60, 0.73, 0.53),
                     "ttm": (2.8, 2.7, 2.8), "ttv": (1.5, 1.6, 1.6), "alto": (0.43, 0.42, 0.43)},
    "peers-zipf": {"sequential": (70, 73, 63), "hicoo": (27, 52, 27), "ttm": (20, 37, 22),
                   "ttv": (4.0, 9.7, 2.9), "alto": (12, 15, 7.6)},
    "peers-clusters": {"sequential": (21.8, 22.9, 22.3, 21.7), "hicoo": (3.2, 3.5, 3.2, 3.4),
                       "ttm": (4.6, 4.7, 5.1, 5.3), "ttv": (2.2, 2.1, 2.6, 2.6),
                       "alto": (1.1, 1.1, 0.85, 0.87)},
}
COPY_SHARE, PRIVATE_FACTOR, ALTO_THREADS = 0.85, 1.3, 16


class Rows:
    """Median seconds and bandwidths of the ok rows by what was run."""

    def __init__(self, results):
        rows = results.rows
        rows = rows[(rows["case.artifact"] == "pasta/cpu-speed") & (rows["status"] == "ok")]
        self.seconds, self.threads, self.shares = {}, 0, {}
        for _, row in rows.iterrows():
            operation, method = row["case.operation"], row["case.method"].split(".")[-1]
            self.threads = max(self.threads, int(row["executed.threads"]))
            if operation == "mttkrp":
                method += "." + row["case.params.update"]
            place = (row["case.dataset"], row["case.mode"], operation, method)
            self.seconds[place] = row["stats.median"]
            copy = results.ceilings.get((row["session"], "cpu"), {"values": {}})["values"].get(
                "copy_dram")
            if operation in ("tew", "ts") and copy:
                self.shares[place] = row["rates.gbytes"] / copy

    def many_threads(self):
        return self.threads >= ALTO_THREADS

    def mttkrp(self, dataset, mode):
        """Seconds of every MTTKRP by method and update."""
        return {place[3]: seconds for place, seconds in self.seconds.items()
                if place[:3] == (dataset, mode, "mttkrp")}

    def ratio(self, dataset, mode, operation, method):
        """Sequential COO-MTTKRP over the method, None without rows."""
        base = self.seconds.get((dataset, mode, "mttkrp", "coo.sequential"))
        found = self.seconds.get((dataset, mode, operation, method))
        return base / found if base and found else None


def bars(rows):
    """(what, dataset, mode, measured or None, bar or None where it is not asked) of every bar."""
    for dataset, public in PUBLIC.items():
        for mode, base in enumerate(public["sequential"]):
            for what, operation, method in (("HiCOO-MTTKRP", "mttkrp", "hicoo.scheduled"),
                                            ("COO-TTM", "ttm", "coo"), ("COO-TTV", "ttv", "coo")):
                bar = base / public["hicoo" if operation == "mttkrp" else operation][mode]
                yield (what, dataset, mode, rows.ratio(dataset, mode, operation, method),
                       None if rows.many_threads() else bar)
            yield from best_bars(rows, dataset, mode, base / public["alto"][mode])
    for place, share in rows.shares.items():
        yield f"{place[3]} {place[2].upper()}, share of copy", place[0], "-", share, COPY_SHARE


def best_bars(rows, dataset, mode, alto):
    own = rows.mttkrp(dataset, mode)
    best = min(own, key=own.get, default=None)
    private = own.get("coo.private")
    yield (f"best ({best}) over private", dataset, mode, private / own[best] if private else None,
           None if rows.many_threads() else PRIVATE_FACTOR)
    yield ("best over sequential, ALTO's", dataset, mode,
           rows.ratio(dataset, mode, "mttkrp", best), alto if rows.many_threads() else None)


def main(paths):
    rows = Rows(load_results(paths))
    missed = 0
    print(f"{rows.threads} threads\n{'bar':40} {'tensor':15} mode  measured  bar")
    for what, dataset, mode, measured, bar in bars(rows):
        fails = bar is not None and (measured is None or measured < bar)
        missed += fails
        number = "no row" if measured is None else f"{measured:.2f}"
        print(f"{what:40} {dataset:15} {mode!s:4} {number:>9}  "
              f"{'' if bar is None else f'{bar:.2f}'}{'  MISSED' if fails else ''}")
    print(f"{missed} bars missed")
    return 1 if missed or not rows.shares else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
