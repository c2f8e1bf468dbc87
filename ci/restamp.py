#!/usr/bin/env python3
"""Gives the rows below experiments/results the hashes that today's provenance takes of old sources.

Rows up to 40c5431 were tied to their code by hashes over whole files. For each of them this proves
that its hash is that of the sources of this commit, computed there by the commit's own script, and
puts in its place what experiments/driver/run/provenance says of the same sources; of kernels, what
it says of a build of them. A row with another hash stops the script before anything is written.

Rows of distributed methods were tied to the MTTKRP of each process alone. Those that were measured
where the processes exchanged as they do now, by the hash of the sources of their session's commit,
get the hash of both.

Usage: ci/restamp.py --build DIR    (DIR: a build of the commit, with the CUDA backend)
       ci/restamp.py --check        proves the stamps of the rows that are still there again
       ci/restamp.py --distributed  prints the rows that keep theirs, with the reason
"""

import argparse
import contextlib
import functools
import hashlib
import importlib.util
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMIT = "40c5431643491f06fe1ef3481f48e1dfcec4a9e1"
OLD_SCRIPT = "experiments/driver/provenance.py"
ARCHITECTURE = "90"
HASHED = ("common", "papers", "experiments/driver")
RESULTS = ROOT / "experiments" / "results"
sys.path.insert(0, str(ROOT / "experiments/driver/run"))

from provenance import kernels, sources  # noqa: E402


@contextlib.contextmanager
def checkout(commit=COMMIT):
    """A folder with the sources of a commit that hashes cover."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, packed = Path(scratch) / "tree", Path(scratch) / "tree.tar"
        subprocess.run(["git", "-C", str(ROOT), "archive", "-o", str(packed), commit, *HASHED],
                       check=True)
        with tarfile.open(packed) as archive:
            archive.extractall(folder)
        yield folder


def old_hashes(root):
    """Module -> hash, by the commit's own script."""
    spec = importlib.util.spec_from_file_location("old_provenance", root / OLD_SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.module_hashes(root)


def joined(own, inner):
    return hashlib.sha256((own + inner).encode()).hexdigest() if own and inner else ""


def of_case(case, of):
    """What `of` says of the row's method, with that of the MTTKRP that CP-ALS runs."""
    own, inner = of(case["method"]), case["params"].get("mttkrp")
    return own if inner is None else joined(own, of(inner))


class Stamps:
    """Old and new hashes of the commit's methods."""

    def __init__(self, root, build):
        self.old = old_hashes(root)
        tree = sources.Tree(root)
        self.new = tree.methods()
        self.kernels = {}
        if build:
            objects = [p for p in sorted(build.glob("**/*_cuda.a.p/*.cu.o"))
                       if "tests" not in p.relative_to(build).parts]
            built = kernels.kernels_of_build(objects, build / "restamp.kernels")
            for name, code in self.new.items():
                seen = [k for path, found in built.items() if tree.sees(code.part, path)
                        for k in found]
                self.kernels[name] = kernels.digest(seen, code.kernels).get(ARCHITECTURE, "")

    def module(self, method):
        return method.split(".")[0]

    def old_of(self, case):
        return of_case(case, lambda m: self.old[self.module(m)])

    def code(self, method):
        return self.new.get(method) or self.new[self.module(method)]

    def new_of(self, case):
        stamp = {"source_hash": of_case(case, lambda m: self.code(m).source)}
        if ".cuda" in case["method"]:
            stamp["host_hash"] = of_case(case, lambda m: self.code(m).host)
            if self.kernels:
                stamp["kernel_hash"] = of_case(
                    case, lambda m: self.kernels[m if m in self.new else self.module(m)])
        return {name: value for name, value in stamp.items() if value}


def lines_of(path):
    return [json.loads(text) for text in path.read_text().splitlines()]


def text_of(lines):
    return "".join(json.dumps(line, sort_keys=True, separators=(",", ":"),
                              ensure_ascii=False) + "\n" for line in lines)


def row_files():
    """The result files of the commit that are still there."""
    names = subprocess.run(["git", "-C", str(ROOT), "ls-tree", "-r", "--name-only", COMMIT,
                            "experiments/results"], capture_output=True, text=True, check=True)
    paths = [ROOT / name for name in names.stdout.split() if name.endswith(".jsonl")]
    return [path for path in paths if path.exists()]


def restamp(stamps):
    """The manifest of what was done; every row's old hash is proved before the first write."""
    manifest, contents = {}, {}
    for path in row_files():
        lines = lines_of(path)
        count = 0
        for number, line in enumerate(lines, start=1):
            if line["kind"] != "row":
                continue
            expected = stamps.old_of(line["case"])
            if line["source_hash"] != expected:
                sys.exit(f"{path}:{number}: found source_hash {line['source_hash']}, expected "
                         f"{expected}, that of the sources of {COMMIT[:7]}")
            line.update(stamps.new_of(line["case"]))
            count += 1
        contents[path] = text_of(lines)
        manifest[str(path.relative_to(RESULTS))] = count
    for path, text in contents.items():
        path.write_text(text)
    return manifest


def without_stamp(line):
    return {k: v for k, v in line.items() if k not in ("source_hash", "host_hash", "kernel_hash")}


def text_at_commit(name):
    return subprocess.run(["git", "-C", str(ROOT), "show", f"{COMMIT}:experiments/results/{name}"],
                          capture_output=True, text=True, check=True).stdout


def measured(lines):
    return {(line["session"], line["key"]): line for line in lines if line["kind"] == "row"}


def check(stamps):
    """Problems with the rows of the commit that are still there."""
    import restate  # imports this: what it changed later is proved there, and undone here
    later = restate.codes()
    for name in json.loads((RESULTS / "restamped.json").read_text())["rows"]:
        path = RESULTS / name
        now = measured(restate.undone(path, lines_of(path), later)) if path.exists() else {}
        for place, row in measured(map(json.loads, text_at_commit(name).splitlines())).items():
            if row["source_hash"] != stamps.old_of(row["case"]):
                yield f"{name}: {place}: was not measured on the sources of {COMMIT[:7]}"
            if place not in now:
                continue
            if without_stamp(row) != without_stamp(now[place]):
                yield f"{name}: {place}: differs from what it was in more than its stamp"
            if not stamps.new_of(row["case"]).items() <= now[place].items():
                yield f"{name}: {place}: has another stamp than the sources of {COMMIT[:7]}"


@functools.cache
def codes_at(commit):
    with checkout(commit) as folder:
        return sources.Tree(folder).methods()


def distributed_stamp(row, commit, today):
    """What ties a row to both parts of its code; a text that says why it can't be given that."""
    then = codes_at(commit)
    method, inner = row["case"]["method"], then[row["case"]["params"]["mttkrp"]]
    exchange, now = then[method], today[method]
    if (exchange.source, exchange.host) != (now.source, now.host):
        return "its processes exchanged by other code"
    old, new = {"source_hash": inner.source}, {"source_hash": joined(now.source, inner.source)}
    if ".cuda" in method:
        old["host_hash"], new["host_hash"] = inner.host, joined(now.host, inner.host)
    if not (old.items() <= row.items() or new.items() <= row.items()):
        return "its stamp is not that of its commit's MTTKRP"
    return new


def restamp_distributed():
    """The rows that keep their stamps: file, session, key and the reason."""
    today = sources.Tree(ROOT).methods()
    for path in sorted(RESULTS.glob("*/*.jsonl")):
        lines = lines_of(path)
        git = {line["session"]: line.get("git") for line in lines if line["kind"] == "session"}
        changed = False
        for row in lines:
            if row.get("case", {}).get("foreign", {}).get("kind") != "distributed":
                continue
            of = git[row["session"]]
            stamp = ("no commit has its sources" if of["dirty"]
                     else distributed_stamp(row, of["commit"], today))
            if isinstance(stamp, str):
                yield f"{path.relative_to(RESULTS)}: {row['session']} {row['key'][:12]}: {stamp}"
            elif not stamp.items() <= row.items():
                row.update(stamp)
                changed = True
        if changed:
            path.write_text(text_of(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--distributed", action="store_true")
    options = parser.parse_args()
    if options.distributed:
        print("\n".join(restamp_distributed()))
        return 0
    if not options.check and not options.build:
        parser.error("expected --build, --check or --distributed")
    with checkout() as folder:
        stamps = Stamps(folder, options.build)
        if options.check:
            problems = list(check(stamps))
            print("\n".join(problems[:20]) or "every row has the stamp of what it measured")
            return 1 if problems else 0
        done = restamp(stamps)
    (RESULTS / "restamped.json").write_text(json.dumps(
        {"commit": COMMIT, "rows": done}, indent=1, sort_keys=True) + "\n")
    print(f"{sum(done.values())} rows of {len(done)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
