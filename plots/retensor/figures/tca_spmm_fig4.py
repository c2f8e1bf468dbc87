"""TCA-SpMM Fig. 4: rows on thread blocks and the outputs of their fragments, a line each."""
import pandas as pd

from retensor.errors import PlotError

COLUMNS = ("part", "what")


def arrange(view):
    """Make the table from the layout that a row of tca_spmm.cpu carries."""
    rows = view.rows
    if "executed.layout" not in rows.columns:
        raise PlotError(f"{view.spec.artifact}: no row has executed.layout")
    layout = next(text for text in rows["executed.layout"] if isinstance(text, str))
    lines = [entry.split(": ", 1) for entry in layout.split("; ")]
    view.table = pd.DataFrame(lines, columns=COLUMNS, dtype=object)
