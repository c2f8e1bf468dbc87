#!/usr/bin/env python3
"""FlashSparse's TF32 kernels as an executable for ReTensor.

The parameter `variant` is 8x1 (the default) or 8x1_balance. The matrix is padded to full windows
of eight rows. The call times itself over its last argument's runs and returns the result too: with
one run the outer time holds its copies to and from the GPU; `said` is the time that it returns.
"""
import FS_Block
import FS_SpMM

from shared import TorchSpmm, serve

WINDOW, WIDTH, PART = 8, 4, 32


class FlashSparse(TorchSpmm):
    kernel = "FS_SpMM.forward_tf32"

    def build(self):
        matrix = self.csr(padded_to=WINDOW)
        self.rows = len(matrix[0]) - 1
        self.balance = self.problem["params"].get("variant", "8x1") == "8x1_balance"
        if self.balance:
            self.format = FS_Block.blockProcess_tf32_balance(*matrix, WINDOW, WIDTH, PART)
        else:
            self.format = FS_Block.blockProcess_tf32(*matrix, WINDOW, WIDTH)
        return sum(a.numel() * a.element_size() for a in self.format)

    def operands(self, folder):
        return super(TorchSpmm, self).operands(folder)

    def run(self):
        import torch
        forward = FS_SpMM.forward_tf32_balance if self.balance else FS_SpMM.forward_tf32
        dense = torch.from_numpy(self.dense[0])
        self.out, milliseconds = forward(*self.format, dense, self.rows, dense.shape[1],
                                         self.dims[0], 1)
        return {"stages": {"kernel": milliseconds.item() / 1000}}


if __name__ == "__main__":
    serve(FlashSparse())
