#!/usr/bin/env python3
"""MTTKRP in NumPy as an executable that ReTensor measures.

Run it with
`retensor bench TENSOR --command experiments/examples/foreign/mttkrp.py`.
"""
import json
import time
from pathlib import Path

import numpy

from steps import Steps, serve


class Mttkrp(Steps):
    def read(self):
        self.problem = json.loads(Path("problem.json").read_text())
        if self.problem["operation"] != "mttkrp":
            return {"status": "unsupported", "reason": "solves only mttkrp"}
        self.type = {"f32": numpy.float32, "f64": numpy.float64}[self.problem["dtype"]]
        entries = numpy.loadtxt(self.problem["tensor"], ndmin=2)
        self.indices = entries[:, :-1].astype(numpy.int64) - 1  # they count from 1 in .tns
        self.values = entries[:, -1].astype(self.type)
        return {}

    def prepare(self):
        """Sorts the nonzeros by their row of the result."""
        start = time.perf_counter()
        rows = self.indices[:, self.problem["mode"]]
        order = numpy.argsort(rows, kind="stable")
        self.indices, self.values = self.indices[order], self.values[order]
        self.rows, self.starts = numpy.unique(rows[order], return_index=True)
        self.out = numpy.zeros(self.problem["result"], self.type)
        return {"seconds": time.perf_counter() - start,
                "format_bytes": self.indices.nbytes + self.values.nbytes}

    def operands(self, folder):
        self.factors = [numpy.fromfile(f"{folder}/{m}.bin", self.type).reshape(shape)
                        for m, shape in enumerate(self.problem["operands"])]
        return {}

    def compute(self):
        products = self.values[:, None]
        for mode, factor in enumerate(self.factors):
            if mode != self.problem["mode"]:
                products = products * factor[self.indices[:, mode]]
        self.out[:] = 0
        if len(self.rows):
            self.out[self.rows] = numpy.add.reduceat(products, self.starts)

    def result(self, file):
        self.out.tofile(file)
        return {}


if __name__ == "__main__":
    serve(Mttkrp())
