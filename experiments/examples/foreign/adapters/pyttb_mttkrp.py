#!/usr/bin/env python3
"""MTTKRP of pyttb (Python Tensor Toolbox, `pip install pyttb`) as an executable for ReTensor.

`sptensor.mttkrp` makes a product with a vector for each other mode and column. The time is that of
the call; the factors are converted to the order in which pyttb keeps arrays when they are loaded.
"""
import sys
import time
from pathlib import Path

import numpy
import pyttb

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mttkrp import Mttkrp  # noqa: E402
from steps import serve  # noqa: E402


class Pyttb(Mttkrp):
    def prepare(self):
        start = time.perf_counter()
        self.tensor = pyttb.sptensor(self.indices, self.values[:, None],
                                     tuple(self.problem["dims"]))
        return {"seconds": time.perf_counter() - start,
                "format_bytes": self.tensor.subs.nbytes + self.tensor.vals.nbytes,
                "executed": {"kernel": "sptensor.mttkrp"}}

    def operands(self, folder):
        super().operands(folder)
        self.factors = [numpy.asfortranarray(factor) for factor in self.factors]
        return {}

    def compute(self):
        self.out = self.tensor.mttkrp(self.factors, self.problem["mode"])

    def result(self, file):
        numpy.ascontiguousarray(self.out, self.type).tofile(file)
        return {}


if __name__ == "__main__":
    serve(Pyttb())
