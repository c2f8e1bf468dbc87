#!/usr/bin/env python3
"""The threshold of HLSTO from a cost model (section VI.B), beside the best one by trial.

    python3 experiments/hlsto/threshold.py <(retensor rows FILE...)

A dense tile costs the same whatever it holds, sparse nonzeros cost time by their number. Least
squares of relative errors over the rows of fig7.yaml give the times of all-dense runs as `fixed` +
tiles x `tile` and those of all-sparse runs as nonzeros x `nonzero`: all tensors of the figure have
equally many, so that what a run costs beside them, little at this size, can't be told apart. The
threshold is the least number of nonzeros that cost as much as a tile. The rows of threshold.yaml
tell the best threshold of a sweep, and what is lost by the swept one next to the model's; those of
threshold-model.yaml the threshold that the method chose from times of its own, and what it loses.
Zeroing is left out. One model for each machine, method, operation, mode, rank and other
parameters. Exit code 2 when rows are too few or give tiles no cost.
"""
import math
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plots")]

from experiments.rates import work_ms  # noqa: E402: the tree is no installed package
from retensor.errors import PlotError  # noqa: E402
from retensor.results import load_results  # noqa: E402

PARAMS = "case.params."
SWEPT = (PARAMS + "format", PARAMS + "threshold")
LEAST_DENSE = 3  # rows, so that two unknowns are overdetermined


def setting_of(row):
    """What tells models apart, as text."""
    params = [f"{name.removeprefix(PARAMS)}={row[name]}" for name in sorted(row.index)
              if name.startswith(PARAMS) and name not in SWEPT and row[name] is not None]
    return " ".join([row["case.method"], row["case.operation"], f"mode={row['case.mode']}",
                     f"rank={row['case.rank']}", *params, f"on {row['device']}"])


def ok_rows(results, artifact):
    """The rows of an artifact that are ok, with their setting."""
    rows = results.rows
    rows = rows[(rows["case.artifact"] == artifact) & (rows["status"] == "ok")]
    return rows.assign(setting=[setting_of(row) for _, row in rows.iterrows()])


def relative_fit(terms, times):
    """Coefficients with the least squares of relative errors, and the largest of these."""
    scaled = np.array(terms, float) / np.array(times, float)[:, None]
    found = np.linalg.lstsq(scaled, np.ones(len(times)), rcond=None)[0]
    return found, max(abs(scaled @ found - 1))


def counts_and_times(rows, form, count):
    chosen = [row for _, row in rows.iterrows() if row[PARAMS + "format"] == form]
    return [int(row[count]) for row in chosen], [work_ms(row) for row in chosen]


def fit(setting, rows):
    """Milliseconds (fixed, tile, nonzero) of a model and the largest relative error of a row."""
    tiles, dense = counts_and_times(rows, "hls_d", "executed.dense_tiles")
    nonzeros, sparse = counts_and_times(rows, "hls_s", "executed.sparse_nonzeros")
    if len(set(tiles)) < LEAST_DENSE or not sparse:
        raise PlotError(f"{setting}: found {len(set(tiles))} different numbers of tiles in "
                        f"all-dense rows and {len(sparse)} all-sparse rows, expected "
                        f"{LEAST_DENSE} and 1 or more")
    (fixed, tile), dense_error = relative_fit([(1, n) for n in tiles], dense)
    (nonzero,), sparse_error = relative_fit([(n,) for n in nonzeros], sparse)
    if tile <= 0:
        raise PlotError(f"{setting}: found {1e6 * tile:.3g} ns a tile, expected more than 0: the "
                        "rows do not follow the model")
    return (fixed, tile, nonzero), max(dense_error, sparse_error)


def threshold_of(costs):
    _, tile, nonzero = costs
    return math.ceil(tile / nonzero)


def models(results):
    """Setting: (costs, largest error) of every model."""
    rows = ok_rows(results, "hlsto/fig7")
    if rows.empty:
        raise PlotError("found no row of hlsto/fig7 that is ok, expected those of "
                        "experiments/hlsto/fig7.yaml")
    return {setting: fit(setting, group) for setting, group in rows.groupby("setting")}


def model_table(fits):
    """Lines of Markdown."""
    yield "| model | fixed, us | tile, ns | nonzero, ns | largest error | threshold |"
    yield "|---|---|---|---|---|---|"
    for setting, (costs, error) in fits.items():
        fixed, tile, nonzero = costs
        yield (f"| {setting} | {1e3 * fixed:.2f} | {1e6 * tile:.3f} | "
               f"{1e6 * nonzero:.4f} | {error:.1%} | {threshold_of(costs)} |")


def lost(time, best):
    return f"{time / best - 1:.1%}"


def own_cells(row, best):
    """Three cells about the row at the method's own threshold, empty ones without a row."""
    if row is None:
        return " | | "
    return f"{row['executed.threshold']} | {work_ms(row):.4f} | {lost(work_ms(row), best)}"


def sweep_table(results, fits):
    """Lines of Markdown."""
    yield ("| sweep | threshold of the model | next swept | ms | best swept | ms | lost | "
           "the method's | ms | lost |")
    yield "|---|---|---|---|---|---|---|---|---|---|"
    sweeps, chosen_by_method = (ok_rows(results, f"hlsto/{artifact}")
                                for artifact in ("threshold", "threshold-model"))
    own = {(row["setting"], row["case.dataset"]): row for _, row in chosen_by_method.iterrows()}
    for (setting, dataset), rows in sweeps.groupby(["setting", "case.dataset"]):
        if setting not in fits:
            raise PlotError(f"{setting}: found a sweep without rows of hlsto/fig7")
        chosen = threshold_of(fits[setting][0])
        times = {row[PARAMS + "threshold"]: work_ms(row) for _, row in rows.iterrows()}
        near = min(times, key=lambda swept: abs(swept - chosen))
        best = min(times, key=times.get)
        yield (f"| {dataset}, {setting} | {chosen} | {near} | {times[near]:.4f} | "
               f"{best} | {times[best]:.4f} | {lost(times[near], times[best])} | "
               f"{own_cells(own.get((setting, dataset)), times[best])} |")


def main(paths):
    try:
        results = load_results(paths)
        fits = models(results)
        lines = [*model_table(fits), "", *sweep_table(results, fits)]
    except PlotError as error:
        print(f"threshold.py: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
