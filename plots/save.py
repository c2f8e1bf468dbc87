"""Writes an artifact's files: figure as SVG and PNG, its table and its rows as CSV."""
from pathlib import Path

import matplotlib.pyplot as plt

from plots import style
from plots.figures import cells, drawer
from plots.figures.view import make_view
from plots.table import write_csv


FILES = ("svg", "png", "csv", "rows.csv")


def save_artifact(results, spec, folder, verdicts=(), files=FILES):
    """Draw one spec into a folder as `files` of FILES; returns its view and {suffix: path}.

    The files are named by the artifact and by every kind of data but real in it:
    `fig4.svg`, `fig4.generated.svg`, `fig4.stand-in.generated.svg`.
    """
    view = make_view(results, spec, verdicts)
    module = drawer(spec)
    if hasattr(module, "arrange"):
        module.arrange(view)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {suffix: folder / f"{view.stem}.{suffix}" for suffix in files}
    with style.applied():
        figure = module.draw(view)
        description = "; ".join(filter(None, [spec.title, view.data_label, *view.notes]))
        figure.savefig(paths["svg"], metadata={"Title": spec.title, "Date": None,
                                               "Description": description})
        figure.set_layout_engine("none")  # what was laid out for one file holds for the other
        if "png" in paths:
            figure.savefig(paths["png"], metadata={"Title": spec.title,
                                                   "Description": description})
        plt.close(figure)
    write_csv(cells.frame(view), paths["csv"])
    if "rows.csv" in paths:
        write_csv(view.rows.dropna(axis="columns", how="all"), paths["rows.csv"])
    return view, paths
