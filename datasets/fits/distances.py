"""How far stand-ins are from what they stand for, where both are at hand: STAND-INS.md's table.

A distance is the base-2 logarithm of the stand-in's value over the real one's: 1 is twice as much,
-1 half. Of fibers, slices and their skew the mode with the largest distance counts. Tensors that
can't be had here are left out.

    distances.py RETENSOR [--cache FOLDER]
"""
import json
import math
import subprocess
import sys
from pathlib import Path

PAIRS = [("wordnet", "wordnet-like"), ("fb15k-237", "fb15k-237-like"),
         ("ratings", "ratings-like"), ("uber-apr-aug", "uber4d-like"),
         ("oscil_dcop-pattern", "oscil_dcop-like")]
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


def main(retensor, cache):
    print("| real | stand-in | " + " | ".join(name for name, _ in WHAT) + " |")
    print("|---" * (2 + len(WHAT)) + "|")
    for real, like in PAIRS:
        found = [facts(retensor, name, cache) for name in (real, like)]
        if None in found:
            continue
        cells = [distance(*map(value, found)) for _, value in WHAT]
        print(f"| `{real}` | `{like}` | " +
              " | ".join("-" if c is None else f"{c:+.1f}" for c in cells) + " |")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[3] if len(sys.argv) > 3 else "cache")
