"""A view's cells as a table: what the CSV file and the report's table show."""
import math

import pandas as pd

from retensor.figures import quantity


def number(value):
    """Four significant digits; whole numbers in full; empty for None and NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15):
        return str(int(value))
    return f"{value:.4g}"


def frame(view):
    """One line per cell: place, value with its interval, roof, cases ok of all, status, reason.

    A figure kind that is a table brings its own.
    """
    if view.table is not None:
        return view.table
    fields, lines = view.fields, []
    for cell in view.cells:
        line = {}
        if fields.facet or fields.machines:
            line[short(fields.facet or "machine")] = cell.facet
        line |= {short(fields.x): cell.x, "series": cell.series}
        if fields.along:
            line[quantity.label(fields.along)] = cell.along.value if cell.along else None
        if cell.stack:
            line |= {short(part): value.value if value else None
                     for part, value in cell.stack.items()}
        else:
            line |= _value_columns(cell, view)
        if view.spec.figure.get("overlay") == "roofline":
            line |= {"intensity (flop/byte)": cell.intensity, "roofline (GFLOPS)": cell.roof,
                     "share of roofline": _share(cell)}
        line |= {"ok": cell.ok, "of": cell.total, "status": cell.status, "reason": cell.reason,
                 "data": cell.data, "stale": cell.stale, "noisy": cell.noisy}
        lines.append(line)
    return pd.DataFrame(lines, dtype=object)


def short(name):
    """Last part of a dotted column name."""
    return name.split(".")[-1]


def _value_columns(cell, view):
    value = cell.measured or quantity.Value(None)
    low, high = view.interval
    columns = {view.value_label: value.value, low: value.low, high: value.high}
    if any(other.paper_mean is not None for other in view.cells):
        columns["mean of five runs"] = cell.paper_mean
    if any(other.band for other in view.cells):
        least, largest = cell.band or (None, None)
        columns |= {"band from": least, "band to": largest}
    return columns


def _share(cell):
    usable = cell.measured is not None and cell.roof
    return cell.measured.value / cell.roof if usable else None
