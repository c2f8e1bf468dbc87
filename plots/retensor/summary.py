"""Summaries over data sets: the geometric mean of ratios with its interval, performance profiles.

A geometric mean is taken over a data set's cases first and over data sets then, so that a tensor of
many modes weighs no more than one of few. Its interval is the 95% percentile bootstrap over data
sets. Profiles follow Dolan and Moré, Benchmarking optimization software with performance profiles,
2002: the share of problems that a solver finishes within a factor of the best solver's time.
"""
import math
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000


@dataclass
class Value:
    """A value with its quartiles or its interval; None where only one number is known."""

    value: float
    low: float = None
    high: float = None

    def scaled(self, factor):
        """The value and its bounds times a factor."""
        return Value(*(part if part is None else factor * part
                       for part in (self.value, self.low, self.high)))


def geometric_mean(groups, seed=1):
    """Geometric mean of positive ratios, one list per data set, as a Value without an interval for
    a single one; None when all lists are empty."""
    logs = np.array([np.mean(np.log(group)) for group in groups if len(group)])
    if not len(logs):
        return None
    middle = math.exp(logs.mean())
    if len(logs) == 1:
        return Value(middle)
    draws = np.random.default_rng(seed).integers(len(logs), size=(RESAMPLES, len(logs)))
    low, high = np.exp(np.percentile(logs[draws].mean(axis=1), [2.5, 97.5]))
    return Value(middle, float(low), float(high))


def performance_ratios(times):
    """Each solver's times over the best of all: {solver: [ratio]} from {solver: [seconds]}.

    The lists go over the same problems. None stands for a solver that failed; it stays None.
    """
    best = [min((t for t in column if t is not None), default=None)
            for column in zip(*times.values())]
    return {solver: [None if t is None else t / b for t, b in zip(own, best)]
            for solver, own in times.items()}


def profile(ratios):
    """The steps of a solver's profile: [(factor, share)] with rising factors from 1 on.

    The last share is the plateau: problems that the solver finished, of all.
    """
    solved = sorted(ratio for ratio in ratios if ratio is not None)
    steps = {1.0: 0.0}
    for count, ratio in enumerate(solved, start=1):
        steps[ratio] = count / len(ratios)
    return sorted(steps.items())
