"""`cp` and `tucker`: models as NumPy and text files, several starts, refusals."""
import json
import os
import re
import subprocess

import numpy as np
import pytest

from sweeps import RETENSOR, ROOT, wait_for


def call(workspace, *args, code=0):
    done = subprocess.run([RETENSOR, *map(str, args), "--registry", str(workspace.registry),
                           "--cache", str(workspace.cache)], cwd=workspace.folder, text=True,
                          capture_output=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def write_tensor(path, array):
    lines = [str(array.ndim), " ".join(map(str, array.shape))]
    for at in np.ndindex(array.shape):
        if array[at] != 0:
            lines.append(" ".join(str(i + 1) for i in at) + f" {array[at]:.9g}")
    path.write_text("\n".join(lines) + "\n")


def low_rank(shape, rank, seed):
    rng = np.random.default_rng(seed)
    factors = [rng.standard_normal((length, rank)) for length in shape]
    return np.einsum("ar,br,cr->abc", *factors), factors


@pytest.fixture
def model(workspace):
    """A tensor of rank 2, and the model of that rank that `cp` finds in it."""
    array, factors = low_rank((7, 6, 5), 2, seed=3)
    write_tensor(workspace.folder / "low.tns", array)
    done = call(workspace, "cp", "low.tns", "--rank", "2", "--starts", "4", "--max-sweeps", "400",
                "--tolerance", "1e-9", "--type", "f64", "--output", "model", "--json")
    return array, factors, workspace.folder / "model", json.loads(done.stdout)


def test_cp_finds_a_tensor_of_low_rank_again(model):
    array, truth, folder, told = model
    with np.load(folder / "model.npz") as npz:
        found = {name: npz[name] for name in npz.files}
    assert sorted(found) == ["factor_0", "factor_1", "factor_2", "fit", "weights"]
    factors = [found[f"factor_{m}"] for m in range(3)]
    assert [f.shape for f in factors] == [(7, 2), (6, 2), (5, 2)]
    assert all(f.dtype == np.float64 for f in factors)
    rebuilt = np.einsum("r,ar,br,cr->abc", found["weights"], *factors)
    assert np.linalg.norm(rebuilt - array) < 1e-4 * np.linalg.norm(array)
    # The components are those of the truth, in the order of their weights.
    sizes = np.prod([np.linalg.norm(f, axis=0) for f in truth], axis=0)
    for component, source in enumerate(np.argsort(-sizes)):
        cosine = factors[0][:, component] @ truth[0][:, source]
        assert abs(cosine) == pytest.approx(np.linalg.norm(truth[0][:, source]), rel=1e-3)
    assert found["weights"][0] >= found["weights"][1]
    best = told["starts"][told["best"]]
    assert best["fit"] == max(start["fit"] for start in told["starts"]) > 0.9999
    assert best["fit_curve"] == pytest.approx(found["fit"])


def test_the_text_files_hold_the_same_model(model):
    _, _, folder, _ = model
    with np.load(folder / "model.npz") as npz:
        for m in range(3):
            assert (np.loadtxt(folder / f"factor-{m}.txt") == npz[f"factor_{m}"]).all()
        assert np.loadtxt(folder / "weights.txt") == pytest.approx(npz["weights"])
        assert np.loadtxt(folder / "fit.txt") == pytest.approx(npz["fit"])


def test_each_start_has_its_seed_and_the_table_names_the_best(workspace):
    lines = call(workspace, "cp", "tiny", "--rank", "1", "--starts", "3", "--seed", "7",
                 "--max-sweeps", "3", "--method", "pasta.cpu.coo", "--params",
                 "threads=1").stdout.splitlines()
    assert lines[0].startswith("MTTKRP by pasta.cpu.coo, factors on the host, prepared in ")
    assert lines[1].split() == ["start", "seed", "sweeps", "fit", "stopped", "by", "time",
                                "a", "sweep"]
    assert [line.split()[:2] for line in lines[2:5]] == [["1", "7"], ["2", "8"], ["3", "9"]]
    fits = [float(line.split()[3]) for line in lines[2:5]]
    best = int(lines[5].removeprefix("best: start ").split(",")[0])
    assert fits[best - 1] == max(fits)
    assert lines[5] == (f"best: start {best}, fit {max(fits):.6f}, relative error "
                        f"{1 - max(fits):.6f}")


def test_the_same_seed_gives_the_same_model(workspace):
    one, two = (json.loads(call(workspace, "cp", "tiny", "--rank", "2", "--json", "--method",
                                "pasta.cpu.coo", "--params", "update=owner").stdout)
                for _ in range(2))
    assert one["starts"][0]["fit_curve"] == two["starts"][0]["fit_curve"]


def read_dense(path):
    """An array from a .tns file with order and lengths."""
    order, dims, *lines = path.read_text().splitlines()
    array = np.zeros([int(n) for n in dims.split()])
    for line in lines:
        *at, value = line.split()
        array[tuple(int(i) - 1 for i in at)] = float(value)
    assert array.ndim == int(order)
    return array


def test_a_whole_tucker_decomposition_gives_the_tensor_back(workspace):
    lines = call(workspace, "tucker", "tiny", "--ranks", "4", "3", "2", "--method", "hlsto.cpu",
                 "--params", "format=hls_s values=f32", "--max-sweeps", "3", "--output",
                 "model").stdout.splitlines()
    assert lines[0].split() == ["sweep", "fit"]
    assert float(lines[-2].split()[1]) > 0.999
    assert lines[-1] == "model.npz and text files are in model"
    folder = workspace.folder / "model"
    tensor = read_dense(workspace.folder / "tiny.tns")
    with np.load(folder / "model.npz") as npz:
        factors = [npz[f"factor_{m}"] for m in range(3)]
        found = np.einsum("abc,ia,jb,kc->ijk", npz["core"], *factors)
        assert found == pytest.approx(tensor, abs=1e-5)
        assert read_dense(folder / "core.tns") == pytest.approx(npz["core"], abs=1e-6)
        assert np.loadtxt(folder / "factor-0.txt") == pytest.approx(factors[0], abs=1e-6)


def test_a_smaller_core_keeps_less(workspace):
    def fit(*ranks):
        told = call(workspace, "tucker", "tiny", "--ranks", *ranks, "--method", "hlsto.cpu",
                    "--json").stdout
        return json.loads(told)["fit"][-1]

    assert 0.3 < fit(1, 1, 1) < fit(2, 2, 1) < fit(3, 3, 2) < 1


TUCKER = ["tucker", "tiny", "--method", "hlsto.cpu"]


def test_the_best_of_several_starts_of_tucker_is_kept(workspace):
    options = [*TUCKER, "--ranks", "2", "2", "1", "--max-sweeps", "1"]
    each = [json.loads(call(workspace, *options, "--seed", seed, "--json").stdout)["fit"]
            for seed in (4, 5, 6)]
    told = json.loads(call(workspace, *options, "--seed", "4", "--starts", "3", "--json").stdout)
    # Sums of several threads differ in their last digits from run to run.
    assert np.array([start["fit_curve"] for start in told["starts"]]) == pytest.approx(
        np.array(each), abs=1e-6)
    assert [start["seed"] for start in told["starts"]] == [4, 5, 6]
    assert told["fit"] == max(start["fit_curve"] for start in told["starts"])
    assert told["fit"] == told["starts"][told["best"]]["fit_curve"]
    assert max(each)[0] > min(each)[0] + 1e-4
    lines = call(workspace, *options, "--seed", "4", "--starts", "3", "--output",
                 "best").stdout.splitlines()
    assert lines[0].split() == ["start", "seed", "sweeps", "fit", "stopped", "by"]
    assert lines[-2].startswith(f"best: start {told['best'] + 1}, fit ")
    with np.load(workspace.folder / "best" / "model.npz") as npz:
        assert npz["fit"] == pytest.approx(told["fit"])


def test_each_better_start_of_tucker_is_written_at_once(workspace):
    started = subprocess.Popen(
        [RETENSOR, *TUCKER, "--ranks", "2", "2", "1", "--starts", "1000000", "--output", "best",
         "--registry", str(workspace.registry), "--cache", str(workspace.cache)],
        cwd=workspace.folder, stdout=subprocess.DEVNULL)
    try:
        wait_for((workspace.folder / "best" / "model.npz").exists, seconds=20)
        assert started.poll() is None
    finally:
        started.kill()
        started.wait()


def test_the_manual_gives_a_tensor_of_ones_own_a_name(workspace):
    manual = (ROOT / "plots/docs/how-to/own-tensors.md").read_text()
    entry = re.search(r"```yaml\n(schema: 1\ndatasets:.*?)```", manual, re.DOTALL)[1]
    workspace.registry.write_text(entry)
    dims = json.loads(re.search(r"dims: (\[.*?\])", entry)[1])
    nnz = int(re.search(r"nnz: (\d+)", entry)[1])
    places = (np.arange(nnz) * (np.prod(dims) // nnz)).tolist()
    lines = [" ".join(str(i + 1) for i in np.unravel_index(at, dims)) + " 1" for at in places]
    workspace.cache.mkdir()
    (workspace.cache / "mine.tns").write_text(f"3\n{' '.join(map(str, dims))}\n" +
                                              "\n".join(lines) + "\n")
    assert "ok" in call(workspace, "dataset", "verify", "mine").stdout
    call(workspace, "cp", "mine", "--rank", "1", "--max-sweeps", "1", "--method", "pasta.cpu.coo")


@pytest.mark.parametrize("more", [[], ["--method", "pasta.cpu.coo"]])
@pytest.mark.parametrize("value", [0.1, 1e100])
def test_values_of_a_file_are_read_in_the_type_that_is_asked_for(workspace, value, more):
    (workspace.folder / "p.tns").write_text(f"1 1 1 {value}\n")
    call(workspace, "cp", "p.tns", "--rank", "1", "--type", "f64", "--output", "p", *more)
    assert float((workspace.folder / "p" / "weights.txt").read_text()) == \
        pytest.approx(value, rel=1e-14)
    call(workspace, "tucker", "p.tns", "--ranks", "1", "1", "1", "--method", "tucker.cpu.chain",
         "--type", "f64", "--output", "t")
    core = (workspace.folder / "t" / "core.tns").read_text().split()[-1]
    assert abs(float(core)) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("args", [
    ["cp", "tiny", "--rank", "1"],
    [*TUCKER, "--ranks", "2", "2", "2"],
    ["cp", "tiny.tnsb", "--rank", "1", "--on-disk"],
])
def test_a_folder_that_can_not_be_written_is_found_before_the_first_sweep(workspace, args):
    call(workspace, "dataset", "make", "tiny", "tiny.tnsb")
    (workspace.folder / "taken").write_text("")
    for output in ("taken", "taken/model"):
        done = call(workspace, *args, "--output", output, code=2)
        assert done.stdout == ""
        assert f"--output: found {output}, expected a folder" in done.stderr
    (workspace.folder / "model.npz").mkdir()
    done = call(workspace, *args, "--output", ".", code=2)
    assert done.stdout == "" and "--output: ./model.npz: found a folder" in done.stderr


def test_a_model_leaves_no_files_of_an_older_one(workspace):
    workspace.add_uniform("five", [4, 3, 2, 3, 2], 30)
    workspace.add_uniform("flat", [9, 7], 12)
    cp = ["cp", "--rank", "2", "--max-sweeps", "2", "--method", "pasta.cpu.coo", "--output", "m"]
    both = {"factor-0.txt", "factor-1.txt", "fit.txt", "model.npz"}
    call(workspace, *cp, "five")
    assert (workspace.folder / "m" / "factor-4.txt").exists()
    call(workspace, *cp, "flat")
    assert set(os.listdir(workspace.folder / "m")) == both | {"weights.txt"}
    call(workspace, *TUCKER, "--ranks", "2", "2", "2", "--output", "m")
    assert set(os.listdir(workspace.folder / "m")) == both | {"factor-2.txt", "core.tns"}
    call(workspace, *cp, "flat")
    assert set(os.listdir(workspace.folder / "m")) == both | {"weights.txt"}


@pytest.mark.parametrize("args, words", [
    (["cp", "tiny"], "expected --rank"),
    (["cp", "tiny", "--rank", "0"], "expected --rank"),
    (["cp", "tiny", "--rank", "2", "--starts", "0"], "--starts: found 0"),
    (["cp", "tiny", "--rank", "2", "--check-every", "0"], "--check-every: found 0"),
    (["cp", "tiny", "--rank", "2", "--start", "sign"], "start 'sign', expected one of spread"),
    (["cp", "tiny", "--rank", "2", "--max-sweeps", "0"], "--max-sweeps: found 0"),
    (["cp", "tiny", "--rank", "2", "--tolerance", "-1"], "--tolerance: found -1"),
    (["cp", "tiny", "--rank", "2", "--tolerance", "nan"], "--tolerance: found nan"),
    (["cp", "tiny", "--rank", "2", "--method", "hlsto.cp"], "did you mean 'hlsto.cpu'?"),
    (["cp", "tiny", "--rank", "2", "--method", "tca_spmm.cpu"], "supports only spmm"),
    (["cp", "tiny", "--rank", "2", "--params", "edge"], "name=value"),
    (["cp", "empty.tns", "--rank", "2"], "the tensor has no nonzeros"),
    (["cp", "nothing", "--rank", "2"], "unknown data set 'nothing'"),
    (TUCKER, "expected --ranks"),
    (["tucker", "tiny", "--ranks", "2", "0", "2"], "--ranks: found 0, expected 1 or more"),
    (["tucker", "tiny", "--ranks", "2", "2", "2", "--eigenvectors", "range"],
     "--eigenvectors is of --solve device"),
    (["tucker", "tiny", "--ranks", "2", "2", "2", "--eigenvectors", "qr"],
     "expected syevd, xsyevd, syevdx or range"),
    (["tucker", "tiny", "--ranks", "2", "2", "2", "--params", "a=1"],
     "--params: found parameters without the --method that has them"),
    ([*TUCKER, "--ranks", "2", "2"], "found 2 ranks"),
    ([*TUCKER, "--ranks", "2", "2", "2", "--starts", "0"], "--starts: found 0"),
    ([*TUCKER, "--ranks", "2", "2", "2", "--starts", "2", "--start", "nvecs"],
     "--starts: found 2, expected 1"),
    ([*TUCKER, "--ranks", "2", "0", "2"], "--ranks: found 0, expected 1 or more"),
    ([*TUCKER, "--ranks", "2", "2", "2", "--params", "edge"], "name=value"),
    ([*TUCKER, "--ranks", "2", "2", "2", "--max-sweeps", "0"], "--max-sweeps: found 0"),
    (["tucker", "flat", "--ranks", "2", "2", "--method", "hlsto.cpu"],
     "hlsto.cpu: found a tensor of order 2"),
])
def test_what_can_not_be_decomposed_is_refused_in_one_line(workspace, args, words):
    workspace.add_uniform("flat", [9, 7], 12)
    (workspace.folder / "empty.tns").write_text("3\n2 2 2\n")
    done = call(workspace, *args, code=2)
    assert words in done.stderr and len(done.stderr.splitlines()) == 1
    assert not os.path.exists(workspace.folder / "model")


def test_a_start_whose_numbers_overflow_is_never_the_best(workspace):
    """Seed 1 adds two nonzeros of a row up to infinity, seed 2 takes one from the other."""
    (workspace.folder / "large.tns").write_text("1 1 2 3e38\n2 3 1 3e38\n2 3 2 3e38\n")
    args = ["cp", "large.tns", "--rank", 2, "--start", "signs", "--method", "pasta.cpu.coo"]
    told = json.loads(call(workspace, *args, "--starts", 2, "--json").stdout)
    assert told["starts"][0]["fit"] is None and told["best"] == 1
    done = call(workspace, *args, code=2)
    assert "found no start whose model has only finite numbers" in done.stderr
