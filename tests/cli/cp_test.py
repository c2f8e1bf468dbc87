"""`cp` beside an implementation in NumPy, sweep by sweep; non-negative models, starts at singular
vectors, runs that are killed, progress, figures."""
import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from decompositions_test import call, low_rank, write_tensor
from sweeps import RETENSOR, ROOT, at_terminal

sys.path.insert(0, str(ROOT / "tests/unit"))

from cpd_values import khatri_rao, unfolding  # noqa: E402

SHAPES = {3: (9, 8, 7), 4: (7, 4, 6, 5), 5: (5, 4, 3, 6, 4)}
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "2"}


def random_tensor(order, seed=1):
    """40% of the entries, multiples of 1/64, which every type and text holds exactly."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(SHAPES[order]) < 0.4, rng.integers(6, 65, SHAPES[order]) / 64, 0)


def nvecs(x, mode, rank):
    """Leading left singular vectors, the largest magnitude of each positive."""
    vectors = np.linalg.svd(unfolding(x, mode))[0][:, :rank]
    return vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(rank)])


def least_squares(unfolded, others, _):
    return unfolded @ np.linalg.pinv(others.T)


def descent(unfolded, others, factor):
    """A step of HALS for each column: others are those of the model with this factor."""
    factor, gram, product = factor.copy(), others.T @ others, unfolded @ others
    for r in range(factor.shape[1]):
        step = (product[:, r] - factor @ gram[:, r]) / gram[r, r]
        factor[:, r] = np.maximum(0, factor[:, r] + step)
    return factor


def reference(x, factors, sweeps, update):
    """Weights, factors and fits of alternating updates in fp64."""
    model = khatri_rao(factors).sum(axis=1).reshape(x.shape)
    weights = np.full(factors[0].shape[1], np.vdot(x, model) / np.vdot(model, model))
    fits = []
    for _ in range(sweeps):
        for mode in range(x.ndim):
            others = khatri_rao([f for m, f in enumerate(factors) if m != mode])
            solved = update(unfolding(x, mode), others, factors[mode] * weights)
            weights = np.linalg.norm(solved, axis=0)
            factors[mode] = solved / weights
        model = (khatri_rao(factors) @ weights).reshape(x.shape)
        fits.append(1 - np.linalg.norm(x - model) / np.linalg.norm(x))
    return weights, factors, fits


def load(folder):
    with np.load(folder / "model.npz") as npz:
        factors = [npz[f"factor_{m}"] for m in range(len(npz.files) - 2)]
        return npz["weights"], factors, npz["fit"]


@pytest.mark.parametrize("order", SHAPES)
@pytest.mark.parametrize("constraint, update", [("none", least_squares), ("nonnegative", descent)])
def test_every_sweep_is_that_of_an_implementation_in_numpy(workspace, order, constraint, update):
    x, rank = random_tensor(order), 3
    write_tensor(workspace.folder / "x.tns", x)
    told = json.loads(call(workspace, "cp", "x.tns", "--rank", rank, "--start", "nvecs",
                           "--constraint", constraint, "--max-sweeps", 8, "--tolerance", 0,
                           "--type", "f64", "--output", "model", "--json").stdout)
    first = [nvecs(x, mode, rank) for mode in range(order)]
    if constraint == "nonnegative":
        first = [np.abs(factor) for factor in first]
    weights, factors, fits = reference(x, first, 8, update)
    found = load(workspace.folder / "model")
    assert found[2] == pytest.approx(fits, abs=1e-11) and len(fits) == 8
    assert fits[-1] > fits[0] + 1e-4
    order_of_weights = np.argsort(-weights, kind="stable")
    assert found[0] == pytest.approx(weights[order_of_weights], rel=1e-9)
    for mine, theirs in zip(found[1], factors):
        assert mine == pytest.approx(theirs[:, order_of_weights], abs=1e-9)
        assert constraint == "none" or mine.min() >= 0
    start, = told["starts"]
    assert (told["start"], told["constraint"]) == ("nvecs", constraint)
    assert start["relative_error"] == pytest.approx(1 - fits[-1], abs=1e-11)


def match(mine, theirs):
    """The least cosine between the components of one model and the nearest of another's."""
    cosines = np.prod([np.abs(a.T @ b) / np.outer(np.linalg.norm(a, axis=0),
                                                  np.linalg.norm(b, axis=0))
                       for a, b in zip(mine, theirs)], axis=0)
    return cosines.max(axis=0).min()


@pytest.mark.parametrize("start", ["uniform", "normal", "nvecs"])
def test_planted_non_negative_factors_are_found(workspace, start):
    rng = np.random.default_rng(4)
    truth = [np.where(rng.random((length, 3)) < 0.5, rng.uniform(0.5, 1, (length, 3)), 0)
             for length in (12, 10, 11)]
    write_tensor(workspace.folder / "x.tns", np.einsum("ar,br,cr->abc", *truth))
    starts = 1 if start == "nvecs" else 4
    call(workspace, "cp", "x.tns", "--rank", 3, "--start", start, "--starts", starts, "--type",
         "f64", "--constraint", "nonnegative", "--max-sweeps", 3000, "--tolerance", 1e-12,
         "--output", "model", "--quiet")
    _, factors, fit = load(workspace.folder / "model")
    assert fit[-1] > 0.9999 and match(factors, truth) > 0.999
    assert match(factors, [rng.uniform(0, 1, f.shape) for f in truth]) < 0.9
    assert min(factor.min() for factor in factors) >= 0


def test_a_non_negative_model_of_a_tensor_with_negative_entries(workspace):
    x = random_tensor(3) - 0.25
    write_tensor(workspace.folder / "x.tns", x)
    fits = {}
    for constraint in ("none", "nonnegative"):
        told = call(workspace, "cp", "x.tns", "--rank", 4, "--constraint", constraint, "--json",
                    "--output", constraint).stdout
        fits[constraint] = json.loads(told)["starts"][0]["fit"]
    assert 0 < fits["nonnegative"] < fits["none"]
    assert min(f.min() for f in load(workspace.folder / "nonnegative")[1]) == 0


def test_more_components_than_indices_begin_at_singular_vectors(workspace):
    write_tensor(workspace.folder / "x.tns", random_tensor(3))
    done = json.loads(call(workspace, "cp", "x.tns", "--rank", 12, "--start", "nvecs",
                           "--json").stdout)
    assert done["starts"][0]["fit"] > 0.2


LONG = ("--rank", "6", "--starts", "3", "--max-sweeps", "600", "--tolerance", "0", "--type", "f64",
        "--params", "threads=1", "--method", "pasta.cpu.coo")


@pytest.mark.parametrize("more", [(), ("--constraint", "nonnegative")])
def test_a_killed_run_goes_on_and_ends_with_the_same_model(workspace, more):
    workspace.add_uniform("random", [30, 20, 25], 900)
    call(workspace, "cp", "random", *LONG, *more, "--output", "whole", "--json")
    args = ["cp", "random", *LONG, *more, "--output", "cut", "--checkpoint", "state", "--json"]
    places = ["--registry", str(workspace.registry), "--cache", str(workspace.cache)]
    checkpoint = workspace.folder / "state.2"
    with subprocess.Popen([RETENSOR, *args, "--checkpoint-every", "1", *places],
                          cwd=workspace.folder, stdout=subprocess.DEVNULL,
                          env=ENVIRONMENT) as running:
        while not checkpoint.exists() and running.poll() is None:
            time.sleep(0.001)
        running.kill()
    assert checkpoint.exists(), "it ended before it could be killed"
    told = json.loads(call(workspace, *args).stdout)
    first, second, _ = (start["resumed_after"] for start in told["starts"])
    assert first == len(told["starts"][0]["fit_curve"]) and second > 0
    # A file that was being written when the process died stays.
    assert {path.suffix for path in workspace.folder.glob("state*")} <= {".part"}
    whole, cut = (workspace.folder / name / "model.npz" for name in ("whole", "cut"))
    assert whole.read_bytes() == cut.read_bytes()


def test_a_checkpoint_of_another_run_is_refused_and_kept(workspace):
    workspace.add_uniform("random", [30, 20, 25], 900)
    args = ["cp", "random", "--rank", "4", "--max-sweeps", "1000000", "--tolerance", "0", "--type",
            "f64", "--checkpoint", "state", "--checkpoint-every", "1", "--check-every", "1"]
    places = ["--registry", str(workspace.registry), "--cache", str(workspace.cache)]
    state = workspace.folder / "state"
    with subprocess.Popen([RETENSOR, *args, *places], cwd=workspace.folder,
                          stdout=subprocess.DEVNULL, env=ENVIRONMENT) as running:
        while not state.exists() and running.poll() is None:
            time.sleep(0.001)
        running.kill()
    intact = state.read_bytes()
    for change, words in [(("--rank", "5"), "found rank 4, expected 5"),
                          (("--seed", "7"), "found seed 1, expected 7"),
                          (("--start", "normal"), "found operands spread, expected normal"),
                          (("--constraint", "nonnegative"),
                           "found constraint none, expected nonnegative")]:
        at = args.index(change[0]) if change[0] in args else len(args)
        done = call(workspace, *args[:at], *change, *args[at + 2:], code=2)
        assert words in done.stderr, done.stderr
    state.write_bytes(intact[:-1])
    assert "not an intact checkpoint" in call(workspace, *args, code=2).stderr
    assert state.exists()


def test_progress_is_redrawn_on_a_terminal_and_silent_when_quiet(workspace):
    args = ["cp", "tiny", "--rank", "2", "--max-sweeps", "3", "--tolerance", "0", "--registry",
            str(workspace.registry), "--cache", str(workspace.cache)]
    text = at_terminal(*args)
    assert "\r\x1b[Kstart 1 of 1: sweep 2 of at most 3, fit " in text
    assert "\r\x1b[K    1           1       3" in text  # the table covers the last line
    assert "sweep 2 of" not in at_terminal(*args, "--quiet")
    piped = call(workspace, "cp", "tiny", "--rank", "2", "--max-sweeps", "3")
    assert not set("\r\x1b") & set(piped.stderr)  # a slow machine gets a whole line now and then
    assert "relative error" in piped.stdout.splitlines()[-1]


@pytest.mark.parametrize("ending, begins", [("svg", b"<?xml"), ("png", b"\x89PNG"),
                                            ("pdf", b"%PDF")])
def test_components_are_drawn(workspace, ending, begins):
    done = call(workspace, "cp", "tiny", "--rank", "2", "--plot", f"figure.{ending}", "--json")
    assert json.loads(done.stdout)["best"] == 0 and f"figure.{ending}" in done.stderr
    drawn = (workspace.folder / f"figure.{ending}").read_bytes()
    assert drawn.startswith(begins)
    if ending == "svg":
        assert all(words in drawn.decode() for words in ("2 components, fit ", "mode 2, 2 indices"))


@pytest.mark.parametrize("args, words", [
    (["--constraint", "positive"], "found constraint 'positive', expected none or nonnegative"),
    (["--constraint", "nonnegative", "--start", "signs"], "expected uniform, normal or nvecs"),
    (["--constraint", "nonnegative", "--start", "spread"], "expected uniform, normal or nvecs"),
    (["--start", "nvec"], "'nvec', expected one of spread, signs, normal, uniform, nvecs"),
    (["--start", "nvecs", "--starts", "2"], "--starts: found 2, expected 1: --start nvecs"),
    (["--checkpoint-every", "0"], "--checkpoint-every: found 0, expected 1 or more"),
    (["--checkpoint", "no/state"], "--checkpoint: found no/state, expected a file in a folder"),
    (["--checkpoint", "."], "--checkpoint: found ., expected a file"),
    (["--last-sweeps", "-1"], "--last-sweeps: found -1, expected 0 or more"),
    (["--plot", "figure.bmp"], "--plot: found figure.bmp, expected a name that ends in .svg"),
    (["--plot", "no/figure.svg"], "--plot: found no/figure.svg, expected a file in a folder"),
])
def test_bad_values_are_refused_in_one_line_before_anything_runs(workspace, args, words):
    done = call(workspace, "cp", "tiny", "--rank", "2", *args, code=2)
    assert words in done.stderr and len(done.stderr.splitlines()) == 1 and done.stdout == ""


def test_last_sweeps_end_where_the_rounding_of_operands_does_not_show(workspace):
    """Of two components operands of 8 bits leave 1e-4 and more, single precision less."""
    write_tensor(workspace.folder / "x.tns", low_rank((12, 11, 10), 2, 1)[0])
    rough = ["cp", "x.tns", "--rank", 2, "--method", "hlsto.cpu", "--params",
             "precision=bf16 threshold=0", "--max-sweeps", 30, "--json"]
    start, finer = (json.loads(call(workspace, *rough, "--last-sweeps", last).stdout)["starts"][0]
                    for last in (0, 4))
    assert finer["fit_curve"][:-4] == start["fit_curve"]
    assert len(finer["seconds_curve"]) == len(finer["fit_curve"])
    assert start["relative_error"] > 1e-4 > 10 * finer["relative_error"]


def test_tucker_begins_at_singular_vectors(workspace):
    write_tensor(workspace.folder / "x.tns", random_tensor(3))
    fits = {}
    for start in ("normal", "nvecs"):
        told = call(workspace, "tucker", "x.tns", "--ranks", 3, 3, 3, "--method", "hlsto.cpu",
                    "--params", "values=f32 format=hls_s", "--start", start, "--json").stdout
        fits[start] = json.loads(told)["fit"]
    assert fits["nvecs"][0] > fits["normal"][0]
    assert "expected normal or nvecs" in call(workspace, "tucker", "x.tns", "--ranks", 3, 3, 3,
                                              "--method", "hlsto.cpu", "--start", "signs",
                                              code=2).stderr


@pytest.mark.parametrize("args, words", [
    (["text.tns"], "the magic bytes of a binary cache"),
    (["binary.tnsb", "--starts", "2"], "--starts"),
    (["binary.tnsb", "--constraint", "nonnegative"], "--constraint"),
    (["binary.tnsb", "--last-sweeps", "2"], "--last-sweeps"),
    (["binary.tnsb", "--method", "pasta.cpu.coo"], "no parameter `file`"),
])
def test_what_a_tensor_on_disk_does_not_take_is_refused(tmp_path, args, words):
    (tmp_path / "text.tns").write_text("1 1 1 1\n2 2 2 3\n")
    subprocess.run([RETENSOR, "dataset", "convert", "text.tns", "binary.tnsb"], cwd=tmp_path,
                   check=True, capture_output=True)
    done = subprocess.run([RETENSOR, "cp", *args, "--on-disk", "--rank", "2"], cwd=tmp_path,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1 and done.stdout == ""
