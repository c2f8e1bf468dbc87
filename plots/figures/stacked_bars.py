"""Parts of a time as stacked bars: the stages of a run, or the fields that `stack` lists.

With `share: true` every bar is scaled to 100 %.
"""
from matplotlib.patches import Patch

from plots import style
from plots.figures import panels, quantity


def draw(view):
    """Draw a view as one stack per position and series."""
    places = list(dict.fromkeys((cell.x, cell.series) for cell in view.cells))
    names = [x if len(view.series) == 1 else _name(str(x), series) for x, series in places]
    figure = panels.Panels(view, 1 if len(places) > 12 else 2 if len(places) > 5 else 3,
                           names=names)
    parts = list(dict.fromkeys(part for cell in view.cells
                               for part, value in cell.stack.items() if value))
    for axes, _, cells in figure:
        figure.scale(axes)
        for cell in cells:
            _stack(figure, axes, cell, places.index((cell.x, cell.series)), parts)
        axes.margins(y=0.1)  # room for the totals
        figure.name_positions(axes)
    for index, part in enumerate(parts):
        figure.explain(part.split(".")[-1], Patch(facecolor=style.colour(index)))
    figure.explain_data()
    share = view.spec.figure.get("share")
    figure.label_axes(quantity.label(view.fields.x),
                      "share of the time (%)" if share else "time (s)")
    return figure.finish()


def _name(x, series):
    """Position and series; a series of the position's own field names both."""
    return series if series.split(", ")[0] == x else f"{x}, {series}"


def _seconds(time):
    """A time in the unit that leaves one to three digits before the point."""
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if time >= size:
            break
    return f"{time / size:.3g} {unit}"


def _stack(figure, axes, cell, place, parts):
    figure.draws(cell)
    heights = {part: cell.stack[part].value for part in parts if cell.stack.get(part)}
    total = sum(heights.values())
    if total <= 0:
        figure.fail(axes, place, cell)
        return
    scale = 100 / total if figure.view.spec.figure.get("share") else 1
    base = 0.0
    for part, height in heights.items():
        axes.bar(place, height * scale, 0.7, bottom=base, color=style.colour(parts.index(part)),
                 edgecolor="white", linewidth=0.5, hatch=style.HATCHES.get(cell.data))
        base += height * scale
    partial = cell.ok < cell.total
    axes.annotate(f"{cell.ok}/{cell.total}" if partial else _seconds(total), (place, base), (0, 2),
                  textcoords="offset points", ha="center", fontsize=6,
                  color=style.FAILED if partial else "#222222")
