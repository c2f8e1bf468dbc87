"""The C library behind the package (common/c_api/retensor.h), by ctypes.

ctypes needs no compiler and no headers where the package is installed, and one wheel serves every
version of Python 3. The cost of a call, some microseconds, is small beside a run.
"""
import ctypes
import functools
import operator
import os
from pathlib import Path

import numpy as np

from retensor.errors import DeviceError, InputError, RetensorError

C_API = 1  # RETENSOR_C_API of the header that the structures below follow
NAME = "libretensor.so.1"  # the number is that of the interface
DTYPES = (np.float32, np.float64, np.uint32, np.uint64)  # by retensor_dtype
OWN = len(DTYPES)  # RETENSOR_OWN
PACKAGE = Path(__file__).resolve().parent
TREE = PACKAGE.parents[1]  # of the source, where the package was not installed


class _Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("shape", ctypes.POINTER(ctypes.c_uint64)),
                ("order", ctypes.c_int32), ("dtype", ctypes.c_int32)]


class _Tensor(ctypes.Structure):
    _fields_ = [("dims", ctypes.POINTER(ctypes.c_uint64)),
                ("indices", ctypes.POINTER(ctypes.c_void_p)),
                ("values", ctypes.c_void_p), ("nnz", ctypes.c_uint64),
                ("order", ctypes.c_int32), ("dtype", ctypes.c_int32)]


_Progress = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_double)


class _Call(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t),
                *((name, ctypes.c_char_p) for name in ("operation", "method", "params", "variant")),
                ("x", ctypes.POINTER(_Tensor)), ("y", ctypes.POINTER(_Tensor)),
                ("dense", ctypes.POINTER(_Array)), ("ranks", ctypes.POINTER(ctypes.c_uint64)),
                ("seed", ctypes.c_uint64), ("scalar", ctypes.c_double),
                ("tolerance", ctypes.c_double),
                *((name, ctypes.c_int32) for name in ("dense_count", "rank_count", "mode",
                                                      "max_sweeps")),
                *((name, ctypes.c_char_p) for name in ("start", "constraint", "checkpoint")),
                ("progress", _Progress)]


_SIGNATURES = {
    "c_api": (ctypes.c_int32,),
    "version": (ctypes.c_char_p,),
    "last_error": (ctypes.c_char_p,),
    "method_id": (ctypes.c_char_p, ctypes.c_int32),
    "method_summary": (ctypes.c_char_p, ctypes.c_int32),
    "method_solves": (ctypes.c_int32, ctypes.c_int32, ctypes.c_char_p),
    "supports": (ctypes.c_int, ctypes.POINTER(_Call)),
    "run": (ctypes.c_int, ctypes.POINTER(_Call), ctypes.POINTER(ctypes.c_void_p)),
    "read": (ctypes.c_int, ctypes.c_char_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)),
    "write": (ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_Tensor)),
    "result_name": (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int32),
    "result_array": (ctypes.POINTER(_Array), ctypes.c_void_p, ctypes.c_int32),
    "result_executed": (ctypes.c_char_p, ctypes.c_void_p),
    "result_free": (None, ctypes.c_void_p),
    "from_device": (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
    "to_device": (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
    "device_allocate": (ctypes.c_int, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)),
    "device_free": (None, ctypes.c_void_p),
}


def candidates(variable, installed, built, name):
    """Where a part of the project may lie: what the environment names, the wheel, a build of the
    source tree, the system. An environment variable that names nothing is an error."""
    named = os.environ.get(variable)
    if named:
        if not Path(named).is_file():
            raise RetensorError(f"${variable}: {named} is no file")
        yield named
    if (PACKAGE / installed).is_file():
        yield str(PACKAGE / installed)
    if (TREE / "meson.build").is_file():
        yield from map(str, sorted(TREE.glob(f"build*/{built}")))
    yield name


@functools.lru_cache(maxsize=None)
def library():
    """The loaded library; raises RetensorError where there is none of this interface."""
    tried = []
    for path in candidates("RETENSOR_LIBRARY", f"lib/{NAME}", f"common/c_api/{NAME}", NAME):
        try:
            return _declared(ctypes.CDLL(path), path)
        except (OSError, AttributeError) as error:
            tried.append(f"{path}: {error}")
    raise RetensorError(f"{NAME} is not found: build it with `ninja -C build "
                        f"common/c_api/{NAME}` or set RETENSOR_LIBRARY\n  "
                        + "\n  ".join(tried))


def _declared(loaded, path):
    for name, (result, *arguments) in _SIGNATURES.items():
        function = getattr(loaded, f"retensor_{name}")
        function.restype, function.argtypes = result, arguments
    if loaded.retensor_c_api() != C_API:
        raise RetensorError(f"{path} has version {loaded.retensor_c_api()} of the C interface, "
                            f"expected {C_API}")
    return loaded


def checked(status):
    """Raise what a status of the library means."""
    if status == 0:
        return
    text = library().retensor_last_error().decode(errors="replace")
    kinds = {1: InputError, 2: OSError, 3: MemoryError, 4: DeviceError}
    raise kinds.get(status, RetensorError)(text)


def call(operation, x, y=None, dense=(), ranks=(), only_ask=False, progress=None, **members):
    """Run one operation; returns ({name: array}, executed). With `only_ask` nothing runs: an
    InputError says why the method does not support the problem. What `progress` raises is raised
    after the run."""
    keep = _Keep()
    given = {name: _member(name, value) for name, value in members.items() if value is not None}
    request = _Call(size=ctypes.sizeof(_Call), operation=operation.encode(), **given)
    raised = []
    if progress is not None:
        request.progress = _callback(progress, raised)
    request.x = keep.pointer_to(keep.tensor(x))
    if y is not None:
        request.y = keep.pointer_to(keep.tensor(y))
    request.dense = (_Array * len(dense))(*(keep.array(matrix) for matrix in dense))
    request.dense_count = len(dense)
    request.ranks = keep.lengths(ranks)
    request.rank_count = len(ranks)
    if only_ask:
        return checked(library().retensor_supports(ctypes.byref(request)))
    result = ctypes.c_void_p()
    checked(library().retensor_run(ctypes.byref(request), ctypes.byref(result)))
    taken = _taken(result)
    if raised:
        raise raised[0]
    return taken


def whole(name, value, kind=ctypes.c_uint64):
    """A whole number that the kind of C holds, which ctypes would cut off; else an InputError."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name}: found {value!r}, expected a whole number") from None
    if kind(number).value != number:
        raise InputError(f"{name}: found {number}, expected one of {8 * ctypes.sizeof(kind)} bits"
                         f"{', 0 or more' if kind(-1).value > 0 else ''}")
    return number


def _member(name, value):
    """A member of the structure, whose C type a wrong value would make a wild pointer or another
    number."""
    kind = dict(_Call._fields_)[name]
    if kind is ctypes.c_char_p:
        if not isinstance(value, str):
            raise InputError(f"{name}: found {value!r}, expected a text")
        return value.encode() or None
    if kind is not ctypes.c_double:
        return whole(name, value, kind)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name}: found {value!r}, expected a number") from None


def _callback(progress, raised):
    if not callable(progress):
        raise InputError(f"progress: found {progress!r}, expected a function of sweep and fit")

    def called(sweep, fit):
        try:
            if not raised:
                progress(sweep, fit)
        except BaseException as error:  # C code is in between
            raised.append(error)

    return _Progress(called)


def read(path, dtype=None):
    """The arrays of a tensor file; without a dtype in the file's own, float32 of a text."""
    result, kind = ctypes.c_void_p(), OWN if dtype is None else code(dtype)
    checked(library().retensor_read(os.fsencode(path), kind, ctypes.byref(result)))
    return _taken(result)[0]


def write(path, tensor):
    """Write a tensor as text."""
    view = _Keep().tensor(tensor)
    checked(library().retensor_write(os.fsencode(path), ctypes.byref(view)))


def methods():
    """(id, summary, solves) of every method, solves being a function of an operation's name."""
    loaded, found = library(), []
    while loaded.retensor_method_id(len(found)) is not None:
        at = len(found)
        found.append((loaded.retensor_method_id(at).decode(),
                      loaded.retensor_method_summary(at).decode(),
                      lambda operation, at=at: bool(
                          loaded.retensor_method_solves(at, operation.encode()))))
    return found


def code(dtype, among=DTYPES[:2]):
    """The retensor_dtype of a type of NumPy; InputError where it is not among those."""
    try:
        return among.index(np.dtype(dtype).type)
    except (TypeError, ValueError):
        raise InputError(f"found the type {dtype!r}, expected float32 or float64") from None


class _Keep:
    """Makes views and keeps alive what they point to."""

    def __init__(self):
        self.kept = []

    def pointer_to(self, structure):
        self.kept.append(structure)
        return ctypes.pointer(structure)

    def data(self, array):
        self.kept.append(array)
        return array.ctypes.data

    def lengths(self, values):
        lengths = (ctypes.c_uint64 * max(len(values), 1))(
            *(whole("length", value) for value in values))
        self.kept.append(lengths)
        return lengths

    def array(self, array):
        return _Array(self.data(array), self.lengths(array.shape), array.ndim, code(array.dtype))

    def tensor(self, tensor):
        if not np.isfinite(tensor.values).all():
            wrong = int(np.argmin(np.isfinite(tensor.values)))
            place = tuple(int(indices[wrong]) for indices in tensor.coords)
            raise InputError(f"found the value {tensor.values[wrong]} at the index {place}, "
                             "expected finite values")
        indices = (ctypes.c_void_p * tensor.ndim)(*map(self.data, tensor.coords))
        self.kept.append(indices)
        return _Tensor(self.lengths(tensor.shape), indices, self.data(tensor.values), tensor.nnz,
                       tensor.ndim, code(tensor.dtype))


def _taken(result):
    """Copies of a result's arrays and what ran; frees the result."""
    loaded = library()
    try:
        arrays = {}
        while (name := loaded.retensor_result_name(result, len(arrays))) is not None:
            view = loaded.retensor_result_array(result, len(arrays)).contents
            arrays[name.decode()] = _copied(view)
        executed = loaded.retensor_result_executed(result).decode(errors="replace")
    finally:
        loaded.retensor_result_free(result)
    return arrays, dict(line.split("=", 1) for line in executed.split("\n") if "=" in line)


def _copied(view):
    array = np.empty(tuple(view.shape[: view.order]), DTYPES[view.dtype])
    if array.nbytes:
        ctypes.memmove(array.ctypes.data, view.data, array.nbytes)
    return array
