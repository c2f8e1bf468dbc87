"""Small sweeps for the tests of the driver: their own workspace, how to run and read them."""

import json
import os
import pty
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RETENSOR = os.environ.get("RETENSOR", str(ROOT / "build/experiments/driver/retensor"))
FAULTY = os.environ.get("RETENSOR_FAULTY", str(ROOT / "build/tests/cli/retensor-faulty"))

TENSOR = """3
4 3 2
1 1 1 1.5
1 2 2 -2
2 1 1 0.25
3 3 2 4
4 1 1 8
4 3 1 -0.5
"""


def at_terminal(*args, **environment):
    """Standard output of a call whose output goes to a terminal."""
    ours, its = pty.openpty()
    process = subprocess.Popen([RETENSOR, *args], cwd=ROOT, stdout=its, stderr=its,
                               env={**os.environ, "TERM": "xterm", **environment})
    os.close(its)
    output = b""
    try:
        while part := os.read(ours, 65536):
            output += part
    except OSError:  # the end of a terminal
        pass
    os.close(ours)
    process.wait(timeout=60)
    return output.decode()


def calibration(folder, session, threshold):
    """A file that says which difference counts on the CPU of a session, in percent; None: none."""
    machine, count = session["machine"], len(os.sched_getaffinity(0))
    cores = f"{count} cores" if count > 1 else "1 core"
    rule = {"launches": 1, "pairs": 1000, "threshold": threshold, "false_alarms": .01}
    path = Path(folder) / "calibration.json"
    path.write_text(json.dumps({"kind": "calibration", "schema": 1, "rules": [rule],
                                "device": f"{machine['cpu']['model']} with {cores}",
                                "machine": machine["identity"]["host"]}))
    return path


class Workspace:
    """A folder with a registry of tiny data sets, a cache and a result file."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.out = self.folder / "rows.jsonl"
        self.cache = self.folder / "cache"
        (self.folder / "tiny.tns").write_text(TENSOR)
        entry = {"kind": "real", "form": "tensor", "dims": [4, 3, 2], "nnz": 6,
                 "file": "tiny.tns", "source": "written by hand", "licence": "none"}
        self.sets = {"tiny": entry, "lost": dict(entry, nnz=7)}
        self.registry = self.folder / "registry.yaml"
        self._register()

    def _register(self):
        self.registry.write_text(json.dumps({"schema": 1, "datasets": self.sets}))

    def add_uniform(self, name, dims, nnz):
        """Adds a generated data set to the registry."""
        self.sets[name] = {"kind": "generated", "form": "tensor", "dims": dims, "nnz": nnz,
                           "source": "generated", "licence": "none",
                           "make": {"recipe": "uniform", "dims": dims, "nnz": nnz, "seed": 1}}
        self._register()

    def spec(self, methods, name="spec", **other):
        """Writes a spec of `ts` on the tiny tensor; methods are ids or (id, params)."""
        entries = [{"id": m} if isinstance(m, str) else {"id": m[0], "params": m[1]}
                   for m in methods]
        content = {"schema": 1, "artifact": "test/" + name, "title": "a test", "operation": "ts",
                   "axes": {"dataset": "tiny"}, "methods": entries,
                   "measure": {"warmup": 0, "samples": 1, "timeout": "20s"}}
        for key, value in other.items():
            content[key] = dict(content[key], **value) if key in ("axes", "measure") else value
        path = self.folder / (name + ".yaml")
        path.write_text(json.dumps(content))
        return path

    def command(self, spec, *more, program=FAULTY):
        return [program, "run", str(spec), "--out", str(self.out), "--cache", str(self.cache),
                "--registry", str(self.registry), *more]

    def run(self, spec, *more, program=FAULTY, **how):
        return subprocess.run(self.command(spec, *more, program=program), cwd=self.folder,
                              capture_output=True, text=True, timeout=120, check=False, **how)

    def start(self, spec, *more, **how):
        return subprocess.Popen(self.command(spec, *more), cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)

    def lines(self, kind="row"):
        if not self.out.exists():
            return []
        return [line for line in map(json.loads, self.out.read_text().splitlines())
                if line["kind"] == kind]

    def statuses(self):
        """Status and reason of the newest row of each method."""
        return {r["case"]["method"].split(".")[-1]: (r["status"], r["reason"])
                for r in self.lines()}


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def copies(count, delay):
    """A list of methods that is `count` cases of the sound method, each `delay` ms long."""
    return [("faulty.cpu.good", {"copy": list(range(count)), "delay": delay})]


def no_driver(folder):
    """Environment in which the CUDA runtime finds a driver library that it can't load."""
    libraries = folder / "no-driver"
    libraries.mkdir(exist_ok=True)
    (libraries / "libcuda.so.1").write_bytes(b"")
    return {"LD_LIBRARY_PATH": str(libraries)}
