"""Values by position and series, positions down the page: dots on a logarithmic axis, with stems
where a value is a ratio to 1, bars on a linear one. Whiskers are quartiles.

A red line is a case's roof: its operational intensity times the bandwidth measured in its session
(PASTA Fig. 4 to 7). A grey line or bracket is a published value. More series than a panel takes
stand down the page themselves, with the positions as colours.
"""
import math
from collections import Counter, defaultdict
from dataclasses import dataclass

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import blended_transform_factory

from retensor import style
from retensor.figures import captions, panels, quantity

LANE_MM = 2.3    # height of a mark with its note
GAP_MM = 1.7     # between the lanes of two positions
HEAD_MM = 14     # of a panel's title and axis
NAME_CHARACTERS = 34  # in a line of a position's name
NOTE_MM = 1.12   # width of a character of a note
LEAST_MM = 34    # of a panel


@dataclass
class Lane:
    """A mark's place on the page."""

    y: float
    name: str     # of the row of lanes
    colour: int   # index of its series, or position where series stand down the page
    cell: object


class Dots:
    """The figure; `centre` is the value that stems start from."""

    def __init__(self, view, centre=None):
        self.view, self.centre = view, centre
        figure = view.spec.figure
        self.log = centre is not None or figure.get("yscale") == "log"
        self.turned = (len(view.series) > max(style.MOST_SERIES, len(view.xs))
                       or len(view.xs) == 1 < len(view.series))
        self.names, self.colours = ((view.series, view.xs) if self.turned
                                    else (view.xs, view.series))
        held = {facet: {self._row_of(cell) for cell in view.panel(facet)} for facet in view.facets}
        self.alike = len(set(map(frozenset, held.values()))) == 1  # panels share their rows' names
        counts = Counter((cell.facet, self._row_of(cell)) for cell in view.cells)
        self.most = {name: max(counts[facet, name] for facet in view.facets) for name in self.names}
        means = 0 if self.turned else view.means
        named = [str(name) for name in self.names]
        self.common = captions.common_beginning(named[:len(named) - means])
        self.lanes = {facet: self._lanes(view.panel(facet)) for facet in view.facets}
        width = style.width_mm(figure.get("width"))
        longest = max((len(line) for name in self.names for line in self._name(name)), default=0)
        self.left = panels.CHARACTER_MM * longest + 4
        columns = int((width - (self.left if self.alike else 0))
                      / (LEAST_MM + (0 if self.alike else self.left)))
        columns = max(1, min(columns, len(view.facets), int(width // panels.LEAST_MM)))
        columns = math.ceil(len(view.facets) / math.ceil(len(view.facets) / columns))
        self.inner = (width - self.left * (1 if self.alike else columns)) / columns - 8
        self.ends = [self._end(facet) for facet in view.facets]
        heights = [max(self.ends[start:start + columns]) + HEAD_MM
                   for start in range(0, len(view.facets), columns)]
        self.panels = panels.Panels(view, columns, heights,
                                    (width - columns * self.inner) / columns)

    def _name(self, name):
        return panels.wrapped(str(name).removeprefix(self.common), NAME_CHARACTERS) or [""]

    def _row_of(self, cell):
        return cell.series if self.turned else cell.x

    def _lanes(self, cells):
        """A lane for every cell; those of a position stand together."""
        lanes, y, by_name = [], 0.0, defaultdict(list)
        for cell in cells:
            by_name[self._row_of(cell)].append(cell)
        for name in self.names:
            own = by_name[name]
            most = self.most[name] if self.alike else len(own)
            room = max(LANE_MM * most, 2.7 * len(self._name(name)) if own else 0)
            for index, cell in enumerate(own):
                colour = self.colours.index(cell.x if self.turned else cell.series)
                lanes.append(Lane(y + room * (index + 0.5) / len(own), name, colour, cell))
            y += room + GAP_MM if most else 0
        return lanes

    def _end(self, facet):
        lanes = self.lanes[facet]
        return lanes[-1].y + LANE_MM if lanes else LANE_MM

    def finish(self):
        for index, (axes, facet, _) in enumerate(self.panels):
            row = index // self.panels.columns * self.panels.columns
            end = max(self.ends[row:row + self.panels.columns])
            self._panel(axes, facet, end, index % self.panels.columns == 0 or not self.alike)
        for index, name in enumerate(self.colours):
            if len(self.colours) > 1:
                told = isinstance(name, str) or not self.turned
                what = "" if told else f"{quantity.text(self.view.fields.x)} "
                self.panels.explain(f"{what}{name}", self._handle(index))
        self.panels.explain_data(hollow=self.log)
        field = self.view.fields.hue if self.turned else self.view.fields.x
        told = not self.common and all(isinstance(name, str) for name in self.names)
        self.panels.label_axes(self.view.axis_label,
                               "" if told else captions.axis_label(field, self.common))
        return self.panels.finish()

    def _handle(self, index):
        if not self.log:
            return Patch(facecolor=style.colour(index), edgecolor=style.EDGE, linewidth=0.4)
        return Line2D([], [], **self._look(index))

    def _look(self, index):
        return {"color": style.colour(index), "marker": style.marker(index), "linestyle": "none",
                "markeredgecolor": style.EDGE, "markeredgewidth": 0.5, "markersize": 4.2}

    def _panel(self, axes, facet, end, named):
        lanes = self.lanes[facet]
        axes.set_ylim(end, -LANE_MM / 2)
        self._rows(axes, lanes, named)
        published = self.view.published_in(facet)
        points = [point for point in self.view.digitised
                  if point.facet == ("" if facet is None else str(facet))]
        self._limits(axes, lanes, [value for mark in published for value in mark.values]
                     + [point.value for point in points])
        for lane in sorted(lanes, key=lambda lane: lane.colour):
            self.panels.draws(lane.cell)
            if lane.cell.measured is None:
                self._fail(axes, lane)
                continue
            self._mark(axes, lane)
        for lane in (lane for lane in lanes if lane.cell.measured):
            self._write(axes, lane, [value for mark in published if mark.is_of(lane.cell)
                                     for value in mark.values])
        panels.error_bars(axes, "x", [(lane.cell.measured.value, lane.y, lane.cell.measured)
                                      for lane in lanes if lane.cell.measured], "#222222",
                          elinewidth=0.6, capsize=1.2, capthick=0.6,
                          zorder=2.5 if self.log else 3)
        for mark in published:
            self._published(axes, lanes, mark)
        for point in points:
            self._read_off(axes, lanes, point)

    def _rows(self, axes, lanes, named):
        """The names of the positions, with every second one on grey ground."""
        places = {}
        for lane in lanes:
            places.setdefault(lane.name, []).append(lane.y)
        if named:
            axes.set_yticks([(ys[0] + ys[-1]) / 2 for ys in places.values()],
                            ["\n".join(self._name(name)) for name in places])
        else:
            axes.set_yticks([])
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        for index, ys in enumerate(places.values()):
            if index % 2 == 0:
                axes.axhspan(ys[0] - (LANE_MM + GAP_MM) / 2, ys[-1] + (LANE_MM + GAP_MM) / 2,
                             color="#F4F4F4", zorder=0, linewidth=0)

    def _limits(self, axes, lanes, published):
        """An axis with room for all values, and for the notes beside them."""
        values = [value for lane in lanes for value in extent(lane.cell, self._roofs)]
        values += published
        values = [value for value in values if value > 0 or not self.log]
        share, before = (self._room(lanes, below) for below in (False, True))
        if not self.log:
            high = max([0.0, *values]) or 1.0
            axes.set_xlim(min([0.0, *values]), high / (1 - share))
            whole = self.view.axis_unit == "" and all(float(v).is_integer() for v in values)
            panels.set_scale(axes, "x", "linear", self.view.axis_unit, self._ticks, whole)
            if self.view.axis_unit == "s" and high < 1e-12:
                axes.set_xticks([])
            return
        values += [] if self.centre is None else [self.centre / 1.25, self.centre * 1.25]
        low, high = (min(values), max(values)) if values else (0.1, 10)
        if high < 1.6 * low:
            low, high = low / 1.3, high * 1.3
        span = math.log(high / low)
        span /= 1 - share - before
        axes.set_xlim(low / math.exp(before * span), high * math.exp(share * span))
        panels.set_scale(axes, "x", "log", self.view.axis_unit, self._ticks)
        if self.centre is not None:
            axes.axvline(self.centre, color="#222222", linewidth=0.8, zorder=1)

    def _room(self, lanes, below):
        """The share of the axis that notes need, right of the marks or left of those below 1."""
        longest = max((len(self._note(lane.cell)) for lane in lanes
                       if self._is_below(lane.cell) == below), default=0)
        return min(0.4, (NOTE_MM * longest + 3) / max(10, self.inner)) if longest else 0.05

    def _is_below(self, cell):
        """Whether a stem leads to the right of its mark, where a note would stand on it."""
        return (self.centre is not None and cell.measured is not None
                and cell.measured.value < self.centre)

    @property
    def _ticks(self):
        return max(2, int(self.inner / 13))

    @property
    def _roofs(self):
        return self.view.spec.figure.get("overlay") == "roofline"

    def _mark(self, axes, lane):
        cell, value, index = lane.cell, lane.cell.measured.value, lane.colour
        if cell.band:
            look = {"color": "#222222", "alpha": 0.25, "linewidth": 4}
            axes.hlines(lane.y, *cell.band, **look)
            self.panels.explain(self.view.band_words,
                                Line2D([], [], **look))
        if self.centre is not None:
            axes.plot([self.centre, value], [lane.y, lane.y], color=style.colour(index),
                      linewidth=0.9, zorder=2)
        if self.log:
            hollow = cell.data in self.view.data_kinds
            axes.plot(value, lane.y, zorder=3, **self._look(index) | (
                {"markerfacecolor": "white", "markeredgecolor": style.colour(index),
                 "markeredgewidth": 0.9} if hollow else {}))
        else:
            axes.barh(lane.y, value, 0.85 * LANE_MM, color=style.colour(index), linewidth=0.4,
                      edgecolor="white", hatch=style.HATCHES.get(cell.data))
        if self._roofs and cell.roof is not None:
            self._line(axes, cell.roof, lane.y, LANE_MM, style.ROOF, 1.4)
            self.panels.explain("roofline (measured bandwidth)",
                                Line2D([], [], color=style.ROOF, marker="|", linestyle="none"))

    def _write(self, axes, lane, published):
        """The note of a mark, beyond the published values that would stand on it."""
        cell, note = lane.cell, self._note(lane.cell)
        if not note:
            return
        side = -1 if self._is_below(cell) else 1
        end = max(extent(cell), key=lambda value: side * value)
        place = axes.transData.transform  # limits are final, so that shares of the axis are too
        width = abs(place((axes.get_xlim()[1], 0))[0] - place((axes.get_xlim()[0], 0))[0])
        for value in sorted(published, key=lambda value: side * value):
            apart = side * (place((value, 0))[0] - place((end, 0))[0]) / width * self.inner
            end = value if 0 <= apart <= NOTE_MM * len(note) + 3 else end
        axes.annotate(note, (end, lane.y), (4 * side, 0), va="center", fontsize=5.5,
                      ha="left" if side > 0 else "right", textcoords="offset points",
                      annotation_clip=False,
                      color=style.FAILED if cell.ok < cell.total else "#222222")

    @staticmethod
    def _note(cell):
        """The cell's note, else `n/N` where some of its cases are missing; `~` for noisy ones."""
        if cell.measured is None:
            return ""
        partial = f"{cell.ok}/{cell.total}" if cell.ok < cell.total else ""
        return " ".join(filter(None, [cell.note or partial, "~" if cell.noisy else ""]))

    def _fail(self, axes, lane):
        """A cross where a value would begin, with what happened."""
        base = blended_transform_factory(axes.transAxes, axes.transData)
        axes.plot([0.02], [lane.y], marker="x", color=style.FAILED, markersize=3.5,
                  linestyle="none", transform=base, clip_on=False)
        axes.annotate(lane.cell.gap, (0.02, lane.y), (4, 0), xycoords=base, fontsize=5.5,
                      textcoords="offset points", va="center", color=style.FAILED, zorder=5,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3})
        self.panels.explain("not ok (reason in the table)",
                            Line2D([], [], marker="x", color=style.FAILED, linestyle="none"))

    @staticmethod
    def _line(axes, x, y, height, colour, width, **look):
        axes.plot([x, x], [y - height / 2, y + height / 2], color=colour, linewidth=width,
                  solid_capstyle="butt", zorder=4, **look)

    def _published(self, axes, lanes, mark):
        """A published value at its lanes, or across the panel where it is that of all."""
        own = [lane.y for lane in lanes if mark.is_of(lane.cell)]
        bracket = len(mark.values) == 2
        look = {"color": style.PUBLISHED, "linewidth": 0.8 if bracket else 1.5,
                "solid_capstyle": "butt"}
        handle = Line2D([], [], color=style.PUBLISHED, marker="|", markersize=7,
                        markeredgewidth=1.5, linestyle="none")
        if mark.everywhere or not own:
            own = [lane.y for lane in lanes]
        low, high = min(own) - LANE_MM / 2, max(own) + LANE_MM / 2
        for value in mark.values:
            axes.plot([value, value], [low, high], zorder=4, **look)
        if bracket:
            axes.plot(mark.values, [(low + high) / 2] * 2, zorder=1.5, **look)
        if mark.sign:  # at least, at most
            axes.plot(mark.values[0], (low + high) / 2, zorder=4, color=style.PUBLISHED,
                      marker=">" if mark.sign > 0 else "<", markersize=3)
        self.panels.explain("published", handle)

    def _read_off(self, axes, lanes, point):
        """A point read off the published figure, with how far off the reading may be; a line down
        the panel, in the colour of its series, where it is of no position."""
        if not point.x:
            colour = (style.colour(self.view.series.index(point.series))
                      if point.series in self.view.series and not self.turned
                      else style.PUBLISHED)
            axes.axvline(point.value, color=colour, linestyle="--", linewidth=0.9, zorder=1.5)
            self.panels.explain(f"published: {point.source}",
                                Line2D([], [], color=style.PUBLISHED, linestyle="--"))
            return
        for lane in lanes:
            cell = lane.cell
            if str(cell.x) == point.x and point.series in ("", cell.series):
                look = {"color": style.PUBLISHED, "marker": "_", "markersize": 7,
                        "linestyle": "none"}
                axes.errorbar(point.value, lane.y, xerr=point.uncertainty or None, capsize=1.5,
                              linewidth=0.7, zorder=4, **{**look, "marker": "|"})
                self.panels.explain("published, read off the figure",
                                    Line2D([], [], **{**look, "marker": "|"}))


def extent(cell, roofs=False):
    """The values that a cell's mark reaches."""
    if cell.measured is None:
        return []
    found = [cell.measured.value, cell.measured.low, cell.measured.high, *(cell.band or ())]
    if roofs:
        found.append(cell.roof)
    return [value for value in found if value is not None]


def draw(view):
    """Draw a view as dots or bars."""
    return Dots(view).finish()


def label_of(view):
    """Label of the x axis of kinds whose positions lie along it."""
    return quantity.label(view.fields.along or view.fields.x)
