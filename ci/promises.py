"""Checks that every promise of SECURITY.md and of the reliability page names tests that exist.

The last cell of each row names them in backquotes: a path or pattern below the tree, the name of a
file in the folder of the path before it (SECURITY.md: in tests/attack), `test_*` functions of the
file before them, "fuzz target" names. A file of tests has to be run by the meson.build beside it,
and every attack is named: alone, or by its file without names of functions behind it.
`--self-test` plants a row of each kind of fault and fails unless each is found.
"""
import itertools
import re
import sys
import tempfile
from pathlib import Path

PAGES = {"SECURITY.md": "tests/attack", "plots/docs/explanation/reliability.md": "."}
NAMED = re.compile(r"(fuzz targets? (?:`[a-z_]+`(?:, )?)+)|`([^`]+)`")
TESTS = re.compile(r"(\w+)_test\.(?:py|cpp)")


def rows(text):
    """(number of the line, cells) of each row of the page's tables, without their heads."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("| ") and not re.match(r"\| (threat|promise) \|", line):
            yield number, [cell.strip() for cell in line.strip("|").split(" | ")]


def is_run(path):
    """Whether a file of tests stands in a meson.build beside or above it."""
    area = TESTS.fullmatch(path.name)
    builds = [folder / "meson.build" for folder in list(path.parents)[:3]]
    return not area or any(f"'{area[1]}'" in build.read_text() or path.name in build.read_text()
                           for build in builds if build.is_file())


def faults_of(root, folder, cell):
    """What a cell names that does not exist, or that it names nothing."""
    known, files = 0, []
    for targets, name in NAMED.findall(cell):
        for target in re.findall("`(.*?)`", targets):
            known += 1
            if not (root / f"tests/fuzz/{target}_fuzz.cpp").is_file():
                yield f"no fuzz target {target}"
        if name.startswith("test_") and "." not in name:
            pattern = re.compile(rf"def {name.replace('*', '.*')}\(")
            if not any(pattern.search(file.read_text()) for file in files):
                yield f"no function {name} in the file before it"
            continue
        if "/" not in name and not re.search(r"\.(py|cpp)$", name):
            continue
        name = name.split()[0]  # a command may have options
        found = sorted(root.glob(name if "/" in name else f"{folder}/{name}"))
        known += 1
        if not found:
            yield f"no file {name}"
            continue
        folder = found[0].parent.relative_to(root).as_posix()
        files = [path for path in found if path.is_file()]
        yield from (f"{path.name} is run by no meson.build" for path in files if not is_run(path))
    if not known:
        yield "no test"


def unnamed(root, folder, cells):
    """Attacks of a folder that no cell names."""
    named = set()
    for cell in cells:
        words = [word.split()[0] for _, word in NAMED.findall(cell) if word]
        for at, word in enumerate(words):
            files = sorted((root / folder).glob(Path(word).name))
            behind = itertools.takewhile(lambda w: w.startswith("test_"), words[at + 1:])
            patterns = [name.replace("*", ".*") for name in behind] or [".*"]
            for file in files if not word.startswith("test_") else ():
                named |= {(file.name, name) for name in functions(file)
                          if any(re.fullmatch(pattern, name) for pattern in patterns)}
    for file in sorted((root / folder).glob("*_test.py")):
        yield from (f"{file.name}: {name}" for name in functions(file)
                    if (file.name, name) not in named)


def functions(file):
    return re.findall(r"^def (test_\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE)


def problems(root, pages):
    for page, folder in pages.items():
        found = list(rows((root / page).read_text(encoding="utf-8")))
        if not found:
            yield f"{page}: no promises"
        for number, cells in found:
            for fault in faults_of(root, folder, cells[-1]):
                yield f"{page}:{number}: {fault} ({cells[0]})"
        if folder != ".":
            for name in unnamed(root, folder, [cells[-1] for _, cells in found]):
                yield f"{page}: no promise names the attack {name}"


def self_test():
    planted = {"`a_test.py`: `test_one_*`, fuzz target `rows`": "",
               "`tests/*_test.py`, `b_test.py`": "b_test.py is run by no meson.build",
               "`c_test.py`": "no file c_test.py", "`tests/c/d.cpp`": "no file tests/c/d.cpp",
               "`a_test.py`: `test_two`": "no function test_two", "by hand": "no test",
               "fuzz targets `rows`, `tar`": "no fuzz target tar", "`--full`": "no test"}
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        files = {"tests/a_test.py": "def test_one_and():\n", "tests/b_test.py": "",
                 "tests/meson.build": "foreach name : ['a']", "tests/fuzz/rows_fuzz.cpp": "",
                 "page.md": "| threat | tests |\n|---|---|\n" + "".join(
                     f"| {k} | {cell} |\n" for k, cell in enumerate(planted)),
                 "empty.md": "| threat | tests |\n|---|---|\n",
                 "attacks.md": "| threat | tests |\n|---|---|\n| 1 | `e_test.py`: `test_one_*` |\n",
                 "attacks/e_test.py": "def test_one_and():\ndef test_other():\n",
                 "attacks/meson.build": "foreach name : ['e']"}
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = list(problems(root, {"page.md": "tests", "empty.md": ".",
                                     "attacks.md": "attacks"}))
    for k, (cell, fault) in enumerate(planted.items()):
        said = [line for line in found if line.startswith(f"page.md:{k + 3}:")]
        if bool(fault) != bool(said) or not all(fault in line for line in said):
            yield f"promises.py says {said} of {cell}, expected {fault or 'nothing'}"
    if [line for line in found if "names the attack" in line] != [
            "attacks.md: no promise names the attack e_test.py: test_other"]:
        yield f"promises.py does not see the attack without a promise, but {found}"
    if "empty.md: no promises" not in found:
        yield "promises.py takes a page without promises"


def main():
    root = Path(__file__).resolve().parents[1]
    found = list(self_test() if "--self-test" in sys.argv else problems(root, PAGES))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
