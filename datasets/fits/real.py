"""Stand-ins fitted to tensors that are at hand, by their facts and never by times.

    real.py RETENSOR NAME [--cache FOLDER]

NAME is one of POWER_LAWS or KRONECKER. What is made least is the sum of squared distances
(distances.py) of the modes' nonzeros a fiber, non-empty slices, largest slices and Gini
coefficients and of tiles of 8 and 16. Prints every trial that is better than those before, and the
law as registries have it.

Of the generator `power_law` an exponent for each mode is fitted, and how ranks and draws are
gathered (`run`, `group`). Each `run` and `group` of a grid starts at the exponents that the Gini
coefficients ask for. From the best of them each exponent then moves in turn by falling steps, and
`run` and `group` by factors of two, until no move makes the law better: the last of ROUNDS tells
how fine the fit is. A trial for Uber takes 8 s of a core.

Of the generator `kronecker` the initiator is fitted, of edge 3 in the modes of the matrices and of
edge 2 with equal halves in the mode that they are stacked along: as cells are drawn once alone,
those with the largest weights are filled in every matrix, as in a stack of one pattern. Its weights
move in turn by falling factors. The best power law and band for the stack have misfits of 25.1 and
22.3.
"""
import functools
import itertools
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import distances

ROUNDS = (0.2, 0.1, 0.05)  # steps of the exponents
PATIENCE = 600              # seconds: laws that repeat themselves draw for long
WHOLE = 1 << 13             # a run as long as any mode here: ranks lie in their order
FACTORS = (2, 1.4, 1.2)     # steps of the weights of an initiator
# Grids of run and group of the real tensor by name.
POWER_LAWS = {
    "ratings": ((1, 8, 64, WHOLE), (1, 8)),
    "uber-apr-aug": ((64, WHOLE), (8, 64, 256, 1024)),
}
# Weights of the initiator in the modes of the matrices that searches start at.
KRONECKER = {"oscil_dcop-pattern": (0.3, 0.1, 0.01, 0.01, 0.3, 0.05, 0.01, 0.01, 0.3)}


def misfit(real, like):
    """Sum of squared distances over modes and sizes of tiles."""
    total = 0.0
    for _, value in distances.WHAT:
        for a, b in zip(value(real), value(like)):
            total += math.log2(b / a)**2
    return total


def registry_of(law, dims, nnz):
    return {"schema": 1, "datasets": {"trial": {
        "kind": "generated", "form": "tensor", "dims": dims, "nnz": nnz, "source": "a trial",
        "licence": "CC0", "make": {"seed": 1, **law}}}}


def facts_of_law(retensor, law, dims, nnz):
    """Facts of the tensor that a law makes; None where it finds no room for the nonzeros."""
    with tempfile.TemporaryDirectory() as folder:
        registry = Path(folder) / "registry.yaml"
        registry.write_text(json.dumps(registry_of(law, dims, nnz)), encoding="utf-8")
        try:
            return distances.described(retensor, "trial", folder,
                                       ["--registry", str(registry)], PATIENCE)["facts"]
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return None


def gini(exponent, length):
    """That of weights r^-exponent."""
    weights = sorted((r + 1.0)**-exponent for r in range(length))
    rising = sum((i + 1) * w for i, w in enumerate(weights))
    return 2 * rising / (length * sum(weights)) - (length + 1) / length


def exponent_for(wanted, length):
    low, high = 0.0, 3.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if gini(middle, length) < wanted else (low, middle)
    return round(low, 3)


class Search:
    """Trials on one tensor, each made once, and the best."""

    def __init__(self, retensor, real, dims, nnz):
        self.retensor, self.real, self.dims, self.nnz = retensor, real, dims, nnz
        self.least = math.inf
        self.scores = {}

    def __call__(self, law):
        name = json.dumps(law)
        if name not in self.scores:
            self.scores[name] = self.trial(law)
        return self.scores[name]

    def trial(self, law):
        found = facts_of_law(self.retensor, law, self.dims, self.nnz)
        score = misfit(self.real, found) if found else math.inf
        if score < self.least:
            self.least = score
            print(f"{score:.3f} {json.dumps(law)}", flush=True)
        return score

    def moved(self, law, score, moves):
        """The law after all moves, each repeated as long as it makes the law better."""
        for move in moves:
            while (found := self(trial := move(law))) < score:
                law, score = trial, found
        return score, law

    def settled(self, law, score, rounds):
        """The law that no move of the last round makes better; each round repeats its moves."""
        for moves in rounds:
            found, better = self.moved(law, score, moves)
            while found < score:
                score, law = found, better
                found, better = self.moved(law, score, moves)
        return score, law


def shifted(law, mode, step):
    exponents = list(law["exponent"])
    exponents[mode] = round(max(0.0, exponents[mode] + step), 3)
    return {**law, "exponent": exponents}


def gathered(law, what, factor):
    return {**law, what: min(WHOLE, max(1, int(law[what] * factor)))}


def power_law_moves(order, step):
    moves = [functools.partial(gathered, what=what, factor=factor)
             for what in ("group", "run") for factor in (2, 0.5)]
    return moves + [functools.partial(shifted, mode=mode, step=sign * step)
                    for mode in range(order) for sign in (1, -1)]


def power_law(search, real, dims, grid):
    start = [exponent_for(g, length) for g, length in zip(real["slice_gini"], dims)]
    tried = []
    for run, group in itertools.product(*grid):
        law = {"recipe": "power_law", "exponent": start, "run": run, "group": group}
        tried.append((search(law), law))
    score, law = min(tried, key=lambda one: one[0])
    return search.settled(law, score, [power_law_moves(len(dims), step) for step in ROUNDS])


def stacked(weights):
    """The law with these weights of a matrix's cells, the same in both halves of the stack."""
    total = 2 * sum(weights)
    return {"recipe": "kronecker", "initiator_dims": [3, 3, 2],
            "initiator": [round(w / total, 6) for w in weights for _ in range(2)]}


def kronecker(search, start):
    def move(law, cell, factor):
        weights = law["initiator"][::2]
        weights[cell] *= factor
        return stacked(weights)

    law = stacked(start)
    rounds = [[functools.partial(move, cell=cell, factor=factor)
               for cell in range(len(start)) for factor in (step, 1 / step)] for step in FACTORS]
    return search.settled(law, search(law), rounds)


def main(retensor, name, cache="cache"):
    entry = distances.described(retensor, name, cache)
    search = Search(retensor, entry["facts"], entry["dims"], entry["nnz"])
    score, law = (kronecker(search, KRONECKER[name]) if name in KRONECKER else
                  power_law(search, entry["facts"], entry["dims"], POWER_LAWS[name]))
    print(f"{name}: misfit {score:.3f}, make: {json.dumps(law)}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[4] if len(sys.argv) > 4 else "cache")
