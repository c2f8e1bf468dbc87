#!/usr/bin/env python3
"""advise.py BUILD [--check]: trains the planner on the committed rows and judges it.

Writes common/advise/model.json and the tables between the marks of common/advise/README.md. The
program has the new table after the next build. `--check` writes nothing and fails where one of the
two is out of date.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

from written import keep

ROOT = Path(__file__).resolve().parent.parent
ROOM = ROOT / "common" / "advise"
BEGIN, END = "<!-- regret: written by ci/advise.py -->\n", "<!-- end of regret -->\n"


def main(arguments):
    """Write or check the table and the README; returns the exit code."""
    retensor = str(Path(arguments[0]).resolve() / "experiments/driver/retensor")
    return keep(texts(retensor), arguments, "ci/advise.py BUILD")


def texts(retensor):
    """The files by path, as they should be."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.json"
        run(retensor, "advise", "--train", model)
        exact = run(retensor, "advise", "--regret", "--model", model)
        rounding = run(retensor, "advise", "--regret", "--model", model, "--error", "1")
        trained = model.read_text(encoding="utf-8")
    page = ROOM / "README.md"
    head, rest = page.read_text(encoding="utf-8").split(BEGIN)
    tail = rest.split(END)[1]
    body = (f"Methods that round no operand:\n\n{exact}\n"
            f"Methods that round operands too:\n\n{rounding}")
    return {ROOM / "model.json": trained, page: head + BEGIN + body + END + tail}


def run(*command):
    """What a command prints."""
    return subprocess.run(list(map(str, command)), cwd=ROOT, check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
