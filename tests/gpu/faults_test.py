"""Faults of the device cost one row each, whatever the process that met them can still do."""

import os
from collections import Counter


from sweeps import RETENSOR, ROOT, no_driver

FAULTY = os.environ.get("RETENSOR_GPU_FAULTY", str(ROOT / "build/tests/gpu/retensor-gpu-faulty"))
OTHER_ARCH = os.environ.get("RETENSOR_OTHER_ARCH",
                            str(ROOT / "build/tests/gpu/retensor-other-arch"))

FAULTS = {
    "good": ("ok", ""),
    "oom": ("oom", "cudaErrorMemoryAllocation"),
    "illegal_address": ("failed", "cudaErrorIllegalAddress"),
    "spin": ("timeout", "no result within 10 s"),
}


def test_each_fault_costs_one_row_and_the_sweep_goes_on(workspace):
    # Shuffled, so that sound cases come before and after the faults.
    many = {"good": 8, "oom": 3, "illegal_address": 3, "spin": 1}
    spec = workspace.spec([("faulty.cuda." + name, {"copy": list(range(count))})
                           for name, count in many.items()], measure={"timeout": "10s"})
    done = workspace.run(spec, program=FAULTY)
    assert done.returncode == 1, done.stderr
    for row in workspace.lines():
        print(row["case"]["method"], row["status"], row["reason"])
        status, reason = FAULTS[row["case"]["method"].split(".")[-1]]
        assert row["status"] == status, row
        assert reason in row["reason"]
    assert Counter(row["case"]["method"].split(".")[-1] for row in workspace.lines()) == many


def test_the_faulty_mode_of_a_rotation_costs_its_own_row_alone(workspace):
    spec = workspace.spec([("faulty.cuda.illegal_address", {"on_mode": 1})], operation="mttkrp",
                          axes={"mode": "all", "rank": 4}, measure={"order": "rotation"})
    assert workspace.run(spec, program=FAULTY).returncode == 1
    statuses = {row["case"]["mode"]: row["status"] for row in workspace.lines()}
    assert statuses == {0: "ok", 1: "failed", 2: "ok"}


def expect_unsupported(workspace, reason, program=RETENSOR, **env):
    spec = workspace.spec(["pasta.cuda.coo", "pasta.cpu.coo", "pasta.cuda.tuned"])
    done = workspace.run(spec, program=program, env=os.environ | env)
    assert done.returncode == 1, done.stderr
    rows = {row["case"]["method"]: row for row in workspace.lines()}
    for method in ("pasta.cuda.coo", "pasta.cuda.tuned"):
        assert rows[method]["status"] == "unsupported"
        assert reason in rows[method]["reason"]
        print(rows[method]["reason"])
    assert rows["pasta.cpu.coo"]["status"] == "ok"


def test_an_architecture_that_is_not_compiled_in(workspace):
    expect_unsupported(workspace, "architecture is not compiled in: no kernel image",
                       program=OTHER_ARCH)


def test_no_driver(workspace):
    expect_unsupported(workspace, "no usable NVIDIA driver or device: CUDA driver version",
                       **no_driver(workspace.folder))


def test_no_device(workspace):
    expect_unsupported(workspace, "no CUDA-capable device", CUDA_VISIBLE_DEVICES="")
