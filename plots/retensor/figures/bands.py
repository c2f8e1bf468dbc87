"""The band around a stand-in's value: what its variants span, widened to hold real values.

Variants differ in seed, skew and clustering. That spans less than a real tensor differs from its
stand-in, so that bands of times, rates and speedups are widened at both ends by a factor under
which `share` of the real tensors' values lie inside (datasets/STAND-INS.md; band.json holds what
ci/stand_ins.py found). Of other quantities the band is what the variants span.
"""
import json
from fractions import Fraction
from importlib import resources

CALIBRATED = json.loads(resources.files("retensor").joinpath("band.json").read_text("utf-8"))
TIMED = ("stats.", "phases.", "rates.", "seconds", "roofline.share")


def factor(column, compared=False):
    """What bands of this row column, or of its ratios, are widened by."""
    if not column.startswith(TIMED):
        return 1.0
    return CALIBRATED["ratio" if compared else "time"]["factor"]


def words(widened):
    """What a legend says of the band."""
    if widened == 1:
        return "stand-in: least to largest of its variants"
    share = Fraction(CALIBRATED["share"]).limit_denominator(20)
    return f"stand-in: {share.numerator} of {share.denominator} real values lie inside"


def around(values, widened):
    """(least, largest) around a base's value and its variants'; None unless there are both."""
    known = [value.value for value in values.values() if value is not None]
    if not values.get(None) or len(known) < 2:
        return None
    return min(known) / widened, max(known) * widened
