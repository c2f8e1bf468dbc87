"""A line per series through the numbers that a text field lists, such as the fit after each sweep.

The x axis is the place in the list, counted from 1. `x` of the spec still tells which cases are
drawn apart, by default those of different data sets.
"""
import pandas as pd
from matplotlib.lines import Line2D

from plots import style
from plots.errors import PlotError
from plots.figures import cells, panels


def arrange(view):
    """Make the figure's table: a line per point."""
    facet = {} if view.fields.facet is None else {cells.short(view.fields.facet): None}
    lines = [{**dict.fromkeys(facet, cell.facet), cells.short(view.fields.x): cell.x,
              "series": cell.series, _place(view): place, _what(view): value,
              "status": cell.status, "reason": cell.reason, "data": cell.data,
              "stale": cell.stale}
             for cell in view.cells
             for place, value in enumerate(_numbers(view, cell) or [None], start=1)]
    view.table = pd.DataFrame(lines, dtype=object)


def draw(view):
    """Draw a view as curves."""
    apart = len(view.xs) > 1 and view.fields.facet != view.fields.x
    names = list(dict.fromkeys(_name(cell, apart) for cell in view.cells))
    figure = panels.Panels(view, 3 if len(names) < 8 else 2)
    for axes, _, members in figure:
        figure.scale(axes)
        failed = []
        for cell in members:
            index = names.index(_name(cell, apart))
            numbers = _numbers(view, cell)
            figure.draws(cell)
            if not numbers:
                failed.append((1, cell, style.colour(index)))
            axes.plot(range(1, len(numbers) + 1), numbers, color=style.colour(index),
                      linewidth=0.8, **_look(index))
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.margins(y=0.08)  # the largest markers whole
        figure.fail_above(axes, failed)
    for index, name in enumerate(names):
        figure.explain(name, Line2D([], [], color=style.colour(index), **_look(index)))
    figure.label_axes(_place(view), _what(view))
    return figure.finish()


def _look(index):
    """Hollow markers of growing size within the palette: curves on one another are all seen."""
    return {"marker": style.marker(index), "fillstyle": "none", "markeredgewidth": 0.6,
            "markersize": 2.5 + 1.2 * (index % len(style.SERIES))}


def _name(cell, apart):
    return f"{cell.x}, {cell.series}" if apart else cell.series


def _place(view):
    return view.spec.figure.get("xlabel", "place in the list")


def _what(view):
    return view.spec.figure.get("ylabel", view.value_label)


def _numbers(view, cell):
    """The list of the cell's last row that is ok; empty where no row has one."""
    rows = view.rows
    if view.fields.y not in rows.columns:
        return []
    texts = rows.loc[rows["key"].isin(cell.keys) & (rows["status"] == "ok"), view.fields.y].dropna()
    try:
        return [float(part) for part in str(texts.iloc[-1]).split()] if len(texts) else []
    except ValueError:
        raise PlotError(f"{view.spec.artifact}: {view.fields.y} lists no numbers: "
                        f"{texts.iloc[-1]!r}") from None
