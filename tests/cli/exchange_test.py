"""`retensor dataset convert`: every format on small tensors, there and back, and refusals."""
import json
import os
import random
import subprocess

import pytest

from sweeps import RETENSOR, ROOT

numpy = pytest.importorskip("numpy")
SMALL = sorted((ROOT / "datasets").glob("*.tns")) + \
    sorted((ROOT / "datasets" / "sandia").glob("*.mtx.gz"))
ENDINGS = {"tns": "tns", "tnsb": "tnsb", "npz": "npz", "hdf5": "h5", "parti": "tns",
           "splatt": "tns", "alto": "tns", "genten": "txt", "mtx": "mtx", "smtx": "smtx"}


def retensor(*arguments):
    return subprocess.run([RETENSOR, "dataset", *map(str, arguments)], capture_output=True,
                          text=True, timeout=60, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


def converted(source, out, *more):
    done = retensor("convert", source, out, *more)
    assert done.returncode == 0, done.stderr
    assert "read back and equal" in done.stderr
    return done


def needs(form):
    if form == "hdf5":
        pytest.importorskip("h5py")


def random_tensor(path, dims, nnz, seed):
    """Text with header; values that need all digits of single precision among them."""
    rng = random.Random(seed)
    cells = {tuple(rng.randrange(n) for n in dims) for _ in range(nnz)}
    with open(path, "w") as out:
        out.write(f"{len(dims)}\n{' '.join(map(str, dims))}\n")
        for cell in rng.sample(sorted(cells), len(cells)):
            value = rng.choice([1, -2.5, 0.1, 1e-30])
            out.write(f"{' '.join(str(i + 1) for i in cell)} {value}\n")
    return path


def content(path):
    """(dims, sorted lines) of a text tensor with header."""
    lines = path.read_text().splitlines()
    return lines[1], sorted(lines[2:])


@pytest.mark.parametrize("form", ENDINGS)
@pytest.mark.parametrize("source", SMALL, ids=lambda path: path.name)
def test_every_small_file_comes_back_from_every_format(source, form, tmp_path):
    needs(form)
    plain, there, back = (tmp_path / name for name in ("a.tns", f"b.{ENDINGS[form]}", "c.tns"))
    converted(source, plain)
    order = int(plain.read_text().split()[0])
    if form == "smtx" and order == 2:
        converted(plain, there, "--to", form, "--drop-values")
        dims, lines = content(plain)
        converted(there, back)
        assert content(back) == (dims, sorted(f"{line.rsplit(' ', 1)[0]} 1" for line in lines))
    elif (form == "mtx" and order > 3) or (form == "smtx" and order != 2):
        assert retensor("convert", plain, there, "--to", form).returncode == 2
    else:
        converted(plain, there, "--to", form)
        converted(there, back)
        if form not in ("splatt", "alto"):  # which do not keep mode lengths
            assert content(back) == content(plain)
        assert content(back)[1] == content(plain)[1]


@pytest.mark.parametrize("form", ENDINGS)
@pytest.mark.parametrize("seed, dims", enumerate([(7,), (40, 30), (3, 4, 2, 5, 3)]))
def test_random_tensors_come_back(form, seed, dims, tmp_path):
    needs(form)
    if form in ("mtx", "smtx") and len(dims) != 2:
        pytest.skip("the format holds matrices")
    source = random_tensor(tmp_path / "a.tns", dims, 60, seed)
    there, back = tmp_path / f"b.{ENDINGS[form]}", tmp_path / "c.tns"
    converted(source, there, "--to", form, *(["--drop-values"] if form == "smtx" else []))
    converted(there, back)
    if form != "smtx":
        assert content(back)[1] == content(source)[1]


TEXT = "3\n4 3 2\n4 1 2 -1\n1 1 1 2\n2 3 1 0.5\n"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "a.tns"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("form, text", [
    ("parti", TEXT),
    ("splatt", "4 1 2 -1\n1 1 1 2\n2 3 1 0.5\n"),
    ("alto", "4 1 2 -1\n1 1 1 2\n2 3 1 0.5\n"),
    ("genten", "sptensor\n3\n4 3 2\n3\n3 0 1 -1\n0 0 0 2\n1 2 0 0.5\n"),
])
def test_text_formats_are_written_as_other_programs_read_them(source, tmp_path, form, text):
    done = converted(source, tmp_path / "b.txt", "--to", form)
    assert (tmp_path / "b.txt").read_text() == text
    assert f"indices from {'zero' if form == 'genten' else 'one'}" in done.stderr


def test_matrices_and_patterns(tmp_path):
    source = tmp_path / "a.tns"
    source.write_text("2\n2 3\n2 2 1\n1 3 1\n2 1 1\n")
    converted(source, tmp_path / "b.mtx")
    assert (tmp_path / "b.mtx").read_text() == \
        "%%MatrixMarket matrix coordinate real general\n2 3 3\n2 2 1\n1 3 1\n2 1 1\n"
    converted(source, tmp_path / "b.smtx")
    assert (tmp_path / "b.smtx").read_text() == "2, 3, 3\n0 1 3\n2 0 1\n"


def test_what_was_written_is_told_for_this_tensor(source, tmp_path):
    matrix = tmp_path / "m.tns"
    matrix.write_text("2\n2 3\n2 2 1\n")
    told = converted(matrix, tmp_path / "m.mtx").stderr
    assert "mtx, 1 nonzero, 2 x 3;" in told and "; indices from one; read back" in told
    told = converted(source, tmp_path / "stack", "--to", "mtx").stderr
    assert "; indices from one; a folder of matrices, the last mode's slices; read back" in told


def test_three_modes_become_the_matrices_of_a_stack(source, tmp_path):
    converted(source, tmp_path / "stack", "--to", "mtx")
    names = sorted(p.name for p in (tmp_path / "stack").iterdir())
    assert names == ["slice_1.mtx", "slice_2.mtx"]
    assert (tmp_path / "stack" / names[1]).read_text().splitlines()[1:] == ["4 3 1", "4 1 -1"]
    again = retensor("convert", source, tmp_path / "stack", "--to", "mtx")
    assert again.returncode == 2 and "a new folder" in again.stderr


def test_npz_is_what_pydata_and_scipy_write_and_read(source, tmp_path):
    converted(source, tmp_path / "b.npz")
    with numpy.load(tmp_path / "b.npz") as arrays:
        assert sorted(arrays) == ["coords", "data", "fill_value", "shape"]
        assert arrays["shape"].tolist() == [4, 3, 2] and arrays["fill_value"] == 0
        assert arrays["coords"].tolist() == [[3, 0, 1], [0, 0, 2], [1, 0, 0]]
        assert arrays["data"].tolist() == [-1, 2, 0.5]
    sparse = pytest.importorskip("scipy.sparse")
    sparse.save_npz(tmp_path / "m.npz", sparse.csr_matrix([[0, 2.5], [1, 0]]))
    converted(tmp_path / "m.npz", tmp_path / "m.tns")
    assert content(tmp_path / "m.tns") == ("2 2", ["1 2 2.5", "2 1 1"])


def test_hdf5_holds_the_coordinate_form_of_binsparse(source, tmp_path):
    h5py = pytest.importorskip("h5py")
    converted(source, tmp_path / "b.h5")
    with h5py.File(tmp_path / "b.h5") as file:
        stated = json.loads(file.attrs["binsparse"])["binsparse"]
        assert stated["shape"] == [4, 3, 2] and stated["number_of_stored_values"] == 3
        assert file["indices_1"][:].tolist() == [0, 0, 2]
        del file


def test_the_order_of_modes_is_chosen_and_stated(source, tmp_path):
    done = converted(source, tmp_path / "b.tns", "--modes", "2,0,1")
    assert content(tmp_path / "b.tns") == ("2 4 3", ["1 1 1 2", "1 2 3 0.5", "2 4 1 -1"])
    assert "modes 2,0,1 of the input" in done.stderr
    for wrong in ("2,0", "0,1,3", "0,1,1", "0;1;2", ""):
        refused = retensor("convert", source, tmp_path / "c.tns", "--modes=" + wrong)
        assert wrong == "" or (refused.returncode == 2 and "each of 0 1 2 once" in refused.stderr)


@pytest.mark.parametrize("text, base, first", [
    ("1 1 5\n2 3 6\n", "one", "1 1 5"), ("0 0 5\n1 2 6\n", "zero", "1 1 5"),
    ("0 1 5\n1 2 6\n", "by-content", "1 2 5"), ("1 1 5\n2 3 6\n", "by-content", "1 1 5")])
def test_where_indices_begin_is_stated_for_text_without_it(tmp_path, text, base, first):
    (tmp_path / "a.tns").write_text(text)
    converted(tmp_path / "a.tns", tmp_path / "b.tns", "--index-base", base)
    assert content(tmp_path / "b.tns") == ("2 3", [first, "2 3 6"])


def test_an_index_zero_is_refused_where_the_file_counts_from_one(tmp_path):
    (tmp_path / "a.tns").write_text("0 1 5\n")
    done = retensor("convert", tmp_path / "a.tns", tmp_path / "b.tns")
    assert done.returncode == 2 and "a.tns:1:1: found '0'" in done.stderr
    done = retensor("convert", tmp_path / "a.tns", tmp_path / "b.tns", "--index-base", "two")
    assert done.returncode == 2 and "expected one of one, zero, by-content" in done.stderr


def test_values_are_dropped_only_where_that_is_asked_for(tmp_path):
    (tmp_path / "a.tns").write_text("1 1 5\n")
    done = retensor("convert", tmp_path / "a.tns", tmp_path / "b.smtx")
    assert done.returncode == 2 and "--drop-values" in done.stderr
    assert not (tmp_path / "b.smtx").exists()


@pytest.mark.parametrize("name, text, words", [
    ("a.smtx", "2, 3, 2\n0 1 2\n2 3\n", "3:3: found '3', expected column 2 of 2 from 0 to 2"),
    ("a.smtx", "2, 3, 2\n0 2 1\n2 0\n", "2:5: found '1', expected the start of row 2 from 2 to 2"),
    ("a.smtx", "2, 3, 2\n0 1\n2 0\n", "2:4"),
    ("a.smtx", "2, 3, 2\n0 2 2\n1 1\n", "3:3"),
    ("a.smtx", "2 3 2\n0 1 2\n2 0\n", "1:1: found '2', expected the number of rows"),
    ("a.smtx", "2, 3, 1\n0 1 1\n2 0\n", "3:3"),
    ("a.txt", "sptensor\n2\n2 2\n2\n0 0 1\n", "4:1: found '2', expected 1, the nonzeros"),
    ("a.txt", "sptensor\n2\n2 2\n1\n2 0 1\n", "5:1: found '2', expected an index of mode 1 of 2"),
    ("a.txt", "sptensor indices\n2\n2 2\n0\n", "1:10"),
    ("a.npz", "no zip", "expected what sparse.save_npz"),
])
def test_flawed_files_are_refused_with_their_place(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    done = retensor("convert", tmp_path / name, tmp_path / "b.tns")
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert not (tmp_path / "b.tns").exists()


@pytest.mark.parametrize("arrays, words", [
    ({"data": [1.0], "coords": [[4], [0]], "shape": [2, 2]}, "found indices 4 to 4 of mode 0"),
    ({"data": [1.0], "coords": [[-1], [0]], "shape": [2, 2]}, "found indices -1"),
    ({"data": [1.0, 2.0], "coords": [[1], [0]], "shape": [2, 2]}, "for (2,) values"),
    ({"data": [1.0], "coords": [[1.5], [0]], "shape": [2, 2]}, "arrays of float64"),
    ({"data": [1.0], "coords": [[1], [0]]}, "no array shape"),
    ({"data": [numpy.nan], "coords": [[1], [0]], "shape": [2, 2]},
     "found the value nan, expected finite numbers"),
    ({"data": [2**53 + 1], "coords": [[1], [0]], "shape": [2, 2]},
     "found the value 9007199254740993, expected integers of at most 2^53"),
    ({"data": [None], "coords": [[1], [0]], "shape": [2, 2]},
     "expected what sparse.save_npz or scipy.sparse.save_npz writes"),
    ({"data": [1.0, 2.0], "coords": [[1, 1], [0, 0]], "shape": [2, 2]}, "expected"),
    ({"data": [1.0], "coords": [[1], [0]], "shape": [2, 2], "fill_value": 1.0}, "fill value 1.0"),
])
def test_flawed_arrays_are_refused(tmp_path, arrays, words):
    numpy.savez(tmp_path / "a.npz", **{k: numpy.array(v) for k, v in arrays.items()})
    done = retensor("convert", tmp_path / "a.npz", tmp_path / "b.tns")
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert done.stderr.startswith(f"retensor: {tmp_path / 'a.npz'}")
    assert len(done.stderr.splitlines()) == 1


def test_a_truncated_archive_is_refused_by_its_name(source, tmp_path):
    converted(source, tmp_path / "a.npz")
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(whole[:len(whole) // 2])
    done = retensor("convert", tmp_path / "a.npz", tmp_path / "b.tns")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert f"{tmp_path / 'a.npz'}: found 'File is not a zip file', expected what" in done.stderr


@pytest.mark.parametrize("ending", ["npz", "h5", "tnsb", "tns"])
def test_values_that_single_precision_would_change_stay_as_they_are(tmp_path, ending):
    needs({"h5": "hdf5"}.get(ending, ending))
    values = numpy.array([0.1, 1 / 3, 1e200, 16777217])
    coords = numpy.array([[0, 1, 2, 3], [0, 0, 1, 1]])
    numpy.savez(tmp_path / "a.npz", data=values, coords=coords, shape=numpy.array([4, 2]))
    done = converted(tmp_path / "a.npz", tmp_path / f"b.{ending}")
    assert "values in double precision" in done.stderr
    converted(tmp_path / f"b.{ending}", tmp_path / "c.npz")
    with numpy.load(tmp_path / "c.npz") as arrays:
        assert arrays["data"].dtype == numpy.float64
        assert arrays["data"].tolist() == values.tolist()
    numpy.savez(tmp_path / "a.npz", data=numpy.array([16777217, 2]), coords=[[0, 1], [0, 0]],
                shape=[4, 2])
    converted(tmp_path / "a.npz", tmp_path / "c.npz")
    with numpy.load(tmp_path / "c.npz") as arrays:
        assert arrays["data"].tolist() == [16777217, 2]


def test_values_stay_in_single_precision_where_that_changes_nothing(tmp_path):
    (tmp_path / "a.tns").write_text("1 1 0.1\n2 2 0.5\n")
    done = converted(tmp_path / "a.tns", tmp_path / "b.npz")
    assert "precision" not in done.stderr
    with numpy.load(tmp_path / "b.npz") as arrays:
        assert arrays["data"].dtype == numpy.float32
    converted(tmp_path / "b.npz", tmp_path / "c.tns")
    assert content(tmp_path / "c.tns")[1] == ["1 1 0.1", "2 2 0.5"]


@pytest.mark.parametrize("name", ["b.tns", "b.tnsb", "b.npz", "b.mtx"])
def test_what_is_no_regular_file_stays_what_it_is(tmp_path, name):
    source = tmp_path / "a.tns"
    source.write_text("2\n2 3\n2 2 1\n1 3 1\n")
    os.mkfifo(tmp_path / name)
    done = retensor("convert", source, tmp_path / name)
    assert done.returncode == 2
    assert f"{name}: found a pipe, expected a regular file" in done.stderr
    assert (tmp_path / name).is_fifo()
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("target")
    for _ in range(2):  # a link without a target, then with one
        converted(source, tmp_path / name)
        assert (tmp_path / name).is_symlink() and (tmp_path / "target").is_file()


def test_genten_files_that_count_from_one_say_so(tmp_path):
    (tmp_path / "a.txt").write_text("sptensor indices-start-at-one\n2\n2 2\n1\n2 1 5\n")
    converted(tmp_path / "a.txt", tmp_path / "b.tns")
    assert content(tmp_path / "b.tns") == ("2 2", ["2 1 5"])


@pytest.fixture
def restricted(tmp_path):
    """Options of a registry whose one data set has the size of TEXT and may not be passed on."""
    (tmp_path / "own.yaml").write_text(
        "schema: 1\ndatasets:\n  secret: {kind: real, form: tensor, dims: [4, 3, 2], nnz: 3, "
        "source: s, licence: 'no redistribution'}\n")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "secret.tns").write_text(TEXT)
    return "--registry", tmp_path / "own.yaml", "--cache", tmp_path / "cache"


def test_copies_of_what_may_not_be_passed_on_say_so(source, tmp_path, restricted):
    words = "for your own use only: no redistribution"
    done = converted(source, tmp_path / "b.npz", "--modes", "2,0,1", *restricted)
    assert f"b.npz: the size of secret: {words}" in done.stderr
    (tmp_path / "other.tns").write_text("3\n4 3 2\n4 1 2 -1\n")
    assert words not in converted(tmp_path / "other.tns", tmp_path / "c.tns", *restricted).stderr
    done = retensor("make", "secret", tmp_path / "copy.tns", *restricted)
    assert done.returncode == 0 and f"copy.tns: {words}" in done.stderr
    told = retensor("info", "secret", *restricted).stdout
    assert "not allowed or not stated" in told and "no redistribution" in told


def test_a_model_of_what_may_not_be_passed_on_says_so(tmp_path, restricted):
    def cp(*more):
        return subprocess.run([RETENSOR, "cp", "secret", "--rank", "1", *map(str, more)],
                              capture_output=True, text=True, timeout=60)
    done = cp("--output", tmp_path / "model", *restricted)
    assert done.returncode == 0, done.stderr
    assert "model: from a tensor of the size of secret: for your own use only: no redistribution" \
        in done.stderr
    assert "own use" not in cp(*restricted).stderr
