"""What `plan` says of a case's memory is what its worker takes, within a quarter."""

import json
import os
import re

import pytest

from attacks import run, sweep

UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
CUBE = [2000, 1500, 800], 600_000
MATRIX = [20000, 20000], 600_000
SMALL = [400, 300, 200], 20_000
CASES = {
    "tew": (CUBE, "pasta.cpu.coo", {}),
    "ts": (CUBE, "pasta.cpu.hicoo", {}),
    "ttv": (CUBE, "pasta.cpu.coo", {"mode": 0}),
    "ttm": (CUBE, "pasta.cpu.coo", {"mode": 1, "rank": 16}),
    "mttkrp": (CUBE, "hlsto.cpu", {"mode": 0, "rank": 16}),
    "mttkrp_all": (CUBE, "flycoo.cpu", {"rank": 16}),
    "ttm_chain": (CUBE, "hlsto.cpu", {"mode": 0, "rank": 8}),
    "contraction": (SMALL, "sparta.cpu", {}),
    "spmm": (MATRIX, "tca_spmm.cpu", {"rank": 32}),
    "cpd": (CUBE, "cpd.cpu.als", {"rank": 16, "max_sweeps": 1}),
}


def predicted(workspace, spec):
    """The memory column of the one case of a spec, in bytes."""
    done = run("plan", spec, "--registry", workspace.registry, "--cache", workspace.cache)
    found = re.search(r"^case +([0-9.]+) (\w+) ", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    return float(found[1]) * UNITS[found[2]]


@pytest.fixture(params=CASES)
def case(request, workspace):
    """A workspace and a spec of one case of the operation."""
    (dims, nnz), method, axes = CASES[request.param]
    workspace.add_uniform("random", dims, nnz)
    variant = {"variant": "abk,cdk->abcd"} if request.param == "contraction" else {}
    return workspace, workspace.spec([method], operation=request.param,
                                     axes={"dataset": "random", **axes}, **variant)


@pytest.mark.skipif(bool(os.environ.get("RETENSOR_SANITIZED")),
                    reason="the sanitizers have memory of their own")
def test_the_peak_of_every_operation_is_predicted(case):
    workspace, spec = case
    estimate = predicted(workspace, spec)
    assert sweep(workspace, spec, "--rerun").returncode == 0
    peak = workspace.lines()[-1]["footprint"]["worker_peak_bytes"]
    assert 0.75 * peak <= estimate <= 1.25 * peak, (estimate / 1e6, peak / 1e6)


def test_the_peak_is_asked_of_every_operation_that_there_is():
    listed = json.loads(run("list", "methods", "--json").stdout)
    assert {operation for method in listed for operation in method["operations"]} == set(CASES)


def test_a_case_that_needs_more_than_the_spec_allows_is_skipped(workspace):
    workspace.add_uniform("random", *CUBE)
    spec = workspace.spec(["pasta.cpu.coo"], operation="ttm", measure={"memory": "64MiB"},
                          axes={"dataset": "random", "mode": 1, "rank": 16})
    done = run("plan", spec, "--registry", workspace.registry)
    assert "0 cases; 1 skip;" in done.stdout
    said = re.search("needs about ([0-9.]+) MiB of memory, the spec allows 64.0 MiB", done.stdout)
    done = run("plan", spec, "--registry", workspace.registry, "--json")
    (skip,), = (plan["skips"] for plan in json.loads(done.stdout))
    assert f"{skip['memory'] / 2**20:.1f}" == said[1]
