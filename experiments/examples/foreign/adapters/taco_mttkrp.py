#!/usr/bin/env python3
"""MTTKRP and SpMM that TACO compiles, through its Python interface pytaco, for ReTensor.

The nonzeros lie in CSF with the mode of the result first. TACO compiles a kernel at its first
evaluation, which `prepare` makes with operands of ones.
"""
import numpy
import pytaco

from shared import NumpySteps, serve


class Taco(NumpySteps):
    operations = ("mttkrp", "spmm")
    kernel = "pytaco evaluate"

    def build(self):
        order = len(self.dims)
        mode = self.mode if self.operation == "mttkrp" else 0
        self.modes = [mode] + [m for m in range(order) if m != mode]
        levels = [pytaco.dense] + [pytaco.compressed] * (order - 1)
        self.tensor = pytaco.tensor(self.dims, pytaco.format(levels, self.modes),
                                    dtype=self.taco_type())
        for index, value in zip(self.indices.tolist(), self.values.tolist()):
            self.tensor.insert(index, value)
        self.tensor.pack()
        self.dense = [numpy.ones(shape, self.type) for shape in self.problem["operands"]]
        self.compute()
        return 0  # TACO does not tell

    def taco_type(self):
        return pytaco.float32 if self.type is numpy.float32 else pytaco.float64

    def compute(self):
        matrices = [pytaco.from_array(matrix) for matrix in self.dense]
        index = pytaco.get_index_vars(len(self.dims) + 1)
        modes, column = index[:-1], index[-1]
        product = self.tensor[modes]
        for mode in self.modes[1:]:
            at = mode if self.operation == "mttkrp" else 0
            product = product * matrices[at][modes[mode], column]
        result = pytaco.tensor(self.problem["result"], pytaco.dense, dtype=self.taco_type())
        result[modes[self.modes[0]], column] = product
        result.evaluate()
        self.out = result.to_array()


if __name__ == "__main__":
    serve(Taco())
