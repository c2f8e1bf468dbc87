"""Runs in which the n-th call that changes a file fails (shim.cpp)."""

import os

import pytest

SHIM = os.environ.get("RETENSOR_SHIM", "")
MOST = int(os.environ.get("RETENSOR_ATTACKS", "0")) or 12  # moments of each run that are tried

needs_shim = pytest.mark.skipif(not SHIM or bool(os.environ.get("RETENSOR_SANITIZED")),
                                reason="needs its library, which sanitizers do not load")


class Faults:
    """Environments in which the n-th call fails, and the number of calls of the last run."""

    def __init__(self, folder, below):
        self.counter = folder / "counter"
        self.below = below

    def environment(self, number, how):
        self.counter.write_bytes(bytes(8))
        return dict(os.environ, LD_PRELOAD=SHIM, SHIM_BELOW=str(self.below), SHIM_HOW=how,
                    SHIM_COUNTER=str(self.counter), SHIM_FAIL=str(number))

    def calls(self):
        return int.from_bytes(self.counter.read_bytes(), "little")


def moments(calls, most=MOST):
    """Numbers of calls to fail: all of them, or so many that lie evenly."""
    assert calls > 0
    few = min(most, calls)
    return sorted({1 + k * (calls - 1) // max(few - 1, 1) for k in range(few)})
