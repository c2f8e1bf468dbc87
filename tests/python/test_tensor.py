"""Tensors from and to other libraries."""
import ctypes

import numpy as np
import pytest
import scipy.sparse
from conftest import random_case

import retensor
from retensor import dlpack


def same(found, dense):
    assert found.shape == dense.shape and found.nnz == np.count_nonzero(dense)
    np.testing.assert_array_equal(found.to_numpy(), dense)


@pytest.mark.parametrize("order", range(1, 9))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_of_every_order(order, dtype):
    rng = np.random.default_rng(order)
    dense = np.where(rng.random((3,) * order) < 0.5, 0, rng.random((3,) * order)).astype(dtype)
    found = retensor.tensor(dense)
    assert found.dtype == dtype and found.ndim == order
    same(found, dense)


@pytest.mark.parametrize("form", ["coo_array", "csr_array", "csc_matrix"])
def test_scipy_matrices(form):
    dense = random_case(1, 2).dense
    same(retensor.tensor(getattr(scipy.sparse, form)(dense)), dense)
    back = retensor.tensor(dense).to_scipy()
    assert isinstance(back, scipy.sparse.coo_array)
    np.testing.assert_array_equal(back.toarray(), dense)


def test_an_old_scipy_says_which_version_takes_other_orders():
    found = retensor.tensor(random_case(2, 3).dense)
    if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 15):
        pytest.skip("this SciPy takes any order")
    with pytest.raises(retensor.RetensorError, match="version 1.15 or newer"):
        found.to_scipy()


@pytest.mark.pypi
@pytest.mark.parametrize("order", [1, 3, 5])
def test_scipy_arrays_of_any_order(order):
    pytest.importorskip("scipy", "1.15")
    sparse = scipy.sparse
    dense = random_case(3, order).dense
    back = retensor.tensor(dense).to_scipy()
    assert isinstance(back, sparse.coo_array)
    np.testing.assert_array_equal(back.toarray(), dense)
    same(retensor.tensor(sparse.coo_array(dense)), dense)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_pydata_sparse(order):
    sparse = pytest.importorskip("sparse")
    dense = random_case(4, order).dense
    same(retensor.tensor(sparse.COO.from_numpy(dense)), dense)
    back = retensor.tensor(dense).to_sparse()
    np.testing.assert_array_equal(back.todense(), dense)


def test_every_format_of_pydata_sparse_is_taken_and_entries_not_stored_are_zeros():
    sparse = pytest.importorskip("sparse")
    dense = random_case(4, 3).dense
    same(retensor.tensor(sparse.GCXS.from_numpy(dense)), dense)
    same(retensor.tensor(sparse.DOK.from_numpy(dense)), dense)
    ones = sparse.COO.from_numpy(np.ones((2, 3)), fill_value=1)
    assert ones.nnz == 0
    with pytest.raises(retensor.InputError, match=r"fill_value is 1\.0, expected 0"):
        retensor.tensor(ones)


def test_a_value_that_is_not_finite_is_named_by_its_index():
    x = retensor.tensor(np.array([[1, 0], [np.nan, 1]]))
    for compute in (lambda: retensor.cp(x, rank=1), lambda: retensor.ttv(x, [1, 1], 0)):
        with pytest.raises(retensor.InputError, match=r"value nan at the index \(1, 0\), expected"):
            compute()


def test_a_dense_operand_that_is_sparse_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    x = retensor.tensor(np.eye(3))
    with pytest.raises(retensor.InputError, match="found a sparse csr_matrix, expected a dense"):
        retensor.mttkrp(x, [sparse.csr_matrix(np.eye(3))] * 2, 0)


def test_a_dense_array_that_no_address_reaches_is_a_memory_error():
    with pytest.raises(MemoryError, match="does not fit"):
        retensor.Tensor([[0], [0]], [1.0], (2**31, 2**31)).to_numpy()


def test_values_at_equal_coordinates_add_up():
    x = retensor.Tensor([[0, 0, 1], [1, 1, 0]], [1, 2, 4], (2, 2))
    np.testing.assert_array_equal(x.to_numpy(), [[0, 3], [4, 0]])
    np.testing.assert_array_equal(retensor.ttv(x, [1, 2], 1).to_numpy(), [6, 4])


def test_files_come_and_go(tmp_path):
    dense = random_case(5, 4, dtype=np.float64).dense
    path = tmp_path / "x.tns"
    retensor.tensor(dense).write(path)
    same(retensor.Tensor.read(path, np.float64), dense)
    same(retensor.tensor(str(path)), dense.astype(np.float32))


def test_a_file_is_read_in_the_type_that_is_asked_for(tmp_path):
    (tmp_path / "x.tns").write_text("1 1 0.1\n2 2 1e300\n")
    x = retensor.tensor(tmp_path / "x.tns", dtype="float64")
    assert x.dtype == np.float64 and list(x.values) == [0.1, 1e300]
    assert retensor.tensor(x) is x
    with pytest.raises(retensor.InputError, match=r"1e\+300, expected one that float32 holds"):
        retensor.tensor(x, dtype=np.float32)
    assert retensor.tensor(np.ones((2, 2)), dtype="f4").dtype == np.float32


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_file_that_states_a_type_keeps_it(tmp_path, kind):
    values = np.array([0.1, 1e-200, 3]).astype(kind)
    x = retensor.Tensor([[0, 1, 2]], values, (3,))
    x.write(tmp_path / "x.tnsb")
    for read in (retensor.tensor, retensor.Tensor.read):
        same_type = read(tmp_path / "x.tnsb")
        assert same_type.dtype == kind and list(same_type.values) == list(values)
        assert read(tmp_path / "x.tnsb", np.float32).dtype == np.float32
    x.write(tmp_path / "x.tns")
    assert retensor.tensor(tmp_path / "x.tns").dtype == np.float32


@pytest.mark.parametrize("dtype", ["i4", "f2", "u4", "no type"])
def test_other_types_are_refused(tmp_path, dtype):
    (tmp_path / "x.tns").write_text("1 1 0.1\n")
    for data in (tmp_path / "x.tns", np.ones(3)):
        with pytest.raises(retensor.InputError, match=f"'{dtype}', expected float32 or float64"):
            retensor.tensor(data, dtype)


@pytest.mark.parametrize("ending", ["tns", "mtx", "tnsb"])
def test_a_file_is_what_its_name_says(tmp_path, ending):
    dense = random_case(6, 2, dtype=np.float64).dense
    path = tmp_path / f"x.{ending}"
    retensor.tensor(dense).write(path)
    same(retensor.tensor(path, dtype=np.float64), dense)
    assert path.read_bytes().startswith({"tns": b"2\n", "mtx": b"%%Mat", "tnsb": b"TNSB"}[ending])


def test_a_name_of_a_format_that_is_not_written_is_refused(tmp_path):
    for ending in ("npz", "h5", "smtx", "tns.gz"):
        with pytest.raises(retensor.InputError, match="expected .tns, .tnsb or .mtx"):
            retensor.tensor(np.ones((2, 2))).write(tmp_path / f"x.{ending}")
    assert not list(tmp_path.iterdir())


def test_one_nonzero_is_told_in_the_singular():
    assert repr(retensor.Tensor([[0]], [1.5], (3,))) == "<Tensor 3, 1 nonzero, float64>"


def test_a_bad_file_is_refused_with_its_place(tmp_path):
    path = tmp_path / "x.tns"
    path.write_text("1 2 3 4.5\n1 2 x 4.5\n")
    with pytest.raises(retensor.InputError, match=r"x\.tns:2:5: "):
        retensor.tensor(path)
    with pytest.raises(retensor.InputError, match="none.tns"):
        retensor.tensor(tmp_path / "none.tns")


@pytest.mark.parametrize("coords, values, shape, words", [
    ([[0, 3]], [1, 2], (3,), "index 3, expected 0 to 2"),
    ([[-1]], [1], (3,), "index -1"),
    ([[0.5]], [1], (3,), "indices of float64, expected whole numbers"),
    ([[0], [0]], [1], (3,), "found 2 index arrays for a shape of 1 modes"),
    ([[0, 1]], [1], (3,), "entries for 1 values"),
    ([[0]] * 9, [1], (1,) * 9, "1 to 8"),
    ([[]], [], (-1,), "length of a mode: found -1"),
    ([[0]], [1], (2.5,), "length of a mode: found 2.5, expected a whole number"),
    ([[0]], [1j], (3,), "type complex128, expected real numbers"),
])
def test_impossible_tensors_are_refused(coords, values, shape, words):
    with pytest.raises(retensor.InputError, match=words):
        retensor.Tensor(coords, values, shape)


@pytest.mark.parametrize("data, words", [
    (3.5, "found 3.5, expected an array of order 1 to 8"),
    (None, "type object, expected real numbers"),
    (np.array(["a"]), "expected real numbers"),
    (np.ones((2, 2), complex), "type complex128"),
    (np.ma.array([1, 2], mask=[0, 1]), "masked entries"),
])
def test_what_is_no_tensor_is_refused(data, words):
    with pytest.raises(retensor.InputError, match=words):
        retensor.tensor(data)


def test_wide_values_stay_in_double_precision():
    assert retensor.tensor(np.ones(3, np.longdouble)).dtype == np.float64


class Elsewhere:
    """An array that offers DLPack alone, on the device that it claims."""

    def __init__(self, array, device=dlpack.CPU):
        self.array, self.device, self.stream = array, device, "none"

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, stream=None):
        self.stream = stream
        if self.device == dlpack.CPU:
            return self.array.__dlpack__()
        return dlpack.capsule_of(self.array, self.array.ctypes.data, self.device, lambda _: None)


@pytest.mark.parametrize("array", [
    np.arange(24, dtype=np.float32).reshape(2, 3, 4), np.arange(6, dtype=np.int64),
    np.arange(24.0).reshape(4, 6)[:, ::2], np.arange(24.0).reshape(4, 6).T, np.zeros((0, 3)),
    np.array(2.5)])
def test_dlpack_on_the_host(array):
    found = dlpack.to_host(Elsewhere(array))
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_operands_may_come_by_dlpack():
    case = random_case(6, 3)
    factors = [Elsewhere(factor) for factor in case.factors]
    np.testing.assert_allclose(retensor.mttkrp(Elsewhere(case.dense), factors, 0),
                               retensor.mttkrp(case.dense, case.factors, 0), atol=1e-6)


def test_own_capsules_are_read_back_and_released():
    array, released = np.arange(12, dtype=np.float32).reshape(3, 4), []
    capsule = dlpack.capsule_of(array, array.ctypes.data, dlpack.CPU, released.append)
    np.testing.assert_array_equal(dlpack.from_capsule(capsule), array)
    assert released == [array.ctypes.data]
    with pytest.raises(ValueError):
        dlpack.from_capsule(capsule)  # it was consumed


def test_numpy_takes_own_capsules():
    array, released = np.arange(12, dtype=np.float32).reshape(3, 4), []

    class Own(Elsewhere):
        def __dlpack__(self, stream=None):
            return dlpack.capsule_of(array, array.ctypes.data, dlpack.CPU, released.append)

    np.testing.assert_array_equal(np.from_dlpack(Own(array)).copy(), array)
    assert released == [array.ctypes.data]


def test_an_array_on_the_gpu_without_cuda_is_a_clear_error():
    memory = ctypes.c_void_p()
    if retensor.library.library().retensor_device_allocate(8, ctypes.byref(memory)) == 0:
        retensor.library.library().retensor_device_free(memory)
        pytest.skip("this machine has a GPU")
    there = Elsewhere(np.ones(3), dlpack.CUDA)
    with pytest.raises(retensor.DeviceError, match="CUDA"):
        dlpack.to_host(there)
    assert there.stream == dlpack.DEFAULT_STREAM
    with pytest.raises(retensor.DeviceError, match="CUDA"):
        retensor.to_device(np.ones(3)).__dlpack__()
    with pytest.raises(retensor.InputError, match="type 99"):
        dlpack.to_host(Elsewhere(np.ones(3), 99))
