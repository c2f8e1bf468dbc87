"""A line per series through the numbers that a text field lists, such as the fit after each sweep.

The x axis is the place in the list, counted from 1. `x` of the spec still tells which cases are
drawn apart, by default those of different data sets. With `distance_from` in the figure map it is
the distance of every number from that one which is drawn. Curves that lie on one another are one
line with the names of all.
"""
import math
import re

import pandas as pd
from matplotlib.lines import Line2D

from retensor import style
from retensor.errors import PlotError
from retensor.figures import cells, panels

AGREE = 2e-3  # of their height, by which curves on one another may differ


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
    figure = panels.Panels(view, 3 if len(view.facets) > 2 else 2)
    drawn = {}  # names of curves on one another -> index
    for axes, _, members in figure:
        alike, failed = [], []
        for cell in members:
            figure.draws(cell)
            numbers = _drawn(view, cell)
            if not numbers:
                failed.append((1, cell, style.EDGE))
                figure.explain(panels.folded(f"{_name(cell, apart)}: {cell.gap}", figure.width),
                               Line2D([], [], marker="x", color=style.EDGE, linestyle="none"))
                continue
            same = next((group for group in alike if _agree(group[0], numbers)), None)
            if same is None:
                alike.append((numbers, [_name(cell, apart)]))
            else:
                same[1].append(_name(cell, apart))
        for numbers, names in alike:
            index = drawn.setdefault(_together(names), len(drawn))
            axes.plot(range(1, len(numbers) + 1), numbers, linewidth=0.9, **_look(index))
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.margins(y=0.08)  # the largest markers whole
        figure.fail_above(axes, failed, told=True)
        log = view.spec.figure.get("yscale") == "log" and axes.get_ylim()[1] > 0
        if log:
            panels.limit(axes, "y", [n for numbers, _ in alike for n in numbers])
        panels.set_scale(axes, "y", "log" if log else "linear", "%")
        if not alike:  # numbers of an axis would mean nothing
            axes.set(xticks=[], yticks=[])
    for name, index in drawn.items():
        figure.explain(panels.folded(name, figure.width), Line2D([], [], **_look(index)))
    figure.label_axes(_place(view), _what(view))
    return figure.finish()


def _together(names):
    """One name for curves on one another: what all say, then how they differ."""
    words = [re.split("[ ,]+", name) for name in names]
    common = [word for word in words[0] if all(word in other for other in words)]
    rest = [" ".join(word for word in own if word not in common) for own in words]
    if len(names) == 1:
        return names[0]
    told = " = ".join(filter(None, rest)) if len(names) <= 3 else f"{len(names)} on one another"
    return f"{', '.join(common)}: {told}" if common else told


def _drawn(view, cell):
    """The numbers of a cell as they are drawn."""
    origin = view.spec.figure.get("distance_from")
    numbers = _numbers(view, cell)
    return numbers if origin is None else [
        abs(float(origin) - number) or math.nan for number in numbers]  # 0 has no place on a log


def _agree(numbers, others):
    """Whether two curves are one within the width of a line."""
    span = max((abs(number) for number in numbers if not math.isnan(number)), default=0)
    return len(numbers) == len(others) and all(
        abs(a - b) <= AGREE * max(span, abs(a)) or math.isnan(a) and math.isnan(b)
        for a, b in zip(numbers, others))


def _look(index):
    return {"marker": style.marker(index), "color": style.colour(index), "markersize": 3.2,
            "markerfacecolor": "white", "markeredgewidth": 0.7}


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
