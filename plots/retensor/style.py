"""The look of every figure: sizes, fonts, colours, marks of data that is not a paper's own.

Colours: the palette of Okabe and Ito, distinct for colour-blind readers, with a grey in place of
its yellow, which is faint on white. Every series has a marker of its own too, so that figures
survive grey. Failures and the roofline are vermillion, which the eighth series alone shares;
published values are dark grey.
"""
import math
from contextlib import contextmanager

import matplotlib
from matplotlib.colors import to_rgb

SINGLE_MM = 85.0   # one column of a two-column page
DOUBLE_MM = 178.0  # both columns
PANEL_MM = 46.0    # height of one row of panels

SERIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#000000", "#999999", "#D55E00")
MARKERS = ("o", "s", "^", "D", "v", "P", "h", "<")
MOST_SERIES = len(SERIES)  # of one panel
ROOF = FAILED = "#D55E00"
PUBLISHED = "#666666"
EDGE = "#444444"  # of marks and bars

DATA_KINDS = ("real pattern", "stand-in", "generated")  # what a label must announce, in this order
HATCHES = {"real pattern": "||||", "stand-in": "////", "generated": "\\\\\\\\",
           "private": "xxxx"}  # dots make large files

SETTINGS = {
    "font.family": "DejaVu Sans",
    "font.size": 7,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "text.parse_math": False,  # a $ in a name is a $
    "hatch.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,       # TrueType, so that journals' checks for embedded fonts pass
    "svg.fonttype": "none",   # text stays text: it can be searched, read aloud and copied
    "svg.hashsalt": "retensor",
}


@contextmanager
def applied():
    """Apply the style within a `with` block, without a display."""
    matplotlib.use("agg")
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **SETTINGS, "backend": "agg"}):
        yield


def inches(millimetres):
    """Millimetres in inches."""
    return millimetres / 25.4


def colour(index):
    """Colour of the series with this number: the palette, then lighter forms of it."""
    base = to_rgb(SERIES[index % len(SERIES)])
    share = 1 - 0.5 ** (index // len(SERIES))
    return tuple(part + (1 - part) * share for part in base)


def marker(index):
    """Marker of the series with this number."""
    return MARKERS[index % len(MARKERS)]


def width_mm(name):
    """Width of a figure by the spec's name for it: single or double."""
    return SINGLE_MM if name == "single" else DOUBLE_MM


def legend_columns(labels, width):
    """Columns in which labels fit a width in millimetres (about 1.25 mm a character)."""
    longest = max((len(label) for label in labels), default=1)
    return max(1, min(len(labels), math.floor(width / (9 + 1.25 * longest))))
