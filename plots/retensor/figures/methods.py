"""Methods side by side: a line per tensor, a point per method, a panel per quantity.

Drawn are tensors on which two methods or more have results, and of a method's parameters on a
tensor the fastest. Hollow points have stale rows; the name of a tensor says what data it is.
"""
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from retensor import style
from retensor.figures import panels

QUANTITIES = (("GFLOPS", lambda line: line.gflops and line.gflops.value),
              ("bytes a nonzero", lambda line: line.per_nonzero),
              ("relative error", lambda line: line.error),
              ("conversion", lambda line: line.prepare),
              ("runs to break even", lambda line: line.break_even))
LINE_MM = 4.2
TOP_MM, BOTTOM_MM = 11.0, 8.0  # titles above the panels, numbers below them
CHARACTER_MM = 1.2             # of the tensors' names
STALE = "hollow: stale rows"


def draw(lines, title):
    """Draw lines (report/methods.py) of one machine; None where no two methods meet."""
    places = {}
    for line in lines:
        if line.time:
            places.setdefault(_name(line), []).append(line)
    places = {name: _fastest(own) for name, own in places.items()}
    places = {name: own for name, own in places.items()
              if len({line.method for line in own}) > 1}
    if not places:
        return None
    quantities = [(label, value) for label, value in QUANTITIES
                  if any(_drawn(value(line)) for own in places.values() for line in own)]
    methods = sorted({line.method for own in places.values() for line in own})
    marks = {name: _mark(_look(index)) for index, name in enumerate(methods)}
    if any(line.stale for own in places.values() for line in own):
        marks[STALE] = _mark({**_look(5), "markerfacecolor": "white"})
    columns = style.legend_columns(list(marks), style.DOUBLE_MM)
    legend = panels.LINE_MM * -(-len(marks) // columns)
    height = LINE_MM * (len(places) + 1) + TOP_MM + BOTTOM_MM + legend
    figure = Figure(figsize=(style.inches(style.DOUBLE_MM), style.inches(height)))
    left = CHARACTER_MM * max(map(len, places)) + 3
    grid = figure.add_gridspec(1, len(quantities), left=left / style.DOUBLE_MM, right=0.985,
                               wspace=0.16, bottom=(BOTTOM_MM + legend) / height,
                               top=1 - TOP_MM / height)
    first = None
    for column, (label, value) in enumerate(quantities):
        axes = figure.add_subplot(grid[column], sharey=first)
        first = first or axes
        _panel(axes, label, value, places, methods)
        axes.tick_params(labelleft=column == 0)
    figure.suptitle(title, fontsize=9, y=1 - 1 / height, va="top")
    figure.legend(marks.values(), marks.keys(), loc="lower center", ncol=columns,
                  bbox_to_anchor=(0.5, 1 / height), borderaxespad=0, labelspacing=0.3)
    return figure


def _name(line):
    """A tensor with what else tells its points apart from others'."""
    kind = line.row["case.data.kind"]
    rank = f", rank {line.row['case.rank']}" if line.row["case.rank"] else ""
    return f"{line.row['case.dataset']}{'' if kind == 'real' else f' ({kind})'}{rank}"


def _fastest(lines):
    """The fastest line of every method and operation."""
    best = {}
    for line in lines:
        place = (line.method, line.row["case.operation"])
        if place not in best or line.time.value < best[place].time.value:
            best[place] = line
    return list(best.values())


def _drawn(found):
    """Whether a value has a place on a logarithmic axis: 0 runs and `never` have none."""
    return isinstance(found, (int, float)) and found > 0


def _panel(axes, label, value, places, methods):
    for height, own in enumerate(places.values()):
        for line in own:
            if _drawn(value(line)):
                look = _look(methods.index(line.method))
                axes.plot(value(line), height, **look
                          | ({"markerfacecolor": "white"} if line.stale else {}))
    axes.set_title(label, fontsize=7)
    axes.grid(axis="x", which="major")
    axes.set_yticks(range(len(places)))
    axes.set_yticklabels(places)
    axes.tick_params(labelsize=6)
    axes.set_ylim(len(places) - 0.4, -0.6)
    panels.limit(axes, "x", [value(line) for own in places.values() for line in own
                             if _drawn(value(line))])
    panels.set_scale(axes, "x", "log", "s" if label == "conversion" else "", 3)


def _look(index):
    """Marker and colour of a method; both change, so that 36 methods differ."""
    return {"marker": style.marker(index), "linestyle": "none", "markeredgewidth": 0.7,
            "markersize": 3.2,
            "color": style.SERIES[(index + index // len(style.MARKERS)) % len(style.SERIES)]}


def _mark(look):
    return Line2D([], [], **look)
