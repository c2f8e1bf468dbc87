#!/usr/bin/env python3
"""Voltrix-SpMM as an executable for ReTensor: TF32 on tensor cores, Hopper and newer.

The library takes no values and square matrices alone: others are declined.
"""
import voltrix

from shared import TorchSpmm, serve


class Voltrix(TorchSpmm):
    kernel = "voltrix.spmm"

    def read(self):
        answer = super().read()
        if not answer and ((self.values != 1).any() or self.dims[0] != self.dims[1]):
            return {"status": "unsupported", "reason": "takes only square matrices of ones"}
        return answer

    def build(self):
        starts, columns, _ = self.csr()
        self.format = voltrix.csr_preprocess(starts, columns, self.dims[0])
        self.format[1].hash_tag = f"retensor_{self.dims[0]}_{len(columns)}"
        return sum(a.numel() * a.element_size() for a in self.format)

    def multiply(self, dense):
        return voltrix.spmm(*self.format, num_nodes=self.dims[0], num_edges=len(self.values),
                            feat=dense)


if __name__ == "__main__":
    serve(Voltrix())
