"""BCB-SpTC Fig. 2: a small tensor in blocks, a line each."""
import pandas as pd

from retensor.errors import PlotError

COLUMNS = ("index of the block", "bitmap", "values")


def arrange(view):
    """Make the table from the layout that a row of bcb_sptc.cpu carries."""
    rows = view.rows
    if "executed.layout" not in rows.columns:
        raise PlotError(f"{view.spec.artifact}: no row has executed.layout")
    layout = next(text for text in rows["executed.layout"] if isinstance(text, str))
    table = pd.DataFrame([_block(entry.split()) for entry in layout.split("; ")], columns=COLUMNS,
                         dtype=object)
    view.table = table


def _block(words):
    """A block's index in three parts, its bitmap, its values in the bitmap's order."""
    return " ".join(words[:3]), words[3], " ".join(words[4:])
