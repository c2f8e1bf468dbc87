"""HLSTO Fig. 3 and 4: a small tensor as HLS holds it, a line per dense tile or sparse nonzero."""
import pandas as pd

from retensor.errors import PlotError

COLUMNS = ("format", "part", "linear index", "bitmap", "values")
FORMATS = {"hls": "HLS", "hls_s": "HLS-S, all sparse", "hls_d": "HLS-D, all dense"}
PARTS = {"D": "dense tile", "S": "sparse nonzero"}


def arrange(view):
    """Make the table from the layouts that the rows of hlsto.cpu carry."""
    rows = view.rows
    if "executed.layout" not in rows.columns:
        raise PlotError(f"{view.spec.artifact}: no row has executed.layout")
    lines = []
    for name, layout in zip(rows["case.params.format"], rows["executed.layout"]):
        if isinstance(layout, str):
            lines += [(FORMATS[name], *_parts(entry)) for entry in layout.split("; ")]
    table = pd.DataFrame(sorted(lines), columns=COLUMNS, dtype=object)
    view.table = table


def _parts(entry):
    head, *rest = entry.split(", ")
    part, _, index = head.partition(" ")
    return (PARTS[part], index, rest[0] if part == "D" else "", rest[-1])
