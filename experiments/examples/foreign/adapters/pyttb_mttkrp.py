#!/usr/bin/env python3
"""MTTKRP of pyttb (Python Tensor Toolbox) as an executable for ReTensor.

The factors are converted to the order in which pyttb keeps arrays when they are loaded.
"""
import numpy
import pyttb

from shared import NumpySteps, serve


class Pyttb(NumpySteps):
    kernel = "sptensor.mttkrp"

    def build(self):
        self.tensor = pyttb.sptensor(self.indices, self.values[:, None], tuple(self.dims))
        return self.tensor.subs.nbytes + self.tensor.vals.nbytes

    def operands(self, folder):
        super().operands(folder)
        self.dense = [numpy.asfortranarray(factor) for factor in self.dense]
        return {}

    def compute(self):
        self.out = self.tensor.mttkrp(self.dense, self.mode)


if __name__ == "__main__":
    serve(Pyttb())
