"""Rows of one artifact arranged into the cells of its figure: facet x position x series.

Every row of the artifact is in exactly one cell. Only modes and launches are averaged in a cell;
whatever else differs inside one (a parameter, the rank, the machine) becomes part of the series. A
stand-in's variants share the cell of their base: its value is the base's, its band goes from the
least to the largest of them all, widened where bands.py says so.
Kinds that compare methods case by case (cases.py) gather all cases of a data set in
a cell; only methods, parameters and machines make their series.
"""
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from retensor import digitised, style
from retensor.errors import PlotError
from retensor.figures import bands, captions, published, quantity, units
from retensor.figures.series import Names, named, text

AVERAGED = ("case.mode", "case.launch")
IDENTITY = ("case.artifact", "case.data.")  # the same for all rows of a figure or a data set
BY_CASE = ("speedups", "performance-profile")
ORIGINAL = " (original)"
SOLVER = ("case.method", "case.params.", "device")
VARIANT = "stand_in_variant"  # of a stand-in that has its base beside it, None for all other rows
# What is said of rows whose method's sources are no longer the same.
CURRENCY = {"kernels": "are of the same machine code as today's",
            "confirmed": "are confirmed by a sample that was measured again",
            "unknown": "cannot be compared with today's kernels: this build has none",
            "stale": "are older than the code of their method"}
LABEL = "label of the row"  # in the frame of all
UNSEEN = 0.001  # of the largest value of a panel: less than the width of its axis
NUMBERS = re.compile(r"\d[\d.]*(-fold| of \d+)? ?")  # in a reason for noise
SHARE = "roofline.share"  # a y that is a cell's rate over its roof, in percent


@dataclass
class Cell:
    """One bar, point or table line."""

    facet: object
    x: object
    series: str
    ok: int
    total: int
    status: str            # ok, or the first other status
    reason: str
    data: str              # data.kind of its tensor
    stale: int
    measured: object       # quantity.Value or None
    along: object = None   # the same for a measured x axis (scatter, roofline)
    intensity: float = None
    bandwidth: float = None  # GB/s, None where no ceiling was measured
    stack: dict = field(default_factory=dict)
    keys: list = field(default_factory=list)
    members: list = field(default_factory=list)  # labels of its rows in Results.rows
    note: str = ""  # written beside the value
    noisy: int = 0  # rows whose samples are doubtful
    paper_mean: float = None  # the measured value as PASTA averages it
    band: tuple = None  # of a stand-in and its variants (bands.py)

    @property
    def gap(self):
        """What a figure writes where the value is missing."""
        return "no value" if self.status == "ok" else self.status

    @property
    def roof(self):
        """GFLOPS that the measured bandwidth allows at this intensity, None where unknown."""
        known = self.intensity is not None and self.bandwidth is not None
        return self.intensity * self.bandwidth if known else None


@dataclass
class View:
    """What a figure function gets: cells in drawing order and the notes that go with them."""

    spec: object
    cells: list
    fields: object
    facets: list
    xs: list
    series: list
    notes: list
    datasets: dict                  # data kind -> names of its data sets
    results: object
    ok: int                         # rows
    total: int
    value_label: str = ""
    interval: tuple = ("first quartile", "third quartile")
    means: int = 0                  # of the positions, how many at the end are means
    ratios: dict = field(default_factory=dict)  # facet -> series -> problem -> over the best
    published: list = field(default_factory=list)
    verdicts: list = field(default_factory=list)  # on the claims of the paper
    digitised: list = field(default_factory=list)  # points read off the published figure
    table: object = None  # a DataFrame in place of the cells' own table
    against: list = field(default_factory=list)   # labels of the rows that others are compared with
    left_out: list = field(default_factory=list)  # and of those without any to compare with

    def panel(self, facet):
        """Cells of one panel."""
        return [cell for cell in self.cells if cell.facet == facet]

    @property
    def data_kinds(self):
        """Kinds of data that the figure has to announce."""
        return [kind for kind in style.DATA_KINDS if kind in self.datasets]

    @property
    def data_label(self):
        """Names the data that is not a published tensor; empty for real data alone."""
        return "; ".join(f"{kind} data: {', '.join(self.datasets[kind])}"
                         for kind in self.data_kinds)

    @property
    def stem(self):
        """File name without suffix: the artifact's name, then every kind of data but real."""
        return ".".join([self.spec.name, *(kind.replace(" ", "-") for kind in self.data_kinds)])

    @property
    def band_words(self):
        """What the legend says of the band around a stand-in."""
        return bands.words(self.fields.widened)

    @property
    def axis_unit(self):
        """Unit of the values on their axis, empty where they are ratios."""
        return quantity.unit(self.value_column) if self.value_label == self._column_label else ""

    @property
    def axis_label(self):
        """Label of the axis of the values, whose numbers carry units with prefixes."""
        if self.value_label != self._column_label:
            return self.value_label
        return units.label(quantity.text(self.value_column), self.axis_unit)

    @property
    def value_column(self):
        """The row column whose values are drawn."""
        return SHARE if self.fields.share else self.fields.y

    @property
    def _column_label(self):
        return quantity.label(self.value_column)

    def published_in(self, facet):
        """Published values of one panel."""
        return [mark for mark in self.published if mark.facet == facet]

    @cached_property
    def rows(self):
        """The rows of the artifact."""
        return rows_of(self.spec, self.results)


def rows_of(spec, results):
    """The rows of a spec's artifact; where its figure asks for `originals`, with imported ones,
    whose method is called so."""
    rows = results.rows[results.rows["case.artifact"] == spec.rows_of]
    if not spec.figure.get("originals") or results.originals is None:
        return rows
    others = results.originals[results.originals["case.artifact"] == spec.rows_of]
    return pd.concat([rows, others.assign(**{"case.method": others["case.method"] + ORIGINAL})])


def records(rows):
    """The rows as dicts with their labels as LABEL: a cell is made of few, for which a frame of
    its own takes longer than all that is done with it. Columns hold objects (results.py), which
    `to_dict` would examine one by one."""
    return [{LABEL: label, **dict(zip(rows.columns, values))}
            for label, values in zip(rows.index, rows.to_numpy().tolist())]


def make_view(results, spec, verdicts=()):
    """Arrange the rows of the spec's artifact; raises PlotError when there are none."""
    rows = rows_of(spec, results)
    if rows.empty:
        raise PlotError(f"no row of {spec.rows_of}; `retensor run` with its spec measures some")
    rows = with_absent(fold_variants(rows), spec.figure)
    fields = _Fields(rows, spec.figure)
    groups = {}
    for row in records(rows):
        place = (fields.facet_of(row), fields.x_of(row), fields.series_of(row))
        groups.setdefault(place, []).append(row)
    cells = [_cell(place, members, fields) for place, members in groups.items()]
    sort = _Sorter(spec, fields)
    facets = sort(fields.facet, (cell.facet for cell in cells))
    xs = sort(fields.x, (cell.x for cell in cells))
    series = sort(fields.hue, (cell.series for cell in cells))
    orders = [{value: place for place, value in enumerate(values)}
              for values in (facets, xs, series)]
    cells.sort(key=lambda c: [order[value] for order, value
                              in zip(orders, (c.facet, c.x, c.series))])
    datasets = {str(kind): sorted(set(members["case.dataset"].astype(str)))
                for kind, members in rows.groupby("case.data.kind", dropna=False)}
    notes = _machines(rows, results.sessions) + _notes(rows, cells, spec)
    if fields.series_of.usual:
        usual = ", ".join(named(name, value) for name, value in fields.series_of.usual.items())
        notes.append(f"where nothing else is said: {usual}")
    view = View(spec, cells, fields, facets, xs, series, notes, datasets, results,
                int((rows["status"] == "ok").sum()), len(rows),
                quantity.label(SHARE if fields.share else fields.y))
    view.verdicts = [v for v in verdicts if v.get("paper") == spec.paper]
    view.published = published.of_values(view, view.verdicts)
    if not spec.figure.get("share"):
        view.published += published.of_times(view, view.verdicts)
    view.digitised = digitised.points(spec)
    return view


def fold_variants(rows):
    """The rows with a column VARIANT; where that names one, `case.dataset` is the base's name."""
    names = rows["case.dataset"]
    given = rows.get("case.data.variant", [None] * len(rows))
    bases = {name for name, variant in zip(names, given) if variant == "base"}
    owners = [str(name).split("@")[0] for name in names]
    folded = [variant not in (None, "base") and owner in bases
              for owner, variant in zip(owners, given)]
    rows = rows.assign(**{"case.dataset": [
        owner if fold else name for owner, name, fold in zip(owners, names, folded)]})
    # A frame of many blocks complains of a column that is inserted.
    variants = pd.Series([variant if fold else None for variant, fold in zip(given, folded)],
                         index=rows.index, name=VARIANT, dtype=object)
    return pd.concat([rows, variants], axis=1)


def with_absent(rows, figure):
    """The rows with the figure's `absent` where its hue has no value."""
    if "absent" not in figure:
        return rows
    hue = quantity.column(figure.get("hue", "method"), set(rows.columns))
    return rows.assign(**{hue: rows[hue].where(rows[hue].notna(), figure["absent"])})


class _Fields:
    """Row columns behind the names of a figure map."""

    def __init__(self, rows, figure):
        columns = set(rows.columns)
        measured_x = figure.get("kind") in ("scatter", "roofline")
        place = figure.get("label" if measured_x else "x", "dataset")
        self.x = quantity.column(place, columns)
        self.along = (quantity.column(figure.get("x", "intensity"), columns)
                      if measured_x else None)
        self.by_case = figure.get("kind") in BY_CASE
        y = figure.get("y", "time" if self.by_case else "gflops")
        self.share = y == SHARE
        self.y = quantity.column("gflops" if self.share else y, columns)
        self.widened = bands.factor(self.y, figure.get("kind") == "speedups")
        self.hue = quantity.column(figure.get("hue", "method"), columns)
        facet = figure.get("facet", "data.kind" if figure.get("kind") == BY_CASE[1] else None)
        self.facet = quantity.column(facet, columns) if facet else None
        stack = figure.get("stack", "stages")
        self.stack = ([name for name in rows.columns if name.startswith("phases.stages.")]
                      if stack == "stages" else [quantity.column(name, columns) for name in stack])
        if figure.get("kind") != "stacked-bars":
            self.stack = []
        used = {self.x, self.hue, self.facet}
        self.machines = (rows["device"].nunique() > 1 and "device" not in used
                         and (not self.by_case or rows["backend"].nunique() > 1))
        self.series_of = Names(rows, self.hue, self._free(rows), figure.get("names"))

    def facet_of(self, row):
        facet = _plain(row[self.facet]) if self.facet else None
        if not self.machines:
            return facet
        place = captions.machine(row["device"])
        return place if facet is None else f"{captions.facet(self.facet, facet)}, {place}"

    def x_of(self, row):
        return _plain(row[self.x])

    def _free(self, rows):
        """Case fields, and the device, that differ inside a cell and are not averaged."""
        machine = "device" if self.machines else None
        used = list(dict.fromkeys(name for name in (self.facet, self.x, self.hue, machine) if name))
        texts = {name: list(map(text, rows[name])) for name in used}
        found = []
        for name in (name for name in rows.columns if self._splits(name) and name not in used):
            values = rows[name].tolist()
            if all(value is values[0] for value in values):  # None in most columns
                continue
            texts[name] = list(map(text, values))
            cells = [texts[column] for column in (*used, *found)]
            if len(set(texts[name])) > 1 and len(set(zip(*cells))) < len(
                    set(zip(*cells, texts[name]))):
                found.append(name)
        return found

    def _splits(self, name):
        """Whether rows that differ in this column belong to different series."""
        if self.by_case or name == "device":
            return name.startswith(SOLVER)
        return (name.startswith("case.") and not name.startswith(IDENTITY)
                and name not in AVERAGED)


class _Sorter:
    """Values in the order of the spec, then numbers by size, then text with its numbers by size."""

    def __init__(self, spec, fields):
        self.order = spec.order
        self.joined = (fields.hue, fields.facet)  # which may be followed by more

    def __call__(self, column, values):
        given = [str(value).removesuffix("@all") for value in self.order.get(column, [])]

        def key(value):
            text = str(value).split(", ")[0] if column in self.joined else str(value)
            number = float(value) if isinstance(value, (int, float)) else 0.0
            parts = [int(part) if part.isdigit() else part
                     for part in re.split(r"([0-9]+)", str(value))]
            return (given.index(text) if text in given else len(given), number, parts)
        return sorted(set(values), key=key)


def _plain(value):
    return "none" if value is None else text(value) if isinstance(value, list) else value


def _cell(place, rows, fields):
    ok, bad = [[row for row in rows if (row["status"] == "ok") == wanted]
               for wanted in (True, False)]
    reasons = dict.fromkeys(f"{row['status']}: {_mode(row)}{row['reason'] or 'no reason given'}"
                            for row in bad)
    last = rows[-1]
    variants = dict.fromkeys([None, *(row[VARIANT] for row in rows)])
    own = {variant: [row for row in ok if row[VARIANT] == variant] for variant in variants}
    values = {variant: quantity.measure(held, fields.y) for variant, held in own.items()}
    base = own[None]
    cell = Cell(*place, ok=len(ok), total=len(rows), status=bad[0]["status"] if bad else "ok",
                reason="; ".join(reasons), data=str(last["case.data.kind"] or "unknown"),
                stale=sum(map(int, (row["stale"] for row in rows))),
                measured=values[None], band=bands.around(values, fields.widened),
                intensity=_intensity(base),
                bandwidth=last.get("roofline.gbytes"),
                along=quantity.measure(base, fields.along) if fields.along else None,
                stack={name: quantity.measure(base, name) for name in fields.stack},
                paper_mean=quantity.paper_mean(base, fields.y),
                noisy=sum(bool(row.get("noise.reasons")) for row in rows),
                keys=[row["key"] for row in rows], members=[row[LABEL] for row in rows])
    if fields.share and cell.measured:
        cell.measured = cell.measured.scaled(100 / cell.roof) if cell.roof else None
        cell.band = cell.paper_mean = None  # of rates
    return cell


def _mode(row):
    return "" if row["case.mode"] is None else f"mode {row['case.mode']}: "


def _intensity(rows):
    """Flops over bytes of all rows, so that the roof of averaged modes is their common one."""
    flops, moved = (sum(quantity.numbers_of(rows, name)) for name in ("work.flops", "work.bytes"))
    return flops / moved if moved > 0 else None


def _machines(rows, sessions):
    """How many machines stand together under the name of their model."""
    found = {}
    for name, backend, device in zip(rows["session"], rows["backend"], rows["device"]):
        machine = sessions.get(name, {}).get("machine") or {}
        identity = (machine.get("identity") or {}).get("gpu" if backend == "cuda" else "host")
        if identity:
            found.setdefault(device, set()).add(identity)
    return [f"{device}: rows of {len(identities)} machines" for device, identities in
            sorted(found.items()) if len(identities) > 1]


def _notes(rows, cells, spec):
    notes = []
    bad = rows[rows["status"] != "ok"]
    if len(bad):
        counts = ", ".join(f"{n} {status}" for status, n in bad["status"].value_counts().items())
        notes.append(f"{len(rows) - len(bad)} of {len(rows)} cases ok ({counts})")
    notes += [f"{int((rows['currency'] == word).sum())} of {len(rows)} rows {what}"
              for word, what in CURRENCY.items() if (rows["currency"] == word).any()]
    noisy = [found for found in rows.get("noise.reasons", ()) if found]
    if noisy:
        kinds = Counter(NUMBERS.sub("", reason).strip() for reasons in noisy for reason in reasons)
        told = ", ".join(f"{kind}: {count}" for kind, count in kinds.items())
        notes.append(f"~: {len(noisy)} of {len(rows)} rows are noisy ({told})")
    if "clock_flag" in rows.columns and rows["clock_flag"].eq(True).any():
        notes.append(f"{int(rows['clock_flag'].eq(True).sum())} of {len(rows)} rows ran while the "
                     "clock drifted by more than 2 %")
    if spec.figure.get("overlay") == "roofline":
        missing = sum(cell.ok > 0 and cell.roof is None for cell in cells)
        if missing:
            notes.append(f"no roofline for {missing} of {len(cells)} bars: no bandwidth was "
                         "measured in their session")
    return notes + _unseen(cells, spec.figure)


def _unseen(cells, figure):
    """What a linear axis does not show."""
    if figure.get("kind") not in ("grouped-bars", "lines") or figure.get("yscale") == "log":
        return []
    panels = defaultdict(list)
    for cell in cells:
        if cell.measured:
            panels[cell.facet].append(cell.measured.value)
    small = sum(0 < value < UNSEEN * max(values) for values in panels.values() for value in values)
    return [f"{small} of {sum(map(len, panels.values()))} values are below {UNSEEN:.1%} of the "
            "largest of their panel; `yscale: log` shows them"] if small else []
