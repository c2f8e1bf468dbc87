"""A point per case over a measured x axis; a `label` field in the spec is written beside it."""
from matplotlib.lines import Line2D

from retensor import style
from retensor.figures import dots, panels, quantity


def draw(view):
    """Draw a view as points."""
    figure = panels.Panels(view, 2, 60)
    for axes, _, cells in figure:
        scatter(figure, axes, cells)
        for which, unit in (("x", quantity.unit(view.fields.along)), ("y", view.axis_unit)):
            kind = view.spec.figure.get(f"{which}scale", "linear")
            if kind == "log":
                panels.limit(axes, which, [value for line in axes.lines
                                           for value in getattr(line, f"get_{which}data")()])
            panels.set_scale(axes, which, kind, unit)
    figure.label_axes(dots.label_of(view), view.axis_label)
    return figure.finish()


def scatter(figure, axes, cells):
    """Put the points of one panel on its axes; hollow ones are not a published tensor."""
    view = figure.view
    for cell in cells:
        figure.draws(cell)
        if cell.measured is None or cell.along is None:
            continue
        index = view.series.index(cell.series)
        hollow = cell.data in view.data_kinds
        axes.plot(cell.along.value, cell.measured.value, marker=style.marker(index),
                  color=style.colour(index), linestyle="none",
                  markerfacecolor="white" if hollow else style.colour(index))
        if "label" in view.spec.figure:
            axes.annotate(str(cell.x), (cell.along.value, cell.measured.value), (3, 2),
                          fontsize=5, textcoords="offset points", color="#444444")
        if cell.band:
            look = {"color": "#222222", "alpha": 0.25, "linewidth": 5}
            axes.vlines(cell.along.value, *cell.band, **look)
            figure.explain(figure.view.band_words, Line2D([], [], **look))
        figure.explain(cell.series, Line2D([], [], color=style.colour(index), linestyle="none",
                                           marker=style.marker(index)))
        if hollow:
            figure.explain(f"hollow: {cell.data} data",
                           Line2D([], [], color="#444444", linestyle="none", marker="o",
                                  markerfacecolor="white"))
    _list_missing(axes, cells)


def _list_missing(axes, cells):
    missing = [f"\N{MULTIPLICATION SIGN} {cell.x}, {cell.series}: {cell.gap}" for cell in cells
               if cell.measured is None or cell.along is None]
    if missing:
        axes.text(0.02, 0.98, "\n".join(missing), transform=axes.transAxes, va="top", fontsize=5.5,
                  color=style.FAILED)
