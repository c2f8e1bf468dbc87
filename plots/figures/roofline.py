"""The roofline model (PASTA Fig. 3): measured ceilings over intensity, cases as points."""
import numpy as np
from matplotlib.lines import Line2D

from plots import style
from plots.figures import panels, quantity
from plots.figures.scatter import scatter
from plots.figures.view import dram_bandwidth

STYLES = {"DRAM": "-", "last-level cache": "--"}


def draw(view):
    """Draw a view on log-log axes under the ceilings of its sessions."""
    figure = panels.Panels(view, 2, 70)
    intensities = [cell.along.value for cell in view.cells if cell.along]
    roofs = _ceilings(view)
    low = min(intensities, default=0.1) / 2
    high = max([4 * max(intensities, default=1), *map(_ridge, roofs.values())])
    for axes, _, cells in figure:
        for machine, ceilings in roofs.items():
            _roof(figure, axes, np.geomspace(low, high, 64), machine, ceilings)
        scatter(figure, axes, cells)
        panels.logarithmic(axes, "x")
        panels.logarithmic(axes, "y")
    figure.label_axes(quantity.label(view.fields.along), quantity.label(view.fields.y))
    return figure.finish()


def _ceilings(view):
    """The last measured ceilings of every machine in the figure."""
    rows = view.results.rows
    found = {}
    for _, row in rows[rows["case.artifact"] == view.spec.artifact].iterrows():
        known = view.results.ceilings.get((row["session"], row["backend"]))
        if known:
            found[row["machine"]] = known
    if not found:
        view.notes.append("no roofline: no ceiling was measured in the sessions of these rows")
    return found


def _ridge(ceilings):
    """Twice the intensity at which the peak takes over from DRAM, 0 where either is unknown."""
    bandwidth, peak = dram_bandwidth(ceilings), ceilings.get("peak_f32", {}).get("value")
    return 2 * peak / bandwidth if bandwidth and peak else 0


def _roof(figure, axes, intensities, machine, ceilings):
    bandwidths = {"DRAM": dram_bandwidth(ceilings),
                  "last-level cache": ceilings.get("copy_llc", {}).get("value")}
    peak = ceilings.get("peak_f32", {}).get("value", np.inf)
    for name, bandwidth in bandwidths.items():
        if bandwidth is None:
            continue
        axes.plot(intensities, np.minimum(intensities * bandwidth, peak), color=style.ROOF,
                  linestyle=STYLES[name], linewidth=1)
        figure.explain(f"{name}, {machine}: {bandwidth:.3g} GB/s",
                       Line2D([], [], color=style.ROOF, linestyle=STYLES[name]))
