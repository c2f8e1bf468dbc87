"""Sparse tensors in coordinates, and their ways from and to other libraries."""
import numpy as np

from retensor import dlpack, library
from retensor.library import InputError, RetensorError, whole

MOST_INDEX = 2**32


class Tensor:
    """A sparse tensor of order 1 to 8: `coords`, one array of indices a mode, counted from 0, and
    `values`, in float32 or float64. Values at equal coordinates add up, as in SciPy."""

    def __init__(self, coords, values, shape):
        """Index arrays (or one array of shape order x nnz), values and mode lengths. Values that
        are no floating-point numbers become float32. Raises InputError for arrays of different
        lengths and for indices outside the shape."""
        self.shape = tuple(whole("length of a mode", length) for length in shape)
        values, coords = real(dlpack.to_host(values)), list(coords)
        is_wide = values.dtype.kind == "f" and values.dtype.itemsize > 4
        kind = np.float64 if is_wide else np.float32
        self.values = np.ascontiguousarray(values, kind).reshape(-1)
        self.coords = tuple(_index_array(indices, length, mode)
                            for mode, (indices, length) in enumerate(zip(coords, self.shape)))
        lengths = [len(indices) for indices in self.coords]
        if not 1 <= self.ndim <= 8:
            raise InputError(f"found {self.ndim} modes, expected 1 to 8")
        if len(coords) != self.ndim:
            raise InputError(f"found {len(coords)} index arrays for a shape of {self.ndim} modes, "
                             "expected one for each mode")
        if any(length != self.nnz for length in lengths):
            raise InputError(f"found index arrays of {lengths} entries for {self.nnz} values")

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def nnz(self):
        """Stored values, explicit zeros included."""
        return len(self.values)

    @property
    def dtype(self):
        return self.values.dtype

    def __repr__(self):
        lengths = " x ".join(map(str, self.shape))
        return f"<Tensor {lengths}, {self.nnz} nonzero{'s' * (self.nnz != 1)}, {self.dtype}>"

    @classmethod
    def read(cls, path, dtype=None):
        """A .tns, .mtx, .smtx, GenTen or .tnsb file, plain, gzip or zstd, its values in float32 or
        float64. Without `dtype` a .tnsb file keeps the type that it states; texts state none and
        are read as float32. Raises InputError with file, line and column of what is wrong."""
        return cls.from_arrays(library.read(path, dtype))

    @classmethod
    def from_arrays(cls, arrays):
        """A sparse result that the library returned, as a Tensor."""
        coords = [arrays[f"index{mode}"] for mode in range(len(arrays["dims"]))]
        return cls(coords, arrays["values"], arrays["dims"])

    @classmethod
    def from_numpy(cls, array):
        """The nonzeros of a dense array of order 1 to 8."""
        array = real(dlpack.to_host(array))
        if array.ndim == 0:
            raise InputError(f"found {array.item()!r}, expected an array of order 1 to 8")
        coords = array.nonzero()
        return cls(coords, array[coords], array.shape)

    @classmethod
    def from_scipy(cls, array):
        """Any sparse array or matrix of SciPy; of `coo_array` any order."""
        array = array.tocoo()
        return cls(getattr(array, "coords", None) or (array.row, array.col), array.data,
                   array.shape)

    @classmethod
    def from_sparse(cls, array):
        """An array of PyData Sparse in any of its formats. Raises InputError where the entries that
        it does not store are not 0."""
        array = array.asformat("coo")
        if array.fill_value != 0:
            raise InputError(f"found an array whose fill_value is {array.fill_value}, expected 0: "
                             "entries that are not stored are zeros here")
        return cls(tuple(array.coords), array.data, array.shape)

    def write(self, path):
        """Write a file: Matrix Market where the path ends with .mtx, a binary tensor where it ends
        with .tnsb, else text (.tns) with a header of order and mode lengths."""
        library.write(path, self)

    def astype(self, dtype):
        """The tensor with values in float32 or float64. Raises InputError for a value that the type
        does not hold."""
        library.code(dtype)
        with np.errstate(over="ignore"):
            values = self.values.astype(dtype)
        lost = np.isfinite(self.values) & ~np.isfinite(values)
        if lost.any():
            raise InputError(f"found the value {self.values[lost][0]}, expected one that "
                             f"{np.dtype(dtype)} holds")
        return Tensor(self.coords, values, self.shape)

    def to_numpy(self):
        """A dense array. Raises MemoryError where it does not fit."""
        try:
            dense = np.zeros(self.shape, self.dtype)
        except ValueError as error:  # more bytes than an address can count
            raise MemoryError(f"a dense array of shape {self.shape} does not fit") from error
        np.add.at(dense, self.coords, self.values)
        return dense

    def to_scipy(self):
        """A `scipy.sparse.coo_array`. SciPy takes orders other than 2 from version 1.15 on (order 1
        from 1.13): an older one is a RetensorError."""
        from scipy import __version__, sparse
        coords = tuple(indices.astype(np.int64) for indices in self.coords)
        try:
            return sparse.coo_array((self.values, coords), shape=self.shape)
        except (TypeError, ValueError) as error:
            raise RetensorError(
                f"SciPy {__version__} has no coo_array of order {self.ndim}: version 1.15 or newer "
                "takes any order") from error

    def to_sparse(self):
        """A `sparse.COO` of PyData Sparse."""
        import sparse
        return sparse.COO(np.array(self.coords, np.int64).reshape(self.ndim, self.nnz),
                          self.values, shape=self.shape)


def real(array):
    """The array; InputError where its numbers are not real or it has others than numbers."""
    if array.dtype.kind in "biuf":
        return array
    raise InputError(f"found values of type {array.dtype}, expected real numbers")


def tensor(data, dtype=None):
    """A Tensor from a Tensor, the path of a file, a sparse array of SciPy or of
    PyData Sparse, or anything dense that NumPy or DLPack takes. `dtype` is the type of the values,
    float32 or float64; without it what has a type keeps it: arrays, and .tnsb files. Values of
    text files, which state none, become float32."""
    if isinstance(data, str) or hasattr(data, "__fspath__"):
        return Tensor.read(data, dtype)
    found = _tensor(data)
    return found if dtype in (None, found.dtype) else found.astype(dtype)


def _tensor(data):
    if isinstance(data, Tensor):
        return data
    if hasattr(data, "tocoo") and not hasattr(data, "fill_value"):
        return Tensor.from_scipy(data)
    if hasattr(data, "fill_value") and hasattr(data, "asformat"):
        return Tensor.from_sparse(data)
    return Tensor.from_numpy(dlpack.to_host(data))


def _index_array(indices, length, mode):
    indices = dlpack.to_host(indices).reshape(-1)
    if len(indices) and not np.issubdtype(indices.dtype, np.integer):
        raise InputError(f"mode {mode}: found indices of {indices.dtype}, expected whole numbers")
    if len(indices) and (indices.min() < 0 or indices.max() >= min(length, MOST_INDEX)):
        wrong = indices.min() if indices.min() < 0 else indices.max()
        raise InputError(f"mode {mode}: found the index {wrong}, expected 0 to {length - 1}")
    return np.ascontiguousarray(indices, np.uint32)
