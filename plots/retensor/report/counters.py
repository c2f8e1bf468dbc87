"""Hardware counters of an artifact's rows (experiments/schema, `profile`) beside the work model."""
from collections import Counter

import pandas as pd

# Measured DRAM bytes that differ more from the work model are marked.
LIMIT = 0.15
COLUMNS = {
    "tensor": "case.dataset", "operation": "case.operation", "mode": "case.mode",
    "rank": "case.rank", "method": "case.method", "launches": "profile.launches",
    "model bytes": "work.bytes", "operands once (bytes)": "work.compulsory_bytes",
    "DRAM bytes": "profile.dram_bytes", "DRAM/model": "profile.dram_over_model",
    "SM %": "profile.sm_percent", "L1 %": "profile.l1_percent", "L2 %": "profile.l2_percent",
    "DRAM %": "profile.dram_percent", "L2 bytes": "profile.l2_bytes",
    "L2 atomics (sectors)": "profile.l2_atomic_sectors",
    "tensor instructions": "profile.tensor_instructions", "not measured": "profile.missing"}


def told(rows):
    """Lines of profiled rows below their columns, how many lines have a note, and why other rows
    on a GPU have no counters."""
    profiled = _present(rows, "profile.launches")
    lines = [_line(row) for row in rows.loc[profiled.index].to_dict("records")]
    return {"columns": [*COLUMNS, "note"], "lines": lines,
            "marked": sum(bool(line[-1]) for line in lines),
            "reasons": dict(Counter(_present(rows, "profile.reason")))}


def _present(rows, name):
    return (rows[name] if name in rows else pd.Series(dtype=object)).dropna()


def _line(row):
    ratio = row.get("profile.dram_over_model")
    off = ratio is not None and not pd.isna(ratio) and abs(ratio - 1) > LIMIT
    return [*map(row.get, COLUMNS.values()), "differs by more than 15%" if off else ""]
