#!/usr/bin/env python3
"""Sparse times dense matrix of torch.sparse (CSR, cuSPARSE underneath) on a GPU for ReTensor."""
import torch

from shared import TorchSpmm, serve


class TorchSparse(TorchSpmm):
    kernel = "torch.sparse.mm"

    def build(self):
        arrays = self.csr()
        self.matrix = torch.sparse_csr_tensor(*arrays, size=self.dims, device="cuda")
        return sum(a.numel() * a.element_size() for a in arrays)

    def multiply(self, dense):
        return torch.sparse.mm(self.matrix, dense)


if __name__ == "__main__":
    serve(TorchSparse())
