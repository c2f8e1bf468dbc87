"""Published values in figures: those whose claim asks for what a figure shows.

The values of a claim are drawn where its rows lie: in the lanes of a position, of a series, or of
both, as a line, two bounds of a range, or a bound with the side on which values may lie.
"""
import functools
from collections import namedtuple
from pathlib import Path

import yaml

from retensor import digitised
from retensor.figures import quantity
from retensor.spec import LOADER

RATIOS = ("times", "ratio", "x", "")  # units of ratios


class Mark(namedtuple("Mark", "facet x series values sign claim")):
    """A published value in a panel. `x` or `series` is None where its rows have several; `values`
    is one, or the bounds of a range; `sign` 1: at least, -1: at most, 0: the value.
    """

    @property
    def everywhere(self):
        """Whether it is of a panel and of no place in it."""
        return self.x is None and self.series is None

    def is_of(self, cell):
        """Whether the mark belongs to a cell."""
        return self.x in (None, cell.x) and self.series in (None, cell.series)


def of_values(view, verdicts):
    """Marks of the quantity that a view shows, in its unit."""
    column = view.value_column
    return [mark for verdict in verdicts
            if _has_quantity(verdict, column) and not _ratio_to(verdict)
            for mark in _marks(view, verdict)]


def of_ratios(view, verdicts, base, turned, positions):
    """Marks of ratios of one series' values to another's: at the position of the means that the
    rows of the claim belong to, or at that of their data set.

    `base` maps columns to what is compared with, whose values the claims are over where the figure
    is `turned`; `positions` maps kinds of data to the positions of their means.
    """
    marks = []
    for verdict in verdicts:
        query, over = _query(verdict), _ratio_to(verdict)
        side = over if turned else query.get("where")
        if over and _is_ratio(verdict, query, view.fields.y) and _is_base(side, base):
            marks += _marks(view, verdict, positions)
    return marks


def of_times(view, verdicts):
    """Marks of ratios between times, in a figure of times: each times the one value that it is
    over, at the others that its claim is about. All stand in one panel."""
    marks, place = [], _places(view)
    for verdict in verdicts:
        over = _ratio_to(verdict)
        if not over or not _is_ratio(verdict, _query(verdict), "stats.median"):
            continue
        ratios, sign = _values(verdict["published"])
        cells = {id(cell): cell for cell in _cells(verdict, place)}.values()
        bases = [cell for cell in cells if cell and _meets(view, cell, over)]
        if not ratios or len(bases) != 1 or len({cell and cell.facet for cell in cells}) > 1:
            continue
        times = tuple(ratio * _time(view, bases[0]) for ratio in ratios)
        marks += [Mark(cell.facet, cell.x, cell.series, times, sign, verdict["id"])
                  for cell in cells if cell is not bases[0] and _time(view, cell) and times[0]]
    return marks


def _places(view):
    """The cell of each row, by the row's key."""
    return {key: cell for cell in view.cells for key in cell.keys}


def _cells(verdict, place):
    """The cells of the rows that a claim took; None for a row that is in none."""
    keys = verdict.get("keys")
    return [place.get(key) for key in keys] if isinstance(keys, list) else []


def _time(view, cell):
    """The seconds that a cell shows, as a stack or a value; 0 where it shows none."""
    if cell.stack:
        return sum(part.value for part in cell.stack.values() if part)
    shows = view.value_column == "stats.median" and cell.measured
    return cell.measured.value if shows else 0


def _meets(view, cell, where):
    """Whether all rows of a cell are such as the `where` of a query asks for."""
    rows = view.rows.loc[cell.members]
    for name, asked in where.items():
        column = next((known for known in (name, f"case.{name}") if known in rows), None)
        allowed = asked if isinstance(asked, list) else [asked]
        if column is None or not all(value in allowed for value in rows[column]):
            return False
    return True


def _marks(view, verdict, positions=None):
    """The marks of a claim, in each panel that its rows lie in; a value, not a ratio, needs all of
    them in one."""
    cells = _cells(verdict, _places(view))
    if positions is not None:
        cells = [cell for cell in cells if cell]  # those of the base are in no cell
    values, sign = _values(verdict["published"])
    if not values or not cells or None in cells:
        return []
    facets = dict.fromkeys(cell.facet for cell in cells)
    if len(facets) > 1 and positions is None:
        return []
    return [mark for facet in facets
            for mark in _in_panel(view, facet, [cell for cell in cells if cell.facet == facet],
                                  positions, (values, sign, verdict["id"]))]


def _in_panel(view, facet, cells, positions, told):
    xs, series = ({getattr(cell, name) for cell in cells} for name in ("x", "series"))
    places = list(xs) if len(xs) == 1 else [None]
    if len(xs) > 1 and positions is not None and told[1] == 0:
        places = list(dict.fromkeys(positions[cell.data] for cell in cells
                                    if cell.data in positions))
    if len(series) > 1 and len({cell.series for cell in view.panel(facet)}) > len(series):
        return []
    name = next(iter(series)) if len(series) == 1 else None
    return [Mark(facet, where, name, *told) for where in places]


def _values(published):
    """What was published as (values, sign); no values where it is no number."""
    for form, sign in (("value", 0), ("at_least", 1), ("at_most", -1)):
        if _is_number(published.get(form)):
            return (float(published[form]),), sign
    bounds = published.get("range")
    if isinstance(bounds, list) and len(bounds) == 2 and all(map(_is_number, bounds)):
        return tuple(map(float, bounds)), 0
    return (), 0


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _has_quantity(verdict, column):
    """Whether a claim's published number is one of this row column, in its unit."""
    published, asked = verdict.get("published"), verdict.get("value")
    return (isinstance(published, dict)
            and published.get("unit", "") == quantity.unit(column)
            and quantity.ALIASES.get(asked, asked) == column)


def _is_ratio(verdict, query, column):
    published, asked = verdict.get("published"), query.get("value")
    return (isinstance(published, dict) and published.get("unit", "") in RATIOS
            and "over" not in query  # no figure draws a ratio of ratios
            and quantity.ALIASES.get(asked, asked) == column)


def _is_base(where, base):
    """Whether the rows that a claim compares with are those of the figure."""
    if not where:
        return False
    for column, value in base.items():
        asked = where.get(column.removeprefix("case."))
        if asked is None or (str(asked) != value and str(asked).lower() != value.lower()):
            return False
    return True


def _query(verdict):
    """The query of a claim; empty where the paper's claims are not at hand."""
    return _queries(digitised.PAPERS, str(verdict.get("paper"))).get(verdict.get("id")) or {}


def _ratio_to(verdict):
    """The rows that a claim's value is over those of, None where it is no ratio."""
    ratio = _query(verdict).get("ratio_to")
    return (ratio.get("where") or {"": ""}) if isinstance(ratio, dict) else None


@functools.lru_cache(maxsize=None)
def _queries(papers, paper):
    """The queries of a paper's claims by id; none where there is no such file."""
    path = Path(papers) / paper / "paper" / "claims.yaml"
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)
        return {claim["id"]: claim.get("query") for claim in content["claims"]}
    except (OSError, KeyError, TypeError, yaml.YAMLError):
        return {}
