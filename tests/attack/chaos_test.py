"""A sweep under faults of all kinds at once ends with the rows of an undisturbed one.

$RETENSOR_CHAOS_SECONDS of faults, by default 15, in the long suite an hour; $RETENSOR_CHAOS_SEED
chooses them.
"""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from attacks import METHOD
from faults import SHIM, Faults
from sweeps import RETENSOR, Workspace

SECONDS = float(os.environ.get("RETENSOR_CHAOS_SECONDS",
                               "3600" if "RETENSOR_ATTACKS" in os.environ else "15"))
SEED = int(os.environ.get("RETENSOR_CHAOS_SEED", "1"))
SANITIZED = bool(os.environ.get("RETENSOR_SANITIZED"))


class Chaos:
    """A workspace, the rows that are safe so far, and what happens to them."""

    def __init__(self, folder, dice):
        self.dice = dice
        self.folder = folder
        (folder / "work").mkdir()
        self.workspace, self.spec = prepared(folder / "work")
        self.faults = Faults(folder, self.workspace.folder)
        self.happened = {}

    def run(self):
        """One run of the sweep with a fault from outside or inside, often both."""
        command = self.workspace.command(self.spec, program=RETENSOR)
        environment = dict(os.environ, OMP_NUM_THREADS=self.dice.choice(["1", "2", "5"]))
        if SHIM and not SANITIZED and self.dice.random() < 0.5:
            how = self.dice.choice(["error", "full", "exit"])
            environment.update(self.faults.environment(self.dice.randrange(1, 60), how))
            self.note("a call that fails: " + how)
        if self.dice.random() < 0.1:
            command = ["bash", "-c", f'ulimit -f {self.dice.choice([1, 4, 64])}; exec "$@"', "-",
                       *command]
            self.note("a limit on file sizes")
        running = subprocess.Popen(command, cwd=self.workspace.folder, env=environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if self.dice.random() < 0.2:
            self.note("a second driver")
            self.workspace.run(self.spec, program=RETENSOR)
        if self.dice.random() < 0.6:
            self.strike(running)
        _, words = running.communicate(timeout=120)
        assert "terminate called" not in words and "Sanitizer" not in words, words

    def strike(self, running):
        """A signal to the driver or its worker after a random time."""
        time.sleep(self.dice.uniform(0, 0.4))
        number = self.dice.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSEGV,
                                   signal.SIGSTOP])
        victim = running.pid if self.dice.random() < 0.5 else child_of(running.pid)
        if victim is None:
            return
        self.note(f"{number.name} to {'driver' if victim == running.pid else 'worker'}")
        try:
            os.kill(victim, number)
            if number == signal.SIGSTOP:
                time.sleep(0.2)
                os.kill(victim, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def damage(self):
        """Something that lies in the cache is changed, cut, emptied or gone; a torn line."""
        if self.workspace.out.exists() and self.dice.random() < 0.2:
            self.note("a torn line")
            with open(self.workspace.out, "ab") as out:
                out.write(b'{"kind":"row","schema":1,"stat')
        files = [path for path in sorted(self.workspace.cache.rglob("*")) if path.is_file()]
        if not files or self.dice.random() < 0.5:
            return
        path, content = (found := self.dice.choice(files)), found.read_bytes()
        at = self.dice.randrange(max(len(content), 1))
        kind = self.dice.choice(["a flipped bit", "a cut file", "an empty file", "a lost file"])
        self.note(f"{kind} below {path.parent.name if path.parent.name in KINDS else 'oracle'}")
        if kind == "a lost file":
            path.unlink()
        elif kind == "a flipped bit" and content:
            path.write_bytes(content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1:])
        else:
            path.write_bytes(content[:at] if kind == "a cut file" else b"")

    def note(self, what):
        self.happened[what] = self.happened.get(what, 0) + 1


KINDS = ("tensors", "facts", "fetched")


def prepared(folder):
    workspace = Workspace(folder)
    workspace.add_uniform("other", [9, 8, 7], 30)
    workspace.add_uniform("large", [60, 50, 40], 20000)
    spec = workspace.spec([METHOD, "pasta.cpu.hicoo"], operation="mttkrp", axes={
        "dataset": ["tiny", "other", "large"], "rank": [4, 8], "mode": "all"})
    return workspace, spec


def child_of(pid):
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0]) if children else None
    except OSError:
        return None


def results(workspace):
    """What the newest row of each case says that no fault may change."""
    return {row["key"]: (row["status"], row["case"]["data"], row["check"]["entries"])
            for row in workspace.lines() if row["status"] == "ok"}


def finished(workspace):
    whole = workspace.out.read_bytes() if workspace.out.exists() else b""
    return whole[:whole.rfind(b"\n") + 1]


@pytest.mark.skipif(SANITIZED, reason="the sanitizers report the signals that the chaos sends")
def test_a_sweep_in_chaos_gives_the_rows_of_an_undisturbed_one(tmp_path):
    (tmp_path / "calm").mkdir()
    calm, spec = prepared(tmp_path / "calm")
    assert calm.run(spec, program=RETENSOR).returncode == 0
    dice, rounds, sweeps = random.Random(SEED), 0, 0
    happened = {}
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        sweeps += 1
        folder = tmp_path / f"chaos-{sweeps}"
        folder.mkdir()
        chaos = Chaos(folder, dice)
        for _ in range(dice.randrange(3, 9)):
            rounds += 1
            safe = finished(chaos.workspace)
            chaos.run()
            assert finished(chaos.workspace).startswith(safe), (SEED, sweeps, rounds)
            chaos.damage()
        done = chaos.workspace.run(chaos.spec, program=RETENSOR)
        assert done.returncode == 0, (SEED, sweeps, done.stderr)
        ok = [row["key"] for row in chaos.workspace.lines() if row["status"] == "ok"]
        assert len(ok) == len(set(ok)), (SEED, sweeps)
        assert results(chaos.workspace) == results(calm), (SEED, sweeps)
        for what, times in chaos.happened.items():
            happened[what] = happened.get(what, 0) + times
    print(f"\nseed {SEED}: {sweeps} sweeps, {rounds} disturbed runs, no row lost, doubled or other")
    for what in sorted(happened):
        print(f"  {happened[what]:6d}  {what}")
