"""Tensors in files of other libraries: arrays in NumPy's .npz and in HDF5.

.npz: what `sparse.save_npz` of PyData writes (data, coords, shape, fill_value), and for reading
also the matrices of `scipy.sparse.save_npz`. .h5: the coordinate form of the Binsparse
specification (attribute `binsparse`, arrays indices_0, indices_1, ... and values). Indices count
from zero in both.

    exchange.py --input IN --out OUT    one of the two ends with .tnsb
"""
import argparse
import json
import os
import sys
import zipfile
import zlib
from pathlib import Path

import numpy

import tnsb

LONGEST_MODE = 1 << 32
LARGEST_INTEGER = 1 << 53  # up to which a double holds every one
EXPECTED = {".npz": "what sparse.save_npz or scipy.sparse.save_npz writes",
            ".h5": "an HDF5 file in the coordinate form of Binsparse"}
EXPECTED[".hdf5"] = EXPECTED[".h5"]


class Malformed(Exception):
    """A file that has not the expected form; the message names it."""


def checked(path, shape, coords, values):
    """The tensor, when every index lies within its mode and values are numbers."""
    shape = tuple(int(length) for length in shape)
    if values.dtype.kind not in "fiub" or coords.dtype.kind not in "iu":
        raise Malformed(f"{path}: found arrays of {coords.dtype} and {values.dtype}, expected "
                        "indices and real values")
    if not 1 <= len(shape) <= 8 or not all(1 <= n <= LONGEST_MODE for n in shape):
        raise Malformed(f"{path}: found shape {shape}, expected 1 to 8 modes of at most 2^32")
    if coords.shape != (len(shape), len(values)) or values.ndim != 1:
        raise Malformed(f"{path}: found coords of shape {coords.shape} for {values.shape} values, "
                        f"expected {(len(shape), len(values))}")
    for mode, (indices, length) in enumerate(zip(coords, shape)):
        if len(indices) and not 0 <= indices.min() <= indices.max() < length:
            raise Malformed(f"{path}: found indices {indices.min()} to {indices.max()} of mode "
                            f"{mode}, expected 0 to {length - 1}")
    return shape, coords.astype("<u4"), floating(path, values)


def floating(path, values):
    """The values in single precision where that changes none, else in double precision."""
    if values.dtype.kind in "iu" and len(values):
        least, most = int(values.min()), int(values.max())
        if not -LARGEST_INTEGER <= least <= most <= LARGEST_INTEGER:
            far = most if most > LARGEST_INTEGER else least
            raise Malformed(f"{path}: found the value {far}, expected integers of at most 2^53")
    flawed = ~numpy.isfinite(values)
    if flawed.any():
        raise Malformed(f"{path}: found the value {values[flawed][0]}, expected finite numbers")
    wide = values.astype("<f8")
    with numpy.errstate(over="ignore"):
        narrow = wide.astype("<f4")
    return narrow if (narrow == wide).all() else wide


def of_scipy(path, arrays):
    import scipy.sparse
    with open(path, "rb") as file:
        matrix = scipy.sparse.load_npz(file).tocoo()
    return checked(path, matrix.shape, numpy.vstack([matrix.row, matrix.col]), matrix.data)


def read_npz(path):
    with numpy.load(path, allow_pickle=False) as arrays:
        if "format" in arrays:
            return of_scipy(path, arrays)
        missing = {"data", "coords", "shape"} - set(arrays)
        if missing:
            raise Malformed(f"{path}: no array {', '.join(sorted(missing))}: expected what "
                            "sparse.save_npz or scipy.sparse.save_npz writes")
        if "fill_value" in arrays and arrays["fill_value"] != 0:
            raise Malformed(f"{path}: found fill value {arrays['fill_value']}, expected 0")
        return checked(path, arrays["shape"], arrays["coords"], arrays["data"])


def write_npz(path, dims, indices, values):
    with open(path, "wb") as file:
        numpy.savez_compressed(file, data=values, coords=indices.astype(numpy.int64),
                               shape=numpy.array(dims, numpy.int64),
                               fill_value=values.dtype.type(0))


def hdf5():
    try:
        import h5py
    except ImportError:
        raise Malformed("HDF5 needs h5py (Debian: python3-h5py)") from None
    return h5py


def description(dims, values):
    names = {f"indices_{mode}": "uint32" for mode in range(len(dims))}
    nested = {"level_desc": "sparse", "rank": len(dims), "level": {"level_desc": "element"}}
    return {"binsparse": {
        "version": "0.1", "format": "COOR" if len(dims) == 2 else {"custom": {"level": nested}},
        "shape": list(dims), "number_of_stored_values": len(values),
        "data_types": {**names, "values": f"float{8 * values.itemsize}"}}}


def read_hdf5(path):
    with hdf5().File(path, "r") as file:
        try:
            stated = json.loads(file.attrs["binsparse"])["binsparse"]
            shape = stated["shape"]
            coords = numpy.vstack([file[f"indices_{m}"][:] for m in range(len(shape))])
            return checked(path, shape, coords, file["values"][:])
        except (KeyError, TypeError, ValueError) as error:
            raise Malformed(f"{path}: not the coordinate form of Binsparse: {error}") from None


def write_hdf5(path, dims, indices, values):
    with hdf5().File(path, "w") as file:
        file.attrs["binsparse"] = json.dumps(description(dims, values))
        for mode, array in enumerate(indices):
            file.create_dataset(f"indices_{mode}", data=array, compression="gzip", shuffle=True)
        file.create_dataset("values", data=values, compression="gzip", shuffle=True)


FORMATS = {".npz": (read_npz, write_npz), ".h5": (read_hdf5, write_hdf5),
           ".hdf5": (read_hdf5, write_hdf5)}


def read(path):
    try:
        return FORMATS[path.suffix][0](path)
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        said = " ".join(str(error.args[0] if isinstance(error, KeyError) else error).split())
        raise Malformed(f"{path}: found '{said}', expected {EXPECTED[path.suffix]}") from None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    out = Path(os.path.realpath(arguments.out))  # a link stays, its target is replaced
    part = out.with_name(out.name + ".part")
    try:
        if arguments.out.suffix == ".tnsb":
            tnsb.write(arguments.out, *read(arguments.input))
        else:
            FORMATS[arguments.out.suffix][1](part, *tnsb.read(arguments.input))
            os.replace(part, out)
    except (Malformed, OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        part.unlink(missing_ok=True)
        print(f"exchange: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
