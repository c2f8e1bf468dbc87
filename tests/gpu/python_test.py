"""The C interface and DLPack on a GPU, through the Python package: operands that lie on the device,
results of CUDA methods beside those on the host, and memory that is given back.

Only modules that need NumPy alone are loaded: a machine with a GPU may lack pandas and matplotlib.
"""
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
from conftest import have_device  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20


@pytest.fixture(scope="module", name="package")
def _package():
    """retensor.dlpack, operations and tensors, with the library of this build."""
    if not have_device():
        pytest.skip("no device that the driver knows")
    if "RETENSOR_LIBRARY" not in os.environ:
        pytest.skip("RETENSOR_LIBRARY names no library")
    bare = types.ModuleType("retensor")
    bare.__path__ = [str(ROOT / "plots" / "retensor")]
    kept = sys.modules.get("retensor")
    sys.modules["retensor"] = bare
    from retensor import dlpack, operations, tensors
    yield types.SimpleNamespace(dlpack=dlpack, tensors=tensors, operations=operations)
    sys.modules.pop("retensor")
    if kept:
        sys.modules["retensor"] = kept


def used_memory():
    """Bytes in use on the first device."""
    done = subprocess.run(["nvidia-smi", "--query-gpu=memory.used",
                           "--format=csv,noheader,nounits"],
                          check=True, capture_output=True, text=True)
    return int(done.stdout.split()[0]) * MIB


@pytest.fixture(name="case")
def _case(package):
    """A tensor of 60 x 50 x 40 and a factor of 16 columns for each mode."""
    dice = np.random.default_rng(7)
    cells = dice.choice(60 * 50 * 40, 5000, replace=False)
    coords = np.unravel_index(cells, (60, 50, 40))
    x = package.tensors.Tensor(coords, dice.random(5000, dtype=np.float32), (60, 50, 40))
    return x, [dice.random((length, 16), dtype=np.float32) for length in x.shape]


@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "uint64"])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (0, 3)])
def test_an_array_comes_back_from_the_device_as_it_went(package, kind, shape):
    array = np.arange(np.prod(shape)).reshape(shape).astype(kind)
    there = package.dlpack.to_device(array)
    assert there.__dlpack_device__()[0] == package.dlpack.CUDA
    back = package.dlpack.to_host(there)
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("operation", ["mttkrp", "ttv", "ttm"])
def test_cuda_methods_take_operands_on_the_device_and_agree_with_the_host(package, case, operation):
    x, factors = case
    run, own = getattr(package.operations, operation), package.dlpack.to_device
    if operation == "mttkrp":
        there, here = [own(factor) for factor in factors], factors
    else:
        here = factors[1] if operation == "ttm" else factors[1][:, 0].copy()
        there = own(here)
    expected = run(x, here, mode=1, method="pasta.cpu.coo")
    methods = [name for name in package.operations.methods(operation) if ".cuda" in name]
    assert methods
    ran = 0
    for name in methods:
        try:
            found = run(x, there, mode=1, method=name)
        except package.operations.InputError as error:  # what the method declines, with its reason
            assert len(str(error)) > 10
            continue
        ran += 1
        loose = 2e-3 if "hlsto" in name else 1e-4  # half precision of a tensor core
        values = [dense(result) for result in (found, expected)]
        assert np.abs(values[0] - values[1]).max() <= loose * np.abs(values[1]).max(), name
    assert ran >= 1


def dense(result):
    if isinstance(result, np.ndarray):
        return result
    whole = np.zeros(result.shape)
    np.add.at(whole, tuple(result.coords), result.values)
    return whole


def test_device_memory_is_given_back(package):
    array = np.zeros(256 * MIB, np.uint8)
    package.dlpack.to_host(package.dlpack.to_device(array))
    before = used_memory()
    for _ in range(12):
        package.dlpack.to_host(package.dlpack.to_device(array))
    assert used_memory() < before + 6 * array.nbytes


def test_torch_takes_what_lies_on_the_device(package):
    torch = pytest.importorskip("torch")
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    there = torch.from_dlpack(package.dlpack.to_device(array))
    assert there.is_cuda
    np.testing.assert_array_equal(package.dlpack.to_host(2 * there), 2 * array)
