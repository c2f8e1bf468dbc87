#!/usr/bin/env python3
"""PyData Sparse as an executable for ReTensor: contractions of two tensors, and TTV."""
import sparse

from shared import NumpySteps, serve


class PydataSparse(NumpySteps):
    operations = ("contraction", "ttv")
    kernel = "sparse.tensordot"

    def build(self):
        self.tensor = sparse.COO(self.indices.T, self.values, shape=self.dims)
        return self.tensor.nbytes

    def letters(self):
        """Contracted modes of both, and the order of the result's modes."""
        inputs, result = self.variant.split("->")
        x, y = inputs.split(",")
        shared = [s for s in x if s in y]
        free = [s for s in x + y if s not in shared]
        return ([[x.index(s) for s in shared], [y.index(s) for s in shared]],
                [free.index(s) for s in result])

    def operands(self, folder):
        answer = super().operands(folder)
        if "second" in self.problem:
            self.axes, self.order = self.letters()
            self.other = sparse.COO(self.second.T, self.dense[0][:, 0],
                                    shape=self.problem["second"]["dims"])
        else:
            self.axes, self.order = [[self.mode], [0]], range(len(self.dims) - 1)
            self.other = sparse.COO.from_numpy(self.dense[0][:, 0])
        return answer

    def compute(self):
        product = sparse.tensordot(self.tensor, self.other, self.axes, return_type=sparse.COO)
        product = product.transpose(list(self.order))
        self.out = list(product.coords), self.alpha * product.data


if __name__ == "__main__":
    serve(PydataSparse())
