#!/usr/bin/env python3
"""Writes provenance.cpp: the commit of this build and a SHA-256 over the sources of every module.

Usage: provenance.py SOURCE_ROOT OUTPUT. The output is left alone when nothing changed.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

SOURCES = {".hpp", ".cpp", ".cu", ".cuh", ".h"}

TEMPLATE = """#include "experiments/driver/provenance.hpp"

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


def source_hash(folder, excluded=()):
    """Digest over relative names and contents, in the order of the names."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.suffix in SOURCES):
        if any(e in path.parents for e in excluded):
            continue
        digest.update(str(path.relative_to(folder)).encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def module_folders(root):
    """Papers without the baselines inside them, and every baseline on its own."""
    baselines = (sorted(root.glob("papers/*/baselines/*/"))
                 + sorted(root.glob("common/baselines/*/")))
    papers = sorted(p for p in root.glob("papers/*/") if p.name != "__pycache__")
    for folder in papers:
        yield folder, [folder / "baselines", folder / "tests"]
    for folder in baselines:
        yield folder, []


def main():
    root, output = Path(sys.argv[1]), Path(sys.argv[2])
    modules = {folder.name: source_hash(folder, skip) for folder, skip in module_folders(root)
               if folder.is_dir()}
    text = TEMPLATE.format(
        commit=git(root, "rev-parse", "HEAD"),
        dirty="true" if git(root, "status", "--porcelain", "--untracked-files=no") else "false",
        common=source_hash(root / "common", [root / "common" / "baselines"]),
        modules="\n".join(f'          {{"{k}", "{v}"}},' for k, v in sorted(modules.items())))
    if not output.exists() or output.read_text() != text:
        output.write_text(text)


if __name__ == "__main__":
    main()
