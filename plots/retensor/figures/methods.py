"""Methods side by side: a line per problem, a point per method, a panel per quantity.

Drawn are problems on which two methods or more have results, and of a method's parameters on a
problem the fastest. Problems of one tensor have lines of their own: methods meet where contraction,
rank, type, values and modes agree. Of more methods than colours those of the most problems are
drawn. Hollow points have stale rows; the name of a line says what data it is of.
"""
from collections import Counter

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from retensor import style
from retensor.figures import captions, panels

TIME = "conversion"            # has a unit, so that its numbers take more room
QUANTITIES = (("GFLOPS", lambda line: line.gflops and line.gflops.value),
              ("bytes per nonzero", lambda line: line.per_nonzero),
              ("relative error", lambda line: line.error),
              (TIME, lambda line: line.prepare),
              ("runs to break even", lambda line: line.break_even))
LINE_MM = 4.2
WRAPPED_MM = 2.4               # a further line of a tensor's name
TOP_MM, BOTTOM_MM = 16.0, 8.0  # titles above the panels, numbers below them
CHARACTER_MM = 1.2             # of the tensors' names
NAME_CHARACTERS = 36           # in a line of such a name
STALE = "hollow: stale rows"
# Fields of a case that make different problems of a tensor, with what stands before their values.
TELLING = {"rank2": "second rank ", "dtype": "", "values": "values ", "operands": "operands ",
           "seed": "seed ", "alpha": "alpha ", "beta": "beta "}


def draw(lines, title):
    """Draw lines (report/methods.py) of one machine; None where no two methods meet."""
    places = {}
    for line in lines:
        if line.time:
            places.setdefault(_problem(line), []).append(line)
    places = _named(_met({problem: _fastest(own) for problem, own in places.items()}))
    found = Counter(line.method for own in places.values() for line in own)
    methods = sorted(name for name, _ in found.most_common(style.MOST_SERIES))
    places = _met({name: [line for line in own if line.method in methods]
                   for name, own in places.items()})
    if not places:
        return None
    quantities = [(label, value) for label, value in QUANTITIES
                  if any(_drawn(value(line)) for own in places.values() for line in own)]
    marks = {name: _mark(_look(index)) for index, name in enumerate(methods)}
    if any(line.stale for own in places.values() for line in own):
        marks[STALE] = _mark({**_look(5), "markerfacecolor": "white"})
    columns = style.legend_columns(list(marks), style.DOUBLE_MM)
    legend = panels.LINE_MM * -(-len(marks) // columns)
    names = ["\n".join(panels.wrapped(name, NAME_CHARACTERS)) for name in places]
    heights = _heights(names)
    height = heights[-1] + 1.6 * LINE_MM + TOP_MM + BOTTOM_MM + legend
    figure = Figure(figsize=(style.inches(style.DOUBLE_MM), style.inches(height)))
    left = CHARACTER_MM * max(len(line) for name in names for line in name.split("\n")) + 3
    grid = figure.add_gridspec(1, len(quantities), left=left / style.DOUBLE_MM, right=0.985,
                               wspace=0.16, bottom=(BOTTOM_MM + legend) / height,
                               top=1 - TOP_MM / height,
                               width_ratios=[1.4 if label == TIME else 1
                                             for label, _ in quantities])
    first = None
    for column, (label, value) in enumerate(quantities):
        axes = figure.add_subplot(grid[column], sharey=first)
        first = first or axes
        _panel(axes, label, value, places.values(), heights, methods)
        axes.set_yticks(heights, names)
        axes.tick_params(labelleft=column == 0)
    figure.suptitle(title, fontsize=9, y=1 - 1 / height, va="top")
    figure.text(0.5, 1 - 6 / height, _setting(places.values(), found, methods), fontsize=6.5,
                ha="center", va="top")
    figure.legend(marks.values(), marks.keys(), loc="lower center", ncol=columns,
                  bbox_to_anchor=(0.5, 1 / height), borderaxespad=0, labelspacing=0.3)
    return figure


def _met(places):
    """The places at which two methods or more met."""
    return {name: own for name, own in places.items() if len({line.method for line in own}) > 1}


def _heights(names):
    """Where the lines of tensors stand, in mm from the first; long names take several lines."""
    heights, y = [], 0.0
    for name in names:
        more = WRAPPED_MM * name.count("\n") / 2
        heights.append(y + more)
        y += LINE_MM + 2 * more
    return heights


def _setting(places, found, methods):
    """The types of the values, and how many methods have no place in the figure."""
    types = dict.fromkeys(line.row["case.dtype"] for own in places for line in own)
    said = "/".join(captions.TYPES.get(str(name), str(name)) for name in types)
    others = len(found) - len(methods)
    return said if not others else (f"{said}; the {len(methods)} methods with the most problems, "
                                    f"{others} more stand in the table")


def _problem(line):
    """What methods have to agree in: the name, and the further fields of the case as text."""
    return _name(line), tuple(_text(line.row.get(f"case.{field}")) for field in TELLING)


def _name(line):
    """A tensor with its contraction, its rank, and its modes where these are not all."""
    kind = line.row["case.data.kind"]
    variant = _text(line.row.get("case.variant"))
    rank = _text(line.row["case.rank"])
    known = [mode for mode in line.modes if mode != "None"]
    some = known if len(known) < len(line.row["case.data.dims"] or ()) else []
    return ", ".join([f"{line.row['case.dataset']}{'' if kind == 'real' else f' ({kind})'}",
                      *filter(None, [variant, rank and f"rank {rank}",
                                     some and f"mode {' and '.join(some)}"])])


def _text(value):
    return "" if value is None else captions.TYPES.get(str(value), str(value))


def _named(places):
    """The places by names that tell them apart: with the fields in which those of a name differ."""
    found = {}
    for (name, fields), own in places.items():
        alike = [other for same, other in places if same == name]
        more = [f"{words}{value}" for words, value, values in
                zip(TELLING.values(), fields, zip(*alike)) if value and len(set(values)) > 1]
        found[", ".join([name, *more])] = own
    return found


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


def _panel(axes, label, value, places, heights, methods):
    points = {}
    for height, own in zip(heights, places):
        for line in own:
            if _drawn(value(line)):
                points.setdefault((line.method, line.stale > 0), []).append((value(line), height))
    for (method, stale), found in sorted(points.items()):
        axes.plot(*zip(*found), **_look(methods.index(method))
                  | ({"markerfacecolor": "white"} if stale else {}))
    axes.set_title(label, fontsize=7)
    axes.grid(axis="x", which="major")
    axes.tick_params(labelsize=6)
    axes.set_ylim(heights[-1] + 0.6 * LINE_MM, -0.6 * LINE_MM)
    panels.limit(axes, "x", [value(line) for own in places for line in own
                             if _drawn(value(line))])
    panels.set_scale(axes, "x", "log", "s" if label == TIME else "", 3)


def _look(index):
    """Marker and colour of a method."""
    return {"marker": style.marker(index), "linestyle": "none", "markeredgewidth": 0.7,
            "markersize": 3.2, "color": style.colour(index)}


def _mark(look):
    return Line2D([], [], **look)
