"""Tensors over several processes: the checks of tests/mpi, and `retensor-mpi` as users start it."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from slurm import wait_until
from sweeps import RETENSOR

PROGRAM = os.environ.get("RETENSOR_MPI", "")
CHECK = os.environ.get("DISTRIBUTE_CHECK", "")
RULES = ["allreduce", "owner", "medium"]
SHAPE, RANK = [40, 23, 31], 5
LOCAL = {"threads": 1, "mttkrp": "pasta.cpu.coo"}  # what each process of a spec runs
# A fit that loses a rounding error ends no run with a tolerance below zero.
HOW = ["--rank", RANK, "--tolerance", "-1", "--method", "pasta.cpu.coo"]

whole = pytest.mark.skipif(not os.environ.get("RETENSOR_WHOLE"),
                           reason="each of eight processes is killed in ci/test --full")
pytestmark = [pytest.mark.skipif(not shutil.which("mpirun"), reason="mpirun is not installed"),
              pytest.mark.skipif(not PROGRAM, reason="built without MPI")]


def environment():
    """More processes than processors, which must not spin, also as root. What MPI itself leaks is
    not looked for."""
    leaks = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return {**os.environ, "ASAN_OPTIONS": leaks, "OMP_NUM_THREADS": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}


def command(processes, *arguments):
    return ["mpirun", "--oversubscribe", "-np", str(processes), *map(str, arguments)]


def run(processes, *arguments):
    return subprocess.run(command(processes, *arguments), capture_output=True, text=True,
                          timeout=120, check=False, env=environment())


@pytest.fixture(scope="module")
def tensor(tmp_path_factory):
    dice = random.Random(3)
    places = set()
    while len(places) < 3000:
        places.add(tuple(dice.randint(1, length) for length in SHAPE))
    path = tmp_path_factory.mktemp("tensor") / "random.tns"
    path.write_text("".join(f"{i} {j} {k} {dice.random()}\n" for i, j, k in sorted(places)))
    return path


def decomposition(processes, tensor, *more):
    done = run(processes, PROGRAM, tensor, *HOW, *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("processes", [1, 2, 4, 8])
def test_results_are_the_oracles_and_bytes_the_closed_forms(processes):
    done = run(processes, CHECK)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"all checks of {processes} processes hold\n"


def test_a_wrong_element_and_a_message_too_many_are_found():
    done = run(2, CHECK, "planted")
    assert done.returncode == 1
    assert "bytes sent, expected" in done.stdout and "of its bound" in done.stdout


@pytest.mark.parametrize("rule", RULES)
def test_models_of_several_processes_are_that_of_one(tensor, rule):
    one = decomposition(1, tensor, "--max-sweeps", 6)
    assert one["sent_by_sweeps"] == dict.fromkeys(one["sent_by_sweeps"], 0)
    for processes in [2, 4, 8]:
        many = decomposition(processes, tensor, "--max-sweeps", 6, "--dist", rule)
        assert many["fit_curve"] == pytest.approx(one["fit_curve"], rel=1e-9)
        assert many["weights"] == pytest.approx(one["weights"], rel=1e-9)
        rows = sum(SHAPE) * RANK * 8 * 6
        others = processes - 1
        layers = sum((processes // p - 1) * length for p, length in zip(many["grid"], SHAPE))
        expected = {"allreduce": {"all_reduce": 2 * others * rows},
                    "owner": {"all_gather": others * rows},
                    "medium": {"all_gather": others * rows,
                               "reduce_scatter": layers * RANK * 8 * 6}}[rule]
        assert many["sent_by_sweeps"] == {**dict.fromkeys(one["sent_by_sweeps"], 0), **expected}
        assert all(1 <= load < 1.5 for load in many["imbalance"])
        assert [max(load) for load in many["loads"]] == many["imbalance"]
        assert all(len(load) == processes for load in many["loads"])


@pytest.mark.parametrize("rule", RULES)
def test_a_binary_tensor_gives_the_model_of_the_text(tensor, tmp_path, rule):
    binary = tmp_path / "random.tnsb"
    done = subprocess.run([RETENSOR, "dataset", "convert", tensor, binary], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Both in double precision: the digits of the text are no numbers of single precision.
    text = decomposition(3, tensor, "--max-sweeps", 3, "--dist", rule)
    assert decomposition(3, binary, "--max-sweeps", 3, "--dist", rule)["fit_curve"] == \
        pytest.approx(text["fit_curve"], rel=1e-13)


def test_the_model_is_written_as_by_one_process(tensor, tmp_path):
    decomposition(2, tensor, "--max-sweeps", 4, "--output", tmp_path / "two")
    done = subprocess.run([RETENSOR, "cp", tensor, *map(str, HOW[:2]), "--method", "pasta.cpu.coo",
                           "--type", "f64", "--start", "signs", "--max-sweeps", "4",
                           "--tolerance", "0", "--output", tmp_path / "one"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert sorted(path.name for path in (tmp_path / "two").iterdir()) == names
    for name in names:
        if name.endswith(".txt"):
            one, two = ((tmp_path / model / name).read_text().split() for model in ("one", "two"))
            assert list(map(float, two)) == pytest.approx(list(map(float, one)), rel=1e-6), name


def distributed(workspace, **params):
    """Rows of MTTKRP over all modes by several processes, by ranks and distribution."""
    workspace.add_uniform("cube", SHAPE, 3000)
    path = workspace.spec([("distributed.cpu", {**LOCAL, **params})],
                          operation="mttkrp_all", measure={"samples": 2},
                          axes={"dataset": "cube", "mode": "all", "rank": RANK})
    done = workspace.run(path, program=RETENSOR, env=environment())
    return done, {(row["case"]["params"]["ranks"], row["case"]["params"]["dist"]): row
                  for row in workspace.lines()}


def test_ranks_and_distributions_are_axes_of_a_spec(workspace):
    done, rows = distributed(workspace, ranks=[1, 2], dist=RULES)
    assert done.returncode == 0, done.stderr
    assert len(rows) == 6
    for (ranks, rule), row in rows.items():
        assert row["status"] == "ok" and row["check"]["ok"], row["reason"]
        assert "code" not in row and row["source_hash"], "a row of this project's code"
        assert row["executed"]["processes"] == str(ranks) and row["executed"]["dist"] == rule
        layers = [int(p) for p in row["executed"]["grid"].split(" x ")]
        rows_sent = {"allreduce": 2 * (ranks - 1) * sum(SHAPE), "owner": (ranks - 1) * sum(SHAPE),
                     "medium": sum((ranks // p + ranks - 2) * n for p, n in zip(layers, SHAPE))}
        assert row["executed"]["bytes sent"] == str(rows_sent[rule] * RANK * 4)
        assert row["stats"]["median"] > 0 and "exchange" in row["phases"]["stages"]


CHATTY = """
#include <stdio.h>
#include <unistd.h>
int PMPI_Barrier(void* processes);
int MPI_Barrier(void* processes) {
  puts("NCCL version 2.28.3+cuda13.0");  /* as NCCL does, which NCCL_DEBUG asks for its version */
  fflush(stdout);
  (void)!write(1, "{}\\n", 3);  /* past the buffer, and an answer by its looks */
  return PMPI_Barrier(processes);
}
"""


def test_what_libraries_print_is_no_answer(workspace, tmp_path, monkeypatch):
    source, library = tmp_path / "chatty.c", tmp_path / "chatty.so"
    source.write_text(CHATTY)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    monkeypatch.setenv("LD_PRELOAD", f"{os.environ.get('LD_PRELOAD', '')} {library}")
    done, rows = distributed(workspace, ranks=2, dist="owner")
    assert done.returncode == 0, done.stderr
    assert rows[2, "owner"]["check"]["ok"] and rows[2, "owner"]["stats"]["count"] == 2


def test_what_distributed_methods_do_not_take_is_refused_with_the_reason(workspace):
    done, _ = distributed(workspace, ranks=2, dist="rows")
    assert done.returncode == 2 and "medium" in done.stderr
    done, rows = distributed(workspace, ranks=2, dist="owner", mttkrp="flycoo.cpu")
    row = rows[2, "owner"]
    assert row["status"] == "unsupported" and "flycoo.cpu" in row["reason"]


def children(pid):
    return [int(child) for child in
            Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def any_of(processes, *marks):
    return [pytest.param(processes, victim, marks=marks) for victim in range(processes)]


@pytest.mark.parametrize("processes, victim", any_of(3) + any_of(8, whole))
def test_a_process_that_is_killed_ends_all_and_leaves_a_checkpoint(tensor, tmp_path, processes,
                                                                   victim):
    checkpoint = tmp_path / "model"
    call = [PROGRAM, tensor, *HOW, "--max-sweeps", "100000", "--dist", RULES[victim % len(RULES)],
            "--checkpoint", checkpoint, "--checkpoint-every", "5"]
    with subprocess.Popen(command(processes, *call), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=environment()) as running:
        wait_until(checkpoint.exists, 30, "a checkpoint")
        os.kill(sorted(children(running.pid))[victim], signal.SIGKILL)
        start = time.monotonic()
        _, said = running.communicate(timeout=60)
    assert time.monotonic() - start < 30
    assert running.returncode != 0
    assert f"rank {victim}" in said and "signal 9" in said, said
    call[call.index("100000")] = "5"
    resumed = json.loads(run(processes, *call).stdout)
    assert resumed["resumed_after"] >= 5 and not checkpoint.exists()


def test_a_checkpoint_of_another_run_and_a_damaged_one_are_refused(tensor, tmp_path):
    checkpoint = tmp_path / "model"
    call = [PROGRAM, tensor, *HOW, "--checkpoint", checkpoint]
    with subprocess.Popen(command(2, *call, "--max-sweeps", "100000", "--checkpoint-every", "5"),
                          stderr=subprocess.DEVNULL, env=environment()) as running:
        wait_until(checkpoint.exists, 30, "a checkpoint")
        running.terminate()
    done = run(2, *call, "--seed", "2")
    assert done.returncode == 2 and "seed" in done.stderr, done.stderr
    checkpoint.write_bytes(checkpoint.read_bytes()[:-1])
    done = run(2, *call)
    assert done.returncode == 2 and "not an intact checkpoint" in done.stderr, done.stderr


def test_wrong_input_is_refused_by_all(tensor):
    done = run(2, PROGRAM, tensor, "--method", "pasta.cpu.coo", "--dist", "rows")
    assert done.returncode == 2
    assert "expected one of allreduce, owner, medium" in done.stderr
    done = run(2, PROGRAM, tensor)
    assert done.returncode == 2 and "expected --method" in done.stderr
    done = run(2, PROGRAM, tensor, "--method", "pasta.cpu.coo", "--checkpoint", "model",
               "--checkpoint-every", "0")
    assert done.returncode == 2 and "--checkpoint-every: found 0, expected 1 or more" in done.stderr
    done = run(2, PROGRAM, tensor, "--method", "flycoo.cpu", "--dist", "owner")
    assert done.returncode == 2 and "flycoo.cpu" in done.stderr
    done = run(2, PROGRAM, "nowhere.tns", "--method", "pasta.cpu.coo")
    assert done.returncode == 2 and "nowhere.tns" in done.stderr


@pytest.mark.parametrize("wrong, said", [
    (["--max-sweeps", "0"], "--max-sweeps: found 0, expected 1 or more"),
    (["--tolerance", "nan"], "--tolerance: found nan, expected a finite number"),
    (["--rank", "0"], "--rank: found 0, expected 1 or more"),
    (["--output", "a.tns"], "--output: found a.tns, expected a folder"),
    (["--checkpoint", "nowhere/model"], "--checkpoint: nowhere/model"),
    (["--dtype", "f32"], "retensor-mpi: unknown option '--dtype'")])
def test_what_would_waste_a_run_is_refused_before_it(tmp_path, monkeypatch, wrong, said):
    monkeypatch.chdir(tmp_path)
    Path("a.tns").write_text("1 1 1 1\n2 2 2 2\n")
    done = run(2, PROGRAM, "a.tns", "--method", "pasta.cpu.coo", *wrong)
    assert done.returncode == 2 and said in done.stderr, done.stderr


@pytest.mark.parametrize("content, code, said", [
    ("3\n4 5 6\n", 2, "a.tns: the tensor has no nonzeros"),
    ("1 1 1 1e300\n2 2 2 1\n", 2, "as the largest magnitude of a value"),
    ("1 1 4294967295 1\n2 2 2 2\n", 3, "the factors take")])
def test_tensors_without_a_model_are_refused(tmp_path, monkeypatch, content, code, said):
    monkeypatch.chdir(tmp_path)
    Path("a.tns").write_text(content)
    done = run(2, PROGRAM, "a.tns", "--method", "pasta.cpu.coo", "--rank", "4096")
    assert done.returncode == code and said in done.stderr, done.stderr


def test_the_help_names_the_program():
    assert run(1, PROGRAM, "--help").stdout.startswith("Usage: retensor-mpi TENSOR [options]")
