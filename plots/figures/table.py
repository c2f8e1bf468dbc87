"""The values themselves: positions as rows, series as columns, one block per facet. Where names of
series are too long for a head they are the rows, unless those of the positions are too long too.
"""
import textwrap

from plots import style
from plots.figures import panels
from plots.figures.cells import number

LEFT = 0.18  # share of the width for the names of rows, at least
LINE_MM = 4.5


def draw(view):
    """Draw a view as tables."""
    turned = not _fits(view.series, view.xs) and _fits(view.xs, view.series)
    heads, names = (view.xs, view.series) if turned else (view.series, view.xs)
    left = _left(names)
    columns = int(_room(heads, left))
    heads = [textwrap.fill(str(head), max(4, columns)) for head in heads]
    deep = max(head.count("\n") for head in heads) + 1
    figure = panels.Panels(view, 1, 12 + LINE_MM * (len(names) + deep))
    what = "{1} by {0}".format(*panels.label_of(view))
    for axes, facet, cells in figure:
        axes.axis("off")
        axes.set_title(what if facet is None else f"{figure.title(facet)}: {what}", loc="left")
        text = {(cell.x, cell.series): _text(cell) for cell in cells}
        figure.draws(*cells)
        lines = [[text.get((x, name), "") for name in view.series] for x in view.xs]
        body = axes.table([list(line) for line in zip(*lines)] if turned else lines,
                          rowLabels=[str(name) for name in names], colLabels=heads,
                          bbox=(left, 0, 1 - left, 1))
        body.auto_set_font_size(False)
        body.set_fontsize(6.5)
        for (line, _), place in body.get_celld().items():
            place.set_linewidth(0.4)
            place.set_edgecolor("#BBBBBB")
            place.set_height((deep if line == 0 else 1) * place.get_height())
    return figure.finish()


def _left(names):
    """Share of the width that the names of rows need."""
    longest = max(len(str(name)) for name in names)
    return min(0.6, max(LEFT, (panels.CHARACTER_MM * longest + 6) / style.DOUBLE_MM))


def _room(heads, left):
    """Characters in the head of a column."""
    return (1 - left) * style.DOUBLE_MM / len(heads) / panels.CHARACTER_MM


def _fits(heads, names):
    """Whether the longest head has room beside the names of rows."""
    return max(len(str(head)) for head in heads) <= _room(heads, _left(names))


def _text(cell):
    if cell.measured is None:
        return cell.gap
    partial = f" ({cell.ok}/{cell.total})" if cell.ok < cell.total else ""
    band = " [{} to {}]".format(*map(number, cell.band)) if cell.band else ""
    return number(cell.measured.value) + band + partial
