"""Parts of a time as stacked bars: the stages of a run, or the fields that `stack` lists.

With `share: true` every bar is scaled to 100 %.
"""
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from retensor import style
from retensor.figures import panels, units

BAR_MM = 4.2
HEAD_MM = 13
NAME_CHARACTERS = 40


def draw(view):
    """Draw a view as one stack per position and series, in each panel those that it has."""
    places = {facet: list(dict.fromkeys((cell.x, cell.series) for cell in view.panel(facet)))
              for facet in view.facets}
    names = {place: panels.wrapped(_name(*place, len(view.series) == 1), NAME_CHARACTERS)
             for own in places.values() for place in own}
    longest = max((len(line) for lines in names.values() for line in lines), default=1)
    wide = style.width_mm(view.spec.figure.get("width")) > 2 * (panels.CHARACTER_MM * longest + 40)
    columns = 2 if wide and len(view.facets) > 1 else 1
    most = [max(len(places[facet]) for facet in view.facets[start:start + columns])
            for start in range(0, len(view.facets), columns)]
    bar = max(BAR_MM, 3 * max(map(len, names.values()), default=1))
    figure = panels.Panels(view, columns, [bar * count + HEAD_MM for count in most])
    parts = list(dict.fromkeys(part for cell in view.cells
                               for part, value in cell.stack.items() if value))
    share = view.spec.figure.get("share")
    for index, (axes, facet, cells) in enumerate(figure):
        published = view.published_in(facet)
        for cell in cells:
            marks = [mark for mark in published if mark.is_of(cell)]
            _stack(figure, axes, cell, places[facet].index((cell.x, cell.series)), parts, marks)
        axes.set_yticks(range(len(places[facet])), ["\n".join(names[place])
                                                    for place in places[facet]])
        axes.set_ylim(most[index // columns] - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0, (axes.get_xlim()[1] or 1) * 1.2)  # room for the totals
        panels.set_scale(axes, "x", "linear", "%" if share else "s", figure.ticks)
    for index, part in enumerate(parts):
        figure.explain(part.split(".")[-1], Patch(facecolor=style.colour(index)))
    figure.explain_data(hollow=False)
    figure.label_axes("share of the time (%)" if share else "time", "")
    return figure.finish()


def _published(figure, axes, mark, place):
    """A published ratio, times what it is over here; a bound points to where times may lie."""
    for value in mark.values:
        axes.plot([value, value], [place - 0.5, place + 0.5], color=style.PUBLISHED, linewidth=1.5,
                  solid_capstyle="butt", zorder=4)
    if mark.sign:
        axes.plot(mark.values[0], place, color=style.PUBLISHED, markersize=3.5, zorder=4,
                  marker=">" if mark.sign > 0 else "<")
    figure.explain("published ratio, times what it is over here",
                   Line2D([], [], color=style.PUBLISHED, marker="|", markersize=7,
                          markeredgewidth=1.5, linestyle="none"))


def _name(x, series, single):
    """Position and series; a series of the position's own field names both."""
    if single:
        return str(x)
    return series if series.split(", ")[0] == str(x) else f"{x}, {series}"


def _stack(figure, axes, cell, place, parts, marks):
    figure.draws(cell)
    for mark in marks:
        _published(figure, axes, mark, place)
    lengths = {part: cell.stack[part].value for part in parts if cell.stack.get(part)}
    total = sum(lengths.values())
    if total <= 0:
        axes.annotate(f"\N{MULTIPLICATION SIGN} {cell.gap}", (0, place), (3, 0), va="center",
                      textcoords="offset points", fontsize=6, color=style.FAILED)
        return
    scale = 100 / total if figure.view.spec.figure.get("share") else 1
    base = 0.0
    for part, length in lengths.items():
        axes.barh(place, length * scale, 0.7, left=base, color=style.colour(parts.index(part)),
                  edgecolor="white", linewidth=0.5, hatch=style.HATCHES.get(cell.data))
        base += length * scale
    partial = cell.ok < cell.total
    text = f"{cell.ok}/{cell.total}" if partial else units.shown(total, "s")
    end = max([base, *(value for mark in marks for value in mark.values)])
    axes.annotate(text + (" ~" if cell.noisy else ""), (end, place), (3, 0), va="center",
                  textcoords="offset points", fontsize=6,
                  color=style.FAILED if partial else "#222222")
