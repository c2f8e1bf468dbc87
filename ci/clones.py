#!/usr/bin/env python3
"""Counts pairs of places that share six or more lines of code, names, numbers and strings aside.

Two files, or one with itself, are one pair however many runs they share. Blank lines, comments,
lines of punctuation or strings alone, includes, imports, using-declarations and Meson's lists of
files are passed over. With using-declarations 67 pairs would count in place of 60.

Usage: ci/clones.py              lists the pairs, exit code 1 when there are more than LIMIT
       ci/clones.py --self-test  a planted pair is found, and an innocent tree has none
"""
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from itertools import combinations
from pathlib import Path

LIMIT = 60    # lowered whenever pairs vanish
LINES = 6     # of a run
C_LIKE = {".cpp", ".hpp", ".cu", ".cuh"}
SUFFIXES = C_LIKE | {".py", ".sh"}
KEYWORDS = set("""
    and assert auto bool break case catch class const constexpr continue def delete do double elif
    else endforeach endif enum except explicit extern false final finally float for foreach from
    if in inline int is lambda long namespace new noexcept not nullptr operator or override pass
    private public raise return short signed sizeof static static_cast struct subdir switch
    template this throw true try typename unsigned using virtual void volatile while with yield
    done esac fi function local then __device__ __global__ __shared__ None True False""".split())
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
NUMBER = re.compile(r"\b(?:0[xX][\da-fA-F']+|\d[\d'.]*(?:[eE][-+]?\d+)?)\w*")
NAME = re.compile(r"[A-Za-z_]\w*")
PASSED_OVER = re.compile(r"(?:\W|\b(?:files|subdir)\()*|#\s*(?:include|pragma once).*"
                         r"|(?:import|from) .*|using [\w:]+;")


def blank(match):
    """As many lines as the match has, so that line numbers stay."""
    return "\n" * match.group().count("\n")


def code_lines(path, text):
    """(line number, shape) of the lines that count."""
    if path.suffix in C_LIKE:
        comment = r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/'
    else:
        text = re.sub(r'"""(?:.|\n)*?"""', blank, text)
        comment = r'("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|(?<![\w$&{])#[^\n]*'
    text = re.sub(comment, lambda m: m.group(1) or blank(m), text, flags=re.DOTALL)
    for number, line in enumerate(text.splitlines(), start=1):
        line = NUMBER.sub("0", STRING.sub('""', line.strip()))
        if not PASSED_OVER.fullmatch(line):
            yield number, "".join(NAME.sub(
                lambda m: f" {m.group()} " if m.group() in KEYWORDS else "x", line).split())


def pairs(root, names):
    """{(file, file): [(line, last line, line, last line)]}, the runs that each pair shares."""
    files, windows = {}, defaultdict(list)
    for name in sorted(names):
        path = root / name
        if path.is_file() and (path.suffix in SUFFIXES or path.name == "meson.build"
                               or not path.suffix and path.parent.name in ("ci", ".ci")):
            files[name] = list(code_lines(path, path.read_text()))
            shapes = [shape for _, shape in files[name]]
            for at in range(len(shapes) - LINES + 1):
                windows[tuple(shapes[at:at + LINES])].append((name, at))
    same = set()
    for places in windows.values():
        same |= {(one, other) for one, other in combinations(places, 2)
                 if one[0] != other[0] or other[1] - one[1] >= LINES}
    found = defaultdict(list)
    for (one, i), (other, j) in sorted(same):
        if ((one, i - 1), (other, j - 1)) in same:
            continue
        length = LINES
        while ((one, i + length - LINES + 1), (other, j + length - LINES + 1)) in same:
            length += 1
        found[one, other].append([files[name][at][0] for name, at in (
            (one, i), (one, i + length - 1), (other, j), (other, j + length - 1))])
    return found


def self_test():
    planted = [f"  auto {name} = work({name}, {number}, \"{name}\");  // {name}"
               for number, name in enumerate(["one", "two", "three", "four", "five", "six"])]
    spread = [line for first in planted
              for line in (first.replace("work", "play"), "// apart", "", "};")]
    own = ["int f(int x) {", "  if (x > 0) return f(x - 1);", "  for (;;) x += g(x) * 2;", "}"]
    files = {"a.cpp": planted, "b.cu": own + spread, "c.cpp": planted[:5] + own,
             "meson.build": [f"  '{word}.cpp'," for word in "abcdefgh"] * 2,
             "d.hpp": [f'#include "{name}.hpp"' for name in "abcdefgh"] * 2,
             "e.hpp": [f"using one::{name};" for name in "abcdefgh"] * 2}
    with tempfile.TemporaryDirectory() as scratch:
        for name, lines in files.items():
            Path(scratch, name).write_text("\n".join(lines) + "\n")
        found = dict(pairs(Path(scratch), files))
        innocent = dict(pairs(Path(scratch), set(files) - {"a.cpp"}))
    if found != {("a.cpp", "b.cu"): [[1, 6, 5, 25]]}:
        yield f"clones.py does not see the planted pair, but {found}"
    if innocent:
        yield f"clones.py finds a pair in an innocent tree: {innocent}"


def main():
    if "--self-test" in sys.argv:
        problems = list(self_test())
        print("\n".join(problems), end="\n" if problems else "")
        return 1 if problems else 0
    root = Path(__file__).resolve().parents[1]
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                           cwd=root, capture_output=True, text=True, check=True).stdout.split("\n")
    found = pairs(root, names)
    for (one, other), runs in found.items():
        first, last, again, end = max(runs, key=lambda run: run[1] - run[0])
        print(f"{one}:{first}-{last} ~ {other}:{again}-{end}"
              + (f" and {len(runs) - 1} more" if len(runs) > 1 else ""))
    print(f"{len(found)} pairs, at most {LIMIT} are allowed")
    return 1 if len(found) > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
