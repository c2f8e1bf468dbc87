#!/usr/bin/env python3
"""MTTKRP as an executable from outside, in plain Python: what the cheats derive from."""
import json
import sys
from array import array
from math import prod
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "experiments/examples/foreign"))

from steps import Steps, serve  # noqa: E402


class Honest(Steps):
    def read(self):
        self.problem = json.loads(Path("problem.json").read_text())
        self.dims = self.problem["dims"]
        self.mode = self.problem["mode"]
        self.rank = self.problem["rank"]
        self.type = {"f32": "f", "f64": "d"}[self.problem["dtype"]]
        self.nonzeros = []
        for line in Path(self.problem["tensor"]).read_text().splitlines():
            *index, value = line.split()
            self.nonzeros.append((tuple(int(i) - 1 for i in index), float(value)))
        return {}

    def prepare(self):
        self.out = self.zeros()
        return {"format_bytes": 8 * len(self.nonzeros), "executed": {"kernel": "loops"}}

    def zeros(self):
        return array(self.type, bytes(prod(self.problem["result"]) * array(self.type).itemsize))

    def operands(self, folder):
        self.factors = []
        for m, (rows, columns) in enumerate(self.problem["operands"]):
            factor = array(self.type)
            with open(f"{folder}/{m}.bin", "rb") as file:
                factor.fromfile(file, rows * columns)
            self.factors.append(factor)
        return {}

    def compute(self):
        self.zero()
        for index, value in self.nonzeros:
            self.add(index, value)

    def zero(self):
        self.out = self.zeros()

    def add(self, index, value):
        at = index[self.mode] * self.rank
        for r in range(self.rank):
            product = value
            for m in self.other_modes():
                product *= self.factors[m][index[m] * self.rank + r]
            self.out[at + r] += product

    def other_modes(self):
        return [m for m in range(len(self.dims)) if m != self.mode]

    def result(self, file):
        with open(file, "wb") as out:
            self.out.tofile(out)
        return {}


if __name__ == "__main__":
    serve(Honest())
