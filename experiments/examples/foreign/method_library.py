#!/usr/bin/env python3
"""Makes a shared library behind retensor_method.h of a class in Python.

    python3 method_library.py numba_mttkrp.py libmine.so
    retensor bench TENSOR --library ./libmine.so

The module has a subclass of Method named `Mine`. The library starts the Python that compiled it,
which has to come with a shared libpython. Only ctypes and NumPy are needed here.
"""
import ctypes
import importlib.util
import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy

HERE = Path(__file__).resolve().parent
OK, UNSUPPORTED, MEMORY, FAILED = range(4)
REASON = 256
pointer = ctypes.c_void_p


class Shape(ctypes.Structure):
    _fields_ = [("rows", ctypes.c_uint64), ("columns", ctypes.c_uint64)]


class Tensor(ctypes.Structure):
    _fields_ = [("dims", ctypes.POINTER(ctypes.c_uint64)),
                ("indices", ctypes.POINTER(ctypes.POINTER(ctypes.c_uint32))),
                ("nnz", ctypes.c_uint64), ("order", ctypes.c_int32)]


class Problem(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("operation", ctypes.c_char_p),
                ("params", ctypes.c_char_p), ("dims", ctypes.POINTER(ctypes.c_uint64)),
                ("indices", ctypes.POINTER(ctypes.POINTER(ctypes.c_uint32))),
                ("values", pointer), ("nnz", ctypes.c_uint64), ("rank", ctypes.c_uint64),
                ("operands", ctypes.POINTER(Shape)), ("result", Shape),
                ("order", ctypes.c_int32), ("mode", ctypes.c_int32),
                ("operand_count", ctypes.c_int32), ("value_bytes", ctypes.c_int32),
                ("variant", ctypes.c_char_p), ("second", ctypes.POINTER(Tensor)),
                ("alpha", ctypes.c_double), ("result_dims", ctypes.POINTER(ctypes.c_uint64)),
                ("result_order", ctypes.c_int32)]


def array_at(address, shape, dtype):
    """A view of memory of the host."""
    size = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
    if size == 0:
        return numpy.empty(shape, dtype)
    return numpy.frombuffer((ctypes.c_char * size).from_address(address), dtype).reshape(shape)


def indices_of(tensor):
    return [array_at(ctypes.cast(tensor.indices[m], pointer).value, (tensor.nnz,), numpy.uint32)
            for m in range(tensor.order)]


class Unsupported(Exception):
    """The method does not take this problem."""


class Method:
    """A problem as NumPy's arrays; a subclass has `prepare`, `run` and `out`.

    `operation, variant, mode, rank, dims, params, type, alpha`; `indices`: an array for each mode,
    `values`; `second`: indices of the second tensor, or None; `shapes` of the operands and `shape`
    of a dense result. `prepare` returns the bytes of its format. `dense` are the operands, arrays
    of the host, or addresses where `on_device` is true. `out` is a matrix, or of a sparse result
    (indices, values): an array for each mode, and a row for each entry.
    """
    operations = ("mttkrp",)
    on_device = False

    def __init__(self, problem):
        newer = problem.size >= ctypes.sizeof(Problem)  # an older program fills fewer members
        self.operation = problem.operation.decode()
        self.variant = problem.variant.decode() if newer else ""
        if self.operation not in self.operations:
            raise Unsupported("solves only " + ", ".join(self.operations))
        self.mode, self.rank = problem.mode, problem.rank
        self.alpha = problem.alpha if newer else 1
        self.params = json.loads(problem.params)
        self.type = numpy.float32 if problem.value_bytes == 4 else numpy.float64
        self.dims = list(problem.dims[:problem.order])
        self.values = array_at(problem.values, (problem.nnz,), self.type)
        self.indices = indices_of(problem)
        has_second = newer and problem.second
        self.second = indices_of(problem.second.contents) if has_second else None
        self.shapes = [(s.rows, s.columns) for s in problem.operands[:problem.operand_count]]
        self.shape = problem.result.rows, problem.result.columns

    def operands(self, addresses):
        self.dense = addresses if self.on_device else [
            array_at(address, shape, self.type)
            for address, shape in zip(addresses, self.shapes)]

    def result(self):
        return self.out


def guarded(function):
    """The status of a call, with the reason of an exception."""
    def call(*arguments):
        *arguments, reason = arguments
        try:
            function(*arguments)
            return OK
        except Exception as error:
            text = f"{type(error).__name__}: {error}".encode()[:REASON - 1] + b"\0"
            ctypes.memmove(reason, text, len(text))
            return {Unsupported: UNSUPPORTED, MemoryError: MEMORY}.get(type(error), FAILED)
    return call


def functions_of(method):
    """The functions of retensor_method.h, in the order of python_library.c."""
    states = {}

    def create(problem, state):
        problem = ctypes.cast(problem, ctypes.POINTER(Problem)).contents
        number = len(states) + 1
        states[number] = method(problem)
        ctypes.cast(state, ctypes.POINTER(pointer))[0] = number

    def prepare(state, footprint):
        ctypes.cast(footprint, ctypes.POINTER(ctypes.c_uint64))[0] = states[state].prepare()

    def operands(state, data):
        mine = states[state]
        mine.operands(ctypes.cast(data, ctypes.POINTER(pointer))[:len(mine.shapes)])

    def run(state, stream):
        states[state].run(stream)

    def result(state, data):
        mine = states[state]
        array_at(data, mine.shape, mine.type)[...] = mine.result()

    def entries(state, count, indices, values):
        mine = states[state]
        found, sums = mine.result()
        ctypes.cast(count, ctypes.POINTER(ctypes.c_uint64))[0] = len(sums)
        if not indices:
            return
        for m, index in enumerate(found):
            to = ctypes.cast(indices, ctypes.POINTER(pointer))[m]
            array_at(to, (len(sums),), numpy.uint32)[...] = index
        array_at(values, (len(sums), mine.shape[1]), mine.type)[...] = sums

    status, number = ctypes.c_int, pointer
    typed = [(create, 3), (prepare, 3), (operands, 3), (run, 3), (result, 3), (entries, 5)]
    table = [ctypes.CFUNCTYPE(status, *[number] * count)(guarded(function))
             for function, count in typed]
    return table + [ctypes.CFUNCTYPE(None, number)(lambda state: states.pop(state) and None)]


def expose(module, address):
    """Writes the functions of the class `Mine` in a file to a table of pointers."""
    spec = importlib.util.spec_from_file_location("mine", module)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    expose.kept = functions_of(loaded.Mine)  # the table alone keeps nothing alive
    table = (pointer * len(expose.kept)).from_address(address)
    for n, function in enumerate(expose.kept):
        table[n] = ctypes.cast(function, pointer).value


def include_folder():
    """The folder of retensor_method.h in the sources, or where they were installed."""
    folders = [parent / name for parent in HERE.parents for name in ("common/c_api", "include")]
    return next((folder for folder in folders if (folder / "retensor_method.h").exists()),
                "/usr/include")


def compile_library(module, library, include):
    """Compiles python_library.c around a module; `include` is the folder of retensor_method.h."""
    python = sysconfig.get_config_var("INSTSONAME")
    words = {"LIBPYTHON": python, "FOLDER": HERE, "MODULE": Path(module).resolve()}
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-I{include}",
                    *[f'-D{name}="{value}"' for name, value in words.items()],
                    HERE / "python_library.c", "-o", library, "-ldl"], check=True)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: method_library.py MODULE.py LIBRARY.so [FOLDER of retensor_method.h]")
    compile_library(*sys.argv[1:3], sys.argv[3] if len(sys.argv) > 3 else include_folder())
