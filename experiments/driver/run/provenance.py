#!/usr/bin/env python3
"""Writes provenance.cpp: the commit of this build and a SHA-256 over the sources of every module.

A module depends on its own folder, on the measuring loop, and on what their include lines reach: a
header brings its own includes and the sources of its folder that include it, hence implement it.
What no include line reaches (readers, other modules, the driver) leaves the hash alone, since rows
name their data by checksum. CP-ALS (common/cpd) counts as a module; a row of it depends on the
module of its MTTKRP too (source_hash_of in session.cpp).

Usage: provenance.py SOURCE_ROOT OUTPUT. The output is left alone when nothing changed.
"""

import hashlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

SOURCES = {".hpp", ".cpp", ".cu", ".cuh", ".h"}
HEADERS = {".hpp", ".cuh", ".h"}
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
# Every row is made by this loop, which no module includes.
LOOP = "common/measure/timing.hpp"

TEMPLATE = """#include "experiments/driver/run/provenance.hpp"

namespace retensor::driver {{

const Provenance& provenance() {{
  static const Provenance facts{{
      "{commit}", {dirty}, "{common}", {{
{modules}
      }}}};
  return facts;
}}

}}  // namespace retensor::driver
"""


def git(root, *arguments):
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


@cache
def content(path):
    return path.read_bytes()


@cache
def sources_in(folder):
    return sorted(p for p in folder.iterdir() if p.suffix in SOURCES)


def sources_below(folder, excluded=()):
    return [p for p in sorted(folder.rglob("*"))
            if p.suffix in SOURCES and not any(e in p.parents for e in excluded)]


@cache
def included(root, path):
    """The headers of the tree that a source includes."""
    names = (name.decode() for name in INCLUDE.findall(content(path)))
    candidates = [candidate for name in names for candidate in (path.parent / name, root / name)]
    return [candidate for candidate in candidates if candidate.is_file()]


def implementations(root, header):
    return [p for p in sources_in(header.parent)
            if p.suffix not in HEADERS and header in included(root, p)]


def closure(root, start):
    """The files themselves and what they depend on."""
    reached, open_files = set(start), list(start)
    while open_files:
        path = open_files.pop()
        needs = included(root, path)
        if path.suffix in HEADERS:
            needs = needs + implementations(root, path)
        open_files += set(needs) - reached
        reached |= set(needs)
    return reached


def source_hash(root, paths):
    """Digest over names relative to the root and contents, in the order of the names."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(str(path.relative_to(root)).encode() + b"\0")
        digest.update(content(path) + b"\0")
    return digest.hexdigest()


def module_folders(root):
    """Papers without the baselines inside them, every baseline on its own, and CP-ALS."""
    baselines = (sorted(root.glob("papers/*/baselines/*/"))
                 + sorted(root.glob("common/baselines/*/")))
    papers = sorted(p for p in root.glob("papers/*/") if p.name != "__pycache__")
    for folder in papers:
        yield folder, [folder / "baselines", folder / "tests"]
    for folder in [*baselines, root / "common" / "cpd"]:
        yield folder, []


def module_hashes(root):
    sources = {folder.name: sources_below(folder, skip)
               for folder, skip in module_folders(root) if folder.is_dir()}
    return {name: source_hash(root, closure(root, [*own, root / LOOP]))
            for name, own in sources.items()}


def main():
    root, output = Path(sys.argv[1]), Path(sys.argv[2])
    text = TEMPLATE.format(
        commit=git(root, "rev-parse", "HEAD"),
        dirty="true" if git(root, "status", "--porcelain", "--untracked-files=no") else "false",
        common=source_hash(root, sources_below(
            root / "common", [root / "common" / n for n in ("baselines", "cpd", "tucker")])),
        modules="\n".join(f'          {{"{k}", "{v}"}},'
                          for k, v in sorted(module_hashes(root).items())))
    if not output.exists() or output.read_text() != text:
        output.write_text(text)


if __name__ == "__main__":
    main()
