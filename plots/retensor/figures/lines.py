"""A line per series over a numeric or named x axis, with quartile whiskers, gaps at failures.

More series than a panel takes become small multiples: a panel each, the facets as colours and all
other lines in grey behind.
"""
from dataclasses import replace

from matplotlib.lines import Line2D

from retensor import style
from retensor.figures import captions, dots, panels

MOST_TICKS = 10  # labels that have room on an axis of numbers; more stand side by side as names
LEAST_MM, ROOM_MM = 44, 58  # width of small multiples and of other panels
BESIDE_MM = 16  # of a panel's width, for the numbers of its axis
FREE_MM = 20    # of a panel's height that names below it leave at least
GAP = (float("nan"), float("nan"))  # between two lines that are drawn as one


def draw(view):
    """Draw a view as lines."""
    numeric = len(view.xs) <= MOST_TICKS and all(
        isinstance(x, (int, float)) and not isinstance(x, bool) for x in view.xs)
    small = len(view.series) > style.MOST_SERIES
    shown = _turned(view) if small else view
    columns = int(style.width_mm(view.spec.figure.get("width")) // (LEAST_MM if small else ROOM_MM))
    columns = max(1, min(columns, len(shown.facets)))
    room = style.width_mm(view.spec.figure.get("width")) / columns - BESIDE_MM
    names = 0 if numeric else panels.upright_mm(map(_name, view.xs), room)
    height = max(LEAST_MM if small else style.PANEL_MM, names + FREE_MM)
    figure = panels.Panels(shown, columns, height)
    common, behind = "", _all_points(shown, numeric) if small else None
    for axes, facet, cells in figure:
        common = _panel(figure, axes, facet, cells, numeric, behind)
    for index, name in enumerate(shown.series):
        if name:
            figure.explain(str(name), Line2D([], [], **_look(index)))
    figure.explain_data()
    x = dots.label_of(view) + (f" ({common}...)" if common else "")
    figure.label_axes(x, view.axis_label)
    return figure.finish()


def _turned(view):
    """The view with series as panels and facets as series."""
    names = {facet: "" if facet is None else captions.facet(view.fields.facet, facet)
             for facet in view.facets}
    cells = [replace(cell, facet=cell.series, series=names[cell.facet]) for cell in view.cells]
    return replace(view, cells=cells, facets=view.series, series=list(names.values()),
                   published=[], digitised=[])


def _all_points(view, numeric):
    """The lines of all panels as one, with gaps between them: places and values."""
    found, places = {}, _places(view, numeric)
    for cell in view.cells:
        if cell.measured:
            found.setdefault((cell.facet, cell.series), []).append(
                (places[cell.x], cell.measured.value))
    return list(zip(*[point for points in found.values() for point in (*points, GAP)])) or None


def _places(view, numeric):
    """Where the values of x stand on their axis."""
    return {x: x if numeric else index for index, x in enumerate(view.xs)}


def _panel(figure, axes, facet, cells, numeric, behind):
    view, common, failed = figure.view, "", []
    if behind:
        axes.plot(*behind, color="#D8D8D8", linewidth=0.5, zorder=1)
    for index, name in enumerate(view.series):
        failed += _line(figure, axes, [cell for cell in cells if cell.series == name], index,
                        numeric)
    for mark in view.published_in(facet):
        for value in mark.values:
            axes.axhline(value, color=style.PUBLISHED, linestyle="--", linewidth=1)
        figure.explain("published", Line2D([], [], color=style.PUBLISHED, linestyle="--"))
    places = {str(x): place for x, place in _places(view, numeric).items()}
    for point in view.digitised:
        if point.facet == ("" if facet is None else str(facet)) and point.x in places:
            _read_off(figure, axes, places[point.x], point)
    logarithmic = view.spec.figure.get("yscale") == "log"
    if logarithmic:
        panels.limit(axes, "y", [v for cell in (cells if not behind else view.cells)
                                 for v in dots.extent(cell)])
    else:
        axes.set_ylim(bottom=0)
    figure.fail_above(axes, failed)
    panels.set_scale(axes, "y", "log" if logarithmic else "linear", view.axis_unit)
    room = figure.width / figure.columns - BESIDE_MM
    if numeric and view.spec.figure.get("xscale") == "log":
        axes.set_xscale("log")
    if numeric and panels.CHARACTER_MM * sum(len(f"{x:g}") + 1 for x in view.xs) < room:
        axes.update_datalim([(x, 0) for x in view.xs], updatey=False)  # also where a panel has none
        axes.autoscale_view(scaley=False)
        axes.set_xticks(view.xs, [f"{x:g}" for x in view.xs])
        axes.minorticks_off()
    elif not numeric:
        common = panels.name_positions(axes, map(_name, view.xs), room)
    if not any(cell.measured for cell in cells):  # numbers of an axis would mean nothing
        axes.set(xticks=[], yticks=[])
    return common


def _read_off(figure, axes, x, point):
    look = {"color": style.PUBLISHED, "marker": "_", "markersize": 7, "linestyle": "none"}
    axes.errorbar(x, point.value, yerr=point.uncertainty or None, capsize=1.5, linewidth=0.7,
                  zorder=4, **{**look, "elinewidth": 0.7})
    figure.explain("published, read off the figure", Line2D([], [], **look))


def _name(x):
    return f"{x:g}" if isinstance(x, float) else x


def _look(index):
    return {"color": style.colour(index), "marker": style.marker(index), "markersize": 3.5,
            "markeredgewidth": 0.6}


def _line(figure, axes, cells, index, numeric):
    """Draw one series; returns its failures as (x, cell, colour)."""
    xs, ys, failed, places = [], [], [], _places(figure.view, numeric)
    for cell in cells:
        figure.draws(cell)
        x = places[cell.x]
        xs.append(x)
        ys.append(cell.measured.value if cell.measured else float("nan"))
        if cell.measured is None:
            failed.append((x, cell, style.colour(index)))
            continue
        if cell.band:
            look = {"color": "#222222", "alpha": 0.25, "linewidth": 5}
            axes.vlines(x, *cell.band, **look)
            figure.explain(figure.view.band_words, Line2D([], [], **look))
        note = " ".join(filter(None, [f"{cell.ok}/{cell.total}" if cell.ok < cell.total else "",
                                      "~" if cell.noisy else ""]))
        if note:
            axes.annotate(note, (x, cell.measured.high or cell.measured.value), (0, 2),
                          textcoords="offset points", ha="center", fontsize=5.5,
                          color=style.FAILED if cell.ok < cell.total else "#222222")
    panels.error_bars(axes, "y", [(x, cell.measured.value, cell.measured)
                                  for x, cell in zip(xs, cells) if cell.measured],
                      style.colour(index), elinewidth=0.7, capsize=1.5)
    hollow = {cell.data for cell in cells} & set(figure.view.data_kinds)
    axes.plot(xs, ys, **_look(index), **({"markerfacecolor": "white"} if hollow else {}))
    return failed
