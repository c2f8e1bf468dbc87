"""Performance profiles: the share of cases that a series finishes within a factor of the best.

A curve starts at the share of cases in which its series is the fastest; its plateau, named where it
stays below 1, is the share that it finishes at all. One panel per kind of data unless the figure
map names another facet.
"""
from matplotlib.lines import Line2D

from retensor import style, summary
from retensor.figures import panels
from retensor.figures.cases import outcomes, problems_of

LISTED = 10  # failures named in a panel


def arrange(view):
    """Turn the cells' values into times over the best one and keep every panel's ratios."""
    found = outcomes(view)
    view.ratios = {facet: _ratios(found, facet, view.series) for facet in view.facets}
    for cell in view.cells:
        problems = problems_of(found, facet=cell.facet, dataset=cell.x)
        own = view.ratios[cell.facet][cell.series]
        known = [own[problem] for problem in problems if own[problem] is not None]
        cell.measured, cell.band = summary.geometric_mean([known]), None
        cell.ok, cell.total = len(known), len(problems)
    view.value_label = "time over the best"
    view.interval = ("95 % low", "95 % high")
    view.published = []


def _ratios(found, facet, series):
    """{series: {problem: ratio or None}} of one panel; series without any row of it included."""
    problems = problems_of(found, facet=facet)
    times = {name: dict.fromkeys(problems) for name in series}
    for outcome in found:
        if outcome.facet == facet:
            times[outcome.series][outcome.problem] = outcome.value
    ratios = summary.performance_ratios({name: list(own.values()) for name, own in times.items()})
    return {name: dict(zip(problems, own)) for name, own in ratios.items()}


def draw(view):
    """Draw an arranged view."""
    figure = panels.Panels(view, 2, 60)
    for axes, facet, cells in figure:
        curves = {name: summary.profile(list(own.values()))
                  for name, own in view.ratios[facet].items()}
        end = 1.15 * max(1.1, *(factor for steps in curves.values() for factor, _ in steps))
        for index, name in enumerate(view.series):
            _curve(axes, curves[name], end, index, list(view.ratios[facet][name].values()))
        axes.set_xlim(1, end)
        panels.set_scale(axes, "x", "log", "")
        axes.set_ylim(0, 1.04)
        _list_missing(axes, cells)
        figure.draws(*cells)  # each a step of its series' curve
    for index, name in enumerate(view.series):
        figure.explain(name, Line2D([], [], color=style.colour(index), markersize=3,
                                    marker=style.marker(index)))
    figure.label_axes("factor of the best time", "share of cases")
    return figure.finish()


def _curve(axes, steps, end, index, ratios):
    factors, shares = zip(*steps, (end, steps[-1][1]))
    axes.step(factors, shares, where="post", color=style.colour(index),
              marker=style.marker(index), markersize=3, markevery=0.2)
    solved = sum(ratio is not None for ratio in ratios)
    if solved < len(ratios):
        axes.annotate(f"{solved}/{len(ratios)}", (end, shares[-1]), (-2, -7), fontsize=6,
                      textcoords="offset points", ha="right", color=style.colour(index))


def _list_missing(axes, cells):
    missing = [f"\N{MULTIPLICATION SIGN} {cell.x}, {cell.series}: {cell.ok}/{cell.total} "
               f"({cell.status})" for cell in cells if cell.ok < cell.total]
    if len(missing) > LISTED:
        missing[LISTED:] = [f"and {len(missing) - LISTED} more (see the table)"]
    axes.text(0.98, 0.03, "\n".join(missing), transform=axes.transAxes, va="bottom", ha="right",
              fontsize=5.5, color=style.FAILED)
