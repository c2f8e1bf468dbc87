"""A DataFrame as a figure: wrapped text in columns, a rule below the head and between groups."""
import textwrap

from plots import style
from plots.figures import panels

LINE_MM = 3.1       # height of a line of text
PADDING_MM = 1.0    # above and below the text of a line of the table
CHARACTER_MM = 1.33  # mean width of a character at the size of the text


def draw(view, table, shares, group=None):
    """Draw `table` with columns as wide as `shares` of the page; returns the figure.

    A rule stands where the column `group` changes its value. The table becomes the view's own, so
    that the CSV file and the report hold the same lines.
    """
    view.table = table
    width = style.width_mm(view.spec.figure.get("width"))
    columns = [int(share / sum(shares) * width / CHARACTER_MM) - 1 for share in shares]
    lines = [[_wrapped(name, space) for name, space in zip(table.columns, columns)]]
    lines += [[_wrapped(value, space) for value, space in zip(line, columns)]
              for line in table.values.tolist()]
    heights = [LINE_MM * max(map(len, line)) + PADDING_MM for line in lines]
    view.facets = [None]
    figure = panels.Panels(view, 1, sum(heights))
    figure.draws(*view.cells)  # `table` is the view's own account of them
    axes = figure.axes[0]
    axes.axis("off")
    axes.set_xlim(0, sum(shares))
    axes.set_ylim(sum(heights), 0)
    top = 0.0
    for index, (line, height) in enumerate(zip(lines, heights)):
        _write(axes, line, shares, top, bold=index == 0)
        top += height
        if index == 0 or (group and 0 < index < len(table)
                          and table[group].iloc[index] != table[group].iloc[index - 1]):
            axes.plot([0, sum(shares)], [top, top], color="#444444" if index == 0 else "#CCCCCC",
                      linewidth=0.6)
    return figure.finish()


def _write(axes, line, shares, top, bold):
    left = 0.0
    for text, share in zip(line, shares):
        axes.text(left, top + PADDING_MM / 2, "\n".join(text), va="top", fontsize=6.5,
                  fontweight="bold" if bold else "normal")
        left += share


def _wrapped(value, columns):
    return textwrap.wrap("" if value is None else str(value), max(4, columns)) or [""]
