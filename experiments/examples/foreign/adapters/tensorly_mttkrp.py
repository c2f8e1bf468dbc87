#!/usr/bin/env python3
"""MTTKRP of TensorLy (unfolding_dot_khatri_rao) as an executable for ReTensor.

TensorLy's NumPy backend computes on dense arrays: larger tensors than MOST_CELLS are declined.
"""
import math

import numpy
from tensorly.cp_tensor import unfolding_dot_khatri_rao

from shared import NumpySteps, serve

MOST_CELLS = 1 << 27


class TensorLy(NumpySteps):
    kernel = "unfolding_dot_khatri_rao"

    def read(self):
        answer = super().read()
        if not answer and math.prod(self.dims) > MOST_CELLS:
            return {"status": "unsupported", "reason": f"takes at most {MOST_CELLS} cells"}
        return answer

    def build(self):
        self.tensor = numpy.zeros(self.dims, self.type)
        self.tensor[tuple(self.indices.T)] = self.values
        return self.tensor.nbytes

    def compute(self):
        self.out = unfolding_dot_khatri_rao(self.tensor, (None, self.dense), self.mode)


if __name__ == "__main__":
    serve(TensorLy())
