"""Rows of two machines of one model: they never replace each other, and older rows stay valid."""

import json
import os
import subprocess

import pytest

from compare_test import FAST, SLOW, compare, row, session, write
from sweeps import RETENSOR, Workspace


def on(machine, name):
    """A session of one model; `machine` None: a program that did not tell."""
    line = session(name)
    if machine:
        line["machine"]["identity"] = {"host": machine}
    return line


def rows(*paths):
    done = subprocess.run([RETENSOR, "rows", *paths], text=True, capture_output=True, timeout=60,
                          check=True)
    return [line for line in map(json.loads, done.stdout.splitlines()) if line["kind"] == "row"]


def devices(path):
    return sorted(line["device"] for line in rows(path))


def test_the_same_case_on_two_machines_of_a_model_is_two_rows_with_names_apart(tmp_path):
    path = write(tmp_path / "r.jsonl", on("aa", "s"), row(FAST), on("bb", "t"), row(SLOW, "t"))
    assert devices(path) == ["CPU one #aa", "CPU one #bb"]


def test_machines_that_measured_different_cases_share_the_name_of_the_model(tmp_path):
    path = write(tmp_path / "r.jsonl", on("aa", "s"), row(FAST), on("bb", "t"),
                 row(SLOW, "t", mode=1))
    assert devices(path) == ["CPU one", "CPU one"]


def test_machines_that_share_some_of_their_cases_stand_together_with_the_newest_rows(tmp_path):
    lines = [on("aa", "s"), row(FAST), row(FAST, mode=1), on("bb", "t"), row(SLOW, "t")]
    path = write(tmp_path / "r.jsonl", *lines)
    assert devices(path) == ["CPU one", "CPU one"]
    assert sorted(line["session"] for line in rows(path)) == ["s", "t"]
    lines[-1] |= {"status": "failed", "reason": "no such file"}
    path = write(tmp_path / "failed.jsonl", *lines)
    assert [line["session"] for line in rows(path)] == ["s", "s"]
    lines[-1] = row(SLOW, "t")
    path = write(tmp_path / "same.jsonl", *lines, row(SLOW, "t", mode=1))
    assert devices(path) == ["CPU one #aa"] * 2 + ["CPU one #bb"] * 2
    lines[3]["argv"] = ["retensor", "run", "spec.yaml", "--each-machine"]
    path = write(tmp_path / "asked.jsonl", *lines)
    assert devices(path) == ["CPU one #aa"] * 2 + ["CPU one #bb"]


def test_a_case_that_a_method_declines_tells_no_machines_apart(tmp_path):
    declined = row(FAST) | {"status": "unsupported", "reason": "supports only order 3"}
    path = write(tmp_path / "r.jsonl", on("aa", "s"), declined, row(SLOW, mode=1), on("bb", "t"),
                 declined | {"session": "t"})
    assert set(devices(path)) == {"CPU one"}


@pytest.mark.parametrize("older,newer,left", [
    (None, "aa", ["CPU one"]),             # as before there were identities
    (None, None, ["CPU one"]),
    ("aa", None, ["CPU one"]),             # whose machine nobody knows
])
def test_a_row_that_does_not_tell_its_machine_gives_way_to_a_newer_one(tmp_path, older, newer,
                                                                       left):
    path = write(tmp_path / "r.jsonl", on(older, "s"), row(FAST), on(newer, "t"), row(SLOW, "t"))
    assert devices(path) == left
    if newer:
        assert rows(path)[0]["session"] == "t"


@pytest.mark.parametrize("words,left", [
    (["--rerun"], {"CPU one"}), (["--rerun", "--each-machine"], {"CPU one #aa", "CPU one #bb"}),
    (["--each-machine"], {"CPU one #aa", "CPU one #bb"})])
def test_a_case_that_was_run_again_replaces_its_row_of_another_machine(tmp_path, words, left):
    again = on("bb", "t") | {"argv": ["retensor", "run", "spec.yaml", *words]}
    path = write(tmp_path / "r.jsonl", on("aa", "s"), row(FAST), again, row(SLOW, "t"))
    assert set(devices(path)) == left
    assert rows(path)[-1]["session"] == "t"


def test_a_case_that_failed_when_it_was_run_again_replaces_no_row_of_another_machine(tmp_path):
    again = on("bb", "t") | {"argv": ["retensor", "run", "spec.yaml", "--rerun"]}
    failed = row(SLOW, "t", status="failed") | {"reason": "no such file"}
    path = write(tmp_path / "r.jsonl", on("aa", "s"), row(FAST), again, failed)
    assert {line["status"] for line in rows(path)} == {"ok", "failed"}


def test_a_case_that_was_run_again_replaces_no_row_of_another_file(tmp_path):
    again = on("bb", "t") | {"argv": ["retensor", "run", "spec.yaml", "--rerun"]}
    files = [write(tmp_path / "a.jsonl", on("aa", "s"), row(FAST)),
             write(tmp_path / "b.jsonl", again, row(SLOW, "t"))]
    assert {line["device"] for line in rows(*files)} == {"CPU one #aa", "CPU one #bb"}


def test_compare_pairs_each_machine_with_itself(tmp_path):
    a = write(tmp_path / "a.jsonl", on("aa", "s"), row(FAST), on("bb", "t"), row(SLOW, "t"))
    b = write(tmp_path / "b.jsonl", on("bb", "u"), row(SLOW, "u"))
    found = json.loads(compare(a, b, "--json"))
    pair, = found["pairs"]
    assert pair["a"]["machine_id"] == pair["b"]["machine_id"] == "bb" and pair["one_machine"]
    assert pair["change"] == "none" and len(found["only_a"]) == 1


def test_compare_says_where_two_machines_of_a_model_are_all_there_is(tmp_path):
    a = write(tmp_path / "a.jsonl", on("aa", "s"), row(FAST))
    b = write(tmp_path / "b.jsonl", on("bb", "u"), row(SLOW, "u"))
    found = json.loads(compare(a, b, "--json"))
    assert not found["pairs"][0]["one_machine"]
    assert "A on CPU one #aa, B on CPU one #bb" in found["warnings"][0]


@pytest.fixture
def measured(tmp_path):
    """A workspace with a row, and a function that puts another machine's name under it."""
    workspace = Workspace(tmp_path)
    spec = workspace.spec(["pasta.cpu.coo"])
    assert workspace.run(spec, program=RETENSOR).returncode == 0

    def move(identity, **members):
        text = ""
        for line in map(json.loads, workspace.out.read_text().splitlines()):
            if line["kind"] == "session":
                line["machine"]["identity"] = identity
            elif line["kind"] == "row":
                line.update(members)
            text += json.dumps(line) + "\n"
        workspace.out.write_text(text)
    return workspace, spec, move


def test_resume_takes_another_machine_of_the_model_for_done_until_asked(measured):
    workspace, spec, move = measured
    move({"host": "another"})
    again = workspace.run(spec, program=RETENSOR)
    assert "measured on another machine of this model: 1" in again.stderr
    assert len(workspace.lines()) == 1
    for expected in (2, 2):  # then this machine has its own row
        assert workspace.run(spec, "--each-machine", program=RETENSOR).returncode == 0
        assert len(workspace.lines()) == expected
    names = devices(workspace.out)
    assert len(set(names)) == 2 and all("#" in name for name in names)


def test_resume_keeps_rows_that_do_not_tell_their_machine(measured):
    workspace, spec, move = measured
    move(None)
    assert workspace.run(spec, "--each-machine", program=RETENSOR).returncode == 0
    assert len(workspace.lines()) == 1


def test_confirm_refuses_another_machine_of_the_model_until_asked(measured):
    workspace, _, move = measured
    move({"host": "another"}, source_hash="0" * 64)
    before, results = workspace.out.read_text(), devices(workspace.out)
    call = [RETENSOR, "confirm", workspace.out, "--registry", workspace.registry, "--cache",
            workspace.cache]
    refused = subprocess.run(call, text=True, capture_output=True, timeout=60, check=False)
    assert refused.returncode == 2 and "another machine of this model, another" in refused.stderr
    assert workspace.out.read_text() == before
    allowed = subprocess.run([*call, "--same-model"], text=True, capture_output=True, timeout=60,
                             check=False)
    assert allowed.returncode in (0, 1) and len(workspace.lines()) == 2
    # What was measured again is no result beside the other machine's.
    assert devices(workspace.out) == results


def copy_on_another_machine(workspace, command, confirms=False, **members):
    """Appends the workspace's row as another machine would have written it during `command`."""
    opened, measured_row = workspace.lines("session")[-1], workspace.lines()[-1]
    opened = {**opened, "session": "another", "argv": ["retensor", command],
              "machine": {**opened["machine"], "identity": {"host": "another"}}}
    measured_row = {**measured_row, "session": "another", **members}
    lines = [opened, measured_row]
    if confirms:
        hashes = {name: measured_row[name] for name in ("source_hash", "host_hash", "kernel_hash")
                  if name in measured_row}
        lines.append({"kind": "confirmation", "schema": 1, "session": "another",
                      "keys": [measured_row["key"]], **hashes})
    with open(workspace.out, "a", encoding="utf-8") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)


@pytest.mark.parametrize("command,confirms,left", [
    ("run", False, {"here", "another"}),
    ("confirm", False, {"here", "another"}),  # it differed: both results stand
    ("confirm", True, {"here"}),
])
def test_a_sample_is_a_result_unless_it_confirmed_the_other_machines_row(measured, command,
                                                                         confirms, left):
    workspace, _, move = measured
    move({"host": "here"})
    copy_on_another_machine(workspace, command, confirms)
    sessions = {line["session"] for line in rows(workspace.out)}
    assert {"another" if name == "another" else "here" for name in sessions} == left


@pytest.mark.parametrize("older,newer,left", [("0" * 64, None, 1), ("0" * 64, "1" * 64, 2),
                                              (None, "1" * 64, 2)])
def test_a_stale_row_gives_way_to_a_current_one_of_another_machine(measured, older, newer, left):
    workspace, _, move = measured
    today = workspace.lines()[0]["source_hash"]
    move({"host": "here"}, source_hash=older or today)
    copy_on_another_machine(workspace, "run", source_hash=newer or today)
    found = rows(workspace.out)
    assert len(found) == left
    if left == 1:
        assert found[0]["session"] == "another"


@pytest.mark.parametrize("form,members", [("hashed", {"host"}), ("plain", {"host", "host_name"}),
                                          ("none", set())])
def test_the_user_chooses_what_rows_tell_of_the_machine(tmp_path, form, members):
    workspace = Workspace(tmp_path)
    job = {"SLURM_JOB_ID": "17"}
    done = workspace.run(workspace.spec(["pasta.cpu.coo"]), program=RETENSOR,
                         env={**os.environ, "RETENSOR_IDENTITY": form, **job})
    assert done.returncode == 0
    text = workspace.out.read_text()
    assert (os.uname().nodename in text.replace(str(tmp_path), "")) == (form == "plain")
    identity = workspace.lines("session")[0]["machine"].get("identity", {})
    assert members == set(identity) - {"gpu", "gpu_uuid", "job"}
    assert identity.get("job") == ("slurm 17" if members else None)


def test_a_wrong_word_for_it_is_refused(tmp_path):
    workspace = Workspace(tmp_path)
    done = workspace.run(workspace.spec(["pasta.cpu.coo"]), program=RETENSOR,
                         env={**os.environ, "RETENSOR_IDENTITY": "secret"})
    assert done.returncode == 2 and "expected one of hashed, plain, none" in done.stderr
