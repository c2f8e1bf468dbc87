#!/usr/bin/env python3
"""DTC-SpMM as an executable for ReTensor: TF32 on tensor cores, values of the matrix are all 1.

The extension takes no values: the adapter declines a matrix whose values are not 1.
"""
import DTCSpMM
import torch

from shared import TorchSpmm, serve

HEIGHT, WIDTH = 16, 8


class Dtc(TorchSpmm):
    kernel = "DTCSpMM.run_DTCSpMM"

    def read(self):
        answer = super().read()
        if not answer and (self.values != 1).any():
            return {"status": "unsupported", "reason": "takes only matrices of ones"}
        return answer

    def build(self):
        starts, columns, _ = self.csr()
        rows, nonzeros = self.dims[0], len(columns)
        empty = [torch.zeros(n, dtype=torch.int32).cuda()
                 for n in (-(-rows // HEIGHT), nonzeros, nonzeros)]
        self.format = DTCSpMM.preprocess_gpu(columns.cuda(), starts.cuda(), rows, HEIGHT, WIDTH,
                                             *empty)
        return sum(a.numel() * a.element_size() for a in self.format[:5])

    def multiply(self, dense):
        window, _, tile, offset, columns = self.format[:5]
        plan = self.problem["params"].get("plan", "float_nonsplit")
        return DTCSpMM.run_DTCSpMM(dense, window, tile, offset, columns, self.dims[0],
                                   len(self.values), plan)[0]


if __name__ == "__main__":
    serve(Dtc())
