"""Arrays of other libraries by the DLPack protocol, on the host and on the GPU.

The library reads operands in host memory and copies what a CUDA method needs by itself, so an array
on the GPU is copied to the host once; `to_device` hands a result back as an array on the GPU that
any consumer of DLPack takes (`torch.from_dlpack`, `cupy.from_dlpack`). The part for the GPU follows
the protocol's text; it was not run on a GPU yet.
"""
import ctypes

import numpy as np

from retensor import library
from retensor.library import InputError, checked

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # DLDeviceType
ON_HOST = (CPU, CUDA_HOST, CUDA_MANAGED)
KINDS = {0: "i", 1: "u", 2: "f"}  # DLDataTypeCode
NAME, USED = b"dltensor", b"used_dltensor"
DEFAULT_STREAM = 1  # the legacy one, with which the library's copies are ordered


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.restype, _rename.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


def to_host(array):
    """A NumPy array of anything that NumPy or DLPack takes; copied where it lies on a GPU. Raises
    DeviceError where the library has no CUDA."""
    if np.ma.is_masked(array):
        raise InputError("found an array with masked entries, expected one without: fill them")
    if hasattr(array, "todense") and not isinstance(array, np.ndarray):
        raise InputError(f"found a sparse {type(array).__name__}, expected a dense array: its "
                         "todense() is one")
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack_device__"):
        return np.asarray(array)
    device = int(array.__dlpack_device__()[0])
    if device in ON_HOST:
        return from_capsule(array.__dlpack__())
    if device == CUDA:
        return from_capsule(array.__dlpack__(stream=DEFAULT_STREAM))
    raise InputError(f"found an array on a device of DLPack's type {device}, expected the host or "
                     "a CUDA device")


def from_capsule(capsule):
    """A copy in host memory of a DLPack capsule's array, which is consumed."""
    managed = ctypes.cast(_pointer(capsule, NAME), ctypes.POINTER(_Managed))
    try:
        return _copied(managed.contents.tensor)
    finally:
        _rename(capsule, USED)
        if managed.contents.deleter:
            managed.contents.deleter(managed)


def _copied(view):
    if view.lanes != 1 or view.code not in KINDS:
        raise InputError(f"found a DLPack type of code {view.code} with {view.lanes} lanes, "
                         "expected plain numbers")
    dtype = np.dtype(f"{KINDS[view.code]}{view.bits // 8}")
    shape = tuple(view.shape[: view.ndim])
    strides = _strides(view, shape)
    if 0 in shape:
        return np.empty(shape, dtype)
    span = 1 + sum((length - 1) * stride for length, stride in zip(shape, strides))
    if any(stride < 0 for stride in strides):
        raise InputError("found an array with negative strides, expected none")
    memory = np.empty(span, dtype)
    start = (view.data or 0) + view.byte_offset
    if view.device_type in ON_HOST:
        ctypes.memmove(memory.ctypes.data, start, memory.nbytes)
    else:
        checked(library.library().retensor_from_device(memory.ctypes.data, start, memory.nbytes))
    steps = [stride * dtype.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(memory, shape, steps).copy()


def _strides(view, shape):
    """In elements; without any the array is row-major."""
    if view.strides:
        return tuple(view.strides[: view.ndim])
    return tuple(int(np.prod(shape[m + 1:], dtype=np.int64)) for m in range(len(shape)))


class DeviceArray:
    """An array in memory of the current GPU, for consumers of DLPack."""

    def __init__(self, array):
        self._array = np.ascontiguousarray(array)

    def __dlpack_device__(self):
        return CUDA, 0

    def __dlpack__(self, stream=None):
        """A capsule that owns its device memory. The copy is complete: no stream has to wait."""
        address = ctypes.c_void_p()
        checked(library.library().retensor_device_allocate(self._array.nbytes,
                                                           ctypes.byref(address)))
        checked(library.library().retensor_to_device(address, self._array.ctypes.data,
                                                     self._array.nbytes))
        return capsule_of(self._array, address.value, CUDA, library.library().retensor_device_free)


def to_device(array):
    """A result as an array on the GPU: `torch.from_dlpack(retensor.to_device(y))`."""
    return DeviceArray(array)


_alive = {}  # what a capsule's consumer still uses, by the address of its structure


def capsule_of(array, address, device, release):
    """A DLPack capsule of memory at `address` with an array's shape and type; `release` is called
    with the address when the consumer is done."""
    codes = {kind: code for code, kind in KINDS.items()}
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    managed = _Managed()
    managed.tensor = _Tensor(address, device, 0, array.ndim, codes[array.dtype.kind],
                             8 * array.dtype.itemsize, 1, shape, None, 0)
    key = ctypes.addressof(managed)

    def deleted(_):
        release(address)
        _alive.pop(key)

    managed.deleter = _DELETER(deleted)
    _alive[key] = managed, shape
    return _new(key, NAME, None)
