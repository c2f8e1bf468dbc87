"""ci/sass-diff: which kernels two builds do not share, whatever they are called."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "ci/sass-diff"
ADD = "template <int N> __global__ void add(int* x) { x[threadIdx.x] += N; }\n"
TWO = ADD + "template __global__ void add<3>(int*);\ntemplate __global__ void add<4>(int*);\n"

pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")


def built(folder, **sources):
    """A build folder with an object of each source."""
    folder.mkdir()
    for name, text in sources.items():
        (folder / f"{name}.cu").write_text(text)
        subprocess.run(["nvcc", "-arch=sm_90", "-c", f"{name}.cu", "-o", f"{name}.cu.o"],
                       cwd=folder, check=True)
    (folder / "build.ninja").write_text(
        "".join(f"build {name}.cu.o: compile {name}.cu\n" for name in sources))
    return folder


def compared(*arguments):
    done = subprocess.run([SCRIPT, *arguments], text=True, capture_output=True, check=False)
    return done.returncode, done.stdout.splitlines()


@pytest.fixture(name="old", scope="module")
def _old(tmp_path_factory):
    return built(tmp_path_factory.mktemp("builds") / "old", a=TWO)


def test_a_rename_a_move_and_another_order_are_no_difference(tmp_path, old):
    apart = {"b": "namespace n { __global__ void four(int* y) { y[threadIdx.x] += 4; } }",
             "c": "// why\n" + ADD + "template __global__ void add<3>(int*);\n"}
    assert compared(old, built(tmp_path / "new", **apart)) == (0, [])


def test_a_changed_instruction_is_found_on_both_sides(tmp_path, old):
    new = built(tmp_path / "new", a=TWO.replace("add<4>", "add<5>"))
    assert compared(old, new) == (1, ["- 1 x sm_90 add", "+ 1 x sm_90 add"])


def test_a_copy_of_a_kernel_counts_unless_it_is_told_not_to(tmp_path, old):
    new = built(tmp_path / "new", a=TWO, b=TWO.replace("add", "sum"))
    assert compared(old, new) == (1, ["+ 2 x sm_90 add or sum"])
    assert compared("--once", old, new) == (0, [])


def test_objects_that_are_not_there_are_no_equal_build(tmp_path, old):
    shutil.copytree(old, tmp_path / "new")
    (tmp_path / "new/a.cu.o").unlink()
    assert compared(old, tmp_path / "new") == (2, [])
