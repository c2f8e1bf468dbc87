"""A row states the tensor that was measured, whatever happens to the files meanwhile."""

import os

import pytest

from attacks import METHOD, ok_rows, refused, run, sweep
from sweeps import TENSOR, copies

OTHER = TENSOR.replace("1.5", "9.5")
DIMS, NONZEROS = [4, 3, 2], 6


def cached(workspace):
    sweep(workspace, workspace.spec([METHOD]))
    return next((workspace.cache / "tensors").glob("tiny-*.tnsb"))


def true_rows(workspace):
    """All rows that are ok state the tensor as it is."""
    rows = ok_rows(workspace)
    data = rows[0]["case"]["data"]
    assert all(row["case"]["data"] == data for row in rows)
    assert data["dims"] == DIMS and data["nnz"] == NONZEROS
    return rows


def test_a_flipped_bit_of_a_cached_tensor_s_header_is_healed(workspace):
    path = cached(workspace)
    whole = path.read_bytes()
    for byte in range(128):
        damaged = bytearray(whole)
        damaged[byte] ^= 1 << byte % 8
        path.write_bytes(damaged)
        done = sweep(workspace, workspace.spec([METHOD]), "--rerun")
        assert done.returncode == 0, (byte, done.stderr)
        assert path.read_bytes() == whole, byte
    assert len(true_rows(workspace)) >= 128


@pytest.mark.parametrize("size", [0, 1, 127, 128, 140, -1])
def test_a_truncated_cached_tensor_is_healed(workspace, size):
    path = cached(workspace)
    whole = path.read_bytes()
    path.write_bytes(whole[:size])
    done = sweep(workspace, workspace.spec([METHOD]), "--rerun")
    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == whole and len(true_rows(workspace)) == 2


def test_a_file_replaced_during_a_sweep_is_not_measured_under_the_old_checksum(workspace):
    """Each launch is a process of its own, which reads the file again."""
    running = workspace.start(workspace.spec(copies(1, 700), measure={"launches": 5}))
    while not workspace.lines():
        assert running.poll() is None
    (workspace.folder / "tiny.tns").write_text(OTHER)
    running.communicate(timeout=60)
    rows = workspace.lines()
    assert len({row["case"]["data"]["sha256"] for row in rows}) == 1
    last = rows[-1]
    assert last["status"] == "failed" and "changed while the sweep ran" in last["reason"]


def test_a_file_of_equal_size_and_time_does_not_meet_the_old_tensor(workspace):
    tensor = workspace.folder / "tiny.tns"
    sweep(workspace, workspace.spec([METHOD]))
    before = os.stat(tensor)
    (workspace.folder / "new").write_text(OTHER)
    os.utime(workspace.folder / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(workspace.folder / "new", tensor)
    sweep(workspace, workspace.spec([METHOD]))
    first, second = ok_rows(workspace)
    assert first["case"]["data"]["sha256"] != second["case"]["data"]["sha256"]


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: bytes([b[0] ^ 1]) + b[1:]])
def test_a_fetched_file_is_verified_again_when_it_is_used(workspace, damage):
    import hashlib
    content = TENSOR.encode()
    digest = hashlib.sha256(content).hexdigest()
    workspace.sets["far"] = dict(
        {k: v for k, v in workspace.sets["tiny"].items() if k != "file"},
        fetch={"url": "https://example.org/far.tns", "sha256": digest, "bytes": len(content)})
    workspace.add_uniform("first", [5, 4, 3], 5)
    fetched = workspace.cache / "fetched" / f"{digest[:12]}-far.tns"
    fetched.parent.mkdir(parents=True)
    fetched.write_bytes(content)
    spec = workspace.spec([METHOD], axes={"dataset": "far"})
    assert sweep(workspace, spec).returncode == 0
    fetched.write_bytes(damage(content))
    for path in workspace.cache.glob("tensors/far-*"):
        path.unlink()
    done = sweep(workspace, spec, "--rerun")
    assert done.returncode in (1, 2) and len(ok_rows(workspace)) == 1
    assert "fetch" in done.stderr + "".join(row["reason"] for row in workspace.lines())


MATRIX = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.5\n2 3 2.5\n"


@pytest.mark.parametrize("name, text, words", [
    ("a.mtx", MATRIX.split("\n", 1)[1], "%%MatrixMarket"),
    ("a.mtx", MATRIX.replace("%%MatrixMarket", "%%matrix"), "%%MatrixMarket"),
    ("a.mtx", MATRIX.replace("\n", "\r"), "carriage return"),
    ("a.tns", TENSOR.replace("\n", "\r"), "carriage return"),
])
def test_what_could_be_read_as_another_tensor_is_refused(tmp_path, name, text, words):
    (tmp_path / name).write_text(text, newline="")
    refused(run("dataset", "info", tmp_path / name, "--cache", tmp_path / "cache"),
            f"{name}:1", words)
