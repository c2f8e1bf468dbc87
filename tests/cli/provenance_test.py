"""What a row's hashes cover: declarations and machine code, whatever file they stand in."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "experiments/driver/run"), str(ROOT / "ci")]

import restate  # noqa: E402
from provenance import declarations, kernels, sources  # noqa: E402

TREE = {
    "papers/one/methods.cpp": '''
#include "papers/one/format.hpp"
namespace retensor::one {
namespace {
class Cpu : public Method {
  std::string_view id() const override { return "one.cpu"; }
  std::unique_ptr<Prepared> prepare() const { return prepare_one(); }
};
class Gpu : public Method {
  std::string_view id() const override { return "one.cuda"; }
  std::unique_ptr<Prepared> prepare() const { return prepare_cuda(); }
};
}
}
''',
    "papers/one/format.hpp": '''
#include "common/formats/tiles.hpp"
#include "common/device/loops.cuh"
#include "common/io/tns.hpp"
namespace retensor::one {
std::unique_ptr<Prepared> prepare_one();
std::unique_ptr<Prepared> prepare_cuda();
}
''',
    "papers/one/run.cpp": '''
#include "papers/one/format.hpp"
namespace retensor::one {
namespace {
constexpr int kWidth = 4;  // a reason
int local(int x) { if (x < 0) throw InputError("a negative number"); return x * kWidth; }
}
std::unique_ptr<Prepared> prepare_one() { return std::make_unique<Run>(local(formats::tiles(2))); }
Support supports_one() { return Support::no("never"); }
}
''',
    "papers/one/run.cu": '''
#include "papers/one/format.hpp"
namespace retensor::one {
__global__ void walk(int* out) { out[threadIdx.x] = one_step(7); }
__device__ int one_step(int x) { return x + 1; }
std::unique_ptr<Prepared> prepare_cuda() { device::launch(walk, 256); return nullptr; }
}
''',
    "papers/one/tests/example_test.cpp": "int tiles() { return 7; }\n",
    "common/formats/tiles.hpp": "namespace retensor::formats {\nint tiles(int edge);\n}\n",
    "common/formats/tiles.cpp": '''
#include "common/formats/tiles.hpp"
namespace retensor::formats {
int tiles(int edge) { return edge + 1; }
int unused(int edge) { return edge; }
}
''',
    "common/io/tns.hpp": "namespace retensor {\nint tiles(double edge) { return 1; }\n}\n",
    "common/device/loops.cuh": '''
namespace retensor::device {
template <class F> void launch(F f, int n) {}
}
''',
    "common/measure/timing.cpp": '''
namespace retensor {
void measure() { clock(); }
int clock() { return 1; }
}
''',
}
# A program that answers the measuring loop for several processes.
SERVE, GROUP, NCCL = ("experiments/driver/mpi/serve.cpp", "common/communicate/mpi.cpp",
                      "common/communicate/nccl.cu")
DISTRIBUTED = {
    **TREE,
    SERVE: """
#include "common/distribute/passes.hpp"
namespace retensor::mpi {
void serve() { distribute::passes_over(); }
}
""",
    "experiments/driver/mpi/main.cpp": "int main() { retensor::mpi::serve(); }\n",
    "common/distribute/passes.hpp": "namespace retensor { void passes_over(); void sweep(); }\n",
    "common/distribute/passes.cpp": """
#include "common/distribute/passes.hpp"
namespace retensor::distribute {
void passes_over() { exchange(1); }
void sweep() { exchange(2); }
}
""",
    GROUP: "namespace retensor { class Mpi { void exchange(int n) { send(n); } }; }\n",
    NCCL: "namespace retensor { class Nccl { void exchange(int n) { send(n); } }; }\n",
}
RUN, GPU, FORMAT = "papers/one/run.cpp", "papers/one/run.cu", "common/formats/tiles.cpp"


def hashes(root, tree):
    shutil.rmtree(root, ignore_errors=True)
    for name, text in tree.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return sources.Tree(root).methods()


def changed(tmp_path, tree, of=None):
    """The methods whose sources and whose host code are no longer those of TREE."""
    before, after = hashes(tmp_path / "a", of or TREE), hashes(tmp_path / "b", tree)
    ids = [name for name in before if "." in name]
    return ({name for name in ids if before[name].source != after[name].source},
            {name for name in ids if before[name].host != after[name].host})


def edited(path, old, new, of=None):
    tree = of or TREE
    assert old in tree[path]
    return {**tree, path: tree[path].replace(old, new)}


def renamed(tree, old, new):
    return {(new if name == old else name): text.replace(old, new) for name, text in tree.items()}


LOCALS = re.search(r"constexpr int kWidth.*\nint local.*\n", TREE[RUN]).group()
MOVED = {**TREE, RUN: TREE[RUN].replace(LOCALS, ""),
         "papers/one/format.hpp": TREE["papers/one/format.hpp"].replace(
             "namespace retensor::one {", "namespace retensor::one {\n"
             + LOCALS.replace("constexpr", "inline constexpr").replace("int l", "inline int l"))}
CLASS_OF_GPU = re.search(r"class Gpu.*?\n};\n", TREE["papers/one/methods.cpp"], re.DOTALL).group()
FUNCTION = {**TREE, "papers/one/methods.cpp": TREE["papers/one/methods.cpp"].replace(
    CLASS_OF_GPU, 'MethodSpec make() { return {.id = "one.cuda", .prepare = prepare_cuda}; }\n')}
SHARED = {**TREE, FORMAT: TREE[FORMAT].replace(
              "int unused", "int helper(int x) { return x; }\nint unused")}


@pytest.mark.parametrize("tree", [
    edited(RUN, "// a reason", "/* another\n reason */"),
    edited(RUN, "return x * kWidth", "return x *\n      kWidth"),
    edited(RUN, "a negative number", "below zero"),
    edited(RUN, 'Support::no("never")', "Support::yes()"),
    edited(RUN, "format.hpp\"", "format.hpp\"\n#pragma once"),
    edited(FORMAT, "return edge;", "return 2 * edge;"),
    edited("common/io/tns.hpp", "return 1", "return 2"),
    edited("papers/one/tests/example_test.cpp", "7", "8"),
    renamed(TREE, "common/formats/tiles.hpp", "common/formats/cells.hpp"),
    renamed(TREE, RUN, "papers/one/kernels/one_cpu.cpp"), MOVED, SHARED, FUNCTION,
], ids=["comment", "blank", "error", "refusal", "directive", "unreached", "reader", "test",
        "renamed header", "renamed source", "moved function", "function beside",
        "function in place of a class"])
def test_what_no_run_sees_leaves_the_hash_alone(tmp_path, tree):
    assert changed(tmp_path, tree) == (set(), set())


@pytest.mark.parametrize("tree, methods", [
    (edited(RUN, "kWidth = 4", "kWidth = 8"), {"one.cpu"}),
    (edited(RUN, "x * kWidth", "x + kWidth"), {"one.cpu"}),
    (edited(RUN, "if (x < 0) throw InputError(\"a negative number\"); ", ""), {"one.cpu"}),
    (edited(FORMAT, "edge + 1", "edge + 2"), {"one.cpu"}),
    (edited("common/measure/timing.cpp", "return 1", "return 2"), {"one.cpu", "one.cuda"}),
    (edited(GPU, "256", "128"), {"one.cuda"}),
], ids=["constant", "expression", "check", "shared function", "timing loop", "launch"])
def test_what_a_run_sees_changes_the_hash_of_the_methods_that_reach_it(tmp_path, tree, methods):
    assert changed(tmp_path, tree) == (methods, methods)


@pytest.mark.parametrize("old, new", [("x + 1", "x + 2"), ("threadIdx.x", "threadIdx.y")])
def test_device_code_is_no_part_of_the_host_s(tmp_path, old, new):
    assert changed(tmp_path, edited(GPU, old, new)) == ({"one.cuda"}, set())


@pytest.mark.parametrize("path, old, new, methods", [
    (SERVE, "passes_over();", "passes_over(), wait();", {"distributed.cpu", "distributed.cuda"}),
    ("common/distribute/passes.cpp", "exchange(1)", "exchange(3)",
     {"distributed.cpu", "distributed.cuda"}),
    (GROUP, "send(n)", "send(2 * n)", {"distributed.cpu", "distributed.cuda"}),
    (NCCL, "send(n)", "send(2 * n)", {"distributed.cuda"}),
    ("common/distribute/passes.cpp", "exchange(2)", "exchange(3)", set()),
    ("experiments/driver/mpi/main.cpp", "serve()", "decompose()", set()),
    (RUN, "kWidth = 4", "kWidth = 8", {"one.cpu"}),
], ids=["serving", "passes", "processes", "devices", "decomposition", "program", "MTTKRP"])
def test_how_processes_exchange_is_in_the_hash_of_distributed_methods(tmp_path, path, old, new,
                                                                      methods):
    tree = edited(path, old, new, of=DISTRIBUTED)
    assert changed(tmp_path, tree, of=DISTRIBUTED) == (methods, methods)


def test_kernels_are_found_by_what_a_method_reaches(tmp_path):
    found = hashes(tmp_path, TREE)
    assert found["one.cuda"].kernels == {("retensor", "one", "walk")}
    assert found["one.cpu"].kernels == set()


def proves(script):
    done = subprocess.run([sys.executable, ROOT / "ci" / script, "--check"], text=True,
                          capture_output=True, check=False)
    if "not a tree object" in done.stderr:
        pytest.skip("the history does not reach back to the commit that measured")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("script", ["restamp.py", "restate.py"])
def test_the_committed_rows_kept_their_measurements_when_hashes_changed(script):
    proves(script)


def row_in_hicoo(**fields):
    return {"kind": "row", "session": "s", "key": "k", "status": "ok", "executed": {"blocks": "3"},
            "case": {"method": "pasta.cuda.hicoo", "params": {"block": 128}, "operation": "mttkrp",
                     "rank": 16, "dtype": "f32", "data": {"dims": [300, 7, 7], "nnz": 900}},
            "stats": {"median": 0.5}, "rates": {"gbytes": 3.744e-4, "gflops": 1.728e-4},
            "work": {"bytes": 187200.0, "flops": 43200.0, "intensity": 43200 / 187200}, **fields}


def test_a_row_that_said_the_bytes_of_coordinates_says_those_of_hicoo_and_what_it_said():
    row = row_in_hicoo(profile={"dram_over_model": 0.5})
    now = restate.new_bytes(row)
    assert now["work"] == {"bytes": 80088.0, "flops": 43200.0, "intensity": 43200 / 80088}
    assert now["rates"]["gflops"] == row["rates"]["gflops"]
    assert now["rates"]["gbytes"] == pytest.approx(80088e-9 / 0.5)
    assert now["profile"]["dram_over_model"] == pytest.approx(0.5 * 187200 / 80088)
    assert now["restated"]["work"] == {"bytes": 187200.0, "intensity": 43200 / 187200}


@pytest.mark.parametrize("fields", [
    {"work": {"bytes": 80088.0, "flops": 43200.0}}, {"status": "wrong"}, {"executed": {}},
    {"case": {**row_in_hicoo()["case"], "operation": "ttv"}},
    {"case": {**row_in_hicoo()["case"], "method": "pasta.cuda.coo"}},
], ids=["bytes of HiCOO", "no time", "coordinates", "other operation", "other method"])
def test_other_rows_keep_what_they_said(fields):
    assert restate.new_bytes(row_in_hicoo(**fields)) == {}


@pytest.mark.parametrize("group, name", [("stats", "median"), ("work", "bytes")])
def test_a_restated_row_that_changed_otherwise_is_found(monkeypatch, tmp_path, group, name):
    then, other = (f"{number:064}" for number in (1, 2))
    code = sources.MethodHash(then, then, set(), (), [])
    codes = [{method: code for method in restate.METHODS}] * 2
    before = row_in_hicoo(source_hash=other)
    after = restate.restated(before, codes)
    monkeypatch.setattr(restate, "texts_at", lambda commit, path: [json.dumps(before)])
    monkeypatch.setattr(restate, "files", lambda: [tmp_path / "rows.jsonl"])

    def problems(row):
        (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
        return list(restate.check(codes))

    assert problems(after) == []
    assert len(problems({**after, group: {**after[group], name: 7.0}})) == 1


def committed_codes(hashes):
    """(file, key) of committed rows whose code is that of `hashes`."""
    def source(case):
        own, inner = hashes.get(case["method"]), case["params"].get("mttkrp")
        if not (own := own or hashes.get(case["method"].split(".")[0])):
            return None  # of somebody else, or of a tree without the driver
        return (own.source if inner is None else hashlib.sha256(
            (own.source + hashes[inner].source).encode()).hexdigest())

    return {(file.name, row["key"]) for file in ROOT.glob("experiments/results/*/*.jsonl")
            for row in map(json.loads, file.read_text().splitlines())
            if row["kind"] == "row" and row.get("source_hash")
            and row["source_hash"] == source(row["case"])}


def test_a_moved_helper_a_renamed_file_and_a_new_comment_cost_no_committed_row(tmp_path):
    for folder in ("common", "papers"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    before = committed_codes(sources.Tree(tmp_path).methods())
    assert len(before) > 500

    moved = re.compile(r"/// Elements between rows.*?\n}\n\n", re.DOTALL)
    home, = (f for f in tmp_path.glob("common/**/*.cuh") if moved.search(f.read_text()))
    helper = moved.search(home.read_text()).group()
    home.write_text('#include "common/device/padded.cuh"\n' + moved.sub("", home.read_text()))
    (tmp_path / "common/device/padded.cuh").write_text(
        f"#pragma once\nnamespace retensor {{\n{helper}\n}}\n")
    for file in [*tmp_path.glob("common/**/*.?pp"), *tmp_path.glob("papers/**/*.*pp"),
                 *tmp_path.glob("papers/**/*.cu*")]:
        text = file.read_text().replace("common/numeric/mma.hpp", "common/numeric/fragments.hpp")
        file.write_text(re.sub(r"^// .*", "// A comment that says why.", text, flags=re.MULTILINE))
    (tmp_path / "common/numeric/mma.hpp").rename(tmp_path / "common/numeric/fragments.hpp")
    assert committed_codes(sources.Tree(tmp_path).methods()) == before

    file = tmp_path / "common/tensor/coo.hpp"  # which every run has
    file.write_text(file.read_text().replace("\n};", "\n  int spare = 0;\n};"))
    assert len(committed_codes(sources.Tree(tmp_path).methods())) < len(before) // 10


def test_the_code_of_every_method_is_known():
    """Else its rows would have no hash, and would count as current whatever happens."""
    listed = subprocess.run([os.environ["RETENSOR"], "list", "methods", "--json"], text=True,
                            capture_output=True, check=True).stdout
    ids = {method["id"] for method in json.loads(listed)}
    assert len(ids) > 40 and ids <= set(sources.Tree(ROOT).methods())


def test_every_declaration_of_the_tree_is_named():
    for file in [*ROOT.glob("common/**/*.?pp"), *ROOT.glob("papers/**/*.cu*")]:
        for declaration in declarations.parse(file.read_text())[0]:
            assert declaration.names and all(map(declarations.is_word, declaration.names)), file


def test_the_suite_s_kernels_depend_on_formats_and_loop_but_not_on_readers_and_oracles():
    reached = {d.path for d in sources.Tree(ROOT).methods()["pasta.cuda.hicoo"].reached}
    assert "common/formats/hicoo.cpp" in reached and "common/device/event_timer.cu" in reached
    assert not [p for p in reached if p.startswith(("common/io", "common/reference"))]


@pytest.mark.parametrize("symbol, names", [
    ("_ZN8retensor6flycoo4passIfLi2EEEvNS0_13PassArgumentsIT_EE", ("retensor", "flycoo", "pass")),
    ("_ZN8retensor28_GLOBAL__N__0123_8_facts_cu_4waitEy", ("retensor", "wait")),
    ("_Z4walkPi", ("walk",)),
])
def test_kernels_are_named_by_their_mangled_names(symbol, names):
    assert kernels.components(symbol) == names


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
def test_a_kernel_s_hash_follows_its_instructions_and_no_name_or_comment(tmp_path):
    def of(text, name):
        (tmp_path / f"{name}.cu").write_text(text)
        subprocess.run(["nvcc", "-arch=sm_90", "-lineinfo", "-c", f"{name}.cu"], cwd=tmp_path,
                       check=True)
        return kernels.kernels_of_object(tmp_path / f"{name}.o")

    (architecture, symbol, code), = of("__global__ void walk(int* x) { x[threadIdx.x] += 3; }", "a")
    assert (architecture, symbol) == ("90", "_Z4walkPi")
    same = of("\n// why\nnamespace n { __global__ void run(int* y) { y[threadIdx.x] += 3; } }", "b")
    other = of("__global__ void walk(int* x) { x[threadIdx.x] += 4; }", "c")
    assert [k[2] for k in same] == [code] != [k[2] for k in other]
    wanted = {("walk",), ("n", "run")}
    assert (kernels.digest([["90", symbol, code]], wanted) == kernels.digest(same, wanted)
            != kernels.digest(other, wanted))
