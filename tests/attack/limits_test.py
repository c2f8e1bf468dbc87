"""Limits hold for everything that a case does, and bad ones are refused before anything starts."""

import gzip
import json
import os
import signal
import subprocess
import time

import pytest

from attacks import METHOD, ok_rows, papers_file, refused, registry, rooted, run, sweep
from sweeps import RETENSOR, copies

SLOW = "import sys, time\nopen('started', 'w').close()\ntime.sleep(60)\n"


def slow_recipe(workspace):
    """A data set whose recipe takes a minute, and the options that let it run."""
    recipes = workspace.folder / "recipes"
    recipes.mkdir()
    (recipes / "slow.py").write_text(SLOW)
    (recipes / "recipes.yaml").write_text('{"schema": 1, "recipes": {"slow": []}}')
    workspace.sets["slow"] = dict({k: v for k, v in workspace.sets["tiny"].items() if k != "file"},
                                  make={"recipe": "slow"})
    workspace.add_uniform("other", [5, 4, 3], 9)
    return "--recipes", recipes


def test_the_time_limit_holds_for_recipes_and_costs_the_row(workspace):
    options = slow_recipe(workspace)
    spec = workspace.spec([METHOD], axes={"dataset": ["slow", "other"]}, measure={"timeout": "2s"})
    start = time.monotonic()
    done = sweep(workspace, spec, *map(str, options))
    assert time.monotonic() - start < 30 and done.returncode == 1, done.stderr
    assert len(ok_rows(workspace)) == 1
    assert "timeout" in {row["status"] for row in workspace.lines()}


def test_the_time_limit_holds_for_loading_and_costs_the_row(workspace):
    """Two GB of text, which takes several times the two seconds that a load gets here."""
    lines = 200_000 * b"1 1 1 0.123456789012345678901234567890\n"
    (workspace.folder / "large.tns.gz").write_bytes(300 * gzip.compress(lines))
    workspace.sets["large"] = dict(workspace.sets["tiny"], file="large.tns.gz", nnz=60_000_000)
    workspace.add_uniform("other", [5, 4, 3], 9)
    spec = workspace.spec([METHOD], axes={"dataset": ["large", "other"]},
                          measure={"timeout": "200ms"})
    start = time.monotonic()
    done = sweep(workspace, spec)
    assert time.monotonic() - start < 30 and done.returncode == 1, done.stderr
    rows = {row["case"]["dataset"]: (row["status"], row["reason"]) for row in workspace.lines()}
    assert rows.pop("large") == ("timeout", "no result within 2 s")
    # On a busy machine nine nonzeros may take more than their 200 ms.
    assert rows in ({"other": ("ok", "")}, {"other": ("timeout", "no result within 200 ms")})
    assert not processes_of(workspace.folder)


def processes_of(path):
    """Command lines of processes that name the path."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if str(path) in line]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_driver_takes_the_recipe_with_it(workspace, number):
    options = slow_recipe(workspace)
    spec = workspace.spec([METHOD], axes={"dataset": "slow"})
    running = subprocess.Popen(workspace.command(spec, *map(str, options), program=RETENSOR),
                               cwd=workspace.folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    while not (workspace.folder / "started").exists():
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(number)
    if number == signal.SIGTERM:  # the first one waits for the case at hand
        time.sleep(0.3)
        running.send_signal(number)
    running.wait(timeout=20)
    for _ in range(100):
        if not processes_of(workspace.folder / "recipes" / "slow.py"):
            return
        time.sleep(0.05)
    pytest.fail("the recipe goes on")


def test_a_limit_on_file_sizes_costs_no_row(workspace):
    """The cache can't be written; rows are small."""
    workspace.add_uniform("large", [500, 400, 300], 50000)
    spec = workspace.spec([METHOD], axes={"dataset": ["large", "tiny"]})
    done = subprocess.run(["bash", "-c", 'ulimit -f 256; exec "$@"', "-",
                           *workspace.command(spec, program=RETENSOR)], cwd=workspace.folder,
                          capture_output=True, text=True, timeout=120, check=False)
    assert "SIGXFSZ" not in done.stderr + "".join(r["reason"] for r in workspace.lines())
    assert [row["status"] for row in workspace.lines()].count("ok") >= 1


@pytest.mark.parametrize("limit", ["0s", "0ms", "-1s", "1e9s", "99999999h", "s", ""])
def test_limits_that_allow_nothing_are_refused(workspace, limit):
    refused(sweep(workspace, workspace.spec([METHOD], measure={"timeout": limit})),
            "a time such as")


@pytest.mark.parametrize("threads", ["1000000", "-1", "many"])
def test_an_environment_with_too_many_threads_costs_no_sweep(workspace, threads):
    done = sweep(workspace, workspace.spec([METHOD]), env=dict(os.environ, OMP_NUM_THREADS=threads))
    assert done.returncode in (0, 2), (done.returncode, done.stderr)


@pytest.mark.parametrize("length", [200, 234, 255, 5000])
def test_long_names_are_refused_or_work(tmp_path, length):
    name = "n" * length
    path = registry(tmp_path, **{name: {"make": {"recipe": "uniform", "seed": 1},
                                        "kind": "generated"}})
    done = run("dataset", "make", name, "--registry", path, "--cache", tmp_path / "cache")
    if length <= 200:
        assert done.returncode == 0, done.stderr
    else:
        refused(done, "registry.yaml:1")


def test_paths_beyond_all_length_are_refused(workspace):
    long = "n" * 300
    workspace.out = workspace.folder / long
    done = sweep(workspace, workspace.spec([METHOD]))
    assert done.returncode in (2, 3) and "name too long" in done.stderr.lower(), done.stderr
    assert "filesystem error" not in done.stderr
    for command in (("plan", long), ("rows", long), ("dataset", "info", long + ".tns"),
                    ("run", workspace.folder / "spec.yaml", "--registry", long),
                    ("dataset", "make", "ratings", "--input", long)):
        done = run(*command)
        assert done.returncode == 2, (command, done.stderr)
        assert "filesystem error" not in done.stderr


@pytest.mark.parametrize("terms", [10, 999, 1000, 100000])
def test_a_check_of_many_terms_is_computed_or_refused_soon(tmp_path, terms):
    findings = papers_file(tmp_path, "findings")
    said = {"place": "here", "text": "a sum"}
    findings.write_text(json.dumps({
        "schema": 1, "paper": "pasta", "figures": {"one": {"place": "here", "is": 1}},
        "rules": [{"id": "X-1", "says": said, "against": said,
                   "check": "+".join(["one"] * terms) + f" = {terms}"}]}))
    start = time.monotonic()
    done = run("audit", "stranger", timeout=30, env=rooted(tmp_path))
    assert time.monotonic() - start < 10
    if terms <= 999:
        assert done.returncode == 0 and "checks: 1 fit" in done.stdout, done.stderr
    else:
        refused(done, "findings.yaml:1", "at most 1000 operands")


def test_four_drivers_on_one_file_lose_nothing(workspace):
    spec = workspace.spec(copies(3, 20))
    running = [workspace.start(spec) for _ in range(4)]
    for process in running:
        process.communicate(timeout=60)
    assert len({row["key"] for row in ok_rows(workspace)}) == len(ok_rows(workspace)) == 3
