"""What a figure's `y` names: the row column behind it, its label, and its value for a set of rows.

One case measured in several launches is one pooled sample. Several modes of one tensor are
averaged as PASTA does (section V.A.2): the mean of their times, and for a rate the work of all
modes over the time of all modes. Bars show medians, whiskers the quartiles of the same samples.
"""
import difflib

import numpy as np
import pandas as pd

from retensor.errors import PlotError
from retensor.summary import Value

ALIASES = {"gflops": "rates.gflops", "gbytes": "rates.gbytes", "time": "stats.median",
           "intensity": "work.intensity", "prepare": "phases.prepare"}
OPEN = ("executed.", "phases.stages.")  # groups whose names methods choose
GROUPS = ("case.", "case.params.", "phases.", "phases.stages.", "stats.", "work.", "rates.",
          "check.", "executed.", "footprint.")
LABELS = {"rates.gflops": ("performance", "GFLOPS"), "rates.gbytes": ("bandwidth", "GB/s"),
          "rates.index_gbytes": ("index bytes over time", "GB/s"),
          "stats.median": ("time", "s"), "work.intensity": ("operational intensity", "flop/byte"),
          "phases.prepare": ("time to prepare", "s"), "phases.run": ("time", "s"),
          "seconds.sweep": ("time of a sweep", "s"),
          "seconds.task_processing": ("time of task processing", "s"),
          "seconds.without_zero": ("time without zeroing", "s"),
          "footprint.format_bytes": ("size of the format", "bytes"),
          "footprint.device_bytes": ("peak device memory", "bytes"),
          "footprint.peak_host_bytes": ("peak host memory", "bytes"),
          "roofline.share": ("share of the roofline", "%"),
          "phases.stages.kernel": ("time of the kernel", "s"),
          "check.smape_nonzero": ("symmetric mean error of nonzeros", "%"),
          "check.rmse_full": ("root mean square error", ""),
          "executed.formula_bytes": ("size by formula", "bytes"),
          "executed.x_formula_bytes": ("size of X by formula", "bytes"),
          "executed.mma": ("MMAs", ""),
          "executed.mma_per_warp_most": ("MMAs of the busiest warp", ""),
          "executed.row_shared_bytes": ("shared memory of a row", "bytes"),
          "case.params.p": ("columns of a thread block, P", ""),
          "profile.dram_over_model": ("DRAM bytes over those of the model", ""),
          "profile.l1_percent": ("L1 throughput", "% of peak"),
          "case.dataset": ("tensor", ""), "case.rank": ("rank", ""), "case.mode": ("mode", "")}
UNITS = {"_bytes": "bytes", "_percent": "%", "_ms": "ms"}  # by the ending of a name
RATES = ("rates.gflops", "rates.gbytes")
TIMES = ("stats.median", "phases.run")
PAPER_RUNS = 5  # PASTA section V.A.2


def column(name, columns):
    """The row column that a spec's field name means; raises PlotError for an unknown one."""
    name = ALIASES.get(name, str(name))
    for candidate in (name, f"case.{name}", f"case.params.{name}"):
        if candidate in columns:
            return candidate
    own = [other for other in columns if name.startswith(OPEN) and other.startswith(OPEN)]
    if own:  # the methods' own names, which rows alone tell
        near = difflib.get_close_matches(name, sorted(own), 1, 0)[0]
        raise PlotError(f"no row has the field {name!r}; nearest: {near}")
    if name.startswith(GROUPS):
        return name  # known by the schema, absent because no row has it
    raise PlotError(f"no row has the field {name!r}")


def text(name):
    """What a column holds, in words."""
    return LABELS[name][0] if name in LABELS else name.split(".")[-1].replace("_", " ")


def unit(name):
    """Unit of a column, empty where it has none."""
    if name in LABELS:
        return LABELS[name][1]
    if name.startswith("phases."):
        return "s"
    return next((unit for ending, unit in UNITS.items() if name.endswith(ending)), "")


def label(name):
    """What a column holds with its unit."""
    return f"{text(name)} ({unit(name)})" if unit(name) else text(name)


def measure(rows, name):
    """The value of column `name` over the ok rows of one cell of a figure, each a dict; None
    without any."""
    rows = [row for row in rows if is_known(row.get(name))]
    if not rows:
        return None
    if name in RATES:
        return _rate(rows, name)
    if name in TIMES:
        return _mean([_seconds(group) for group in _cases(rows)])
    if name == "phases.prepare" and all(_lists(rows, "phases.preparations")):
        name = "phases.preparations"
    if any(_lists(rows, name)):
        return _mean([_summary(_pooled(group, name)) for group in _cases(rows)])
    numbers = numbers_of(rows, name)
    return Value(float(np.mean(numbers))) if numbers else None


def paper_mean(rows, name):
    """The same for a time or rate as PASTA reports it: a case's time is the mean of its first five
    runs. None for other columns and where a case has fewer runs."""
    if name not in RATES + TIMES or not rows:
        return None
    cases = _cases(rows)
    runs = [_pooled(group, "phases.run")[:PAPER_RUNS] for group in cases]
    if min(map(len, runs)) < PAPER_RUNS:
        return None
    times = [float(np.mean(samples)) for samples in runs]
    if name in TIMES:
        return float(np.mean(times))
    return sum(_work(case, name) for case in cases) / sum(times)


def is_known(value):
    """Whether a row has a value: neither None nor NaN."""
    return value is not None and value == value


def numbers_of(rows, name):
    """The finite and infinite numbers of a column, also those that are written as text."""
    found = pd.to_numeric([row.get(name) for row in rows], errors="coerce")
    return [float(number) for number in found if is_known(number)]


def _cases(rows):
    """The rows of each mode."""
    groups = {}
    for row in rows:
        groups.setdefault(row["case.mode"], []).append(row)
    return list(groups.values())


def _lists(rows, name):
    return (isinstance(row.get(name), list) for row in rows)


def _work(rows, name):
    """The work of a run: its rate times its median time."""
    return float(rows[-1][name]) * float(rows[-1]["stats.median"])


def _rate(rows, name):
    """Work over time."""
    work, times = 0.0, []
    for group in _cases(rows):
        work += _work(group, name)
        times.append(_seconds(group))
    middle, slow, fast = (sum(parts) for parts in zip(*[(t.value, t.high, t.low) for t in times]))
    return Value(work / middle, work / slow, work / fast) if fast > 0 else None


def _seconds(rows):
    samples = _pooled(rows, "phases.run")
    if samples:
        return _summary(samples)
    return Value(*(float(rows[-1][f"stats.{part}"]) for part in ("median", "q1", "q3")))


def _pooled(rows, name):
    return [float(number) for row in rows if isinstance(row.get(name), list)
            for number in row[name]]


def _summary(samples):
    low, middle, high = np.percentile(samples, [25, 50, 75]) if samples else [np.nan] * 3
    return Value(float(middle), float(low), float(high))


def _mean(values):
    return Value(*(float(np.mean(parts))
                   for parts in zip(*[(v.value, v.low, v.high) for v in values])))
