#!/usr/bin/env python3
"""Lets nvcc tell Ninja which headers a .cu file includes: ci/cuda_depends.py [BUILD].

Meson before 1.3 leaves that out. Then no .cu file is compiled anew after a change in a header, and
the program links objects that disagree about the layout of their classes. Meson runs this each time
it has written build.ninja; a file of a newer Meson stays as it is.
"""
import os
import re
import sys
from pathlib import Path

RULE = re.compile(r"(?<=^rule cuda_COMPILER\n command = )(.*?) -o \$out ", re.MULTILINE)


def with_headers(ninja):
    """The text of a build.ninja whose rule for .cu files writes the file that it names."""
    def told(rule):
        if "$DEPFILE" in rule.group():
            return rule.group()
        return f"{rule.group(1)} -MD -MF $DEPFILE -o $out "
    return RULE.sub(told, ninja)


def main(arguments):
    path = Path(arguments[0] if arguments else os.environ["MESON_BUILD_ROOT"]) / "build.ninja"
    before = path.read_text()
    after = with_headers(before)
    if after != before:
        path.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
