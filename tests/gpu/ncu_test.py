"""`retensor run --profile` with the real Nsight Compute: counters, or its reason in the row."""

import json

import pytest

from sweeps import RETENSOR

EXPECTED = ("launches", "seconds", "sm_percent", "l1_percent", "l2_percent", "dram_percent",
            "dram_read_bytes", "dram_write_bytes", "dram_bytes", "dram_over_model", "l2_bytes",
            "l2_atomic_sectors", "tensor_instructions")


def test_counters_or_the_reason_stand_in_the_row(workspace):
    # 192 MB, several times an L2: what TS must move shows in the DRAM bytes.
    workspace.add_uniform("large", dims=[4096, 4096, 4096], nnz=24_000_000)
    workspace.add_uniform("small", dims=[512, 512, 512], nnz=1_000_000)
    methods = ["pasta.cuda.coo", "pasta.cpu.coo"]
    specs = [workspace.spec(methods, name="ts", axes={"dataset": "large"}),
             workspace.spec(methods[:1], name="mttkrp", operation="mttkrp",
                            axes={"dataset": "small", "rank": 16, "mode": 0})]
    for spec in specs:
        done = workspace.run(spec, "--profile", program=RETENSOR)
        assert done.returncode == 0, done.stderr
    rows = workspace.lines()
    for row in rows:
        print(row["case"]["operation"], row["case"]["method"], json.dumps(row["profile"], indent=1))
    on_host = [row for row in rows if row["case"]["method"] == "pasta.cpu.coo"]
    assert [list(row["profile"]) for row in on_host] == [["note"]]
    on_device = {row["case"]["operation"]: row["profile"] for row in rows if row not in on_host}
    assert len(on_device) == 2
    if any("reason" in profile for profile in on_device.values()):
        assert all(profile["reason"] for profile in on_device.values())
        pytest.skip(on_device["ts"]["reason"])
    for profile in on_device.values():
        assert [name for name in EXPECTED if name not in profile] == [], profile["missing"]
        assert 0 < profile["sm_percent"] <= 100
    # TS reads and writes each value once and nothing else; what the L2 holds at the end is not
    # written yet.
    assert on_device["ts"]["launches"] == 1
    assert 0.7 < on_device["ts"]["dram_over_model"] < 1.15
    assert on_device["ts"]["l2_atomic_sectors"] == 0
    assert on_device["mttkrp"]["l2_atomic_sectors"] > 0
