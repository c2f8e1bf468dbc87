"""Origin of the values in tucker_test.cpp: higher-order orthogonal iteration on a dense array with
NumPy's singular value decomposition, the fit from the reconstructed tensor. Run it to print them:

    python tests/unit/tucker_values.py
"""
import numpy as np

DIMS, RANKS, SWEEPS = (4, 3, 5), (2, 2, 3), 5


def tensor():
    """X(i, j, k) = sin(1 + i + 2 j + 3 k) where i + j + k is even, else 0."""
    i, j, k = np.indices(DIMS)
    return np.where((i + j + k) % 2 == 0, np.sin(1 + i + 2 * j + 3 * k), 0.0)


def initial_factor(mode):
    """A_m(i, r) = cos(m + i + 2 r) + 2, for r = 2 plus the square of i."""
    i, r = np.indices((DIMS[mode], RANKS[mode]))
    return np.cos(mode + i + 2 * r) + 2 + np.where(r == 2, i**2, 0)


def times(x, matrix, mode):
    """The product of a tensor with a matrix along a mode."""
    return np.moveaxis(np.tensordot(matrix, x, axes=(1, mode)), 0, mode)


def times_all(x, matrices, left_out=None):
    """The product along every mode but one."""
    for mode, matrix in enumerate(matrices):
        if mode != left_out:
            x = times(x, matrix, mode)
    return x


def hooi(x, factors, sweeps):
    """Core, factors and the fit after each sweep."""
    core, fits = None, []
    for _ in range(sweeps):
        for mode, rank in enumerate(RANKS):
            product = times_all(x, [f.T for f in factors], mode)
            unfolding = np.moveaxis(product, mode, 0).reshape(x.shape[mode], -1)
            factors[mode] = np.linalg.svd(unfolding)[0][:, :rank]
        core = times_all(x, [f.T for f in factors])
        model = times_all(core, factors)
        fits.append(1 - np.linalg.norm(x - model) / np.linalg.norm(x))
    return core, factors, fits


def main():
    """Print what tucker_test.cpp quotes: the signs of columns are free, hence projections."""
    core, factors, fits = hooi(tensor(), [initial_factor(m) for m in range(3)], SWEEPS)
    print("fit", *(f"{v:.15g}" for v in fits), sep=", ")
    print("core, absolute", *(f"{abs(v):.15g}" for v in core.ravel()), sep=", ")
    for mode, factor in enumerate(factors):
        print(f"projection {mode}", *(f"{v:.15g}" for v in (factor @ factor.T).ravel()), sep=", ")


if __name__ == "__main__":
    main()
