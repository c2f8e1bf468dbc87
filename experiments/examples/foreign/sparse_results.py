#!/usr/bin/env python3
"""The kernels with sparse results in NumPy as an executable that ReTensor measures."""
from numpy_steps import NumpySteps
from sparse_kernels import SparseKernels
from steps import serve


class SparseResults(SparseKernels, NumpySteps):
    pass


if __name__ == "__main__":
    serve(SparseResults())
