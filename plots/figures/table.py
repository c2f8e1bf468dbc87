"""The values themselves: positions as rows, series as columns, one block per facet."""
from plots.figures import panels
from plots.figures.cells import number


def draw(view):
    """Draw a view as tables."""
    height = 12 + 4.5 * (len(view.xs) + 1)
    what = "{1} by {0}".format(*panels.label_of(view))
    figure = panels.Panels(view, 1, height)
    for axes, facet, cells in figure:
        axes.axis("off")
        axes.set_title(what if facet is None else f"{facet}: {what}", loc="left")
        text = {(cell.x, cell.series): _text(cell) for cell in cells}
        body = axes.table([[text.get((x, name), "") for name in view.series] for x in view.xs],
                          rowLabels=[str(x) for x in view.xs], colLabels=view.series,
                          bbox=(0.18, 0, 0.82, 1))
        body.auto_set_font_size(False)
        body.set_fontsize(6.5)
        for place in body.get_celld().values():
            place.set_linewidth(0.4)
            place.set_edgecolor("#BBBBBB")
    return figure.finish()


def _text(cell):
    if cell.measured is None:
        return cell.gap
    partial = f" ({cell.ok}/{cell.total})" if cell.ok < cell.total else ""
    band = " [{} to {}]".format(*map(number, cell.band)) if cell.band else ""
    return number(cell.measured.value) + band + partial
