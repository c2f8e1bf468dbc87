"""Random tensors and their dense forms."""
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Case:
    """A random sparse tensor as a dense array, with a matrix of `rank` columns for every mode."""

    dense: np.ndarray
    factors: list
    rng: object


def random_case(seed, order, rank=4, dtype=np.float32):
    rng = np.random.default_rng(seed)
    shape = tuple(int(length) for length in rng.integers(3, 9, order))
    dense = rng.uniform(-1, 1, shape).astype(dtype)
    dense[rng.random(shape) < 0.7] = 0
    dense.flat[0] = 1  # never empty
    return Case(dense, [rng.uniform(-1, 1, (n, rank)).astype(dtype) for n in shape], rng)


def pytest_configure(config):
    config.addinivalue_line("markers", "pypi: needs packages that no distribution has")
