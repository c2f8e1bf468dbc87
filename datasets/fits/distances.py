"""How far a stand-in is from the tensor that it stands for, in facts and in times.

A distance is the base-2 logarithm of the stand-in's value over the real one's: 1 is twice as much,
-1 half. Of fibers, slices and their skew the mode with the largest distance counts.
"""
import json
import math
import subprocess

LEVEL = 0.01  # a Gini coefficient below it says that slices are alike
WHAT = [("nonzeros a fiber", lambda f: f["per_fiber"]), ("non-empty slices", lambda f: f["slices"]),
        ("largest slice", lambda f: f["largest_slice"]),
        ("slice Gini", lambda f: [max(gini, LEVEL) for gini in f["slice_gini"]]),
        ("tiles of 8", lambda f: [f["tile8"]["tiles"]]),
        ("tiles of 16", lambda f: [f["tile16"]["tiles"]])]


def described(retensor, name, cache, options=(), patience=None):
    """What `dataset info` tells of a tensor, its facts included unless it is not at hand."""
    done = subprocess.run([retensor, "dataset", "info", name, "--json", "--cache", cache, *options],
                          text=True, capture_output=True, check=True, timeout=patience)
    return json.loads(done.stdout)[0]


def distance(real, like):
    """The largest of the modes, or None where a value is 0."""
    logs = [math.log2(b / a) for a, b in zip(real, like) if a > 0 and b > 0]
    return max(logs, key=abs) if logs else None


def outside(real, band):
    """How far a value lies outside the least and the largest of a band; 0 within."""
    return max(0.0, math.log2(min(band) / real), math.log2(real / max(band)))


def factor(misses, share):
    """By what bands have to grow at both ends so that the share of further values lies inside.

    Of n misses the ceil(share (n + 1))-th in size, as in split conformal prediction: if the values
    are exchangeable with further ones, these lie inside with that probability or more. Throws
    ValueError where n is too small for the share.
    """
    place = math.ceil(share * (len(misses) + 1))
    if place > len(misses):
        raise ValueError(f"{len(misses)} values say nothing of a share of {share}")
    return 2 ** sorted(misses)[place - 1]


def left_out(misses_of, share):
    """Share of values inside bands that the other tensors' values calibrate; misses by tensor."""
    inside = total = 0
    for tensor, own in misses_of.items():
        others = [miss for name, found in misses_of.items() if name != tensor for miss in found]
        grown = math.log2(factor(others, share))
        inside += sum(miss <= grown for miss in own)
        total += len(own)
    return inside / total
