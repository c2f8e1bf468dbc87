#!/usr/bin/env python3
"""SciPy's CSR products as an executable for ReTensor: SpMM, and ab,bc->ac of two matrices."""
import scipy.sparse

from shared import NumpySteps, serve


class Scipy(NumpySteps):
    operations = ("spmm", "contraction")
    kernel = "csr_array @"

    def read(self):
        answer = super().read()
        if not answer and self.variant not in ("", "ab,bc->ac"):
            return {"status": "unsupported", "reason": "contracts only ab,bc->ac"}
        return answer

    def matrix(self, indices, values, dims):
        return scipy.sparse.csr_array((values, tuple(indices.T)), shape=dims)

    def build(self):
        self.left = self.matrix(self.indices, self.values, self.dims)
        return self.left.data.nbytes + self.left.indices.nbytes + self.left.indptr.nbytes

    def operands(self, folder):
        answer = super().operands(folder)
        if "second" in self.problem:
            self.dense = [self.matrix(self.second, self.dense[0][:, 0],
                                      self.problem["second"]["dims"])]
        return answer

    def compute(self):
        product = self.left @ self.dense[0]
        if "second" in self.problem:
            product = product.tocoo()
            product = [product.row, product.col], self.alpha * product.data
        self.out = product


if __name__ == "__main__":
    serve(Scipy())
