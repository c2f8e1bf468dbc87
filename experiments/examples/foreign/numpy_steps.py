"""What executables in NumPy share: the problem, its tensors, operands and results as arrays.

A class names the `operations` and `types` that it solves, and has `compute`, which leaves its
result in `out`: a matrix, or of a sparse result (indices, values), an array for each mode and an
entry or a row for each coordinate. A GPU's arrays become NumPy's in `to_host`.
"""
import json
import time
from pathlib import Path

import numpy

from steps import Steps


class NumpySteps(Steps):
    operations = ("mttkrp",)
    types = ("f32", "f64")

    def read(self):
        self.problem = json.loads(Path("problem.json").read_text())
        for member, known in (("operation", self.operations), ("dtype", self.types)):
            if self.problem[member] not in known:
                return {"status": "unsupported", "reason": "solves only " + ", ".join(known)}
        self.mode, self.dims = self.problem["mode"], self.problem["dims"]
        self.operation, self.variant = self.problem["operation"], self.problem.get("variant", "")
        self.alpha = self.problem.get("alpha", 1)
        self.type = {"f32": numpy.float32, "f64": numpy.float64}[self.problem["dtype"]]
        self.indices, self.values = self.entries(self.problem["tensor"])
        if "second" in self.problem:
            self.second, _ = self.entries(self.problem["second"]["tensor"])
        return {}

    def entries(self, file):
        """Indices from 0, nonzeros x modes, and the values of a file .tns or .mtx."""
        comments = "%" if file.endswith(".mtx") else "#"
        skipped = 0
        if comments == "%":  # the line of the lengths is none of the nonzeros
            with open(file) as lines:
                skipped = 1 + next(n for n, line in enumerate(lines) if not line.startswith("%"))
        entries = numpy.loadtxt(file, ndmin=2, comments=comments, skiprows=skipped)
        indices = entries[:, :-1].astype(numpy.int64) - 1  # they count from 1 there
        return indices, entries[:, -1].astype(self.type)

    def prepare(self):
        """Times `build`, which makes the method's own format and returns its bytes."""
        start = time.perf_counter()
        return {"format_bytes": self.build(), "executed": {"kernel": self.kernel},
                "seconds": time.perf_counter() - start}

    def operands(self, folder):
        self.dense = [numpy.fromfile(f"{folder}/{m}.bin", self.type).reshape(shape)
                      for m, shape in enumerate(self.problem["operands"])]
        return {}

    def to_host(self, array):
        return array

    def result(self, file):
        with open(file, "wb") as out:
            values = self.out
            if isinstance(values, tuple):
                indices, values = values
                numpy.uint64(len(values)).tofile(out)
                for index in indices:
                    numpy.ascontiguousarray(self.to_host(index), numpy.uint32).tofile(out)
            numpy.ascontiguousarray(self.to_host(values), self.type).tofile(out)
        return {}
