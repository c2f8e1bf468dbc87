"""What all figure kinds share: the grid of panels, what stands around it, marks of failures."""
import math
import textwrap
from collections import Counter

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import blended_transform_factory

from retensor import style
from retensor.errors import PlotError
from retensor.figures import captions, units

CHARACTER_MM = 1.3  # width of a character of a tick label
LINE_MM = 3.3       # height of a line of title or legend
LEAST_MM = 43       # width of a panel
TICK_MM = 17        # room of a number on an axis
LEAST_SPREAD = 0.005  # of a value, between quartiles that are drawn


class Panels:
    """A figure with one panel per facet, filled by a figure kind and closed by `finish`."""

    def __init__(self, view, columns, heights=style.PANEL_MM, left=12):
        """In mm `heights` of every row of panels, or one for all, and what stands left of each."""
        self.view = view
        self.width = style.width_mm(view.spec.figure.get("width"))
        self.columns = max(1, min(columns, len(view.facets), int(self.width // LEAST_MM)))
        rows = math.ceil(len(view.facets) / self.columns)
        self.heights = heights if isinstance(heights, list) else [heights] * rows
        self.figure = Figure(figsize=(style.inches(self.width), style.inches(sum(self.heights))))
        grid = self.figure.add_gridspec(rows, self.columns, height_ratios=self.heights)
        self.axes = [self.figure.add_subplot(grid[index // self.columns, index % self.columns])
                     for index in range(len(view.facets))]
        self.inner = self.width / self.columns - left
        self.ticks = max(2, int((self.width / self.columns - 14) / TICK_MM))
        self.handles = {}
        self.drawn = set()

    def __iter__(self):
        titles = captions.panels(self.view)
        for axes, facet in zip(self.axes, self.view.facets):
            if titles.get(facet):
                room = self.inner / 1.45
                axes.set_title("\n".join(wrapped(titles[facet], room)), loc="left")
            yield axes, facet, self.view.panel(facet)

    def draws(self, *cells):
        """Told of every cell that has a mark or a word in the figure."""
        self.drawn.update(map(id, cells))

    def explain(self, label, handle):
        """Put an entry into the legend, once."""
        self.handles.setdefault(label, handle)

    def label_axes(self, x, y):
        """Axis labels at the outer panels."""
        figure = self.view.spec.figure
        for index, axes in enumerate(self.axes):
            if index + self.columns >= len(self.axes):
                axes.set_xlabel("\n".join(wrapped(figure.get("xlabel", x), self.inner / 1.25)))
            if index % self.columns == 0:
                room = (self.heights[index // self.columns] - _upright_mm(axes)) / 1.6
                axes.set_ylabel("\n".join(wrapped(figure.get("ylabel", y), room)))

    def fail_above(self, axes, failed, told=False):
        """Mark failures among lines, (x, cell, colour) each, in a strip kept free at the top: a
        cross for each, and what happened once, unless the legend has `told` it.
        """
        level, most = Counter(), max(Counter(x for x, _, _ in failed).values(), default=0)
        step = min(0.07, 0.5 / max(1, most))  # half of the panel stays for what did not fail
        base = blended_transform_factory(axes.transData, axes.transAxes)
        for x, cell, colour in failed:
            level[x] += 1
            axes.plot([x], [1 - step * (level[x] - 0.43)], marker="x", color=colour,
                      linestyle="none", transform=base, clip_on=False)
            if not told:
                self.explain(f"{cell.gap} (reason in the table)",
                             Line2D([], [], marker="x", color=style.EDGE, linestyle="none"))
        low, high = axes.get_ylim()
        share = step * most
        share /= 1 - share
        log = axes.get_yscale() == "log"
        axes.set_ylim(low, high * (high / low) ** share if log else high + (high - low) * share)

    def explain_data(self, hollow=True):
        """Legend entries for the kinds of data that are not real."""
        for kind in self.view.data_kinds:
            if hollow:
                self.explain(f"hollow: {kind} data",
                             Line2D([], [], color=style.EDGE, linestyle="none", marker="o",
                                    markerfacecolor="white"))
            else:
                self.explain(f"{kind} data", Patch(facecolor="white", edgecolor=style.EDGE,
                                                   hatch=style.HATCHES[kind]))

    def finish(self):
        """Title, setting, legend and notes in strips of their own; returns the figure.

        Raises PlotError where a cell of the view is neither drawn nor said to be missing.
        """
        lost = [cell for cell in self.view.cells if id(cell) not in self.drawn]
        if lost:
            names = dict.fromkeys(f"{cell.series} on {cell.x}" for cell in lost)
            raise PlotError(f"{self.view.spec.artifact}: the figure lost {'; '.join(names)}")
        title = wrapped(captions.title(self.view.spec), self.width / 1.95) or [""]
        setting = wrapped(captions.setting(self.view), self.width / 1.5)
        notes = [line for note in self.view.notes for line in wrapped(note, self.width / 1.4)]
        columns = style.legend_columns(list(self.handles), self.width)
        legend = sum(max(label.count("\n") + 1 for label in row)
                     for row in _legend_rows(list(self.handles), columns))
        top = LINE_MM * (1.25 * len(title) + len(setting)) + 2
        bottom = LINE_MM * (legend + 0.9 * len(notes)) + 2
        height = sum(self.heights) + top + bottom
        self.figure.set_size_inches(style.inches(self.width), style.inches(height))
        left = 1.5 / self.width
        self.figure.text(left, 1 - 1 / height, "\n".join(title), va="top", fontsize=9)
        self.figure.text(left, 1 - (1 + LINE_MM * 1.25 * len(title)) / height, "\n".join(setting),
                         va="top", fontsize=7, color=style.EDGE)
        self.figure.text(left, 1 / height, "\n".join(notes), va="bottom", fontsize=6,
                         color=style.EDGE)
        if self.handles:
            self.figure.legend(self.handles.values(), self.handles.keys(), loc="lower center",
                               ncol=columns, borderaxespad=0.2, labelspacing=0.3,
                               bbox_to_anchor=(0.5, (1 + LINE_MM * 0.9 * len(notes)) / height))
        self.figure.set_layout_engine(
            "constrained", rect=(0, bottom / height, 1, 1 - (top + bottom) / height),
            w_pad=style.inches(2.5), wspace=0.02)
        return self.figure


def set_scale(axes, which, kind, unit, ticks=5, whole=False):
    """A linear or logarithmic axis whose limits are final, with its numbers; `whole`: all values
    are whole numbers."""
    axis = getattr(axes, f"{which}axis")
    if kind == "log":
        limits = axis.get_view_interval()
        getattr(axes, f"set_{which}scale")("log")
        getattr(axes, f"set_{which}lim")(*limits)
        units.logarithmic(axis, unit, ticks)
    else:
        units.scale(axis, unit, ticks, whole)


def limit(axes, which, values):
    """A logarithmic axis around positive values."""
    values = [value for value in values if value > 0] or [0.1, 1]
    low, high = min(values), max(values)
    share = max(0.06 * math.log(high / low), 0.15)
    getattr(axes, f"set_{which}scale")("log")
    getattr(axes, f"set_{which}lim")(low / math.exp(share), high * math.exp(share))


def name_positions(axes, names, room_mm):
    """Names below an axis, without what all begin with, upright where they would touch; returns
    that common beginning.
    """
    names = list(names)
    common, short = _shortened(names)
    axes.set_xticks(range(len(short)), short, rotation=90 if upright_mm(names, room_mm) else 0)
    axes.set_xlim(-0.6, len(short) - 0.4)
    return common


def upright_mm(names, room_mm):
    """The height of names below an axis that has so much room, 0 where they do not stand upright.
    """
    _, short = _shortened(names)
    longest = CHARACTER_MM * max(map(len, short), default=0)
    return longest if longest > room_mm / max(1, len(short)) - 1 else 0


def _shortened(names):
    """What all names begin with, and what follows in each."""
    names = [str(name) for name in names]
    common = captions.common_beginning(names)
    return common, [name.removeprefix(common) for name in names]


def wrapped(text, columns):
    """Lines of at most so many characters."""
    return textwrap.wrap(str(text), max(8, int(columns)), break_on_hyphens=False)


def _upright_mm(axes):
    """The height of the longest name that stands upright below a panel."""
    labels = [tick.label1 for tick in axes.xaxis.majorTicks]  # those that name_positions made
    return CHARACTER_MM * max((len(label.get_text()) for label in labels
                               if label.get_rotation()), default=0)


def _legend_rows(labels, columns):
    """The labels by the rows of a legend, which fills its columns first."""
    deep = math.ceil(len(labels) / columns)
    return [labels[row::deep] for row in range(deep)] if labels else []


def folded(name, width):
    """A name of a legend in lines that fit a width in millimetres."""
    return "\n".join(wrapped(name, width / 1.5))


def error_bars(axes, along, marks, colour, **look):
    """Quartiles of the values of marks (x, y, value) as bars along the axis "x" or "y", where a
    mark would not hide them: one call, since each takes longer than its bars."""
    known = [mark for mark in marks if None not in (mark[2].low, mark[2].high)
             and mark[2].high - mark[2].low > LEAST_SPREAD * abs(mark[2].value)]
    if known:
        arms = [[max(0.0, value.value - value.low) for _, _, value in known],
                [max(0.0, value.high - value.value) for _, _, value in known]]
        axes.errorbar([x for x, _, _ in known], [y for _, y, _ in known], **{f"{along}err": arms},
                      fmt="none", ecolor=colour, **look)
