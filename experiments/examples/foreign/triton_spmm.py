"""Sparse times dense matrix in Triton, for method_library.py: a program for a row and 32 columns.

It needs PyTorch and Triton; the id of the method says cuda: `--library mine.cuda=./libmine.so`.
"""
import numpy
import torch
import triton
import triton.language as tl

from method_library import Method

COLUMNS = 32


@triton.jit
def multiply(starts, columns, values, dense, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = lane < width
    total = tl.zeros([BLOCK], tl.float32)
    for x in range(tl.load(starts + row), tl.load(starts + row + 1)):
        column = tl.load(columns + x).to(tl.int64)
        total += tl.load(values + x) * tl.load(dense + column * width + lane, inside, 0)
    tl.store(out + row.to(tl.int64) * width + lane, total, inside)


class View:
    """Memory of the GPU as other libraries take it."""
    def __init__(self, address, shape):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": "<f4", "version": 3,
                                         "data": (address, False)}


class Mine(Method):
    operations = ("spmm",)
    on_device = True

    def prepare(self):
        if self.type != numpy.float32:
            raise NotImplementedError("takes only f32")
        order = numpy.lexsort(self.indices[::-1])
        starts = numpy.zeros(self.dims[0] + 1, numpy.int64)
        numpy.cumsum(numpy.bincount(self.indices[0], minlength=self.dims[0]), out=starts[1:])
        columns = self.indices[1][order].astype(numpy.int32)
        self.format = [torch.from_numpy(a).cuda() for a in (starts, columns, self.values[order])]
        self.out = torch.empty(self.shape, device="cuda")
        self.dense = [torch.zeros(self.shapes[0], device="cuda")]
        self.run(torch.cuda.current_stream().cuda_stream)  # compiles
        torch.cuda.synchronize()
        return sum(a.numel() * a.element_size() for a in self.format)

    def operands(self, addresses):
        self.dense = [torch.as_tensor(View(addresses[0], self.shapes[0]), device="cuda")]

    def run(self, stream):
        width = self.shape[1]
        with torch.cuda.stream(torch.cuda.ExternalStream(stream or 0)):
            multiply[self.shape[0], triton.cdiv(width, COLUMNS)](
                *self.format, self.dense[0], self.out, width, BLOCK=COLUMNS)

    def result(self):
        return self.out.cpu().numpy()
