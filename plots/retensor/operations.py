"""The operations of the papers on the caller's tensors, by any method of the registry.

Every function takes `method`, an id such as "hlsto.cpu" (`methods` lists them; "auto": the one that
the planner expects to win; None: one that takes the problem, if possible with exact products, on
the host), and the method's parameters by name. A
tensor is whatever `tensor` accepts; dense operands are arrays of NumPy or of DLPack, on
the host or on the GPU, and get the tensor's type. InputError says why a method does not take a
problem; DeviceError, that there is no GPU.
"""
import itertools
import os
from dataclasses import dataclass

import numpy as np

from retensor import dlpack, library
from retensor.library import InputError, whole
from retensor.tensors import Tensor, real, tensor


@dataclass
class Model:
    """What a decomposition found, with the fit, 1 - |X - model| / |X|, after each sweep."""

    factors: list     # a matrix for each mode
    fit: np.ndarray
    executed: dict    # what ran

    def _of_modes(self, what, given):
        """What is given for each mode, or nothing; InputError for another number."""
        if given is not None and len(given) != len(self.factors):
            raise InputError(f"{what}: found {len(given)}, expected {len(self.factors)}, one for "
                             "each mode")
        return [] if given is None else given


@dataclass
class CpModel(Model):
    """A weighted sum of rank-one tensors; the factors are I_m x R, their columns of unit 2-norm.
    The fit of a sweep shares the error of its last MTTKRP; `true_fit` is that of the model, by a
    pass over the nonzeros in double precision."""

    weights: np.ndarray  # R
    true_fit: float

    def top(self, count=5, names=None):
        """The entries of the largest magnitude of every component and mode, components in the order
        of their weights, as a DataFrame. `names` has a sequence of names for each mode, or None."""
        import pandas as pd
        for mode, known in enumerate(self._of_modes("names", names)):
            if known is not None and len(known) < len(self.factors[mode]):
                raise InputError(f"names of mode {mode}: found {len(known)}, expected "
                                 f"{len(self.factors[mode])}")
        rows = []
        for component in np.argsort(-np.abs(self.weights), kind="stable"):
            for mode, factor in enumerate(self.factors):
                column = factor[:, component]
                known = names[mode] if names else None
                for index in np.argsort(-np.abs(column), kind="stable")[:count]:
                    rows.append((component, self.weights[component], mode, index, column[index],
                                 str(index) if known is None else known[index]))
        return pd.DataFrame(rows, columns=["component", "weight", "mode", "index", "entry", "name"])

    def plot(self, modes=None):
        """A matplotlib Figure of the components with the largest weights; `modes` are names."""
        from retensor import components
        self._of_modes("modes", modes)
        return components.draw(self.weights, self.factors, f"fit {self.fit[-1]:.4f}", modes)

    def to_numpy(self):
        """The model as a dense tensor."""
        letters = _letters(len(self.factors))
        inputs = ",".join(f"{letter}z" for letter in letters)
        return np.einsum(f"z,{inputs}->{letters}", self.weights, *self.factors)


@dataclass
class TuckerModel(Model):
    """core x_0 factors[0] x_1 factors[1] ...; the factors are I_m x R_m, their columns orthonormal
    to rounding."""

    core: np.ndarray  # R_0 x R_1 x ...

    def to_numpy(self):
        """The model as a dense tensor."""
        letters, ranks = _letters(len(self.factors)), _letters(len(self.factors)).upper()
        inputs = ",".join(map("".join, zip(letters, ranks)))
        return np.einsum(f"{ranks},{inputs}->{letters}", self.core, *self.factors)


def methods(operation=None):
    """{id: summary} of the methods, of one operation or of all. `cp` can use every method that
    computes MTTKRP, and `tucker` every method that computes a TTM-chain. `retensor show ID` lists
    the parameters of a method."""
    served = {"cp": ("cpd", "mttkrp", "mttkrp_all"), "tucker": ("ttm_chain",),
              "contract": ("contraction",)}
    wanted = served.get(operation, (operation,))
    found = {name: summary for name, summary, solves in library.methods()
             if operation is None or any(map(solves, wanted))}
    if not found:
        raise InputError(f"found operation {operation!r}, expected one that a method has")
    return found


def mttkrp(x, factors, mode=None, method=None, **params):
    """Matricised tensor times Khatri-Rao product: I_mode x R. `factors` has a matrix I_m x R for
    every mode; that of `mode` is not read. Without a mode the list of the results of all modes."""
    x = tensor(x)
    factors = [_matrix(factor) if m != mode else None for m, factor in enumerate(factors)]
    width = next((factor.shape[1] for factor in factors if factor is not None), 1)
    factors = [np.zeros((length, width)) if factor is None else factor
               for factor, length in itertools.zip_longest(factors, x.shape[:len(factors)])]
    operation = "mttkrp_all" if mode is None else "mttkrp"
    values = _run(operation, x, factors, method, params, mode=mode or 0)["values"]
    return values if mode is not None else np.split(values, np.cumsum(x.shape)[:-1])


def ttv(x, vector, mode, method=None, **params):
    """Tensor times vector of length I_mode: a Tensor of order N - 1."""
    column = dlpack.to_host(vector).reshape(-1, 1)
    return Tensor.from_arrays(_run("ttv", x, [column], method, params, mode=mode))


def ttm(x, matrix, mode, method=None, **params):
    """Tensor times matrix, I_mode x R, whose rows are summed over (PASTA's convention, the
    transpose of Kolda and Bader's): a Tensor whose mode `mode` has length R."""
    return Tensor.from_arrays(_run("ttm", x, [matrix], method, params, mode=mode))


def ttm_chain(x, factors, mode, method=None, **params):
    """Tensor times a matrix I_m x R_m in every mode but one: I_mode x R_m x ..., the other modes in
    ascending order. All matrices after the first of them need the same R_m."""
    x = tensor(x)
    factors = [np.zeros((x.shape[m], 1)) if m == mode else _matrix(factor)
               for m, factor in enumerate(factors)]
    values = _run("ttm_chain", x, factors, method, params, mode=mode)["values"]
    widths = [factor.shape[1] for m, factor in enumerate(factors) if m != mode]
    return values.reshape(x.shape[mode], *widths)


def contract(einsum, x, y, method=None, **params):
    """Contraction of two sparse tensors in einsum notation, "abk,kcd->abcd": letters that both
    share are summed over, all others appear in the result, a Tensor."""
    if isinstance(einsum, str):
        einsum = einsum.replace(" ", "")
    return Tensor.from_arrays(_run("contraction", x, [], method, params, y=y, variant=einsum))


def spmm(matrix, dense, method=None, **params):
    """Sparse M x K times dense K x N: M x N."""
    return _run("spmm", matrix, [dense], method, params)["values"]


def cp(x, rank=None, method=None, sweeps=20, tolerance=1e-5, seed=1, initial=None, start=None,
       starts=1, constraint=None, checkpoint=None, progress=None, **params):
    """CP decomposition by alternating least squares with the MTTKRP of a method: the CpModel of the
    best fit of `starts`, which have the seeds seed, seed + 1, ...

    `start` says how the initial factors are made: "spread" (the default), "signs", "normal",
    "uniform" (the default of non-negative models) or "nvecs". Pass `initial`, matrices I_m x R, to
    give them yourself. With constraint="nonnegative" factors have no negative entry. `checkpoint`
    names a file from which an interrupted run continues; with several starts, the number of each
    is appended. `progress` is called as progress(sweep, fit) after each sweep."""
    initial, x = _listed(initial), tensor(x)
    if x.ndim < 2:
        raise InputError(f"cp: found a tensor of order {x.ndim}, expected 2 or more")

    def model(number):
        path = f"{checkpoint}.{number + 1}" if checkpoint and starts > 1 else checkpoint
        arrays, executed = _call("cpd", x, initial, method, params, max_sweeps=sweeps,
                                 tolerance=tolerance, seed=whole("seed", seed) + number,
                                 start=start, ranks=_ranks(rank, initial), constraint=constraint,
                                 checkpoint=None if path is None else os.fspath(path),
                                 progress=progress)
        return CpModel(_factors(arrays), arrays["fit"], executed, arrays["weights"],
                       float(arrays["true_fit"][0]))

    return _best("cp", starts, model, initial, start)


def tucker(x, ranks=None, method=None, sweeps=20, tolerance=1e-5, seed=1, initial=None, start=None,
           starts=1, **params):
    """Tucker decomposition by higher-order orthogonal iteration with the TTM-chain of a method: the
    TuckerModel of the best fit of `starts`, which have the seeds seed, seed + 1, ... `ranks` has a
    length of the core for every mode. `start` is "normal", bases of normal columns, or "nvecs";
    `initial` are first factors, I_m x R_m, in its place."""
    if isinstance(ranks, (int, np.integer)):
        raise InputError(f"tucker: found ranks {ranks}, expected one for each mode")
    initial = _listed(initial)

    def model(number):
        arrays, executed = _call("tucker", x, initial, method, params, max_sweeps=sweeps,
                                 tolerance=tolerance, seed=whole("seed", seed) + number,
                                 ranks=_listed(ranks), start=start)
        return TuckerModel(_factors(arrays), arrays["fit"], executed, arrays["core"])

    return _best("tucker", starts, model, initial, start)


def _listed(given):
    """Of None, a sequence, or an array, whose truth NumPy does not tell."""
    return [] if given is None else list(given)


def _best(operation, starts, model, initial, start):
    """The model of the best fit, of those with the numbers 0 to starts - 1."""
    if whole("starts", starts) < 1:
        raise InputError(f"{operation}: found {starts} starts, expected 1 or more")
    if starts > 1 and (initial or start == "nvecs"):
        raise InputError(f"{operation}: found {starts} starts, expected 1: "
                         f"{'initial factors' if initial else 'nvecs'} are the same every time")
    return max((model(number) for number in range(starts)), key=lambda one: one.fit[-1])


def _run(operation, x, dense, method, params, **members):
    return _call(operation, x, dense, method, params, **members)[0]


def _call(operation, x, dense, method, params, y=None, **members):
    x = tensor(x)
    dense = [np.ascontiguousarray(real(dlpack.to_host(matrix)), x.dtype) for matrix in dense]
    y = None if y is None else tensor(y, x.dtype)
    return library.call(operation, x, y, dense, method=method, params=_text(params), **members)


def _text(params):
    """The parameters as the library reads them."""
    for name, value in params.items():
        if not isinstance(value, (bool, int, float, str, np.bool_, np.integer, np.floating)):
            raise InputError(f"parameter {name}: found {value!r}, expected a number, a word or a "
                             "truth value")
    words = {True: "true", False: "false"}
    return " ".join(f"{name}={words[bool(value)] if isinstance(value, (bool, np.bool_)) else value}"
                    for name, value in params.items())


def _matrix(factor):
    matrix = dlpack.to_host(factor)
    if matrix.ndim != 2:
        raise InputError(f"found a factor of order {matrix.ndim}, expected a matrix")
    return matrix


def _ranks(rank, initial):
    """Of cp, for the library; that of initial factors is theirs."""
    if rank is None and not initial:
        raise InputError("cp: expected a rank or initial factors")
    if rank is not None and initial and (width := _matrix(initial[0]).shape[1]) != rank:
        raise InputError(f"cp: found rank {rank} beside initial factors of {width} columns")
    return [] if rank is None else [whole("rank", rank)]


def _factors(arrays):
    return [array for name, array in arrays.items() if name.startswith("factor")]


def _letters(order):
    return "abcdefgh"[:order]
