"""The kernels with sparse results in NumPy: TTV, TTM, TEW, TS and contraction.

For an executable and for a library: what has `operation, variant, mode, alpha, indices` (nonzeros x
modes), `values`, `second` (the same of the second tensor) and `dense` becomes a method.
"""
import numpy

COMBINE = {"add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply, "div": numpy.divide}


class SparseKernels:
    operations = ("ttv", "ttm", "tew", "ts", "contraction")
    kernel = "sorted keys"

    def build(self):
        """Finds the coordinates of the result and where each nonzero goes."""
        getattr(self, "build_" + self.operation)()
        return self.indices.nbytes + self.values.nbytes

    def build_ttm(self):
        others = numpy.delete(self.indices, self.mode, axis=1)
        self.coordinates, self.target = numpy.unique(others, axis=0, return_inverse=True)

    build_ttv = build_ttm

    def build_ts(self):
        self.coordinates = self.indices

    def build_tew(self):
        """The second tensor of a spec has the coordinates of the first, in their order."""
        assert (self.second == self.indices).all()
        self.coordinates = self.indices

    def build_contraction(self):
        """Joins the nonzeros of both that agree in the letters that both have."""
        inputs, result = self.variant.split("->")
        x, y = inputs.split(",")
        shared = [letter for letter in x if letter in y]
        by_key = {}
        for n, index in enumerate(self.second):
            by_key.setdefault(tuple(index[y.index(s)] for s in shared), []).append(n)
        pairs = [(n, m) for n, index in enumerate(self.indices)
                 for m in by_key.get(tuple(index[x.index(s)] for s in shared), [])]
        self.pairs = numpy.array(pairs, numpy.int64).reshape(-1, 2)
        columns = [self.indices[self.pairs[:, 0], x.index(s)] if s in x
                   else self.second[self.pairs[:, 1], y.index(s)] for s in result]
        self.coordinates, self.target = numpy.unique(numpy.stack(columns, 1), axis=0,
                                                     return_inverse=True)

    def compute(self):
        operand = self.dense[0]
        if self.operation in ("ttv", "ttm"):
            products = self.values[:, None] * operand[self.indices[:, self.mode]]
        elif self.operation == "contraction":
            products = self.alpha * (self.values[self.pairs[:, 0], None]
                                     * operand[self.pairs[:, 1]])
        else:
            values = COMBINE[self.variant](self.values[:, None], operand)
            self.out = list(self.coordinates.T), values
            return
        sums = numpy.zeros((len(self.coordinates), products.shape[1]), self.type)
        numpy.add.at(sums, self.target.reshape(-1), products)
        self.out = list(self.coordinates.T), sums
