#!/usr/bin/env python3
"""Fit against time of CP decompositions: this project beside others' codes, as users run them.

    pip install --target out/peers pyttb tensorly sparse
    experiments/decompose/time_to_fit.py --tensor fb15k-237=FILE.tns --packages out/peers \\
        --also experiments/decompose/splatt.csv --out out/time-to-fit

Every code gets the tensor in memory, the same rank and number of threads, single precision where
it has it, and starts with the seeds 1, 2, ... Times count what a user waits for from there: the
choice of a method, preparation, first factors, sweeps. `retensor cp` tells the time after each
sweep. pyttb and TensorLy tell none, so that a run of 1, 2, 5, 10 and 20 sweeps gives a point each;
the fit is that of the last sweep. The figure leaves out points whose fit another of the run had
before. A code that is not installed or can't take a tensor within the memory is left out with the
reason on stderr. In a CSV file of --also a time and a fit may be ranges, 0.5..0.7, which are drawn
as a box.

"ReTensor" runs on the CPU and "ReTensor, GPU" on a GPU. Neither needs a package of Python, so that
a machine with a GPU may measure its points alone (--codes "ReTensor, GPU"); the figure is then
drawn where the others are measured, with that file under --also. RETENSOR names another program
than that of build/.

It is no spec, for a row of a spec begins at the operands that the oracle has too, and not at a
start that follows the data. OUT.csv has a line for each point, OUT.svg the figure.
"""
import argparse
import csv
import gzip
import json
import os
import resource
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "plots"))
SWEEPS = (1, 2, 5, 10, 20)
COLUMNS = ("code", "tensor", "rank", "threads", "seed", "sweeps", "seconds", "fit")


class LeftOut(Exception):
    """Why a code gives no points."""


def read_tns(path):
    """Coordinates (from 0), values and lengths of a .tns file with or without a header."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    shape = [int(n) for n in lines[1]] if len(lines[0]) == 1 else None
    import numpy as np
    entries = np.array(lines[2 if shape else 0:], dtype=np.float64)
    coords = entries[:, :-1].astype(np.int64) - 1
    return coords, entries[:, -1], tuple(shape or coords.max(axis=0) + 1)


def by_retensor(*options, on="host"):
    """Runs the program on the file itself, which it reads before its clock starts."""
    def run(tensor, seed, asked):
        program = os.environ.get("RETENSOR", ROOT / "build/experiments/driver/retensor")
        command = [program, "cp", tensor.path, "--rank", str(asked.rank), "--seed", str(seed),
                   "--max-sweeps", str(SWEEPS[-1]), "--tolerance", "0", "--quiet", "--json",
                   *options]
        hidden = {"CUDA_VISIBLE_DEVICES": ""} if on == "host" else {}
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**os.environ, **hidden})
        if done.returncode:
            raise LeftOut(done.stderr.strip())
        told = json.loads(done.stdout)
        if told["factors_on"] != on:
            raise LeftOut(f"factors lay on the {told['factors_on']}")
        before = told["choose_seconds"] + told["prepare_seconds"]
        start, = told["starts"]
        for sweep, (fit, seconds) in enumerate(zip(start["fit_curve"], start["seconds_curve"]), 1):
            yield sweep, before + seconds, fit
    return run


def apart(run):
    """Runs a code of Python in a process of its own, which may have other packages and may die."""
    def started(tensor, seed, asked):
        command = [sys.executable, __file__, "--only", run.__name__, "--tensor",
                   f"{tensor.name}={tensor.path}", "--rank", str(asked.rank), "--seeds", str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": asked.packages},
                              preexec_fn=lambda: resource.setrlimit(
                                  resource.RLIMIT_AS, (asked.memory << 30,) * 2))
        yield from map(json.loads, done.stdout.splitlines())
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
            raise LeftOut(f"exit code {done.returncode}: {said}")
    return started


def by_pyttb(tensor, seed, asked):
    """cp_als of sptensor, random start."""
    import numpy as np
    import pyttb

    def timed(coords, values, shape, rank, sweeps):
        x = pyttb.sptensor(coords, values[:, None], shape)
        np.random.seed(seed)
        begin = time.perf_counter()
        told = pyttb.cp_als(x, rank, maxiters=sweeps, stoptol=0, init="random", printitn=0)
        return time.perf_counter() - begin, told[2]["fit"]

    timed(np.eye(3, dtype=np.int64), np.ones(3), (2, 2, 2), 1, 1)  # compiles
    for sweeps in SWEEPS:
        yield sweeps, *timed(*tensor.arrays(), asked.rank, sweeps)


def by_tensorly(tensor, seed, asked):
    """parafac on an array of `sparse`, random start."""
    import numpy as np
    import sparse
    from tensorly.contrib.sparse.decomposition import parafac
    coords, values, shape = tensor.arrays()
    x = sparse.COO(coords.T, values.astype(np.float32), shape)
    for sweeps in SWEEPS:
        begin = time.perf_counter()
        _, errors = parafac(x, asked.rank, n_iter_max=sweeps, tol=0, init="random",
                            random_state=seed, return_errors=True)
        yield sweeps, time.perf_counter() - begin, 1 - float(errors[-1])


CODES = {"ReTensor": by_retensor(), "ReTensor, signs": by_retensor("--start", "signs"),
         "ReTensor, nvecs": by_retensor("--start", "nvecs"),
         "ReTensor, GPU": by_retensor(on="device"),
         "pyttb": apart(by_pyttb), "TensorLy": apart(by_tensorly)}


class TensorFile:
    """A tensor by name, read when a code asks for arrays."""

    def __init__(self, text):
        self.name, _, path = text.partition("=")
        self.path = path or self.name
        self._arrays = None

    def arrays(self):
        """Coordinates, values, shape."""
        if self._arrays is None:
            self._arrays = read_tns(self.path)
        return self._arrays


def measure(tensor, asked):
    """The points of every code on a tensor."""
    for code in asked.codes:
        for seed in range(1, asked.seeds + 1):
            try:
                for sweeps, seconds, fit in CODES[code](tensor, seed, asked):
                    print(f"{tensor.name}, {code}, seed {seed}: {sweeps} sweeps, {seconds:.3g} s, "
                          f"fit {fit:.5f}", file=sys.stderr)
                    yield dict(zip(COLUMNS, (code, tensor.name, asked.rank, asked.threads, seed,
                                             sweeps, f"{seconds:.6g}", f"{fit:.7g}")))
            except LeftOut as reason:
                print(f"{tensor.name}, {code}: left out: {reason}", file=sys.stderr)
                break


def read_points(path):
    """The points of a CSV file; lines that begin with # are comments."""
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def _box(panel, point, colour):
    left, right = map(float, point["seconds"].split(".."))
    low, high = map(float, point["fit"].split(".."))
    panel.fill_between([left, right], low, high, color=colour, alpha=0.5, linewidth=0,
                       label=point["code"])


def _reached(run):
    """Of points (seconds, fit) by time those whose fit none before has: what a user has by then."""
    best = float("-inf")
    for seconds, fit in sorted(run):
        if fit > best:
            best = fit
            yield seconds, fit


def draw(points, out):
    """A panel for each tensor, a line for each run, a colour for each code."""
    import matplotlib.pyplot as plt
    from retensor import style
    tensors = list(dict.fromkeys(point["tensor"] for point in points))
    codes = list(dict.fromkeys(point["code"] for point in points))
    with style.applied():
        figure, axes = plt.subplots(
            1, len(tensors), squeeze=False, layout="constrained",
            figsize=(style.inches(style.DOUBLE_MM), style.inches(1.6 * style.PANEL_MM)))
        for panel, tensor in zip(axes[0], tensors):
            runs = defaultdict(list)
            for point in points:
                if point["tensor"] == tensor and ".." in point["seconds"]:
                    _box(panel, point, style.colour(codes.index(point["code"])))
                elif point["tensor"] == tensor:
                    runs[point["code"], point["seed"]].append(
                        (float(point["seconds"]), float(point["fit"])))
            for (code, _), run in runs.items():
                panel.plot(*zip(*_reached(run)), color=style.colour(codes.index(code)),
                           marker=style.marker(codes.index(code)), linewidth=0.8, markersize=3,
                           label=code)
            panel.set_xscale("log")
            panel.xaxis.set_major_formatter("{x:g}")
            panel.set_title(f"{tensor}, R = {points[0]['rank']}")
            panel.set_xlabel("seconds, preparation included")
        axes[0, 0].set_ylabel("fit")
        named = {label: handle for panel in axes[0] for handle, label in
                 zip(*panel.get_legend_handles_labels())}
        axes[0, -1].legend(named.values(), named.keys(), loc="upper left", bbox_to_anchor=(1.02, 1))
        figure.savefig(out, metadata={"Date": None})
        plt.close(figure)


def main():
    """Measure, write the points and draw them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tensor", action="append", default=[], metavar="NAME=FILE",
                        help="a tensor, .tns or .tns.gz; may be given several times")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", type=int, default=16, metavar="GiB",
                        help="that a code may take (default 16)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--codes", nargs="+", choices=CODES, default=list(CODES))
    parser.add_argument("--also", action="append", default=[], metavar="CSV",
                        help="points measured elsewhere, which are drawn too")
    parser.add_argument("--out", default="out/time-to-fit", metavar="PATH",
                        help="without .csv and .svg")
    parser.add_argument("--packages", default="", metavar="FOLDER",
                        help="where the packages of others lie that Python does not find itself")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only:
        for point in globals()[asked.only](TensorFile(asked.tensor[0]), asked.seeds, asked):
            print(json.dumps(point), flush=True)
        return
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                     "NUMBA_NUM_THREADS"):
        os.environ[variable] = str(asked.threads)
    Path(asked.out).parent.mkdir(parents=True, exist_ok=True)
    points = [point for tensor in map(TensorFile, asked.tensor) for point in measure(tensor, asked)]
    if points:
        with open(f"{asked.out}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(points)
        print(f"{asked.out}.csv")
    points += [point for path in asked.also for point in read_points(path)]
    if not points:
        raise SystemExit("no code gave a point")
    try:
        draw(points, f"{asked.out}.svg")
        print(f"{asked.out}.svg")
    except ModuleNotFoundError as missing:
        print(f"no figure: {missing}", file=sys.stderr)


if __name__ == "__main__":
    main()
