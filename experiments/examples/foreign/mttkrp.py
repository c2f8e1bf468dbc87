#!/usr/bin/env python3
"""MTTKRP in NumPy as an executable that ReTensor measures.

Run it with
`retensor bench TENSOR --command experiments/examples/foreign/mttkrp.py`.
"""
import numpy

from numpy_steps import NumpySteps
from steps import serve


class Mttkrp(NumpySteps):
    kernel = "sorted rows"

    def build(self):
        """Sorts the nonzeros by their row of the result."""
        rows = self.indices[:, self.mode]
        order = numpy.argsort(rows, kind="stable")
        self.indices, self.values = self.indices[order], self.values[order]
        self.rows, self.starts = numpy.unique(rows[order], return_index=True)
        self.out = numpy.zeros(self.problem["result"], self.type)
        return self.indices.nbytes + self.values.nbytes

    def compute(self):
        products = self.values[:, None]
        for mode, factor in enumerate(self.dense):
            if mode != self.mode:
                products = products * factor[self.indices[:, mode]]
        self.out[:] = 0
        if len(self.rows):
            self.out[self.rows] = numpy.add.reduceat(products, self.starts)


if __name__ == "__main__":
    serve(Mttkrp())
