"""Sweeps by task: submit and gather on this machine and on a real Slurm, where tasks are preempted,
put back and lose their node or their disk. Nothing is lost and nothing doubled.

Where Slurm can't run its tests are skipped; $RETENSOR_WHOLE adds those that take long.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections import Counter

import pytest

from slurm import cluster, obstacle, wait_until
from sweeps import FAULTY, Workspace, copies

CASES = 6
SETS = ["first", "second", "third"]
whole = pytest.mark.skipif(not os.environ.get("RETENSOR_WHOLE"),
                           reason="takes long: runs with --full")


@pytest.fixture(scope="module")
def slurm():
    if obstacle():
        pytest.skip(obstacle())
    # Paths of sockets are short.
    folder = tempfile.mkdtemp(prefix="slurm-")
    try:
        with cluster(folder) as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Sweep(Workspace):
    """A spec on three data sets and its commands."""

    def __init__(self, folder, delay=100, cases=CASES, **other):
        super().__init__(folder)
        self.cases = cases
        for k, name in enumerate(SETS):
            self.add_uniform(name, [10 + k, 8, 6], 50)
        self.sweep = self.spec(copies(cases, delay), axes={"dataset": SETS}, **other)
        self.tasks = self.folder / "tasks"
        self.slurm = None

    def call(self, command, *more, **how):
        return subprocess.run(
            [FAULTY, command, str(self.sweep), "--folder", str(self.tasks), "--cache",
             str(self.cache), "--registry", str(self.registry), *more],
            cwd=self.folder, capture_output=True, text=True, timeout=120, check=False,
            env=self.slurm.environment if self.slurm else None, **how)

    def submit(self, *more):
        """The number of the job."""
        done = self.call("submit", *more)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def gather(self, *more):
        return self.call("gather", "--out", str(self.out), *more)

    def shard(self, name):
        found = list(self.tasks.glob(f"shards/{name}-*.jsonl"))
        return found[0] if found else None

    def rows_of(self, name):
        path = self.shard(name)
        return path.read_text().count('"kind":"row"') if path else 0

    def log(self):
        return "\n".join(path.read_text() for path in sorted(self.tasks.glob("logs/*.log")))

    def expect_all_once(self):
        done = self.gather()
        assert done.returncode == 0, done.stderr + self.log()
        keys = Counter(row["key"] for row in self.lines())
        assert len(keys) == self.cases * len(SETS)
        assert set(keys.values()) == {1}, "a row was doubled"
        assert {row["status"] for row in self.lines()} == {"ok"}

    def jobs(self):
        """What the sessions say of their tasks, by data set."""
        where = {s["session"]: s.get("job") for s in self.lines("session")}
        found = {}
        for row in self.lines():
            jobs = found.setdefault(row["case"]["dataset"], [])
            if where[row["session"]] not in jobs:
                jobs.append(where[row["session"]])
        return found


@pytest.fixture
def sweep(tmp_path):
    return Sweep(tmp_path)


@pytest.fixture
def queued(tmp_path, slurm):
    """A sweep for Slurm, each case 0.4 s."""
    made = Sweep(tmp_path, delay=400)
    made.slurm = slurm
    yield made
    slurm.call("scancel", "--user=root", check=False)
    wait_until(lambda: slurm.idle_nodes() == 2, 30, "idle nodes")


def test_the_script_names_every_task_and_runs_nothing(sweep):
    done = sweep.call("submit", "--launcher", "slurm", "--dry-run", "--partition", "gpu",
                      "--gres", "gpu:1", "--array-limit", "2", "--time", "01:00:00")
    assert done.returncode == 0, done.stderr
    for line in ["--array='0-2%2'", "--partition='gpu'", "--gres='gpu:1'", "--exclusive",
                 "--time='01:00:00'", "--requeue", "--signal='B:USR1@70'"]:
        assert f"#SBATCH {line}\n" in done.stdout
    for name in SETS:
        assert f"'--dataset' '{name}'" in done.stdout
    assert not sweep.tasks.exists()
    subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=True)


def test_a_negative_limit_of_tasks_is_refused(sweep):
    done = sweep.call("submit", "--dry-run", "--array-limit", "-1")
    assert done.returncode == 2 and "--array-limit: found -1, expected 0 or more" in done.stderr


@pytest.mark.parametrize("launcher, option", [
    ("local", ["--partition", "gpu"]), ("local", ["--time", "1"]), ("local", ["--gres", "gpu:1"]),
    ("local", ["--array-limit", "2"]), ("slurm", ["--jobs", "2"]), ("slurm", ["-j", "2"]),
    ("slurm", ["--devices", "0"]),
])
def test_options_of_the_other_launcher_are_refused(sweep, launcher, option):
    done = sweep.call("submit", "--launcher", launcher, "--dry-run", *option)
    assert done.returncode == 2 and f"does nothing with --launcher {launcher}" in done.stderr
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1


def test_names_with_blanks_and_quotes_reach_the_task(sweep):
    shutil.copy(sweep.folder / "tiny.tns", sweep.folder / "it's mine.tns")
    sweep.sweep = sweep.spec(["faulty.cpu.good"], axes={"dataset": ["it's mine.tns"]})
    assert sweep.call("submit", "--launcher", "local").returncode == 0
    assert sweep.gather().returncode == 0
    assert [row["case"]["dataset"] for row in sweep.lines()] == ["it's mine.tns"]
    sweep.sweep = sweep.spec(["faulty.cpu.good"], "more", axes={"dataset": ["it's mine.tns"]})
    script = sweep.call("submit", "--dry-run", "--partition", "a\n#SBATCH --uid=1")
    assert script.returncode == 2 and "no quote and no newline" in script.stderr


def test_tasks_here_end_as_one_run_does(sweep):
    assert sweep.call("submit", "--launcher", "local", "-j", "2", "--shared").returncode == 0
    sweep.expect_all_once()
    again = sweep.gather()
    assert again.returncode == 0
    assert len(sweep.lines()) == CASES * len(SETS), "rows were added again"
    assert "0 of 3 data sets" in sweep.call("submit", "--launcher", "local").stderr
    keys = {row["key"] for row in sweep.lines()}
    sweep.out = sweep.folder / "one.jsonl"
    assert sweep.run(sweep.sweep).returncode == 0
    assert {row["key"] for row in sweep.lines()} == keys


def test_gather_puts_no_older_row_behind_a_newer_one(sweep):
    assert sweep.call("submit", "--launcher", "local").returncode == 0
    assert sweep.run(sweep.sweep, "--rerun").returncode == 0
    newer = sweep.out.read_text()
    done = sweep.gather()
    assert done.returncode == 0, done.stderr
    added = sweep.out.read_text()[len(newer):]
    assert '"kind":"row"' in newer and '"kind":"row"' not in added


def test_cases_that_failed_are_submitted_again_and_gather_says_so(sweep):
    sweep.sweep = sweep.spec(["faulty.cpu.good", "faulty.cpu.exception"],
                             axes={"dataset": SETS[:2]})
    assert sweep.call("submit", "--launcher", "local").returncode == 1
    done = sweep.gather("--json")
    assert done.returncode == 1
    tasks = json.loads(done.stdout)["tasks"]
    assert [(t["ok"], t["failed"], t["open"]) for t in tasks] == [(1, 1, 0)] * 2
    assert "2 of 2 data sets" in sweep.call("submit", "--launcher", "local").stderr


def test_tasks_at_a_time_have_devices_of_their_own(sweep):
    done = sweep.call("submit", "--launcher", "local", "-j", "2")
    assert done.returncode == 2 and "disturb each other" in done.stderr
    done = sweep.call("submit", "--launcher", "local", "-j", "3", "--shared", "--devices", "0,1")
    assert done.returncode == 2 and "each task needs one" in done.stderr
    script = sweep.folder / "seen"
    script.write_text('#!/bin/sh\necho "$CUDA_VISIBLE_DEVICES" >>"$0.devices"; sleep 0.3; exit 1\n')
    script.chmod(0o755)
    sweep.sweep = sweep.spec([], axes={"dataset": SETS[:2]}, operation="mttkrp")
    content = json.loads(sweep.sweep.read_text())
    content["methods"] = [{"id": "seen.cpu", "command": str(script)}]
    sweep.sweep.write_text(json.dumps(content))
    sweep.call("submit", "--launcher", "local", "-j", "2", "--shared", "--devices", "4,5,6,7",
               "--allow-foreign")
    seen = set((sweep.folder / "seen.devices").read_text().split())
    assert seen == {"4,5", "6,7"}


def test_a_signal_stops_tasks_here_and_the_same_command_goes_on(sweep):
    command = [FAULTY, "submit", str(sweep.sweep), "--launcher", "local", "--folder",
               str(sweep.tasks), "--cache", str(sweep.cache), "--registry", str(sweep.registry)]
    with subprocess.Popen(command, cwd=sweep.folder, stderr=subprocess.PIPE) as running:
        wait_until(lambda: sweep.rows_of("first") > 1, 30, "two rows")
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 128 + signal.SIGTERM
    assert 1 < sweep.rows_of("first") < CASES
    assert sweep.gather().returncode == 1, "cases are open"
    assert sweep.call("submit", "--launcher", "local").returncode == 0
    sweep.expect_all_once()


def test_slurm_runs_tasks_exclusively_and_rows_name_them(queued, slurm):
    job = queued.submit()
    wait_until(lambda: sum(s[0] == "RUNNING" for s in slurm.jobs(job).values()) == 2, 30,
               "two tasks at a time")
    running = [s[1] for s in slurm.jobs(job).values() if s[0] == "RUNNING"]
    assert sorted(running) == ["n0", "n1"], "two tasks share a node"
    slurm.wait_for(job)
    queued.expect_all_once()
    jobs = queued.jobs()
    assert [[j["id"] for j in jobs[name]] for name in SETS] == [[f"{job}_{k}"] for k in range(3)]
    assert {j["node"] for each in jobs.values() for j in each} == {"n0", "n1"}
    assert "0 of 3 data sets" in queued.call("submit").stderr


def test_a_task_put_back_by_hand_and_one_that_is_preempted_resume(queued, slurm):
    job = queued.submit()
    wait_until(lambda: queued.rows_of("first") > 1 and queued.rows_of("second") > 1, 30, "rows")
    slurm.call("scontrol", "requeue", f"{job}_0")
    taken = slurm.jobs(job)[1][1]
    slurm.call("sbatch", "-p", "urgent", "-w", taken, "--exclusive", "--wrap", "sleep 1", "-o",
               str(queued.folder / "urgent.log"))
    slurm.wait_for(job)
    queued.expect_all_once()
    restarts = {name: [j["restarts"] for j in each] for name, each in queued.jobs().items()}
    assert restarts == {"first": ["0", "1"], "second": ["0", "1"], "third": ["0"]}


def test_a_task_whose_disk_is_full_fails_and_goes_on_when_there_is_room(queued, slurm):
    """One shard lies on a disk of 64 kB."""
    disk = queued.folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)],
                             capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        queued.sweep = queued.spec(copies(CASES, 50), axes={"dataset": SETS})
        assert queued.call("submit", "--dry-run").returncode == 0
        (queued.tasks / "shards").mkdir(parents=True)
        done = queued.call("gather", "--json", "--out", str(queued.out))
        shard = json.loads(done.stdout)["tasks"][0]["shard"]
        full = disk / "shard.jsonl"
        os.symlink(full, shard)
        (disk / "ballast").write_bytes(bytes(52 * 1024))
        slurm.wait_for(queued.submit())
        assert "No space left on device" in queued.log()
        assert queued.rows_of("second") == queued.rows_of("third") == CASES
        assert 0 < queued.rows_of("first") < CASES
        (disk / "ballast").unlink()
        slurm.wait_for(queued.submit())
        queued.expect_all_once()
        assert {j["id"].split("_")[1] for j in queued.jobs()["first"]} == {"0"}
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


@whole
def test_a_task_whose_node_dies_resumes_elsewhere(queued, slurm):
    """Only the daemon dies: the task's processes go on writing until it waits for them no more."""
    job = queued.submit("--array-limit", "1")
    wait_until(lambda: queued.rows_of("first") > 0, 30, "a row")
    node = slurm.jobs(job)[0][1]
    slurm.kill_node(node)
    try:
        wait_until(lambda: slurm.jobs(job).get(0, ["PENDING"])[0] == "PENDING", 60,
                   "the loss of the node")
        slurm.wait_for(job, 120)
        queued.expect_all_once()
    finally:
        slurm.start_node(node)
        wait_until(lambda: slurm.idle_nodes() == 2, 60, "the node")


@whole
def test_a_task_at_its_time_limit_stops_cleanly_and_goes_on(tmp_path, slurm):
    """The notice is 40 s of a minute; Slurm may give it up to a minute early."""
    queued = Sweep(tmp_path, delay=1200, cases=12, measure={"timeout": "5s"})
    queued.slurm = slurm
    job = queued.submit("--time", "1")
    slurm.wait_for(job, 400)
    queued.expect_all_once()
    stopped = [j for each in queued.jobs().values() for j in each if j["restarts"] != "0"]
    assert stopped, "no task met its time limit"
    assert "stopped by a signal" in queued.log()
