"""Checks the rules of the tree that the compiler does not know.

Include lines against the dependency table (core <- tensor <- io, numeric, formats, generate <-
reference, device <- method, machine <- run <- measure <- papers, baselines <- driver); CUDA
headers in device/ and CUDA sources alone; no paper uses another one or the driver; inside the
driver yaml <- data <- spec <- run <- judge <- commands <- mpi; no source of common names a paper
and no driver source a method; libraries never print, exit, read the environment or parse arguments.
Papers and baselines have one layout: their folders, the names of files in them, and inside a
paper methods -> kernels -> format. No file is a leftover of a merge or an editor.
`--self-test` plants one offence per rule in a scratch tree and fails unless each is found.
"""
import re
import sys
import tempfile
from pathlib import Path

SECOND = {"core", "tensor"}
THIRD = SECOND | {"io", "numeric", "formats", "generate", "reference"}
FOURTH = THIRD | {"device"}
FIFTH = FOURTH | {"method", "machine", "run", "measure"}
# Folder below common/ -> the other folders below common/ whose headers it may include.
ALLOWED = {
    "core": set(), "device": {"core"}, "tensor": {"core"},
    "io": SECOND, "numeric": SECOND, "formats": SECOND, "generate": SECOND,
    "reference": THIRD - {"reference"}, "method": FOURTH, "machine": {"core", "device"},
    "run": FOURTH | {"method"}, "measure": FIFTH - {"measure"}, "baselines": FIFTH,
    "decompose": FIFTH, "advise": FIFTH | {"decompose"},
    "communicate": {"core", "device"}, "distribute": FIFTH | {"communicate", "decompose"},
    "c_api": FIFTH | {"decompose", "advise"},
}
# The rooms of experiments/driver in their order: each may use those before it.
ROOMS = ["yaml", "data", "spec", "run", "judge", "commands", "mpi"]
# Folder of a paper -> the folders of the same paper whose headers it may include.
INSIDE = {
    "format": {"format"}, "kernels": {"kernels", "format"},
    "methods": {"methods", "kernels", "format", "baselines"},
    "baselines": {"baselines", "kernels", "format"},
}
METHOD_FILE = re.compile(r"method\.cpp|\w+_method\.hpp")  # of a baseline: may use methods too
# What a folder has to hold and what it may hold; names of folders end in a slash.
PAPER = ({"README.md", "NOTES.md", "meson.build", "paper/", "format/", "kernels/", "methods/",
          "tests/"}, r"baselines/")
BASELINE = ({"README.md", "meson.build", "method.cpp"}, r"\w+\.[hc]pp|\w+_cuda\.cuh?")
FOLDERS = {
    "paper": (set(), r"(about|claims|findings|readings|artifacts|tables)\.yaml|claims\.md"
                     r"|digitised/"),
    "format": (set(), r"\w+\.[hc]pp|\w+_device\.cuh?"),
    "kernels": (set(), r"\w+_cpu\.[hc]pp|\w+_cuda\.(hpp|cuh?)"),
    "methods": ({"methods.hpp", "methods.cpp"}, r"\w+\.[hc]pp"),
    "baselines": (set(), r"\w+/|\w+\.hpp|\w+_cuda\.cuh"),
    "tests": (set(), r"unit/|gpu/"),
}
SOURCES = {".hpp", ".cpp", ".cu", ".cuh"}
CUDA_SOURCES = {".cu", ".cuh"}
CUDA_HEADER = re.compile(r"cuda|cublas|cusparse|curand|cub/|thrust/|mma\.h|cooperative_groups|nv/")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
TALK = re.compile(r"std::(cout|cerr|clog|exit|abort|getenv|quick_exit)\b|<iostream>"
                  r"|(?<![\w.>:])(printf|puts|exit|getenv|setenv)\(|std::f?printf\(|fmt::print\(")
LEFTOVER = re.compile(r".*(\.(orig|rej|bak|sw[op])|~)|\.#.*")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def unit(path):
    """The part of the tree that a source belongs to: ('common', 'io'), ('tests',)."""
    parts = path.parts
    if parts[0] == "common" and parts[1] == "baselines":
        return ("baselines", parts[2])
    if parts[0] in ("common", "papers") and len(parts) > 2:
        return parts[:2]
    return parts[:1]


def may_include(source, target):
    """Why `source` may not use `target` (units of the tree), or an empty string."""
    if source == target:
        return ""
    if source[0] == "tests":
        return f"a test of {target[1]} stands in its tests/" if target[0] == "papers" else ""
    if source[0] == "common":
        allowed = target[0] == "common" and target[1] in ALLOWED[source[1]]
        return "" if allowed else f"{source[1]} may use only {sorted(ALLOWED[source[1]])}"
    if source[0] == "papers" and target[0] == "baselines":
        return ""  # PASTA takes over a kernel of a competitor
    if source[0] in ("papers", "baselines"):
        return "" if target[0] == "common" else f"{'/'.join(source)} may use common/ alone"
    if source[0] == "experiments":
        return "" if target[0] == "common" else "the driver may use common/ alone"
    return f"{source[0]} is no layer"


def room(path):
    """The room of a source of the driver, "" of the program itself, None of any other source."""
    if path.parts[:2] != ("experiments", "driver"):
        return None
    return path.parts[2] if len(path.parts) > 3 else ""


def may_use_room(source, target):
    """Why a source in room `source` may not use one in room `target`, or an empty string."""
    if source not in ROOMS or target is None:
        return ""
    before = ROOMS[:ROOMS.index(source)]
    return "" if target in [source, *before] else f"{source}/ may use only {before} of the driver"


def may_include_inside(path, target):
    """Why a source of a paper may not use `target` of the same paper, or an empty string."""
    room, other = path.parts[2], target.parts[2]
    allowed = INSIDE.get(room)
    if allowed is None or other in allowed:
        return ""
    if room == "baselines" and other == "methods" and METHOD_FILE.fullmatch(path.name):
        return ""
    return f"{room} may use only {sorted(allowed)} of its paper"


def is_test(path):
    return "tests" in path.parts


def check_includes(root, path, text):
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        bracket, name = match.groups()
        where = f"{path}:{line}"
        if bracket == "<":
            if (CUDA_HEADER.match(name) and path.suffix not in CUDA_SOURCES
                    and path.parts[:2] != ("common", "device")):
                yield f"{where}: CUDA header {name} outside device/ and CUDA sources"
            continue
        candidates = [path.parent / name, Path(name)]
        target = next((c for c in candidates if (root / c).is_file()), None)
        if target is None:
            yield f"{where}: {name} is not in the tree"
            continue
        if target.suffix == ".cuh" and path.suffix not in CUDA_SOURCES:
            yield f"{where}: {name} is a CUDA header, included from host code"
        # A paper's tests may use what all tests share.
        if is_test(path) and is_test(target):
            continue
        reason = (may_include(unit(path), unit(target))
                  or may_use_room(room(path), room(target)))
        if path.parts[0] == "papers" and unit(path) == unit(target):
            reason = may_include_inside(path, target)
        if reason:
            yield f"{where}: includes {name}: {reason}"


def check_place(path):
    if room(path) is not None and room(path) not in ROOMS and path.name != "main.cpp":
        yield f"{path}: in no room of the driver ({', '.join(ROOMS)})"


def check_code(path, code, papers, methods):
    top = path.parts[0]
    if top == "common":
        for match in papers.finditer(code):
            yield f"{path}: common names a paper: {match.group()}"
    if top in ("common", "papers") and not is_test(path):
        for match in TALK.finditer(code):
            yield f"{path}: {match.group().rstrip('(')} in a library"
    if top == "experiments":
        for match in methods.finditer(INCLUDE.sub("", code)):
            yield f"{path}: the driver names a method: {match.group()}"


def modules(root):
    folders = [*root.glob("papers/*/meson.build"), *root.glob("**/baselines/*/meson.build")]
    return sorted({f.parent.name for f in folders} | {"decompose"})


def check_folder(root, folder, plan):
    """A folder beside what it has to hold and may hold; caches and hidden files aside."""
    needed, more = plan
    found = {f.name + "/" * f.is_dir() for f in folder.iterdir()
             if not f.name.startswith((".", "__"))}
    where = folder.relative_to(root)
    for name in sorted(needed - found):
        yield f"{where}: lacks {name}"
    for name in sorted(found - needed):
        if not re.fullmatch(more, name):
            yield f"{where}/{name}: no part of the layout"


def check_plan(root):
    papers = [f for f in sorted((root / "papers").iterdir()) if f.is_dir()]
    for paper in papers:
        yield from check_folder(root, paper, PAPER)
        for folder, plan in FOLDERS.items():
            if (paper / folder).is_dir():
                yield from check_folder(root, paper / folder, plan)
    for home in [root / "common/baselines", *(paper / "baselines" for paper in papers)]:
        for folder in sorted(home.glob("*/")):
            yield from check_folder(root, folder, BASELINE)


def check_leftovers(root):
    for top in ("common", "papers", "experiments", "tests", "plots", "datasets", "ci"):
        for file in sorted((root / top).rglob("*")):
            if LEFTOVER.fullmatch(file.name):
                yield f"{file.relative_to(root)}: a leftover of a merge or an editor"


def problems(root):
    """All offences below `root`, one line each."""
    yield from check_plan(root)
    yield from check_leftovers(root)
    names = "|".join(map(re.escape, modules(root))) or r"\0"
    methods = re.compile(rf"\b({names})\.[a-z]\w*|register_({names})\b")
    papers = "|".join(sorted(f.parent.name for f in root.glob("papers/*/meson.build"))) or r"\0"
    papers = re.compile(rf"(?:\b|_)(?:{papers})(?:\b|_)")
    for top in ("common", "papers", "experiments", "tests"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SOURCES:
                continue
            path, text = file.relative_to(root), file.read_text()
            yield from check_place(path)
            yield from check_includes(root, path, text)
            yield from check_code(path, COMMENT.sub("", text), papers, methods)


OFFENCES = {
    "common/core/a.hpp": ('#include "common/tensor/coo.hpp"', "core may use only"),
    "common/io/a.cpp": ('#include "common/measure/b.hpp"', "io may use only"),
    "common/method/a.cpp": ('#include "common/measure/b.hpp"', "method may use only"),
    "common/machine/a.cpp": ('#include "common/measure/b.hpp"', "machine may use only"),
    "common/run/a.cpp": ('#include "common/measure/b.hpp"', "run may use only"),
    "common/tensor/a.cpp": ("#include <cuda_runtime.h>", "outside device/"),
    "common/device/a.cpp": ('#include "common/tensor/coo.hpp"', "device may use only"),
    "common/formats/a.cpp": ("std::cerr << 1;", "in a library"),
    "common/formats/b.cpp": ('auto id = "two.cuda.tuned";', "names a paper"),
    "common/decompose/a.cpp": ("void register_one();", "names a paper"),
    "common/baselines/blco/a.cpp": ('#include "papers/one/format/x.hpp"', "common/ alone"),
    "common/baselines/blco/b.cpp": ('#include "common/baselines/two/x.hpp"', "common/ alone"),
    "common/baselines/blco/k.cu": ("", "no part of the layout"),
    "common/baselines/three/x.hpp": ("", "lacks method.cpp", "common/baselines/three"),
    "papers/one/format/a.cpp": ('#include "papers/two/format/x.hpp"', "common/ alone"),
    "papers/one/format/b.cpp": ('#include "experiments/driver/run/x.hpp"', "common/ alone"),
    "papers/one/format/c.cpp": ('#include "x_device.cuh"', "included from host code"),
    "papers/one/format/d.cpp": ('#include "papers/one/kernels/x_cpu.hpp"', "format may use only"),
    "papers/one/format/e.hpp": ('#include "papers/one/methods/methods.hpp"', "format may use only"),
    "papers/one/format/f.cuh": ("", "no part of the layout"),
    "papers/one/kernels/a_cuda.cu": ('#include "papers/one/methods/methods.hpp"',
                                     "kernels may use only"),
    "papers/one/kernels/b_cpu.cpp": ('#include "papers/one/baselines/b/b_cuda.hpp"',
                                     "kernels may use only"),
    "papers/one/kernels/c.cpp": ("", "no part of the layout"),
    "papers/one/methods/a.cpp": ('#include "papers/one/tests/unit/x.hpp"', "methods may use only"),
    "papers/one/methods/b.cu": ("", "no part of the layout"),
    "papers/one/paper/notes.txt": ("", "no part of the layout"),
    "papers/one/baselines/b/b_cuda.cu": ('#include "papers/one/methods/methods.hpp"',
                                         "baselines may use only"),
    "papers/one/baselines/run.cuh": ("", "no part of the layout"),
    "papers/one/tests/a_test.cpp": ("", "no part of the layout"),
    "papers/one/a.cpp": ("", "no part of the layout"),
    "papers/one/extra/a.cpp": ("", "no part of the layout", "papers/one/extra/"),
    "papers/three/meson.build": ("", "lacks kernels/", "papers/three"),
    "papers/two/format/a.cpp": ('int a = atoi(getenv("HOME"));', "in a library"),
    "experiments/driver/run/a.cpp": ('auto m = "two.cpu.coo";', "names a method"),
    "experiments/driver/run/b.cpp": ('#include "papers/one/format/x.hpp"', "common/ alone"),
    **{f"experiments/driver/{lower}/up.cpp": (f'#include "experiments/driver/{upper}/x.hpp"',
                                              f"{lower}/ may use only")
       for lower, upper in zip(ROOMS, ROOMS[1:])},
    "experiments/driver/lost.cpp": ("", "in no room"),
    "experiments/driver/attic/lost.hpp": ("", "in no room"),
    **{name: ("", "a leftover") for name in ("common/core/x.hpp.orig", "ci/test~", "plots/.#a.py")},
    "tests/unit/a.cpp": ('#include "lost.hpp"', "not in the tree"),
    "tests/gpu/b.cpp": ('#include "papers/one/format/x.hpp"', "stands in its tests/"),
}
INNOCENT = {
    "common/tensor/coo.hpp": '#include <string>\n// std::cout unused, as in one\nvoid exit_code();',
    "common/measure/b.hpp": '#include "common/device/d.hpp"\n#include "common/io/i.hpp"\n'
                            '#include "common/run/r.hpp"',
    "common/run/r.hpp": '#include "common/method/m.hpp"', "common/method/m.hpp": "",
    "common/device/d.hpp": "#include <cuda_runtime.h>", "common/io/i.hpp": "",
    "common/baselines/two/x.hpp": "",
    "papers/two/format/b.hpp": '#include "common/baselines/two/x.hpp"',
    "papers/two/format/x.hpp": '#include "common/measure/b.hpp"',
    "papers/one/NOTES.md": "", "papers/one/paper/claims.yaml": "",
    "papers/one/paper/digitised/fig1.csv": "", "papers/one/__pycache__/x.pyc": "",
    "papers/one/format/x.hpp": '#include "common/tensor/coo.hpp"',
    "papers/one/format/x_device.cuh": "#include <mma.h>",
    "papers/one/kernels/x_cpu.hpp": '#include "papers/one/format/x.hpp"',
    "papers/one/kernels/x_cuda.cu":
        '#include "papers/one/format/x_device.cuh"\n#include <cub/cub.cuh>',
    "papers/one/methods/cpu.cpp": '#include "papers/one/kernels/x_cpu.hpp"\n'
                                  '#include "papers/one/baselines/b/b_cuda.hpp"',
    "papers/one/baselines/b/b_cuda.hpp": '#include "papers/one/kernels/x_cpu.hpp"',
    "papers/one/baselines/b_method.hpp": '#include "papers/one/methods/methods.hpp"',
    "papers/one/tests/unit/x.hpp": '#include "papers/one/methods/methods.hpp"\n'
                                   '#include "tests/support/s.hpp"',
    "tests/support/s.hpp": "",
    **{f"experiments/driver/{name}/x.hpp": "" for name in ROOMS},
    **{f"experiments/driver/{upper}/down.cpp": f'#include "experiments/driver/{lower}/x.hpp"'
       for lower, upper in zip(ROOMS, ROOMS[1:])},
    "experiments/driver/main.cpp": '#include "experiments/driver/commands/x.hpp"',
    "experiments/driver/run/c.cpp": '// two.cpu.coo\nauto p = "experiments/two/fig.yaml";',
}
# What every paper and every baseline of the scratch tree has.
WHOLE = {f"papers/{paper}/{name}": "" for paper in ("one", "two")
         for name in ("README.md", "NOTES.md", "meson.build", "paper/claims.yaml",
                      "format/x.hpp", "kernels/y_cpu.cpp", "methods/methods.hpp",
                      "methods/methods.cpp", "tests/unit/x_test.cpp")}
WHOLE |= {f"{folder}/{name}": ""
          for folder in ("common/baselines/blco", "common/baselines/two",
                         "papers/one/baselines/b")
          for name in ("README.md", "meson.build", "method.cpp")}


def self_test():
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        files = {**WHOLE, **INNOCENT, **{name: text for name, (text, *_) in OFFENCES.items()}}
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text + "\n")
        found = list(problems(root))
    # A third member is the place that an offence shows in where this is not the file itself.
    places = {name: (place or [name])[0] for name, (_, _, *place) in OFFENCES.items()}
    for name, (_, message, *_) in OFFENCES.items():
        if not any(line.startswith(places[name]) and message in line for line in found):
            yield f"layers.py does not see the offence planted in {name}"
    for line in found:
        if re.split(r"[: ]", line)[0] not in places.values():
            yield f"layers.py refuses innocent code: {line}"


def main():
    found = list(self_test() if "--self-test" in sys.argv else problems(Path(__file__).parents[1]))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
