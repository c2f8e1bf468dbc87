"""Cases one by one: what each series measured on a problem.

A problem is a data set with operation, mode, rank and whatever else a case has besides method and
parameters. Its launches are one measurement, which counts when all of them are ok. Every problem
that any series has a row of stays in the denominator of all, whether it failed or was left out. A
variant of a stand-in is a problem of its own, of the stand-in's data set.
"""
from dataclasses import dataclass

from retensor.errors import PlotError
from retensor.figures import quantity
from retensor.figures.view import IDENTITY, LABEL, SOLVER, VARIANT, fold_variants, records

KINDS = {"real": "real", "real pattern": "real pattern", "file": "user files",
         "stand-in": "stand-in", "generated": "generated"}


@dataclass
class Outcome:
    """What one series measured on one problem."""

    facet: object
    dataset: str
    kind: str        # of its data
    series: str
    problem: tuple
    row: dict        # one of its rows
    value: float     # None unless every launch is ok
    members: list    # labels of its rows


def outcomes(view):
    """The outcomes of all series of a view, in the order of the rows."""
    rows, fields = fold_variants(view.rows), view.fields
    if fields.y in quantity.RATES:
        raise PlotError(f"{view.spec.artifact}: ratios are of times or sizes, y can't be a rate")
    if fields.x != "case.dataset":
        raise PlotError(f"{view.spec.artifact}: x of this kind of figure is the data set")
    names = [name for name in rows.columns
             if name.startswith("case.") and not name.startswith((*IDENTITY, *SOLVER))
             and name not in (fields.hue, "case.launch")] + [VARIANT]
    groups = {}
    for row in records(rows):
        problem = tuple(str(row[name]) for name in names)
        place = (fields.facet_of(row), str(fields.x_of(row)), fields.series_of(row), problem)
        groups.setdefault(place, []).append(row)
    return [_outcome(place, members, fields.y) for place, members in groups.items()]


def _outcome(place, rows, column):
    all_ok = all(row["status"] == "ok" for row in rows)
    value = quantity.measure(rows, column) if all_ok else None
    facet, dataset, series, problem = place
    last = rows[-1]
    usable = value is not None and value.value > 0
    return Outcome(facet, dataset, str(last["case.data.kind"] or "unknown"), series, problem, last,
                   value.value if usable else None, [row[LABEL] for row in rows])


def problems_of(found, **place):
    """The problems of all outcomes at a place, such as facet=..., dataset=...; without doubles."""
    return list(dict.fromkeys(
        outcome.problem for outcome in found
        if all(getattr(outcome, name) == value for name, value in place.items())))
