"""What a row's source_hash covers: all that a module's include lines reach, and nothing else."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments/driver/run"))

import provenance  # noqa: E402

TREE = {
    "papers/one/methods.cpp": '#include "papers/one/format.hpp"\n',
    "papers/one/format.hpp": '#include "common/formats/hicoo.hpp"\n',
    "papers/one/tests/example_test.cpp": "int a;\n",
    "papers/two/methods.cpp": '#include <vector>\n#include "local.cuh"\n',
    "papers/two/local.cuh": '#include "common/core/types.hpp"\n',
    "common/core/types.hpp": "using Index = int;\n",
    "common/formats/hicoo.hpp": '  #  include "common/core/types.hpp"\n',
    "common/formats/build.cpp": '#include "common/formats/hicoo.hpp"\n#include "inner.hpp"\n',
    "common/formats/inner.hpp": "int inner;\n",
    "common/formats/csf.cpp": "int csf;\n",
    "common/io/tns.cpp": '#include "common/formats/hicoo.hpp"\n',
    "common/measure/timing.hpp": "void measure();\n",
    "common/measure/timing.cpp": '#include "common/measure/timing.hpp"\n',
}


def hashes(root):
    # Every build is a process of its own; only one reads each file once.
    for function in (provenance.content, provenance.sources_in, provenance.included):
        function.cache_clear()
    return provenance.module_hashes(root)


@pytest.mark.parametrize("path, stale", [
    ("papers/one/methods.cpp", {"one"}),
    ("papers/one/tests/example_test.cpp", set()),
    ("common/formats/hicoo.hpp", {"one"}),
    ("common/formats/build.cpp", {"one"}),
    ("common/formats/inner.hpp", {"one"}),
    ("common/formats/csf.cpp", set()),
    ("common/io/tns.cpp", set()),
    ("papers/two/local.cuh", {"two"}),
    ("common/core/types.hpp", {"one", "two"}),
    ("common/measure/timing.cpp", {"one", "two"}),
])
def test_a_change_marks_the_modules_that_depend_on_it(tmp_path, path, stale):
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    before = hashes(tmp_path)
    assert set(before) == {"one", "two"}
    (tmp_path / path).write_text(TREE[path] + "// changed\n")
    after = hashes(tmp_path)
    assert {name for name in before if after[name] != before[name]} == stale


@pytest.mark.parametrize("path, stale", [
    ("common/cpd/als.cpp", {"cpd"}),
    ("papers/one/methods.cpp", {"one"}),
    ("papers/two/local.cuh", {"two"}),
    ("common/formats/csf.cpp", set()),
])
def test_cp_als_counts_as_a_module(tmp_path, path, stale):
    tree = {**TREE, "common/cpd/als.cpp": "int als;\n"}
    for name, text in tree.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    before = hashes(tmp_path)
    (tmp_path / path).write_text(tree[path] + "// changed\n")
    after = hashes(tmp_path)
    assert {name for name in before if after[name] != before[name]} == stale


def test_the_suite_s_kernels_depend_on_formats_and_loop_but_not_on_readers():
    folder = ROOT / "papers/pasta"
    reached = provenance.closure(ROOT, [*provenance.sources_below(folder, [folder / "tests"]),
                                        ROOT / provenance.LOOP])
    reached = {str(path.relative_to(ROOT)) for path in reached}
    assert {"common/formats/hicoo.cpp", "common/tensor/sort.cpp", "common/device/event_timer.cu",
            "common/measure/timing.cpp", "common/reference/check.cpp"} <= reached
    assert not [path for path in reached if path.startswith(("common/io", "experiments"))]
