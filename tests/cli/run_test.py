"""`retensor run` from outside: faults cost one row, stored rows stay, refusals change nothing."""

import hashlib
import json
import os
import pty
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sweeps import RETENSOR, TENSOR, copies, no_driver, wait_for

# The sanitizers answer a fault themselves and need more memory than a limit leaves.
SANITIZED = bool(os.environ.get("RETENSOR_SANITIZED"))

FAULTS = {
    "good": ("ok", ""),
    "wrong": ("wrong", ""),
    "unsupported": ("unsupported", "never supports anything"),
    "segfault": ("crashed", "died of SIGSEGV before its row"),
    "abort": ("crashed", "died of SIGABRT"),
    "hang": ("timeout", "no result within 4 s"),
    "hog": ("oom", "memory"),
    "hog_in_thread": ("oom", "passed its memory limit"),
    "exception": ("failed", "the method gave up"),
    "thrown_in_thread": ("crashed", "uncaught: lost"),
    "half_row": ("crashed", "exit code 0 in the middle of its row"),
    "not_a_row": ("crashed", "the worker's answer is not a row"),
    "quit": ("crashed", "exit code 0 before its row"),
    "last_words": ("crashed", "died of SIGTERM before its row; its last words: "),
}


def test_each_fault_costs_one_row_and_the_sweep_goes_on(workspace):
    faults = {name: outcome for name, outcome in FAULTS.items()
              if not SANITIZED or outcome[0] != "oom"}
    spec = workspace.spec(["faulty.cpu." + name for name in faults],
                          measure={"timeout": "4s"} | ({} if SANITIZED else {"memory": "512MiB"}))
    done = workspace.run(spec)
    assert done.returncode == 1, done.stderr
    assert done.stdout == f"{workspace.out}\n"
    assert len(workspace.lines()) == len(faults)
    statuses = workspace.statuses()
    for name, (status, reason) in faults.items():
        assert statuses[name][0] == status, (name, statuses[name])
        assert SANITIZED or reason in statuses[name][1], (name, statuses[name])
        assert "complained" in statuses["last_words"][1] and "printed" in statuses["last_words"][1]
        assert (statuses[name][1] == "") == (status == "ok"), name


def test_a_resume_measures_what_is_not_ok_and_nothing_else(workspace):
    spec = workspace.spec(["faulty.cpu.good", "faulty.cpu.exception"])
    assert workspace.run(spec).returncode == 1
    before = workspace.out.read_text()
    assert workspace.run(spec).returncode == 1
    text = workspace.out.read_text()
    assert text.startswith(before)
    added = [json.loads(line) for line in text[len(before):].splitlines()]
    assert [line["kind"] for line in added] == ["session", "row"]
    assert added[1]["case"]["method"] == "faulty.cpu.exception"


def test_unsupported_cases_are_not_tried_again_and_still_count(workspace):
    spec = workspace.spec(["faulty.cpu.good", "faulty.cpu.unsupported"])
    assert workspace.run(spec).returncode == 1
    before = workspace.out.read_bytes()
    done = workspace.run(spec)
    assert done.returncode == 1, "some cases are not ok, whoever finds out"
    assert "cases stored as unsupported on this machine: 1" in done.stderr
    assert workspace.out.read_bytes() == before
    assert workspace.run(spec, "--rerun").returncode == 1
    assert len(workspace.lines()) == 4


def test_statuses_that_a_spec_expects_are_no_failure(workspace):
    methods = ["faulty.cpu.good", "faulty.cpu.wrong", "faulty.cpu.unsupported"]
    expected = ["wrong", "unsupported"]
    assert workspace.run(workspace.spec(methods, measure={"expected": "wrong"})).returncode == 1
    spec = workspace.spec(methods, measure={"expected": expected})
    assert workspace.run(spec).returncode == 0
    assert {status for status, _ in workspace.statuses().values()} == {"ok", *expected}
    spec = workspace.spec([*methods, "faulty.cpu.exception"], measure={"expected": expected})
    assert workspace.run(spec).returncode == 1


def test_a_finished_sweep_adds_nothing_unless_told_to(workspace):
    spec = workspace.spec(copies(3, 0))
    assert workspace.run(spec).returncode == 0
    before = workspace.out.read_bytes()
    assert workspace.run(spec).returncode == 0
    assert workspace.out.read_bytes() == before
    assert workspace.run(spec, "--rerun").returncode == 0
    assert len(workspace.lines()) == 6


def test_preparations_are_listed_and_prepare_is_their_median(workspace):
    spec = workspace.spec(["faulty.cpu.good"], measure={"preparations": 4})
    assert workspace.run(spec).returncode == 0
    (row,) = workspace.lines()
    preparations = row["phases"]["preparations"]
    assert len(preparations) == 4 and min(preparations) > 0
    assert row["phases"]["prepare"] == pytest.approx(statistics.median(preparations))


def test_one_preparation_makes_no_list(workspace):
    assert workspace.run(workspace.spec(["faulty.cpu.once"])).returncode == 0
    (row,) = workspace.lines()
    assert "preparations" not in row["phases"] and row["phases"]["prepare"] > 0


def test_a_fault_in_a_later_preparation_is_the_status_of_its_row_alone(workspace):
    spec = workspace.spec(["faulty.cpu.once", "faulty.cpu.good"], measure={"preparations": 2})
    assert workspace.run(spec).returncode == 1
    assert workspace.statuses() == {"once": ("failed", "the second preparation gave up"),
                                    "good": ("ok", "")}
    (row,) = [row for row in workspace.lines() if row["status"] == "failed"]
    assert row["phases"]["run"] == [] and "stats" not in row
    assert "preparations" not in row["phases"]


@pytest.mark.parametrize("change", [("source_hash", "other sources"), ("build", {"flags": "-O0"})])
def test_rows_of_other_sources_or_another_build_are_measured_again(workspace, change):
    spec = workspace.spec(copies(2, 0))
    workspace.run(spec)
    changed = []
    for line in map(json.loads, workspace.out.read_text().splitlines()):
        if change[0] in line:
            line[change[0]] = change[1]
        changed.append(json.dumps(line) + "\n")
    workspace.out.write_text("".join(changed))
    workspace.run(spec)
    assert len(workspace.lines()) == 4


def test_a_torn_last_line_is_cut_off_reported_and_measured_again(workspace):
    spec = workspace.spec(copies(2, 0))
    workspace.run(spec)
    whole = workspace.out.read_text()
    workspace.out.write_text(whole[:-20])
    done = workspace.run(spec)
    assert done.returncode == 0
    assert "cut off a torn last line" in done.stderr
    assert len({row["key"] for row in workspace.lines()}) == len(workspace.lines()) == 2


def test_a_signal_that_kills_the_worker_too_leaves_no_row_of_a_crash(workspace):
    """As job schedulers do that take a job away."""
    spec = workspace.spec(copies(3, 400))
    running = workspace.start(spec)
    wait_for(lambda: len(workspace.lines()) == 1)
    worker = int(Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()[0])
    os.kill(worker, signal.SIGTERM)
    running.terminate()
    running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGTERM
    assert {row["status"] for row in workspace.lines()} == {"ok"}
    assert workspace.run(spec).returncode == 0
    assert len(workspace.lines()) == 3


def expect_a_stop_after_two(workspace, running, sent):
    wait_for(lambda: len(workspace.lines()) == 1)
    time.sleep(0.3)  # into the second case, which takes a second
    running.send_signal(sent)
    _, talk = running.communicate(timeout=60)
    assert running.returncode == 128 + sent
    assert "run the same command again" in talk
    assert [row["status"] for row in workspace.lines()] == ["ok", "ok"]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_after_the_current_case(workspace, sent):
    spec = workspace.spec(copies(6, 500))
    expect_a_stop_after_two(workspace, workspace.start(spec), sent)
    assert workspace.run(spec).returncode == 0
    assert len({row["key"] for row in workspace.lines()}) == len(workspace.lines()) == 6


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_so_after_threads_have_read_a_file_for_the_plan(workspace, sent):
    lines = [f"{i + 1} {j + 1} {k + 1} 1" for i in range(30) for j in range(30) for k in range(30)]
    (workspace.folder / "big.tns").write_text("\n".join(lines) + "\n")
    spec = workspace.spec(copies(6, 500), axes={"dataset": str(workspace.folder / "big.tns")})
    running = workspace.start(spec, env={**os.environ, "OMP_NUM_THREADS": "4"})
    expect_a_stop_after_two(workspace, running, sent)


def test_a_second_signal_stops_at_once(workspace):
    running = workspace.start(workspace.spec(["faulty.cpu.hang"]))
    wait_for(lambda: workspace.lines("session"))
    running.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGINT
    assert workspace.lines() == []


def test_a_second_driver_on_the_file_is_refused(workspace):
    spec = workspace.spec(copies(2, 1000))
    first = workspace.start(spec)
    wait_for(lambda: workspace.lines("session"))
    second = workspace.run(spec)
    assert second.returncode == 3
    assert "another driver is writing to this file" in second.stderr
    first.communicate(timeout=60)
    assert first.returncode == 0
    assert len(workspace.lines()) == 2


def test_a_file_of_a_newer_schema_is_refused_untouched(workspace):
    text = '{"kind":"session","schema":2}\n{"torn'
    workspace.out.write_text(text)
    done = workspace.run(workspace.spec(copies(1, 0)))
    assert done.returncode == 2
    assert "schema 2 is newer" in done.stderr
    assert workspace.out.read_text() == text


def limited_file_size():
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))


@pytest.fixture
def mounted(tmp_path):
    """Mounts a small tmpfs, which only root can; skips elsewhere."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)],
                              capture_output=True, check=False)
        if done.returncode != 0:
            pytest.skip("needs the right to mount")
        return folder

    yield mount
    subprocess.run(["umount", str(folder)], capture_output=True, check=False)


def expect_clear_end(workspace, spec, done):
    assert done.returncode == 3
    assert "can't be written, the rows before it are safe" in done.stderr
    rows = workspace.lines()
    assert 0 < len(rows) < 40
    assert all(row["status"] == "ok" for row in rows)
    return [row["key"] for row in rows]


def test_a_full_disk_ends_the_sweep_with_its_rows_intact(workspace, mounted):
    disk = mounted("size=16k")
    spec = workspace.spec(copies(40, 0))
    workspace.out = disk / "rows.jsonl"
    kept = expect_clear_end(workspace, spec, workspace.run(spec))
    subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
    assert workspace.run(spec).returncode == 0
    keys = [row["key"] for row in workspace.lines()]
    assert keys[:len(kept)] == kept
    assert len(set(keys)) == len(keys) == 40


def test_a_file_size_limit_ends_the_sweep_with_its_rows_intact(workspace):
    spec = workspace.spec(copies(40, 0))
    workspace.run(workspace.spec(copies(1, 0), name="warm"), "--rerun")  # fills the cache
    workspace.out.unlink()
    kept = expect_clear_end(workspace, spec, workspace.run(spec, preexec_fn=limited_file_size))
    assert workspace.run(spec).returncode == 0
    keys = [row["key"] for row in workspace.lines()]
    assert keys[:len(kept)] == kept
    assert len(set(keys)) == len(keys) == 40


def test_a_read_only_folder_is_a_clear_error(workspace, mounted):
    spec = workspace.spec(copies(1, 0))
    workspace.out = mounted("ro,size=16k") / "deeper" / "rows.jsonl"
    done = workspace.run(spec)
    assert done.returncode == 3
    assert "the folder can't be made" in done.stderr
    workspace.out = workspace.out.parents[1] / "rows.jsonl"
    done = workspace.run(spec)
    assert done.returncode == 3
    assert "can't be opened for writing" in done.stderr


def test_launches_are_processes_of_their_own(workspace):
    workspace.run(workspace.spec(["faulty.cpu.good"], measure={"launches": 3}))
    rows = workspace.lines()
    assert sorted(row["case"]["launch"] for row in rows) == [0, 1, 2]
    assert len({row["key"] for row in rows}) == 3
    assert len({row["executed"]["process"] for row in rows}) == 3


def test_cases_of_a_data_set_share_a_process(workspace):
    workspace.run(workspace.spec(copies(3, 0)))
    assert len({row["executed"]["process"] for row in workspace.lines()}) == 1


def test_the_killer_in_a_rotation_costs_its_own_row_alone(workspace):
    spec = workspace.spec([("faulty.cpu.segfault", {"on_mode": 1})], operation="mttkrp",
                          axes={"mode": "all", "rank": 4}, measure={"order": "rotation"})
    assert workspace.run(spec).returncode == 1
    statuses = {row["case"]["mode"]: row["status"] for row in workspace.lines()}
    assert statuses == {0: "ok", 1: "crashed", 2: "ok"}
    processes = {row["executed"]["process"] for row in workspace.lines() if row["status"] == "ok"}
    assert len(processes) == 1, "the others run together"


def test_a_data_set_that_disagrees_with_the_registry_costs_its_rows(workspace):
    spec = workspace.spec(copies(2, 0), axes={"dataset": ["lost", "tiny"]})
    assert workspace.run(spec).returncode == 1
    statuses = sorted((row["case"]["dataset"], row["status"]) for row in workspace.lines())
    assert statuses == [("lost", "failed")] * 2 + [("tiny", "ok")] * 2


@pytest.mark.parametrize("flaw", ["none", "empty", "cut", "zeros"])
def test_oracles_are_kept_until_a_data_set_is_done_and_damaged_ones_are_replaced(workspace, flaw):
    spec = workspace.spec(copies(3, 300))
    running = workspace.start(spec)
    wait_for(lambda: len(workspace.lines()) == 1)
    running.terminate()
    running.communicate(timeout=60)
    (kept,) = [path for path in (workspace.cache / "oracle").rglob("*") if path.is_file()]
    sound = kept.read_bytes()
    kept.write_bytes({"none": sound, "empty": b"", "cut": sound[:-7],
                      "zeros": b"\0" * len(sound)}[flaw])
    assert workspace.run(spec).returncode == 0
    assert [row["status"] for row in workspace.lines()] == ["ok"] * 3
    assert list((workspace.cache / "oracle").iterdir()) == []


def test_oracles_are_kept_for_the_next_run_when_asked_for(workspace):
    spec = workspace.spec(copies(2, 0))
    assert workspace.run(spec, "--keep-oracles").returncode == 0
    (kept,) = [path for path in (workspace.cache / "oracle").rglob("*") if path.is_file()]
    made = kept.stat().st_mtime_ns
    assert workspace.run(spec, "--keep-oracles", "--rerun").returncode == 0
    assert kept.stat().st_mtime_ns == made
    assert workspace.run(spec, "--rerun").returncode == 0
    assert list((workspace.cache / "oracle").iterdir()) == []


def test_oracles_are_kept_until_the_last_spec_on_their_data_set(workspace):
    first = workspace.spec(copies(1, 0), name="first")
    second = workspace.spec(copies(1, 300), name="second")
    command = workspace.command(first)
    command.insert(3, str(second))
    running = subprocess.Popen(command, cwd=workspace.folder, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    wait_for(lambda: len(workspace.lines()) == 1)
    assert any(path.is_file() for path in (workspace.cache / "oracle").rglob("*"))
    running.communicate(timeout=60)
    assert running.returncode == 0 and len(workspace.lines()) == 2
    assert list((workspace.cache / "oracle").iterdir()) == []


def test_an_oracle_that_cannot_be_kept_costs_no_row(workspace):
    workspace.cache.mkdir()
    (workspace.cache / "oracle").write_text("a file where the folder would be")
    assert workspace.run(workspace.spec(copies(2, 0))).returncode == 0
    assert [row["status"] for row in workspace.lines()] == ["ok"] * 2


TINY_FACTS = {
    "fibers": [4, 5, 6], "per_fiber": [1.5, 1.2, 1.0], "slices": [4, 3, 2],
    "largest_slice": [2, 3, 4], "tile8": {"tiles": 1, "per_tile": 6.0},
    "tile16": {"tiles": 1, "per_tile": 6.0}}


def facts_without_gini(row):
    gini = row["facts"].pop("slice_gini")
    assert gini == pytest.approx([1 / 6, 2 / 9, 1 / 6])
    return row["facts"]


def test_rows_have_the_facts_of_their_data_set(workspace):
    workspace.run(workspace.spec(["faulty.cpu.good", "faulty.cpu.segfault"]))
    assert [facts_without_gini(row) for row in workspace.lines()] == [TINY_FACTS] * 2


def test_threads_that_are_bound_to_places_have_all_of_them(workspace):
    env = os.environ | {"OMP_PROC_BIND": "close", "OMP_PLACES": "threads"}
    assert workspace.run(workspace.spec(["faulty.cpu.good"]), env=env).returncode == 0
    cpu = workspace.lines("session")[0]["machine"]["cpu"]
    assert cpu["threads_used"] == len(os.sched_getaffinity(0))
    assert cpu["affinity"].count("{") == len(os.sched_getaffinity(0)), cpu["affinity"]


def test_factors_stand_beside_the_cache_of_the_processor(workspace):
    workspace.run(workspace.spec(["faulty.cpu.good"], operation="mttkrp",
                                 axes={"mode": 0, "rank": 4}))
    (row,), (session,) = workspace.lines(), workspace.lines("session")
    cache = session["machine"]["cpu"]["llc_bytes"]
    factors = {"factor_bytes": (4 + 3 + 2) * 4 * 4}
    if cache:
        factors |= {"cache_bytes": cache, "factors_over_cache": factors["factor_bytes"] / cache}
    assert facts_without_gini(row) == TINY_FACTS | factors
    assert "facts" not in row["case"]


@pytest.mark.parametrize("flaw", ["none", "empty", "cut", "changed", "older"])
def test_facts_are_kept_and_damaged_ones_are_made_again(workspace, flaw):
    spec = workspace.spec(copies(1, 0))
    workspace.run(spec)
    (kept,) = (workspace.cache / "facts").iterdir()
    sound = kept.read_text()
    kept.write_text({"none": sound, "empty": "", "cut": sound[:-9],
                     "changed": sound.replace("[4,5,6]", "[4,5,7]"),
                     "older": sound.replace('"version":1', '"version":0')}[flaw])
    assert workspace.run(spec, "--rerun").returncode == 0
    assert facts_without_gini(workspace.lines()[-1]) == TINY_FACTS
    assert kept.read_text() == sound


def test_kept_facts_are_used(workspace):
    """Facts that no tensor has, with the checksum that makes them sound."""
    spec = workspace.spec(copies(1, 0))
    workspace.run(spec)
    (kept,) = (workspace.cache / "facts").iterdir()
    facts = {"fibers": [7]}
    digest = hashlib.sha256(json.dumps(facts, separators=(",", ":")).encode()).hexdigest()
    kept.write_text(json.dumps({"version": 1, "facts": facts, "sha256": digest}))
    workspace.run(spec, "--rerun")
    assert workspace.lines()[-1]["facts"] == facts


def test_facts_that_cannot_be_kept_cost_no_row(workspace):
    workspace.cache.mkdir()
    (workspace.cache / "facts").write_text("a file where the folder would be")
    assert workspace.run(workspace.spec(copies(1, 0))).returncode == 0
    assert facts_without_gini(workspace.lines()[0]) == TINY_FACTS


@pytest.mark.skipif(SANITIZED, reason="the sanitizers need more memory than the limit leaves")
def test_facts_that_do_not_fit_leave_their_reason(workspace):
    workspace.add_uniform("large", [100000, 100000], 1 << 22)
    spec = workspace.spec(["faulty.cpu.good"], operation="mttkrp",
                          axes={"dataset": ["large", "tiny"], "mode": 0, "rank": 1})
    plain = workspace.command(spec)
    subprocess.run([RETENSOR, "dataset", "make", "large", *plain[-4:]], check=True,
                   stdout=subprocess.DEVNULL)
    # Less memory than a plan can know of.
    done = subprocess.run(["prlimit", f"--data={64 << 20}", *plain], cwd=workspace.folder,
                          text=True, capture_output=True, timeout=120,
                          env=os.environ | {"OMP_NUM_THREADS": "2"})
    assert done.returncode == 1, done.stderr
    large, tiny = workspace.lines()
    assert large["status"] == "oom" and "memory" in large["facts"]["reason"]
    assert large["facts"]["factor_bytes"] == 2 * 100000 * 4
    assert tiny["status"] == "ok" and tiny["facts"]["fibers"] == TINY_FACTS["fibers"]


@pytest.mark.skipif(SANITIZED, reason="the sanitizers need more memory than the limit leaves")
def test_a_case_that_cannot_fit_is_skipped_and_the_others_run(workspace):
    workspace.add_uniform("large", [100000, 100000], 1 << 22)
    spec = workspace.spec(["faulty.cpu.good"], operation="mttkrp",
                          axes={"dataset": ["large", "tiny"], "mode": 0, "rank": 1},
                          measure={"memory": "64MiB"})
    done = workspace.run(spec)
    assert done.returncode == 0
    row, = workspace.lines()
    assert row["case"]["dataset"] == "tiny" and row["status"] == "ok"
    assert "\n1 case skipped, 1 of them because of the memory that the spec allows" in done.stderr


def test_a_run_that_skips_every_case_says_so(workspace):
    workspace.add_uniform("large", [100000, 100000], 1 << 22)
    spec = workspace.spec(["faulty.cpu.good"], operation="mttkrp",
                          axes={"dataset": "large", "rank": 1}, measure={"memory": "64MiB"})
    done = workspace.run(spec)
    assert "2 cases skipped, 2 of them because of the memory" in done.stderr
    summary, = json.loads(workspace.run(spec, "--json").stdout)
    assert summary["skipped"] == {"cases": 2, "memory": 2} and summary["rows"] == 0


def test_a_time_limit_is_told_in_a_unit_that_fits(workspace):
    spec = workspace.spec(["faulty.cpu.hang"], measure={"timeout": "900ms"})
    workspace.run(spec)
    assert workspace.statuses()["hang"] == ("timeout", "no result within 900 ms")


def test_talk_goes_to_stderr_and_quiet_says_nothing(workspace):
    spec = workspace.spec(copies(2, 0))
    talk = [line for line in workspace.run(spec).stderr.splitlines()
            if not line.startswith("noisy: ")]  # as a busy machine makes them
    assert {line.split(": ")[0] for line in talk[:2]} <= {
        f"[{place}/2] tiny ts copy={copy}" for place in (1, 2) for copy in (0, 1)}
    assert all(": ok, " in line and ", spread 1.00x" in line for line in talk[:2])
    assert talk[2] == "test/spec: 2 of 2 rows ok, 0 of them measured earlier"
    done = workspace.run(spec, "--rerun", "--quiet")
    assert done.stderr == ""
    assert done.stdout == f"{workspace.out}\n"


def test_work_of_others_is_in_the_row_and_in_the_talk(workspace):
    cores = os.cpu_count()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores + 1)]
    try:
        done = workspace.run(workspace.spec(copies(1, 400)))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    load = workspace.lines()[0]["cpu_load"]
    assert load["cores"] >= 1 and 0 <= load["own"] < cores + 0.5
    if "others" in load:
        assert load["others"] > cores / 2
        assert f"of {load['cores']} cores)" in done.stderr and "noisy: 1 of 1 rows" in done.stderr


def test_a_terminal_gets_a_bar(workspace):
    master, slave = pty.openpty()
    running = subprocess.Popen(workspace.command(workspace.spec(copies(3, 50))), stderr=slave,
                               stdout=subprocess.PIPE, cwd=workspace.folder)
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    assert running.communicate()[0].decode() == f"{workspace.out}\n"
    assert running.returncode == 0
    assert b"3/3 rows, 0 not ok" in shown and b"\r" in shown


def test_the_default_path_names_device_and_artifact(workspace):
    command = workspace.command(workspace.spec(copies(1, 0)))
    del command[3:5]
    done = subprocess.run(command, cwd=workspace.folder, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0
    path = workspace.folder / done.stdout.strip()
    assert path.name == "test-spec.jsonl"
    assert path.parents[1] == workspace.folder / "out" / "results"
    assert path.exists()


def test_rows_go_to_a_folder_by_the_artifact_s_name(workspace):
    workspace.out.mkdir()
    assert workspace.run(workspace.spec(copies(1, 0))).returncode == 0
    assert [path.name for path in workspace.out.iterdir()] == ["test-spec.jsonl"]


def test_ceilings_are_measured_once_a_session_when_asked_for(workspace):
    spec = workspace.spec(copies(2, 0), measure={"ceilings": True})
    assert workspace.run(spec).returncode == 0
    (line,) = workspace.lines("ceilings")
    assert line["backend"] == "cpu"
    assert all(c["value"] > 0 for c in line["ceilings"]) and line["ceilings"]


# --- golden test: rows and talk with their numbers masked ---

MEASURED = {"phases", "stats", "rates", "clock_drift", "clock_flag", "peak_host_bytes",
            "key", "finished", "session", "source_hash", "executed",
            "error_over_bound", "max_absolute", "relative_frobenius", "rmse_full", "rmse_nonzero",
            "smape_full", "smape_nonzero"}
# Left out, since a machine may not tell them.
UNSURE = {"cache_bytes", "factors_over_cache", "cpu_load", "worker_peak_bytes"}
GOLDEN = os.path.join(os.path.dirname(__file__), "..", "golden", "run.json")


def masked(value, name=""):
    """The value with everything that a measurement or a machine decides replaced by its type."""
    if isinstance(value, dict):
        return {k: masked(v, name if name in MEASURED else k) for k, v in value.items()
                if k not in UNSURE}
    if isinstance(value, list):
        return [masked(v, name) for v in value]
    if name not in MEASURED:
        return value
    return f"<{type(value).__name__}>" if not isinstance(value, (int, float)) else "<number>"


def test_golden_rows_of_the_real_program(workspace):
    spec = workspace.spec(["pasta.cpu.coo"], operation=["tew", "ts", "ttv", "ttm", "mttkrp"],
                          axes={"mode": [0, 2], "rank": 4}, measure={"warmup": 1, "samples": 3})
    done = workspace.run(spec, program=RETENSOR)
    assert done.returncode == 0, done.stderr
    rows = sorted((masked(row) for row in workspace.lines()),
                  key=lambda row: json.dumps(row["case"], sort_keys=True))
    text = json.dumps(rows, indent=1, sort_keys=True) + "\n"
    if os.environ.get("RETENSOR_UPDATE_GOLDEN"):
        with open(GOLDEN, "w", encoding="utf-8") as file:
            file.write(text)
    with open(GOLDEN, encoding="utf-8") as file:
        assert text == file.read()
    (session,) = workspace.lines("session")
    assert set(session) == {"kind", "schema", "session", "started", "git", "build", "machine",
                            "argv", "spec"}
    assert session["spec"]["artifact"] == "test/spec"
    assert session["argv"][1:3] == ["run", str(spec)]
    assert TENSOR.count("\n") - 2 == rows[0]["case"]["data"]["nnz"]


def test_no_driver_costs_the_rows_of_the_gpu_alone(workspace):
    spec = workspace.spec(["pasta.cuda.coo", "pasta.cpu.coo"])
    done = workspace.run(spec, program=RETENSOR, env=os.environ | no_driver(workspace.folder))
    assert done.returncode == 1
    statuses = {row["case"]["method"]: (row["status"], row["reason"]) for row in workspace.lines()}
    assert statuses["pasta.cpu.coo"] == ("ok", "")
    status, reason = statuses["pasta.cuda.coo"]
    assert status == "unsupported"
    assert "no usable NVIDIA driver" in reason or "this build has no CUDA backend" in reason


def test_a_profile_says_why_there_is_none(workspace):
    spec = workspace.spec(["pasta.cuda.coo", "pasta.cpu.coo"])
    env = os.environ | no_driver(workspace.folder)
    assert workspace.run(spec, "--profile", program=RETENSOR, env=env).returncode == 1
    profiles = {row["case"]["method"]: row["profile"] for row in workspace.lines()}
    assert profiles == {"pasta.cuda.coo": {"reason": "no result to profile (unsupported)"},
                        "pasta.cpu.coo": {"note": "a CPU method has no GPU counters"}}
    assert workspace.run(spec, "--rerun", program=RETENSOR, env=env).returncode == 1
    assert "profile" not in workspace.lines()[-1]
    spec = workspace.spec(["pasta.cuda.coo"], measure={"counters": True})
    assert workspace.run(spec, "--rerun", program=RETENSOR, env=env).returncode == 1
    assert workspace.lines()[-1]["profile"] == profiles["pasta.cuda.coo"]


def test_the_profiled_run_ends_with_the_device_s_words(workspace):
    spec = workspace.spec(["pasta.cuda.coo"])
    env = os.environ | no_driver(workspace.folder)
    workspace.run(spec, program=RETENSOR, env=env)
    request = workspace.folder / "request.json"
    request.write_text(json.dumps({"case": workspace.lines()[0]["case"], "limit": 60}))
    done = subprocess.run([RETENSOR, "worker", "--registry", str(workspace.registry), "--cache",
                           str(workspace.cache), "--profiled", str(request)],
                          capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 3
    assert "driver" in done.stderr or "no CUDA backend" in done.stderr \
        or "build without CUDA" in done.stderr


@pytest.mark.parametrize("figure, nearest", [
    ({"kind": "lines", "x": "rank", "y": "tmie"}, "'time'"),
    ({"kind": "speedups", "to": "faulty.cpu.godo"}, "'faulty.cpu.good'"),
    ({"kind": "barz"}, "kind 'barz'")])
def test_a_figure_that_could_show_nothing_is_refused_before_anything_runs(workspace, figure,
                                                                          nearest):
    spec = workspace.spec(["faulty.cpu.good"], figure=figure)
    done = workspace.run(spec)
    assert done.returncode == 2 and nearest in done.stderr and "spec.yaml:" in done.stderr
    assert workspace.lines() == []


@pytest.mark.parametrize("command", ["run", "plan", "plot"])
def test_a_result_file_in_place_of_a_spec_is_named_as_one(workspace, command):
    done = subprocess.run([RETENSOR, command, "rows.jsonl"], capture_output=True, text=True,
                          cwd=workspace.folder, check=False)
    assert done.returncode == 2
    assert "rows.jsonl: found a result file, expected a spec" in done.stderr


ATOMIC = {"update": "atomic"}


@pytest.mark.parametrize("to, hicoo, refused", [
    ("pasta.cpu.coo", ATOMIC, True),  # nothing is compared with the other
    ("pasta.cpu.coo", {"block": 64}, True),
    ("pasta.cpu.hicoo", ATOMIC, False),
    ({"method": "pasta.cpu.coo", "update": "owner"}, ATOMIC, False),
    ({"method": "pasta.cpu.coo", "threads": 1}, ATOMIC, True),
])
@pytest.mark.parametrize("key", ["to", "of"])
def test_a_base_that_names_several_settings_is_refused_before_anything_runs(workspace, key, to,
                                                                            hicoo, refused):
    settings = [("pasta.cpu.coo", {"update": ["atomic", "owner"], "threads": 1}),
                ("pasta.cpu.hicoo", {**hicoo, "threads": 1})]
    spec = workspace.spec(settings, operation="mttkrp", axes={"mode": 0, "rank": 4},
                          figure={"kind": "speedups", key: to})
    done = workspace.run(spec, program=RETENSOR)
    assert (done.returncode == 2) == refused, done.stderr
    assert (workspace.lines() == []) == refused
    if refused:
        assert "pasta.cpu.coo with both {update: atomic} and {update: owner}" in done.stderr
        assert "such as {method: pasta.cpu.coo, update: atomic}" in done.stderr
