"""How many times faster than a named method, by data set, then geometric means: dots around 1.

`to` in the figure map names what is compared with: a series of an ablation that is named so, else a
value of the hue field (by default a method's id), or a map of fields. Ratios are taken case by
case, with the same parameters where both have them unless one series alone is compared with (its
name, or a map that names a parameter and fits no other series), and on one machine where it ran
both; a data set's dot is the geometric mean of its cases. With `of` in place of `to` the ratios are
turned: how many times faster the named method is than each other. The last dots are geometric means
over data sets (of a stand-in the base), apart for each kind of data, with 95% bootstrap intervals,
and `n/N`: cases with a ratio of all cases.
"""
from retensor import summary
from retensor.errors import PlotError
from retensor.figures import bands, dots, published, quantity, units
from retensor.figures.cases import KINDS, outcomes, problems_of
from retensor.figures.series import named, written
from retensor.figures.view import VARIANT, Cell

NO_BASE, NOT_RUN = "no base", "not run"
PARAMS = "case.params."


def arrange(view):
    """Turn the cells' values into speedups and add those of the means."""
    found = outcomes(view)
    base = Base(view, found)
    found = _comparable(view, found, {outcome.facet for outcome in base.outcomes})
    others = [outcome for outcome in found if outcome not in base]
    shown = others or base.outcomes
    ratios = [(outcome, base.ratio(outcome)) for outcome in shown]
    base.expect_no_idle_series()
    view.series = [name for name in view.series if name in {o.series for o in shown}]
    if others:
        view.against = [member for outcome in base.outcomes for member in outcome.members]
        against = set(view.against)
        view.cells = [cell for cell in view.cells if against.isdisjoint(cell.members)]
    view.cells += _missing_cells(view, found)
    for cell in view.cells:
        _fill(cell, base, ratios, problems_of(found, facet=cell.facet, dataset=cell.x), view.fields)
    for facet in view.facets:
        for kind in _kinds(found):
            view.cells += _means(view, facet, kind, ratios, [o for o in found if _is_own(o)])
    view.xs += [_mean_name(kind) for kind in _kinds(found)]
    view.means = len(_kinds(found))
    view.published = published.of_ratios(view, view.verdicts, base.wanted, base.turned, {
        kind: _mean_name(kind) for kind in _kinds(found)})
    what = "" if view.fields.y == "stats.median" else f"{quantity.text(view.fields.y)}: "
    view.value_label = (f"{what}speedup of {base.told} over the series" if base.turned
                        else f"{what}speedup over {base.told}")
    view.interval = ("95 % low", "95 % high")
    _note_machines(view, others, base)


def draw(view):
    """Draw an arranged view."""
    return dots.Dots(view, centre=1).finish()


class Base:
    """What the others are compared with."""

    def __init__(self, view, found):
        self.turned = "of" in view.spec.figure
        self.wanted = _base_fields(view)
        self.name = ", ".join(self.wanted.values())
        self.told = ", ".join(named(column, value) for column, value in self.wanted.items())
        chosen = [outcome for outcome in found if outcome.series == self.name]
        self.alone = bool(chosen)  # one series, whatever its parameters
        self.outcomes = chosen or [outcome for outcome in found if self._is_wanted(outcome.row)]
        if not self.outcomes:
            raise PlotError(f"{view.spec.artifact}: no row is the {self.name} that `to` names")
        if any(name.startswith(PARAMS) for name in self.wanted):
            self.alone = len({outcome.series for outcome in self.outcomes}) == 1
        self.by_problem = {}
        for outcome in self.outcomes:
            self.by_problem.setdefault(outcome.problem, []).append(outcome)
        self.members = {member for outcome in self.outcomes for member in outcome.members}
        self.artifact = view.spec.artifact
        self.used = set()  # series with which another one was compared

    def __contains__(self, outcome):
        return not self.members.isdisjoint(outcome.members)

    def _is_wanted(self, row):
        return all(written(row[name]) == value for name, value in self.wanted.items())

    def of(self, outcome):
        """The outcome that this one is compared with, None where there is none."""
        candidates = [other for other in self.by_problem.get(outcome.problem, ())
                      if self.alone or self._agrees(outcome.row, other.row)]
        here = [other for other in candidates if other.row["device"] == outcome.row["device"]]
        candidates = here or candidates
        if len(candidates) > 1:
            raise PlotError(f"{outcome.row['case.artifact']}: `to` names several rows beside one of"
                            f" {outcome.series} on {outcome.dataset}; give more fields")
        if candidates:
            self.used.add(candidates[0].series)
        return candidates[0] if candidates else None

    def expect_no_idle_series(self):
        """No series is left out: one that `to` names with others has to be compared with."""
        idle = {outcome.series for outcome in self.outcomes} - self.used
        if self.used and idle:
            raise PlotError(f"{self.artifact}: `to` also names {'; '.join(sorted(idle))}, with "
                            "which nothing is compared; give more fields")

    def _agrees(self, row, other):
        """Whether the parameters that both have are the same, but for those that `to` names."""
        return not self._different(row, other)

    def _different(self, row, other):
        """The parameters in which two rows differ, but for those that `to` names."""
        return [name for name in row if name.startswith(PARAMS) and name not in self.wanted
                and None not in (row[name], other[name]) and row[name] != other[name]]

    def missing(self, outcome):
        """Why there is nothing to compare the outcome with."""
        near = self.by_problem.get(outcome.problem, ())
        if not near:
            return "no row to compare with"
        if self.of(outcome) is not None:
            return "no value to compare with"
        names = min((self._different(outcome.row, other.row) for other in near), key=len)
        values = ", ".join(named(name, written(outcome.row[name])) for name in names)
        return f"no row to compare with has {values}"

    def ratio(self, outcome):
        """How many times faster, None where either has no value."""
        other = self.of(outcome)
        if outcome.value is None or other is None or other.value is None:
            return None
        ratio = other.value / outcome.value
        return 1 / ratio if self.turned else ratio


def _base_fields(view):
    named = view.spec.figure.get("to") or view.spec.figure.get("of")
    if not named:
        raise PlotError(f"{view.spec.artifact}: a figure of speedups needs `to` or `of`, such as a "
                        "method")
    if not isinstance(named, dict):
        return {view.fields.hue: str(named)}
    columns = set(view.rows.columns)
    return {quantity.column(name, columns): written(value) for name, value in named.items()}


def _is_own(outcome):
    """Whether it is of a data set itself and not of a variant."""
    return outcome.row[VARIANT] is None


def _comparable(view, found, facets):
    """The outcomes of `facets`; the view loses its other panels, which have nothing to compare."""
    left_out = [str(facet) for facet in view.facets if facet not in facets]
    if left_out:
        view.notes.append(f"no row to compare with: {', '.join(left_out)}")
    view.facets = [facet for facet in view.facets if facet in facets]
    view.left_out = [member for cell in view.cells if cell.facet not in facets
                     for member in cell.members]
    view.cells = [cell for cell in view.cells if cell.facet in facets]
    view.xs = [x for x in view.xs if any(cell.x == x for cell in view.cells)]
    return [outcome for outcome in found if outcome.facet in facets]


def _missing_cells(view, found):
    """Cells of data sets that a series has no row of."""
    present = {(cell.facet, cell.x, cell.series) for cell in view.cells}
    kinds = {(outcome.facet, outcome.dataset): outcome.kind for outcome in found}
    return [Cell(facet, dataset, series, 0, 0, NOT_RUN, "no row", kind, 0, None)
            for (facet, dataset), kind in kinds.items() for series in view.series
            if (facet, dataset, series) not in present]


def _fill(cell, base, ratios, problems, fields):
    own = [(outcome, ratio) for outcome, ratio in ratios
           if (outcome.facet, outcome.dataset, outcome.series) == (cell.facet, cell.x, cell.series)]
    known = [ratio for _, ratio in own if ratio is not None]
    by_variant = {}
    for outcome, ratio in own:
        by_variant.setdefault(outcome.row[VARIANT], []).extend([] if ratio is None else [ratio])
    means = {variant: summary.geometric_mean([group]) for variant, group in by_variant.items()}
    reasons = sorted({base.missing(outcome) for outcome, ratio in own
                      if outcome.value is not None and ratio is None})
    if reasons:
        cell.status = NO_BASE if cell.status == "ok" else cell.status
        cell.reason = "; ".join(filter(None, [cell.reason, *reasons]))
    cell.measured, cell.paper_mean = means.get(None), None
    cell.band = bands.around(means, fields.widened)
    cell.ok, cell.total = len(known), len(problems)


def _kinds(found):
    present = {outcome.kind for outcome in found}
    return [*(kind for kind in KINDS if kind in present), *sorted(present - KINDS.keys())]


def _mean_name(kind):
    return f"geometric mean, {KINDS.get(kind, kind)}"


def _means(view, facet, kind, ratios, found):
    total = len(problems_of(found, facet=facet, kind=kind))
    cells = []
    for series in view.series if total else ():
        groups = {}
        for outcome, ratio in ratios:
            if ((outcome.facet, outcome.kind, outcome.series) == (facet, kind, series)
                    and _is_own(outcome)):
                groups.setdefault(outcome.dataset, []).append(ratio)
        known = [[r for r in group if r is not None] for group in groups.values()]
        mean, count = summary.geometric_mean(known), sum(map(len, known))
        cells.append(Cell(facet, _mean_name(kind), series, count, total,
                          "ok" if mean else "none ok", "", kind, 0, mean,
                          note=f"{units.shown(mean.value)}\N{MULTIPLICATION SIGN} {count}/{total}"
                          if mean else ""))
    return cells


def _note_machines(view, others, base):
    pairs = ((outcome, base.of(outcome)) for outcome in others)
    across = sorted({f"{outcome.row['device']} against {other.row['device']}"
                     for outcome, other in pairs
                     if other is not None and other.row["device"] != outcome.row["device"]})
    if across:
        view.notes.append(f"across machines: {'; '.join(across)}")
