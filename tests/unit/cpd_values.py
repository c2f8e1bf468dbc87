"""Origin of the values in cpd_test.cpp: CP-ALS on a dense array with unfoldings and NumPy's
pseudo-inverse, the fit from the reconstructed tensor. Run it to print them again:

    python tests/unit/cpd_values.py
"""
import numpy as np

DIMS, RANK, SWEEPS = (4, 3, 5), 2, 6


def tensor():
    """X(i, j, k) = sin(1 + i + 2 j + 3 k) where i + j + k is even, else 0."""
    i, j, k = np.indices(DIMS)
    return np.where((i + j + k) % 2 == 0, np.sin(1 + i + 2 * j + 3 * k), 0.0)


def initial_factor(mode):
    """A_m(i, r) = cos(m + i + 2 r) + 2."""
    i, r = np.indices((DIMS[mode], RANK))
    return np.cos(mode + i + 2 * r) + 2


def unfolding(x, mode):
    """Rows of the mode, columns of the others with the last one fastest."""
    return np.moveaxis(x, mode, 0).reshape(x.shape[mode], -1)


def khatri_rao(factors):
    """Columnwise Kronecker product, rows of the last factor fastest."""
    product = factors[0]
    for factor in factors[1:]:
        product = (product[:, None, :] * factor[None, :, :]).reshape(-1, product.shape[1])
    return product


def als(x, factors, sweeps):
    """Weights, factors and the fit after each sweep."""
    weights, fits = None, []
    for _ in range(sweeps):
        for mode in range(x.ndim):
            others = khatri_rao([f for m, f in enumerate(factors) if m != mode])
            solved = unfolding(x, mode) @ np.linalg.pinv(others.T)
            weights = np.linalg.norm(solved, axis=0)
            factors[mode] = solved / weights
        model = (khatri_rao(factors) @ weights).reshape(x.shape)
        fits.append(1 - np.linalg.norm(x - model) / np.linalg.norm(x))
    return weights, factors, fits


def main():
    """Print what cpd_test.cpp quotes."""
    weights, factors, fits = als(tensor(), [initial_factor(m) for m in range(3)], SWEEPS)
    print("fit", *(f"{v:.15g}" for v in fits), sep=", ")
    print("weights", *(f"{v:.15g}" for v in weights), sep=", ")
    for mode, factor in enumerate(factors):
        print(f"factor {mode}", *(f"{v:.15g}" for v in factor.ravel()), sep=", ")


if __name__ == "__main__":
    main()
