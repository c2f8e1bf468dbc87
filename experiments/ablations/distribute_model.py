#!/usr/bin/env python3
"""A model of MTTKRP over all modes on more GPUs than were measured.

    python3 experiments/ablations/distribute_model.py <(retensor rows FILE...) [FIGURE.svg]

Not measured: the kernels' time is that of one GPU in rows of distribute-gpu.yaml, divided by the
GPUs as if all held the same share; the exchange is what passes.hpp says that a GPU sends, at the
rate of its link, after the kernels. Links: between the 8 GPUs of a machine 450 GB/s each way, the
NVLink of an H100; between machines 50 GB/s for each GPU, its own adapter. Prints a table in ms.
"""
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "plots")]

from retensor.results import load_results  # noqa: E402: the tree is no installed package

IN_MACHINE, NVLINK, ADAPTER = 8, 450e9, 50e9  # GPUs, bytes/s
GPUS = [1, 2, 4, 8, 16, 64, 128, 512]


def grid_of(processes, dims):
    """As common/distribute/partition.cpp: prime factors, each to the mode with most indices."""
    primes, p = [], 2
    while processes > 1:
        while processes % p == 0:
            primes.append(p)
            processes //= p
        p += 1
    grid = [1] * len(dims)
    for prime in reversed(primes):
        longest = max(range(len(dims)), key=lambda m: (dims[m] // grid[m], -m))
        grid[longest] *= prime
    return grid


def sent(rule, gpus, dims, row_bytes):
    """Bytes that a GPU sends in the passes over all modes."""
    total = 0.0
    for length, in_mode in zip(dims, grid_of(gpus, dims)):
        rows = {"allreduce": 2 * (gpus - 1), "owner": gpus - 1,
                "medium": gpus // in_mode - 1 + gpus - 1}[rule]
        total += rows * length * row_bytes / gpus
    return total


def predicted(row, rule, gpus):
    """Seconds: of the kernels and of the exchange."""
    dims = row["case.data.dims"]
    rate = NVLINK if gpus <= IN_MACHINE else ADAPTER
    bytes_sent = sent(rule, gpus, dims, 4 * row["case.rank"])
    return row["stats.median"] / gpus, bytes_sent / rate


def of_one_gpu(rows):
    """The row of each data set, with the fastest method."""
    fits = ((rows["status"] == "ok") & (rows["case.method"] == "distributed.cuda")
            & (rows["case.params.ranks"] == 1))
    found = rows[fits].sort_values("stats.median")
    return found.groupby("case.dataset", sort=True).head(1)


def table(rows):
    """Lines of Markdown."""
    yield "| tensor | rule | " + " | ".join(f"{g} GPUs" for g in GPUS) + " |"
    yield "|---|---|" + "---|" * len(GPUS)
    for _, row in of_one_gpu(rows).iterrows():
        for rule in ["allreduce", "owner", "medium"]:
            cells = []
            for gpus in GPUS:
                kernels, exchange = predicted(row, rule, gpus)
                share = exchange / (kernels + exchange)
                cells.append(f"{1e3 * (kernels + exchange):.2f} ({share:.0%})")
            yield f"| {row['case.dataset']} | {rule} | {' | '.join(cells)} |"


def draw(rows, path):
    """Speed over one GPU by number of GPUs."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    chosen = of_one_gpu(rows)
    figure, axes = plt.subplots(1, len(chosen), squeeze=False, sharey=True,
                                figsize=(3.4 * len(chosen), 3))
    for axis, (_, row) in zip(axes[0], chosen.iterrows()):
        for rule, style in [("allreduce", "-"), ("owner", "--"), ("medium", ":")]:
            speeds = [row["stats.median"] / sum(predicted(row, rule, g)) for g in GPUS]
            axis.loglog(GPUS, speeds, style, base=2, label=rule)
        axis.axvline(IN_MACHINE, color="0.7", linewidth=0.8)
        axis.set(title=row["case.dataset"], xlabel="GPUs, 8 a machine")
    axes[0][0].set_ylabel("speed over one GPU (model)")
    axes[0][0].legend(frameon=False)
    figure.suptitle("Model, not measured", fontsize=9)
    figure.tight_layout()
    figure.savefig(path)


def main(paths):
    figures = [path for path in paths if path.endswith((".svg", ".png"))]
    rows = load_results([path for path in paths if path not in figures])
    for line in table(rows):
        print(line)
    for path in figures:
        draw(rows, path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
