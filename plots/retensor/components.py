"""The components of a CP model: a row for each, the largest weight first, a column for each mode.

An entry is a bar where a mode is short. Of a long mode every part of the axis shows the least and
the largest entry that it covers, so that no peak is lost however many entries share a pixel.
"""
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from retensor import style
from retensor.errors import PlotError

MOST_COMPONENTS = 12
MOST_BARS = 60    # of a mode whose entries stand apart
PARTS = 400       # of the axis of a longer one
ROW_MM = 16.0
HEAD_MM = 12.0    # titles and the lowest axis


def draw(weights, factors, title="", modes=None):
    """A matplotlib Figure of a model: R weights, factors I_m x R, names of the modes.

    Of more than 12 components those with the largest weights are drawn, which the title says."""
    order = np.argsort(-np.abs(weights), kind="stable")[:MOST_COMPONENTS]
    total = np.abs(weights).sum()
    heading = "; ".join(filter(None, [title, _left_out(len(weights), len(order))]))
    with style.applied():
        figure, axes = plt.subplots(
            len(order), len(factors), squeeze=False, sharex="col", layout="constrained",
            figsize=(style.inches(style.DOUBLE_MM), style.inches(HEAD_MM + ROW_MM * len(order))))
        for row, component in enumerate(order):
            for mode, factor in enumerate(factors):
                _entries(axes[row, mode], factor[:, component], style.colour(mode))
            share = weights[component] / total if total else 0
            axes[row, 0].set_ylabel(f"{row + 1}: {share:.0%}", rotation=0, ha="right",
                                    va="center")
        for mode, factor in enumerate(factors):
            name = modes[mode] if modes else f"mode {mode}"
            axes[0, mode].set_title(f"{name}, {len(factor)} indices")
            axes[-1, mode].set_xlabel("index")
        if heading:
            figure.suptitle(heading, fontsize=style.SETTINGS["axes.titlesize"])
    plt.close(figure)
    return figure


def save(path, out):
    """Draw a model.npz into a file whose ending names the format; returns its path."""
    try:
        with np.load(path) as arrays:
            factors = [arrays[f"factor_{mode}"]
                       for mode in range(sum(name.startswith("factor_") for name in arrays.files))]
            weights, fit = arrays["weights"], arrays["fit"]
    except (KeyError, ValueError) as error:
        raise PlotError(f"{path}: not a CP model: {error}") from error
    title = f"{len(weights)} components, fit {fit[-1]:.4f}" if len(fit) else ""
    figure = draw(weights, factors, title)
    with style.applied():
        figure.savefig(out, metadata={"Date": None} if str(out).endswith(".svg") else None)
    return out


def _left_out(all_of_them, drawn):
    return f"the {drawn} of the largest weights" if drawn < all_of_them else ""


def _entries(axes, column, colour):
    axes.axhline(0, color=style.EDGE, linewidth=0.5)
    if len(column) <= MOST_BARS:
        axes.bar(np.arange(len(column)), column, color=colour)
    else:
        parts = np.array_split(column, min(PARTS, len(column)))
        at = np.cumsum([0, *map(len, parts[:-1])])
        axes.vlines(at, [min(part.min(), 0) for part in parts],
                    [max(part.max(), 0) for part in parts], color=colour, linewidth=0.8)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(3))
