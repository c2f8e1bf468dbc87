"""Rates of an H200 and what scripts that set rows beside models share."""
import math

# Bytes a millisecond at which 8 lanes a row gather random rows of 128 bytes, by bytes of the table:
# for rows of sessions whose probes tell the best rate alone.
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

    def gathers(self, row):
        """Bytes of a table -> bytes a millisecond, as probed on the row's machine."""
        values = self.ceilings[row["session"], "cuda"]["values"]
        probed = {1024 * int(kib): 1e6 * rate for what, rate in values.items()
                  for name, _, kib in [what.partition("_")] if name == "gather" and kib.isdigit()}
        return dict(sorted(probed.items())) or GATHER


def gather_rate(table_bytes, gathers=None):
    """Bytes a millisecond, between the sizes that were measured by the logarithm of the size."""
    gathers = gathers or GATHER
    sizes = list(gathers)
    if table_bytes <= sizes[0]:
        return gathers[sizes[0]]
    for small, large in zip(sizes, sizes[1:]):
        if table_bytes <= large:
            share = math.log(table_bytes / small) / math.log(large / small)
            return gathers[small] + share * (gathers[large] - gathers[small])
    return gathers[sizes[-1]]


def work_ms(row):
    """Median milliseconds of a run without the stage zero."""
    return 1e3 * row["seconds.without_zero"]
