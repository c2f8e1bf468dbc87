"""Numbers on axes and in labels with SI prefixes: 20 us, 3.5 ms, 12 MB; others plain."""
import math

from matplotlib import rcParams
from matplotlib.lines import TICKDOWN, TICKLEFT, Line2D
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"), (1e-6, "u"),
            (1e-9, "n"))
SCALED = {"s": "s", "bytes": "B", "": ""}  # units that take prefixes, as figures write them


def shown(value, unit="", digits=3):
    """A value with its unit, in digits that matter: seconds and bytes with a prefix, also large
    numbers without a unit; others as they are, since their unit stands on the axis.
    """
    if unit not in SCALED:
        return f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.{digits}g}"
    if value == 0 or not math.isfinite(value):
        return f"{value:g} {SCALED[unit]}".strip()
    if unit == "" and 1e-3 <= abs(value) < 1e4:
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"
    if unit != "s" and abs(value) < 1:
        return f"{value:.{digits}g} {SCALED[unit]}".strip()
    size, prefix = next(((size, prefix) for size, prefix in PREFIXES
                         if abs(value) >= 0.9995 * size), PREFIXES[-1])
    text = f"{value / size:.{digits}g}"
    text = f"{float(text):.0f}" if "e" in text else text
    return f"{text} {prefix}{SCALED[unit]}".strip()


def label(text, unit):
    """Text of an axis: the unit stands there unless its numbers carry it."""
    return f"{text} ({unit})" if unit and unit not in SCALED else text


def scale(axis, unit, ticks=5, whole=False):
    """Numbers of a linear axis; `whole`: no fractions."""
    axis.set_major_locator(MaxNLocator(max(1, ticks - 1), integer=whole))
    axis.set_major_formatter(lambda value, _: shown(value, unit))


def logarithmic(axis, unit, ticks=5):
    """A logarithmic axis whose limits are final with at most about `ticks` numbers: at 1, 2 and 5
    of every decade, at decades, at every few of these; where an axis is too short for these, at
    what a linear axis would have.
    """
    low, high = axis.get_view_interval()
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: _short(value, unit))
    axis.set_major_locator(FixedLocator(_places(low, high, max(ticks, 3))))
    if 1 < math.log10(high / low) <= ticks:
        _minor_marks(axis, low, high)


def _minor_marks(axis, low, high):
    """Marks at 2 to 9 of every decade of an axis whose limits are final: one line that looks like
    minor ticks, of which each takes as long to make as a panel's data."""
    places = [factor * 10.0 ** power
              for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
              for factor in range(2, 10) if low <= factor * 10.0 ** power <= high]
    across, axes = axis.axis_name == "x", axis.axes
    xs, ys = (places, [0] * len(places)) if across else ([0] * len(places), places)
    axes.add_artist(Line2D(
        xs, ys, linestyle="none", marker=TICKDOWN if across else TICKLEFT,
        markersize=rcParams[f"{axis.axis_name}tick.minor.size"], color="black",
        markeredgewidth=rcParams[f"{axis.axis_name}tick.minor.width"], clip_on=False,
        transform=axes.get_xaxis_transform() if across else axes.get_yaxis_transform()))


def _short(value, unit):
    """A round number in few characters: 1e-6 and 1e-4 where others write 1e-06 and 0.0001."""
    if unit == "s" or not 0 < value < 1e-3:
        return shown(value, unit)
    return f"{value:.1e}".replace(".0e", "e").replace("e-0", "e-")


def _places(low, high, ticks):
    """Where numbers stand on a logarithmic axis: far enough from one another."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors, step in (((1, 2, 5), 1), ((1, 3), 1), ((1,), 1), ((5,), 1), ((2,), 1),
                          ((1,), 2), ((1,), 3), ((1,), 4)):
        places = [factor * 10.0 ** power for power in range(first, last + 1) if power % step == 0
                  for factor in factors]
        places = [place for place in places if 0.999 * low <= place <= 1.001 * high]
        if len(places) >= 2 and places == _apart(places, low, high, ticks):
            return places
    found = MaxNLocator(max(2, ticks - 1), steps=(1, 2, 2.5, 5, 10)).tick_values(low, high)
    return _apart([place for place in found if low <= place <= high], low, high, ticks)


def _apart(places, low, high, ticks):
    """Those places that have room beside the one before."""
    kept = []
    for place in places:
        if not kept or math.log(place / kept[-1]) >= 0.9 * math.log(high / low) / ticks:
            kept.append(place)
    return kept
