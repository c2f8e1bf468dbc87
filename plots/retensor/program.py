"""The program `retensor` from Python: rows, runs of specs and verdicts."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from retensor.errors import PlotError
from retensor.spec import overlaid, whole_spec
from retensor.library import InputError, RetensorError, candidates

POLL = 0.05  # seconds between two looks at a growing result file


def program():
    """Path of the program: $RETENSOR, the wheel's, one built in the source tree, or any of PATH."""
    return next(candidates("RETENSOR", "tree/bin/retensor", "experiments/driver/retensor",
                           "retensor"))


def output_of(*arguments, fine=(0,)):
    """Standard output of the program; raises what its exit code says."""
    with _refused_start():
        done = subprocess.run([program(), *map(str, arguments)], capture_output=True, text=True,
                              env=environment(), check=False)
    _check(done.returncode, done.stderr, fine)
    return done.stdout


def claims(*papers, rows=()):
    """The claims of papers (all by default) as a list of maps, each with its verdict, judged by
    result files (those of the source tree by default): `retensor verdict --json`."""
    named = [argument for path in rows for argument in ("--rows", path)]
    return json.loads(output_of("verdict", *papers, "--json", *named, fine=(0, 1)))


class Run:
    """A sweep that `run` started: its rows, as they are measured, and the file that they go to."""

    def __init__(self, spec, out, options):
        self.folder = tempfile.TemporaryDirectory(prefix="retensor-")
        self.path = Path(out) if out else Path(self.folder.name) / "rows.jsonl"
        self.spec = spec
        self._arguments = ["run", _spec_file(spec, self.folder.name), "--out", self.path, "--quiet",
                           *options]

    def __iter__(self):
        """One map a row (experiments/schema), in the order in which they are measured; rows of an
        earlier run of the same file come first. Leaving early stops the run after its case."""
        seen = 0
        with self._started() as (process, messages):
            while True:
                ended = process.poll() is not None
                lines = self._lines()
                for line in lines[seen:]:
                    if (row := json.loads(line)).get("kind") == "row":
                        yield row
                seen = len(lines)
                if ended:
                    break
                time.sleep(POLL)
            messages.seek(0)
            _check(process.returncode, messages.read(), (0, 1))

    def _lines(self):
        """Complete lines only: the driver may be writing the last one."""
        text = self.path.read_text(encoding="utf-8") if self.path.is_file() else ""
        return text.splitlines()[: text.count("\n")]

    @contextlib.contextmanager
    def _started(self):
        with tempfile.TemporaryFile("w+") as messages, _refused_start():
            process = subprocess.Popen([program(), *map(str, self._arguments)],
                                       stdout=subprocess.DEVNULL, stderr=messages,
                                       env=environment())
            try:
                yield process, messages
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)
                    process.wait()


def run(spec, out=None, profile=None, allow_foreign=False, **changes):
    """Measure a spec, a path or a map, with `changes` merged into it; returns a Run. `out` is the
    result file, by default a temporary one that lives as long as the Run; `profile` an overlay that
    the spec names. External code runs with your rights, and only with `allow_foreign`; its paths
    are relative to the folder of the spec, those of a map to the working directory."""
    folder = Path() if isinstance(spec, dict) else Path(spec).parent
    content = _rooted(read_spec(spec, **changes), folder.resolve())
    options = ["--with", profile] if profile else []
    return Run(content, out, options + ["--allow-foreign"] * bool(allow_foreign))


def _rooted(content, folder):
    """The spec with absolute paths of external code, as it is run from another folder."""
    def absolute(word):
        path = folder / str(word)
        return str(path) if path.is_file() else word

    def of(method):
        keys = [key for key in ("command", "library") if key in method]
        changed = {key: absolute(method[key]) for key in keys}
        if keys and "args" in method:
            changed["args"] = [absolute(word) for word in method["args"]]
        return {**method, **changed}

    methods = content.get("methods")
    if not isinstance(methods, list) or not all(isinstance(one, dict) for one in methods):
        return content  # which the program refuses
    return {**content, "methods": list(map(of, methods))}


def read_spec(spec, **changes):
    """A spec as a map, its includes merged, with changes: `axes={"rank": 32}` replaces one axis and
    leaves the others. Raises InputError if it is no spec."""
    try:
        content = dict(spec) if isinstance(spec, dict) else whole_spec(spec)
    except PlotError as error:
        raise InputError(str(error)) from error
    return overlaid(content, changes)


def _spec_file(spec, folder):
    path = Path(folder) / "spec.yaml"
    path.write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    return path


def environment():
    """The program draws with this interpreter."""
    return {"RETENSOR_PYTHON": sys.executable, **os.environ}


@contextlib.contextmanager
def _refused_start():
    try:
        yield
    except FileNotFoundError as error:
        raise RetensorError("the program `retensor` is not found: build it with `ninja -C build "
                            "experiments/driver/retensor` or set RETENSOR") from error


def _check(code, messages, fine):
    if code in fine:
        return
    text = messages.strip() or f"retensor ended with exit code {code}"
    raise (InputError if code == 2 else RetensorError)(text)


def main():
    """The command `retensor` of an installed wheel: the program."""
    os.execve(program(), ["retensor", *sys.argv[1:]], environment())
