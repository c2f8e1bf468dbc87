"""What all figure kinds share: the grid of panels, titles, legend, marks of failed cases."""
import math
import textwrap
from collections import Counter

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import blended_transform_factory

from plots import style
from plots.errors import PlotError
from plots.figures import quantity

CHARACTER_MM = 1.35  # width of a character of a tick label
NOTE_MM = 7  # width of a note above a bar
LINE_MM = 3.3  # height of a line of title or legend
# Largest over least value of a logarithmic axis with numbers between its decades.
FEW_DECADES = {"x": 10, "y": 100}


class Panels:
    """A figure with one panel per facet, filled by a figure kind and closed by `finish`."""

    def __init__(self, view, columns, height_mm=style.PANEL_MM, names=()):
        """`names` are those of the positions on the x axis, where these are named."""
        self.view = view
        self.width = style.width_mm(view.spec.figure.get("width"))
        columns = min(columns, len(view.facets))
        self.rows = math.ceil(len(view.facets) / columns)
        self.columns = columns
        self.names = [str(name) for name in names]
        longest = max(map(len, self.names), default=0)
        room = (self.width / columns - 10) / max(1, len(self.names))
        self.slanted = CHARACTER_MM * longest > room
        self.crowded = 0.8 * room < NOTE_MM * len(view.series)
        self.label_columns = height_mm / 1.6
        self.panel_mm = height_mm + (CHARACTER_MM * longest / 2 if self.slanted else 0)
        self.figure = Figure(figsize=(style.inches(self.width),
                                      style.inches(self.rows * height_mm)))
        self.axes = [self.figure.add_subplot(self.rows, columns, i + 1)
                     for i in range(len(view.facets))]
        self.handles = {}
        self.drawn = set()

    def __iter__(self):
        for axes, facet in zip(self.axes, self.view.facets):
            if facet is not None:
                axes.set_title(self.title(facet), loc="left")
            yield axes, facet, self.view.panel(facet)

    def title(self, facet):
        """A word says what it is; a number, yes or no is that of something."""
        name = quantity.label(self.view.fields.facet)
        if isinstance(facet, bool):
            return f"{name}={facet}"
        return f"{name} {facet:g}" if isinstance(facet, (int, float)) else str(facet)

    def draws(self, *cells):
        """Told of every cell that has a mark or a word in the figure."""
        self.drawn.update(map(id, cells))

    def explain(self, label, handle):
        """Put an entry into the legend, once."""
        self.handles.setdefault(label, handle)

    def scale(self, axes):
        """Set the scales that the spec asks for."""
        for which in ("x", "y"):
            if self.view.spec.figure.get(f"{which}scale") == "log":
                logarithmic(axes, which)

    def name_positions(self, axes, names=None):
        """Names below the axis, all or those given, slanted where they would touch."""
        names = self.names if names is None else names
        axes.set_xticks(range(len(names)))
        axes.set_xticklabels(names, rotation=30 if self.slanted else 0,
                             ha="right" if self.slanted else "center",
                             rotation_mode="anchor" if self.slanted else "default")
        axes.set_xlim(-0.6, len(names) - 0.4)

    def label_axes(self, x, y):
        """Axis labels at the outer panels."""
        figure = self.view.spec.figure
        for index, axes in enumerate(self.axes):
            if index + self.columns >= len(self.axes):
                axes.set_xlabel(figure.get("xlabel", x))
            if index % self.columns == 0:
                axes.set_ylabel("\n".join(_wrapped(figure.get("ylabel", y), self.label_columns)))

    def fail(self, axes, x, cell):
        """Mark a case without a bar: a cross where it would stand, with its status."""
        base = blended_transform_factory(axes.transData, axes.transAxes)
        self._cross(axes, x, 0.03, style.FAILED, base)
        axes.text(x, 0.09, cell.gap, rotation=90, color=style.FAILED, fontsize=6, ha="center",
                  va="bottom", transform=base)

    def fail_above(self, axes, failed):
        """Mark failures among lines, (x, cell, colour) each, in a strip kept free at the top."""
        level = Counter()
        for x, cell, colour in failed:
            level[x] += 1
            base = blended_transform_factory(axes.transData, axes.transAxes)
            height = 1 - 0.09 * level[x] + 0.03
            self._cross(axes, x, height, colour, base)
            axes.annotate(cell.gap, (x, height), (4, 0), xycoords=base, color=colour,
                          textcoords="offset points", fontsize=6, va="center")
        low, high = axes.get_ylim()
        share = 0.1 * max(level.values(), default=0)
        log = axes.get_yscale() == "log"
        axes.set_ylim(low, high * (high / low) ** share if log else high + (high - low) * share)

    def _cross(self, axes, x, height, colour, base):
        axes.plot([x], [height], marker="x", color=colour, linestyle="none", transform=base,
                  clip_on=False)
        self.explain("not ok (reason in the table)",
                     Line2D([], [], marker="x", color=style.FAILED, linestyle="none"))

    def mark_partial(self, axes, x, cell, below=None):
        """Write the cell's note, else `n/N`, above a value that some of its cases are missing from,
        higher than the cells `below`; upwards where notes would touch.
        """
        partial = cell.ok < cell.total
        text = cell.note or (f"{cell.ok}/{cell.total}" if partial else "")
        if cell.measured and text:
            top = max(c.measured.high or c.measured.value for c in below or [cell] if c.measured)
            axes.annotate(text.replace("\n", ", ") if self.crowded else text, (x, top), (0, 2),
                          textcoords="offset points", ha="center",
                          fontsize=5 if self.crowded else 6, rotation=90 if self.crowded else 0,
                          color=style.FAILED if partial else "#222222")

    def band(self, axes, x, cell):
        """Draw the range of a stand-in's variants at a position."""
        if cell.band is None:
            return
        look = {"color": "#222222", "alpha": 0.25, "linewidth": 5}
        axes.vlines(x, *cell.band, **look)
        self.explain("stand-in: least to largest of its variants", Line2D([], [], **look))

    def read_off(self, axes, x, point):
        """Mark a point read off the published figure, with how far off the reading may be."""
        look = {"color": style.PUBLISHED, "marker": "_", "markersize": 7, "linestyle": "none"}
        axes.errorbar(x, point.value, yerr=point.uncertainty or None, capsize=1.5, linewidth=0.7,
                      zorder=4, **{**look, "elinewidth": 0.7})
        self.explain("published, read off the figure", Line2D([], [], **look))

    def explain_data(self):
        """Legend entries for the kinds of data that are not real."""
        for kind in self.view.data_kinds:
            self.explain(f"{kind} data", Patch(facecolor="white", edgecolor="#444444",
                                               hatch=style.HATCHES[kind]))

    def finish(self):
        """Title, legend and notes in strips of their own; returns the figure.

        Raises PlotError where a cell of the view is neither drawn nor said to be missing.
        """
        lost = [cell for cell in self.view.cells if id(cell) not in self.drawn]
        if lost:
            names = dict.fromkeys(f"{cell.series} on {cell.x}" for cell in lost)
            raise PlotError(f"{self.view.spec.artifact}: the figure lost {'; '.join(names)}")
        title = _wrapped(self.view.spec.title, self.width / 1.7) or [""]
        label = _wrapped(self.view.data_label, self.width / 1.45)
        notes = [line for note in self.view.notes
                 for line in _wrapped(note, self.width / 1.25)]
        columns = style.legend_columns(list(self.handles), self.width)
        legend = math.ceil(len(self.handles) / columns)
        top = LINE_MM * (1.25 * len(title) + len(label)) + 1.5
        bottom = LINE_MM * (legend + len(notes)) + 1.5
        height = self.rows * self.panel_mm + top + bottom
        self.figure.set_size_inches(style.inches(self.width), style.inches(height))
        self.figure.text(0.5, 1 - 1 / height, "\n".join(title), ha="center", va="top", fontsize=9)
        self.figure.text(0.5, 1 - (1 + LINE_MM * 1.25 * len(title)) / height, "\n".join(label),
                         ha="center", va="top", fontsize=7, color="#444444")
        self.figure.text(0.5, 1 / height, "\n".join(notes), ha="center", va="bottom", fontsize=6.5,
                         color="#444444")
        if self.handles:
            self.figure.legend(self.handles.values(), self.handles.keys(), loc="lower center",
                               ncol=columns, borderaxespad=0.2, labelspacing=0.3,
                               bbox_to_anchor=(0.5, LINE_MM * len(notes) / height))
        self.figure.set_layout_engine(
            "constrained", rect=(0, bottom / height, 1, 1 - (top + bottom) / height))
        return self.figure


def logarithmic(axes, which):
    """A logarithmic x or y axis with plain numbers at the decades; also at twice and five times
    these where the axis has few of them.
    """
    getattr(axes, f"set_{which}scale")("log")
    axis = getattr(axes, f"{which}axis")

    def between(value, _):
        low, high = axis.get_view_interval()
        few = high < FEW_DECADES[which] * low
        return f"{value:g}" if few and f"{value:e}"[0] in "25" else ""
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(between)


def _wrapped(text, columns):
    return textwrap.wrap(text, int(columns), break_on_hyphens=False)


def error_arms(value):
    """Lengths below and above a value as `errorbar` wants them; None without quartiles."""
    if value.low is None or value.high is None:
        return None
    return [[max(0.0, value.value - value.low)], [max(0.0, value.high - value.value)]]


def label_of(view):
    """Labels of the x and the y axis."""
    fields = view.fields
    return quantity.label(fields.along or fields.x), view.value_label
