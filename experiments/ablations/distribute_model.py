#!/usr/bin/env python3
"""A model of MTTKRP over all modes on more GPUs than were measured.

    python3 experiments/ablations/distribute_model.py LINES... [FIGURE.svg]

LINES are what tests/mpi/distribute_speed.cpp printed on one GPU, on two as well to judge the
model. Not measured: the kernels take the time of one GPU divided by the GPUs, as if all held the
same share and none got too little to fill it; what a GPU sends, as common/distribute/passes.hpp
says, goes at the rate of its link. The exchange of a mode runs beside the kernels of the next, so
that the longer of the two counts and a mode of the other. Links as stated: 450 GB/s each way
between the 8 GPUs of a machine, the NVLink of an H100, and 50 GB/s for each GPU between machines,
its own adapter. With lines of several GPUs the rate that these reached takes the place of the
stated one inside a machine. Prints a table in ms with the share of the exchange that is not hidden.
"""
import json
import sys
from pathlib import Path

IN_MACHINE, NVLINK, ADAPTER = 8, 450e9, 50e9  # GPUs, bytes/s
GPUS = [1, 2, 4, 8, 16, 64, 128, 512]
MODES, VALUE = 3, 4  # of the tensors that distribute-speed draws; bytes
RULES = ["allreduce", "owner", "medium"]


def grid_of(processes):
    """As common/distribute/partition.cpp with modes of one length: prime factors in turn."""
    grid, p, primes = [1] * MODES, 2, []
    while processes > 1:
        while processes % p == 0:
            primes.append(p)
            processes //= p
        p += 1
    for prime in reversed(primes):
        grid[grid.index(min(grid))] *= prime
    return grid


def sent(rule, gpus, line):
    """Bytes that a GPU sends in the passes over all modes."""
    total = 0.0
    for in_mode in grid_of(gpus):
        rows = {"allreduce": 2 * (gpus - 1), "owner": gpus - 1,
                "medium": gpus // in_mode - 1 + gpus - 1}[rule]
        total += rows * line["length"] * line["rank"] * VALUE / gpus
    return total


def rate_of(lines):
    """Of the link inside a machine: what measured all-reduces reached, or as stated. What a run
    waits for is the exchange of its last mode."""
    reached = [sent("allreduce", line["processes"], line) / MODES / line["exchange"]
               for line in lines
               if line["processes"] > 1 and line["dist"] == "allreduce"]
    return max(reached, default=NVLINK)


def predicted(line, rule, gpus, rate):
    """Seconds: of everything, and what of the exchange is not hidden."""
    kernels = line["seconds"] / gpus
    exchange = sent(rule, gpus, line) / (rate if gpus <= IN_MACHINE else ADAPTER)
    most = max(kernels + exchange / MODES, kernels / MODES + exchange)
    return most, most - kernels


def rules_of(line):
    """FLYCOO takes all modes as one problem, which owners of one mode each cannot hand it."""
    return [rule for rule in RULES if rule != "owner" or not line["method"].startswith("flycoo")]


def read(paths):
    """The lines of the program; what MPI and NCCL print between them is left out."""
    return [json.loads(text) for path in paths for text in Path(path).read_text().splitlines()
            if text.startswith('{"')]


def table(lines):
    """Lines of Markdown."""
    rate = rate_of(lines)
    yield f"Inside a machine {rate / 1e9:.0f} GB/s."
    yield ""
    yield "| nonzeros | method | rule | " + " | ".join(f"{g}" for g in GPUS) + " |"
    yield "|---" * (len(GPUS) + 3) + "|"
    for line in (one for one in lines if one["processes"] == 1):
        for rule in rules_of(line):
            cells = []
            for gpus in GPUS:
                seconds, open_part = predicted(line, rule, gpus, rate)
                cells.append(f"{1e3 * seconds:.2f} ({max(open_part / seconds, 0):.0%})")
            yield (f"| {line['nonzeros'] / 1e6:g} M | {line['method']} | {rule} | "
                   + " | ".join(cells) + " |")


def judged(lines):
    """Measured runs on several GPUs beside the model."""
    yield "| nonzeros | method | rule | GPUs | measured | model | model over measured |"
    yield "|---" * 7 + "|"
    ones = {(one["nonzeros"], one["method"]): one for one in lines if one["processes"] == 1}
    for line in lines:
        one = ones.get((line["nonzeros"], line["method"]))
        if line["processes"] == 1 or one is None:
            continue
        seconds, _ = predicted(one, line["dist"], line["processes"], rate_of(lines))
        yield (f"| {line['nonzeros'] / 1e6:g} M | {line['method']} | {line['dist']} | "
               f"{line['processes']} | {1e3 * line['seconds']:.2f} | {1e3 * seconds:.2f} | "
               f"{seconds / line['seconds']:.2f} |")


def draw(lines, path):
    """Speed over one GPU by number of GPUs."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    ones = [line for line in lines if line["processes"] == 1]
    figure, axes = plt.subplots(1, len(ones), squeeze=False, sharey=True,
                                figsize=(3.4 * len(ones), 3))
    for axis, line in zip(axes[0], ones):
        styles = dict(zip(RULES, ["-", "--", ":"]))
        for rule in rules_of(line):
            speeds = [line["seconds"] / predicted(line, rule, g, rate_of(lines))[0] for g in GPUS]
            axis.loglog(GPUS, speeds, styles[rule], base=2, label=rule)
        axis.axvline(IN_MACHINE, color="0.7", linewidth=0.8)
        axis.set(title=f"{line['nonzeros'] / 1e6:g} M, {line['method']}",
                 xlabel="GPUs, 8 a machine")
    axes[0][0].set_ylabel("speed over one GPU (model)")
    axes[0][0].legend(frameon=False)
    figure.suptitle("Model, not measured", fontsize=9)
    figure.tight_layout()
    figure.savefig(path)


def main(paths):
    figures = [path for path in paths if path.endswith((".svg", ".png"))]
    lines = read([path for path in paths if path not in figures])
    for text in [*table(lines), "", *judged(lines)]:
        print(text)
    for path in figures:
        draw(lines, path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
