"""The binary cache `.tnsb` as arrays of NumPy; its form stands in common/io/cache.hpp."""
import hashlib
import os
import struct
import zlib
from pathlib import Path

import numpy

MAGIC = b"TNSB\r\n\x1a\n"
VERSION = 2
HEADER = struct.Struct("<8s4IQ8Q32s")
CHECK_AT = 20
TYPES = [numpy.dtype("<f4"), numpy.dtype("<f8")]


def read(path):
    """(dims, indices of shape modes x nonzeros, values); the program has written the file."""
    with open(path, "rb") as file:
        magic, version, dtype, order, _, nnz, *rest = HEADER.unpack(file.read(HEADER.size))
        if magic != MAGIC or version != VERSION:
            raise ValueError(f"{path}: no cache of version {VERSION}")
        indices = numpy.fromfile(file, "<u4", order * nnz).reshape(order, nnz)
        return tuple(rest[:order]), indices, numpy.fromfile(file, TYPES[dtype], nnz)


def write(path, dims, indices, values):
    """The file appears under its name only when complete and on disk."""
    dtype = TYPES.index(values.dtype.newbyteorder("<"))
    body = [numpy.ascontiguousarray(mode, "<u4").tobytes() for mode in indices]
    body.append(values.astype(TYPES[dtype]).tobytes())
    digest = hashlib.sha256(struct.pack(f"<2Q{len(dims)}Q", dtype, len(dims), *dims))
    for part in body:
        digest.update(part)
    lengths = [*dims, *[0] * (8 - len(dims))]
    head = bytearray(HEADER.pack(MAGIC, VERSION, dtype, len(dims), 0, len(values), *lengths,
                                 digest.digest()))
    struct.pack_into("<I", head, CHECK_AT, zlib.crc32(head))
    part = Path(f"{path}.part")
    with open(part, "wb") as file:
        file.writelines([head, *body])
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
