"""MTTKRP that Numba compiles, for method_library.py: one thread, the nonzeros as they come."""
import numba
import numpy

from method_library import Method


@numba.njit
def multiply(values, indices, factors, mode, out):
    out[:] = 0
    products = numpy.empty(out.shape[1], out.dtype)
    for x in range(len(values)):
        products[:] = values[x]
        for m in range(len(factors)):
            if m != mode:
                products *= factors[m][indices[m, x]]
        out[indices[mode, x]] += products


class Mine(Method):
    def prepare(self):
        self.stacked = numpy.stack(self.indices)
        self.out = numpy.zeros(self.shape, self.type)
        self.dense = [numpy.zeros(shape, self.type) for shape in self.shapes]
        self.run(None)  # compiles
        return self.stacked.nbytes + self.values.nbytes

    def run(self, stream):
        multiply(self.values, self.stacked, tuple(self.dense), self.mode, self.out)
