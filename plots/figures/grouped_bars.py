"""Bars per position and series with quartile whiskers; roofline and published values over them.

The red line over a bar is its roof: the case's operational intensity times the bandwidth measured
in its session (PASTA Fig. 4 to 7). On a logarithmic axis the bars stand on a decade.
"""
import math

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from plots import style
from plots.figures import panels


def draw(view):
    """Draw a view as grouped bars."""
    return bars_of(view).finish()


def bars_of(view):
    """The panels with their bars, for `finish` to close."""
    fullest = max((positions(view, facet) for facet in view.facets), key=len)
    bars = len(fullest) * len(view.series)
    figure = panels.Panels(view, 1 if bars > 24 else 2 if bars > 8 else 3, names=fullest)
    width = 0.8 / len(view.series)
    for axes, facet, cells in figure:
        figure.scale(axes)
        xs = positions(view, facet)
        for cell in cells:
            place = xs.index(cell.x) + offset(view, cell.series, width)
            _bar(figure, axes, cell, place, width, view)
            # Notes that stand upright begin above all bars of their position.
            figure.mark_partial(axes, place, cell,
                                [c for c in cells if c.x == cell.x] if figure.crowded else [cell])
        _published(figure, axes, facet, xs)
        names = [str(x) for x in xs]
        for point in view.digitised:
            if point.facet == ("" if facet is None else str(facet)) and point.x in names:
                figure.read_off(axes, names.index(point.x) + offset(view, point.series, width),
                                point)
        figure.name_positions(axes, names)
        if axes.get_yscale() == "log":
            axes.set_ylim(10 ** math.floor(math.log10(axes.get_ylim()[0])))
    for index, name in enumerate(view.series):
        figure.explain(name, Patch(facecolor=style.colour(index)))
    figure.explain_data()
    figure.label_axes(*panels.label_of(view))
    return figure


def positions(view, facet):
    """What stands on the x axis of a panel: positions without a case there are left out."""
    held = {cell.x for cell in view.panel(facet)}
    return [x for x in view.xs if x in held]


def offset(view, series, width):
    """How far from the middle of a position the bar of a series stands; 0 for an unknown one."""
    if series not in view.series:
        return 0.0
    return (view.series.index(series) - (len(view.series) - 1) / 2) * width


def _bar(figure, axes, cell, place, width, view):
    figure.draws(cell)
    if cell.measured is None:
        figure.fail(axes, place, cell)
        return
    axes.bar(place, cell.measured.value, width * 0.92, linewidth=0.5, edgecolor="white",
             color=style.colour(view.series.index(cell.series)),
             hatch=style.HATCHES.get(cell.data))
    arms = panels.error_arms(cell.measured)
    if arms:
        axes.errorbar(place, cell.measured.value, yerr=arms, color="#222222", linewidth=0.7,
                      capsize=1.5, capthick=0.7)
    figure.band(axes, place, cell)
    if view.spec.figure.get("overlay") == "roofline" and cell.roof is not None:
        axes.plot([place - width / 2, place + width / 2], [cell.roof] * 2, color=style.ROOF,
                  solid_capstyle="butt", linewidth=1.6)
        figure.explain("roofline (measured bandwidth)", Line2D([], [], color=style.ROOF))


def _published(figure, axes, facet, xs):
    for where, x, value, _ in figure.view.published:
        if where != facet or x not in (None, *xs):
            continue
        if x is None:
            axes.axhline(value, color=style.PUBLISHED, linestyle="--", linewidth=1)
        else:
            centre = xs.index(x)
            axes.plot([centre - 0.45, centre + 0.45], [value] * 2, color=style.PUBLISHED,
                      linestyle="--", linewidth=1)
        figure.explain("published", Line2D([], [], color=style.PUBLISHED, linestyle="--"))
