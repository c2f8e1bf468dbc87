"""The roofline model (PASTA Fig. 3): ceilings over intensity, cases as points.

With `mark` in the figure map, a field such as operation, the points give way to the intensities of
that field's values, marked on the line of the measured DRAM bandwidth as the paper does.
"""
import numpy as np
from matplotlib.lines import Line2D

from retensor import style
from retensor.figures import dots, panels, quantity
from retensor.figures.scatter import scatter

STYLES = {"DRAM": "-", "last-level cache": "--", "DRAM, theory": ":"}
THEORY = "theory"


def draw(view):
    """Draw a view on log-log axes under the ceilings of its sessions."""
    figure = panels.Panels(view, 2, 70)
    marks = _marks(view)
    intensities = [x for name, x in marks] or [c.along.value for c in view.cells if c.along]
    roofs = _ceilings(view)
    low = min(intensities, default=0.1) / 2
    high = max([4 * max(intensities, default=1), *map(_ridge, roofs.values())])
    for axes, _, cells in figure:
        for machine, ceilings in roofs.items():
            _roof(figure, axes, np.geomspace(low, high, 64), machine, ceilings)
            _mark(figure, axes, marks, ceilings)
        if marks:
            figure.draws(*cells)  # which the marks stand for
        else:
            scatter(figure, axes, cells)
        for which in "xy":
            places = [value for line in axes.lines for value in getattr(line, f"get_{which}data")()]
            panels.limit(axes, which, places)
            panels.set_scale(axes, which, "log", "")
    figure.label_axes(dots.label_of(view), quantity.label(view.fields.y))
    return figure.finish()


def _marks(view):
    """(name, intensity) of each value of the marked field, the median over its ok rows; apart for
    each method where these differ by more than 5%.
    """
    if "mark" not in view.spec.figure:
        return []
    rows = view.rows[view.rows["status"] == "ok"]
    name = quantity.column(view.spec.figure["mark"], set(rows.columns))
    marks = {}
    for value, group in rows.groupby(name):
        intensities = group["work.intensity"].astype(float)
        medians = intensities.groupby(group["case.method"]).median()
        alike = medians.max() <= 1.05 * medians.min()
        marks |= {value: intensities.median()} if alike else {
            f"{value}, {method}": median for method, median in medians.items()}
    return sorted(marks.items(), key=lambda mark: mark[1])


def _mark(figure, axes, marks, ceilings):
    bandwidth = ceilings["gbytes"].get("dram")
    if bandwidth is None:
        return
    for index, (name, intensity) in enumerate(marks):
        look = {"marker": style.marker(index), "color": style.colour(index), "linestyle": "none"}
        axes.plot([intensity], [intensity * bandwidth], markersize=5, zorder=3, **look)
        figure.explain(f"{name}: {intensity:.3g} flop/byte", Line2D([], [], **look))


def _ceilings(view):
    """The last measured ceilings of every machine in the figure."""
    found = {}
    for _, row in view.rows.iterrows():
        known = view.results.ceilings.get((row["session"], row["backend"]))
        if known:
            found[row["device"]] = known
    if not found:
        view.notes.append("no roofline: no ceiling was measured in the sessions of these rows")
    return found


def _ridge(ceilings):
    """Twice the intensity at which the peak takes over from DRAM, 0 where either is unknown."""
    return 2 * ceilings.get("ridge", 0)


def _roof(figure, axes, intensities, machine, ceilings):
    value, measured = ceilings["values"], ceilings["gbytes"]
    bandwidths = {"DRAM": measured.get("dram"), "last-level cache": measured.get("llc"),
                  "DRAM, theory": value.get("theory_dram")}
    for name, bandwidth in bandwidths.items():
        if bandwidth is None:
            continue
        peak = value.get("theory_f32" if THEORY in name else "peak_f32", np.inf)
        axes.plot(intensities, np.minimum(intensities * bandwidth, peak), color=style.ROOF,
                  linestyle=STYLES[name], linewidth=1)
        figure.explain(f"{name}, {machine}: {bandwidth:,.0f} GB/s",
                       Line2D([], [], color=style.ROOF, linestyle=STYLES[name]))
    for what, name in (("peak_f32", "peak measured"), ("theory_f32", "peak in theory")):
        if what in value:
            figure.explain(f"{name}: {value[what]:,.0f} GFLOPS", Line2D([], [], alpha=0))
