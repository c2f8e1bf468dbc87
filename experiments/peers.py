"""Times of public codes on an H200 and what scripts that set rows beside them share.

Milliseconds by mode, R = 32, single precision, zeroing of the output excluded.
"""
import math
import statistics

PARTI = {"nell2s": (2.856, 1.297, 1.165), "flickrs": (3.027, 2.931, 3.111),
         "uni": (2.032, 1.578, 1.583), "uberlike": (), "g1like": (2.397, 0.816, 0.807),
         "deli4s": ()}  # of order 4 it has a much slower kernel
BLCO = {"nell2s": (1.963, 2.119, 2.016), "flickrs": (2.397, 2.553, 2.568),
        "uni": (2.241, 2.463, 2.382), "uberlike": (0.286, 0.379, 0.328, 0.332),
        "g1like": (0.672, 0.677, 0.633), "deli4s": (2.809, 3.332, 3.301, 3.422)}
MM_CSF = {"nell2s": (2.723, 2.413, 2.989), "flickrs": (3.751, 4.263, 3.314),
          "uni": (3.007, 3.986, 4.546), "uberlike": (0.315, 0.381, 0.328, 0.297),
          "g1like": (0.565, 0.552, 0.583), "deli4s": (4.469, 5.728, 5.021, 5.394)}
B_CSF = {"nell2s": (2.520, 2.538, 2.450), "flickrs": (3.767, 4.025, 3.982),
         "uni": (2.842, 2.839, 2.851), "uberlike": (0.289, 0.758, 0.590, 0.458),
         "g1like": (0.553, 0.538, 0.534), "deli4s": (11.8, 6.4, 7.1, 45.8)}
ORIGINALS = {"parti.cuda": PARTI, "blco.cuda": BLCO, "mm_csf.cuda": MM_CSF, "b_csf.cuda": B_CSF}
SAME_SPEED = 0.95  # of an original's, that a baseline must reach

# Bytes a millisecond at which 8 lanes a row gather random rows of 128 bytes, by bytes of the table.
GATHER = {2**17: 14.0e9, 2**20: 13.8e9, 2**23: 9.8e9, 48 * 2**20: 9.1e9, 2**27: 5.9e9,
          2**29: 4.8e9, 2**32: 4.4e9}


class Rows:
    """The ok rows of an artifact."""

    def __init__(self, results, artifact):
        rows = results.rows
        self.rows = rows[(rows["case.artifact"] == artifact) & (rows["status"] == "ok")]
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
        return 1e6 * self.ceilings[row["session"], "cuda"]["values"]["copy_dram"]


def gather_rate(table_bytes):
    """Bytes a millisecond, between the sizes that were measured by the logarithm of the size."""
    sizes = list(GATHER)
    if table_bytes <= sizes[0]:
        return GATHER[sizes[0]]
    for small, large in zip(sizes, sizes[1:]):
        if table_bytes <= large:
            share = math.log(table_bytes / small) / math.log(large / small)
            return GATHER[small] + share * (GATHER[large] - GATHER[small])
    return GATHER[sizes[-1]]


def work_ms(row):
    """Median milliseconds of a run without the stage zero."""
    zero = row.get("phases.stages.zero")
    if not isinstance(zero, list):
        zero = [0] * len(row["phases.run"])
    return 1e3 * statistics.median(run - z for run, z in zip(row["phases.run"], zero))


def speedup(row, milliseconds):
    return None if row is None else milliseconds / work_ms(row)


def geometric_mean(numbers):
    """None when one is missing."""
    numbers = list(numbers)
    return statistics.geometric_mean(numbers) if numbers and all(numbers) else None


def over_originals(rows, methods):
    """(what, tensor, mode, measured or None, bar) of baselines over the originals, mode by mode."""
    for method in methods:
        for dataset, times in ORIGINALS[method].items():
            for mode, time in enumerate(times):
                row = rows.pick(method, "mttkrp", dataset, mode)
                yield f"{method} over the original", dataset, mode, speedup(row, time), SAME_SPEED


def over_totals(rows, methods):
    """The same over all modes."""
    for method in methods:
        for dataset, times in ORIGINALS[method].items():
            if times:
                row = rows.pick(method, "mttkrp_all", dataset)
                gain = speedup(row, sum(times))
                yield f"{method} over the original", dataset, "all", gain, SAME_SPEED


def report(bars):
    """Prints bars; the exit code is 1 when one is missed or has no row."""
    missed = 0
    print(f"{'bar':45} {'tensor':12} mode  measured  bar")
    for what, dataset, mode, measured, bar in bars:
        fails = measured is None or measured < bar
        missed += fails
        number = "no row" if measured is None else f"{measured:.2f}"
        print(f"{what:45} {dataset:12} {mode!s:4} {number:>9}  {bar:.2f}"
              f"{'  MISSED' if fails else ''}")
    print(f"{missed} bars missed")
    return 1 if missed else 0
