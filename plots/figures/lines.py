"""A line per series over a numeric or named x axis, with quartile whiskers, gaps at failures."""
from matplotlib.lines import Line2D

from plots import style
from plots.figures import panels

MOST_TICKS = 10  # labels that have room on an axis of numbers; more stand side by side as names


def draw(view):
    """Draw a view as lines."""
    numeric = len(view.xs) <= MOST_TICKS and all(
        isinstance(x, (int, float)) and not isinstance(x, bool) for x in view.xs)
    figure = panels.Panels(view, 3 if len(view.series) < 8 else 2,
                           names=() if numeric else map(_name, view.xs))
    places = {str(x): x if numeric else index for index, x in enumerate(view.xs)}
    for axes, facet, cells in figure:
        figure.scale(axes)
        failed = []
        for index, name in enumerate(view.series):
            failed += _line(figure, axes, [cell for cell in cells if cell.series == name], index,
                            numeric)
        for point in view.digitised:
            if point.facet == ("" if facet is None else str(facet)) and point.x in places:
                figure.read_off(axes, places[point.x], point)
        if numeric:
            axes.set_xticks(view.xs, [str(x) for x in view.xs])
            axes.minorticks_off()
        else:
            figure.name_positions(axes)
        if view.spec.figure.get("yscale") != "log":
            axes.set_ylim(bottom=0)
        figure.fail_above(axes, failed)
    for index, name in enumerate(view.series):
        figure.explain(name, Line2D([], [], color=style.colour(index), marker=style.marker(index)))
    figure.label_axes(*panels.label_of(view))
    return figure.finish()


def _name(x):
    return f"{x:g}" if isinstance(x, float) else x


def _line(figure, axes, cells, index, numeric):
    """Draw one series; returns its failures as (x, cell, colour)."""
    xs, ys, failed = [], [], []
    for cell in cells:
        figure.draws(cell)
        x = cell.x if numeric else figure.view.xs.index(cell.x)
        xs.append(x)
        ys.append(cell.measured.value if cell.measured else float("nan"))
        if cell.measured is None:
            failed.append((x, cell, style.colour(index)))
            continue
        arms = panels.error_arms(cell.measured)
        if arms:
            axes.errorbar(x, cell.measured.value, yerr=arms, color=style.colour(index),
                          linewidth=0.7, capsize=1.5)
        figure.band(axes, x, cell)
        figure.mark_partial(axes, x, cell)
    axes.plot(xs, ys, color=style.colour(index), marker=style.marker(index))
    return failed
