"""Random tensors and their dense forms."""
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
# What ci/bootstrap --test has from PyPI, since distributions do not: tests name it.
PYPI = ROOT / "out" / "pypi"


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


@pytest.fixture
def pypi(monkeypatch):
    """Packages from PyPI in place of the distribution's; skips where they could not be had."""
    if not PYPI.is_dir():
        pytest.skip("no packages from PyPI: ci/bootstrap --test could not install them")
    mine = {name: module for name, module in sys.modules.items()
            if name.split(".")[0] in ("scipy", "pyarrow")}
    for name in mine:
        del sys.modules[name]
    monkeypatch.syspath_prepend(str(PYPI))
    yield
    for name in [name for name in sys.modules if name.split(".")[0] in ("scipy", "pyarrow")]:
        del sys.modules[name]
    sys.modules.update(mine)
