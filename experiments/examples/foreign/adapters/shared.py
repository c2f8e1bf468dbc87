"""What the adapters in Python share: the steps, and arrays of PyTorch on a GPU."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from numpy_steps import NumpySteps  # noqa: E402,F401
from steps import serve  # noqa: E402,F401


class TorchSpmm(NumpySteps):
    """SpMM of a PyTorch extension: the matrix in CSR with 32-bit indices, operands on the GPU."""
    operations = ("spmm",)
    types = ("f32",)

    def csr(self, padded_to=1):
        """Row starts, columns and values on the host; empty rows fill the last multiple up."""
        import numpy
        import torch
        order = numpy.lexsort((self.indices[:, 1], self.indices[:, 0]))
        rows = -(-self.dims[0] // padded_to) * padded_to
        starts = numpy.zeros(rows + 1, numpy.int32)
        numpy.cumsum(numpy.bincount(self.indices[:, 0], minlength=rows), out=starts[1:])
        columns = self.indices[order, 1].astype(numpy.int32)
        return [torch.from_numpy(a) for a in (starts, columns, self.values[order])]

    def operands(self, folder):
        import torch
        super().operands(folder)
        self.dense = [torch.from_numpy(matrix).cuda() for matrix in self.dense]
        torch.cuda.synchronize()
        return {}

    def compute(self):
        import torch
        self.out = self.multiply(self.dense[0])
        torch.cuda.synchronize()

    def to_host(self, array):
        return array[:self.dims[0]].cpu().numpy()
