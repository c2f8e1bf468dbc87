"""External code: executables in a spec and in `bench`, what they get away with and what not."""
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from sweeps import RETENSOR, ROOT

HERE = Path(__file__).parent / "foreign"
EXAMPLES = ROOT / "experiments/examples/foreign"
SANITIZED = bool(os.environ.get("RETENSOR_SANITIZED"))


def entry(cheat, *more):
    name = "".join("_" + c.lower() if c.isupper() else c for c in cheat)[1:]
    return {"id": f"theirs.cpu.{name}", "command": "python3",
            "args": [str(HERE / "cheats.py"), cheat, *more]}


def spec(workspace, methods, **other):
    """A spec of MTTKRP on the tiny tensor, a single mode, with these methods."""
    measure = {"samples": 4, **other.pop("measure", {})}
    path = workspace.spec([], operation="mttkrp", measure=measure,
                          axes={"mode": 0, "rank": 3, **other.pop("axes", {})}, **other)
    content = json.loads(path.read_text())
    content["methods"] = methods
    path.write_text(json.dumps(content))
    return path


def rows_of(workspace, methods, code=None, **other):
    done = workspace.run(spec(workspace, methods, **other), "--allow-foreign", program=RETENSOR)
    assert code is None or done.returncode == code, done.stderr
    return {row["case"]["method"].split(".")[-1]: row for row in workspace.lines()}


def test_an_executable_stands_beside_a_method_of_the_program(workspace):
    honest = {"id": "theirs.cpu.honest", "command": str(HERE / "honest.py"),
              "params": {"block": [1, 2]}}
    rows = rows_of(workspace, [{"id": "pasta.cpu.coo"}, honest], code=0)
    row = rows["honest"]
    assert row["status"] == "ok" and row["code"] == "foreign" and row["form"] == "own"
    assert row["check"]["ok"] and row["foreign"]["checked"] == 5
    assert row["foreign"]["probes_failed"] == []
    assert len(row["phases"]["run"]) == 4 and min(row["phases"]["run"]) > 0
    assert row["executed"] == {"kernel": "loops"} and row["footprint"]["format_bytes"] == 48
    assert len(workspace.lines()) == 3  # block 1 and 2
    before = len(workspace.lines())
    again = rows_of(workspace, [{"id": "pasta.cpu.coo"}, honest], code=0)
    assert len(workspace.lines()) == before, "stored rows were measured again"
    assert again["honest"]["source_hash"] == row["foreign"]["sha256"]


def test_a_changed_executable_is_measured_again(workspace):
    program = workspace.folder / "mine.py"
    text = (f"#!/usr/bin/env python3\nimport sys\nsys.path.insert(0, {str(HERE)!r})\n"
            "from honest import Honest, serve\n\n\nclass Mine(Honest):\n"
            "    def add(self, index, value):\n        super().add(index, 1 * value)\n\n\n"
            "serve(Mine())\n")
    program.write_text(text)
    program.chmod(0o755)
    methods = [{"command": "./mine.py"}]
    row = rows_of(workspace, methods, code=0)["mine"]
    assert row["case"]["method"] == "foreign.cpu.mine"
    program.write_text(text.replace("1 * value", "2 * value"))
    row = rows_of(workspace, methods, code=1)["mine"]
    assert row["status"] == "wrong" and len(workspace.lines()) == 2


# What each cheat ends as, and the words that say why.
CAUGHT = {
    "EarlyReturn": ("wrong", "run "),
    "Cached": ("wrong", "run "),
    "NoZero": ("wrong", "run "),
    "IgnoresMode": ("wrong", "run 1"),
    "NoSync": ("ok", "work goes on after the answer"),
    "ShortClock": ("ok", "ReTensor's time counts"),
    "Eager": ("ok", "work may be done outside the timed part"),
    "DropsSmall": ("ok", "on a probe (values of 1e-9"),
    "EmptyRows": ("ok", "on a probe (empty slices"),
    "OneShape": ("ok", "on a probe (another shape"),
    "Overflow": ("ok", "on a probe (two modes of 70,000"),
}


def test_every_cheat_is_caught(workspace):
    rows = rows_of(workspace, [entry(cheat) for cheat in CAUGHT])
    for cheat, (status, words) in CAUGHT.items():
        row = rows[entry(cheat)["id"].split(".")[-1]]
        assert row["status"] == status, (cheat, row["reason"])
        said = row["reason"] if status == "wrong" else " ".join(row["findings"])
        assert words in said, (cheat, said)
    for cheat in ("no_sync", "short_clock"):  # what they hid counts
        assert rows[cheat]["foreign"]["times"] == "outside"
        assert rows[cheat]["stats"]["median"] > 0.02
    for cheat in ("drops_small", "empty_rows", "overflow"):
        assert len(rows[cheat]["foreign"]["probes_failed"]) < 5, "right on some probes"


def test_a_cheat_hides_no_other(workspace):
    row = rows_of(workspace, [entry("EagerNoSync")])["eager_no_sync"]
    said = " ".join(row["findings"])
    assert CAUGHT["NoSync"][1] in said and CAUGHT["Eager"][1] in said, said


def test_a_probe_that_is_declined_is_no_fault(workspace):
    rows = rows_of(workspace, [entry("DeclinesMany"), entry("DeclinesOthers")], code=0)
    row = rows["declines_many"]
    assert row["foreign"]["probes_failed"] == [] and not any("probe" in f for f in row["findings"])
    assert row["foreign"]["probes_declined"] == [
        "on a probe (two modes of 70,000, more than 2^32 cells) it is unsupported: `read`: at most "
        "2^32 cells"]
    # Of a code that takes nothing else nobody knows whether it is right.
    row = rows["declines_others"]
    assert len(row["foreign"]["probes_declined"]) == 5
    assert "it declines each of 5 probes" in row["findings"]


def test_answers_from_a_file_are_those_of_other_operands(workspace):
    methods = [entry("AnswerFile", str(workspace.folder / "answers"))]
    spec_path = spec(workspace, methods)
    # Its first process, that of the case, computes; those of the probes have the file already.
    workspace.run(spec_path, "--allow-foreign", program=RETENSOR)
    workspace.run(spec_path, "--allow-foreign", "--rerun", program=RETENSOR)
    first, second = workspace.lines()
    assert first["status"] == "ok" and len(first["foreign"]["probes_failed"]) == 5
    assert second["status"] == "wrong" and second["reason"].startswith("run 1 of 5")
    assert first["foreign"]["seed"] != second["foreign"]["seed"]


FAULTS = {
    "Crash": ("crashed", "died of SIGSEGV in place of an answer to `run`; its last words: about "
                         "to fall"),
    "Quits": ("crashed", "ended with exit code 3 in place of an answer to `run`"),
    "Hang": ("timeout", "had not answered `run`"),
    "Garbage": ("failed", "answer to `run`: found 'debug: entering kernel', expected a JSON"),
    "WrongSize": ("failed", "found a result of 44 bytes, expected 48: 4 x 3 values of f32"),
    "NoResult": ("failed", "wrote no file 'result.bin'"),
    "BadNumber": ("failed", "`seconds`: found \"fast\", expected a number of at least 0"),
    "Hog": ("crashed", "MemoryError"),
    "Declines": ("unsupported", "only on Tuesdays"),
    "OutOfMemory": ("oom", "`prepare`: the workspace does not fit"),
}


def test_a_fault_costs_its_row_alone(workspace, monkeypatch, tmp_path):
    scratch = tmp_path / "scratch"  # other tests leave folders in the one that all share
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    methods = [entry(fault) for fault in FAULTS] + [{"command": str(HERE / "honest.py")}]
    rows = rows_of(workspace, methods, code=1,
                   measure={"timeout": "3s"} | ({} if SANITIZED else {"memory": "512MiB"}))
    for fault, (status, words) in FAULTS.items():
        row = rows[entry(fault)["id"].split(".")[-1]]
        if fault == "Hog" and SANITIZED:  # no memory limit there
            continue
        assert row["status"] == status and words in row["reason"], (fault, row["reason"])
        assert row["phases"]["run"] == []
    assert rows["honest"]["status"] == "ok"
    assert not list(scratch.iterdir()), "a folder was left behind"


def test_a_hanging_program_dies_with_the_driver(workspace):
    mark = workspace.folder / "pid"
    program = workspace.folder / "hang.py"
    program.write_text(f"#!/usr/bin/env python3\nimport os, time\n"
                       f"open({str(mark)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
    program.chmod(0o755)
    path = spec(workspace, [{"command": "./hang.py"}])
    driver = subprocess.Popen(workspace.command(path, "--allow-foreign", program=RETENSOR),
                              cwd=workspace.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while not (mark.exists() and mark.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    driver.kill()
    driver.communicate()
    pid = int(mark.read_text())
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    if Path(f"/proc/{pid}").exists():
        os.kill(pid, signal.SIGKILL)
        pytest.fail("the program outlived its driver")


def test_precision_and_limit_take_more_samples_of_code_from_outside(workspace):
    honest = {"command": str(HERE / "honest.py")}
    row = rows_of(workspace, [honest], code=0, measure={"samples": 5, "precision": "0.001%",
                                                        "at_most": "1s"})["honest"]
    assert row["sampling"]["stopped_by"] == "limit" and row["stats"]["count"] > 5
    assert row["foreign"]["probes_failed"] == []


def test_a_registry_file_gives_a_program_its_id(workspace):
    folder = workspace.folder / "methods"
    folder.mkdir()
    (folder / "mine.yaml").write_text(json.dumps({"schema": 1, "methods": [
        {"id": "theirs.cpu.listed", "command": os.path.relpath(HERE / "honest.py", folder)}]}))
    rows = rows_of(workspace, [{"id": "theirs.cpu.listed"}], code=0)
    assert rows["listed"]["status"] == "ok"
    found, = bench(workspace, "tiny", "--mode", 0, "--method", "theirs.cpu.listed", "--command",
                   f"python3 {HERE / 'cheats.py'} Honest")
    assert found["theirs.cpu.listed"]["error_over_bound"] <= 1
    assert found["foreign.cpu.python3"]["error_over_bound"] <= 1


def compiled(workspace, source, name, *flags):
    """An example that a user compiles with the command in its head."""
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I",
                    ROOT / "common/c_api", EXAMPLES / source, *flags, "-o",
                    workspace.folder / name], check=True, timeout=60)


def bench(workspace, *args, code=0):
    done = subprocess.run(
        [RETENSOR, "bench", *map(str, args), "--samples", "3", "--no-ceilings", "--registry",
         str(workspace.registry), "--cache", str(workspace.cache), "--json"],
        cwd=workspace.folder, text=True, capture_output=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return [{m["method"]: m for m in problem["methods"] + problem["not_ok"]}
            for problem in json.loads(done.stdout)]


def test_the_examples_of_executables_in_c_and_numpy(workspace):
    compiled(workspace, "spmm.c", "spmm")
    (workspace.folder / "m.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n3 2 2\n1 1 2.5\n3 2 1\n")
    found, = bench(workspace, "m.mtx", "--operation", "spmm", "--method", "tca_spmm.cpu",
                   "--format", "mtx", "--command", "./spmm")
    assert found["foreign.cpu.spmm"]["error_over_bound"] <= 1 and len(found) == 2
    assert "findings" not in found["foreign.cpu.spmm"], found
    workspace.add_uniform("cube", [30, 20, 40], 900)
    numpy = {"id": "theirs.cpu.numpy", "command": "/usr/bin/python3",
             "args": [str(EXAMPLES / "mttkrp.py")]}
    row = rows_of(workspace, [numpy], code=0, axes={"dataset": "cube", "mode": 1})["numpy"]
    assert row["status"] == "ok" and row["foreign"]["probes_failed"] == []


def test_the_example_of_a_library_in_c(workspace):
    compiled(workspace, "mttkrp_library.c", "libmine.so", "-std=c99", "-shared", "-fPIC")
    library = {"id": "theirs.cpu.library", "library": "./libmine.so"}
    rows = rows_of(workspace, [library], code=0, measure={"samples": 5})
    row = rows["library"]
    assert row["status"] == "ok" and row["foreign"]["probes_failed"] == []
    assert row["footprint"]["format_bytes"] == 48 and row["foreign"]["checked"] == 6
    row = rows_of(workspace, [library], axes={"dtype": "f64"})["library"]
    assert (row["status"], row["reason"]) == ("unsupported", "`create`: takes only f32")


def test_the_example_of_a_library_in_cuda(workspace):
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if nvcc is None:
        pytest.skip("no nvcc")
    subprocess.run([nvcc, "-O1", "-shared", "-Xcompiler", "-fPIC", "-I", ROOT / "common/c_api",
                    EXAMPLES / "mttkrp_library.cu", "-o", workspace.folder / "libmine.so"],
                   check=True, timeout=300)
    row = rows_of(workspace, [{"id": "theirs.cuda.library", "library": "libmine.so"}])["library"]
    if row["status"] == "unsupported":
        assert row["reason"], "declined without saying why there is no device"
        pytest.skip(row["reason"])
    assert row["status"] == "ok" and row["foreign"]["probes_failed"] == []


def python_library(workspace, module, name="libmine.so"):
    subprocess.run(["/usr/bin/python3", EXAMPLES / "method_library.py", module,
                    workspace.folder / name], check=True, timeout=60)


def test_the_example_in_numba_through_the_header(workspace):
    require("numba")
    python_library(workspace, EXAMPLES / "numba_mttkrp.py")
    library = {"id": "theirs.cpu.library", "library": "./libmine.so"}
    for axes in ({}, {"dtype": "f64"}):
        row = rows_of(workspace, [library], code=0, axes=axes)["library"]
        assert row["status"] == "ok" and row["foreign"]["probes_failed"] == []
    rows_of(workspace, [library], axes={"dtype": "f32"}, code=0)
    wrong = workspace.folder / "wrong.py"
    wrong.write_text(f"import sys\nsys.path.insert(0, {str(EXAMPLES)!r})\n"
                     "import numba_mttkrp\n\n\nclass Mine(numba_mttkrp.Mine):\n"
                     "    def run(self, stream):\n"
                     "        super().run(stream)\n        self.out[0] += 1\n")
    python_library(workspace, wrong)
    row = rows_of(workspace, [library])["library"]
    assert row["status"] == "wrong" and row["reason"].startswith("run 1 of")


def test_the_example_in_triton_through_the_header(workspace):
    require("torch", "triton")
    python_library(workspace, EXAMPLES / "triton_spmm.py")
    (workspace.folder / "m.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n3 2 2\n1 1 2.5\n3 2 1\n")
    found = bench(workspace, "m.mtx", "--operation", "spmm", "--method", "sputnik.cuda",
                  "--library", "theirs.cuda=./libmine.so")[0]["theirs.cuda"]
    if found.get("status") == "unsupported":
        pytest.skip(found["reason"])
    assert found["error_over_bound"] <= 1 and "findings" not in found


def test_a_library_in_python_that_fails_says_why(workspace):
    for text, words in (("syntax error", "Python can't load it"),
                        ("from method_library import Method\n\n\nclass Mine(Method):\n"
                         "    def prepare(self):\n        raise MemoryError('too small')\n",
                         "too small")):
        (workspace.folder / "mine.py").write_text(text)
        python_library(workspace, workspace.folder / "mine.py")
        mine = {"id": "theirs.cpu.library", "library": "./libmine.so"}
        row = rows_of(workspace, [mine])["library"]
        assert row["status"] in ("failed", "oom") and words in row["reason"], row["reason"]


# What each adapter in Python imports and what it is asked.
ADAPTERS = {
    "pyttb_mttkrp": ("pyttb", [("mttkrp", {"mode": 1})]),
    "tensorly_mttkrp": ("tensorly", [("mttkrp", {"mode": 1})]),
    "scipy_products": ("scipy", [("spmm", {}), ("contraction", {"variant": "ab,bc->ac"})]),
    "pydata_sparse": ("sparse", [("ttv", {"mode": 1}),
                                 ("contraction", {"variant": "abk,acd->kbcd"})]),
    "taco_mttkrp": ("pytaco", [("mttkrp", {"mode": 1}), ("spmm", {})]),
    "torch_spmm": ("torch", [("spmm", {})]),
}


# TensorLy's array is dense, and PyData Sparse allocates by the product of the mode lengths.
TOO_LARGE = ("tensorly_mttkrp", "pydata_sparse")


def require(*modules):
    """Skips the test unless these can be imported, from the folder of ci/bootstrap too."""
    path = os.pathsep.join([str(ROOT / "out/pypi"), os.environ.get("PYTHONPATH", "")])
    for module in modules:
        if subprocess.run(["/usr/bin/python3", "-c", f"import {module}"], capture_output=True,
                          env={**os.environ, "PYTHONPATH": path}, timeout=120).returncode != 0:
            pytest.skip(f"no {module}")
    return {**os.environ, "PYTHONPATH": path}


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_in_python(workspace, adapter):
    module, problems = ADAPTERS[adapter]
    own = require(module)
    workspace.add_uniform("cube", [12, 10, 12], 200)
    workspace.add_uniform("square", [40, 40], 200)
    method = {"id": "theirs.cpu", "command": "/usr/bin/python3",
              "args": [str(EXAMPLES / f"adapters/{adapter}.py")]}
    for operation, axes in problems:
        variant = {"variant": axes.pop("variant")} if "variant" in axes else {}
        matrix = operation == "spmm" or variant.get("variant") == "ab,bc->ac"
        path = workspace.spec([], operation=operation, **variant,
                              measure={"samples": 3, "timeout": "100s"},
                              axes={"dataset": "square" if matrix else "cube", **axes})
        content = json.loads(path.read_text())
        content["methods"] = [method]
        path.write_text(json.dumps(content))
        done = workspace.run(path, "--allow-foreign", program=RETENSOR, env=own)
        row = workspace.lines()[-1]
        if "no CUDA-capable device" in row["reason"] or "Found no NVIDIA driver" in row["reason"]:
            pytest.skip(row["reason"])
        assert done.returncode == 0, row["reason"]
        failed = row["foreign"]["probes_failed"]
        if adapter in TOO_LARGE:
            failed = [sentence for sentence in failed if "more than 2^32 cells" not in sentence]
        assert row["status"] == "ok" and failed == [], row["findings"]


@pytest.mark.parametrize("word, status", [
    (None, "wrong"), ("f32", "wrong"), ("bf16", "ok"), ("tf32", "ok"), ("f16", "ok")])
def test_a_declared_precision_drives_the_bound(workspace, word, status):
    method = entry("Halves") | ({"precision": word} if word else {})
    row = rows_of(workspace, [method])["halves"]
    assert row["status"] == status, row["reason"]
    assert row["case"]["foreign"].get("precision") == word
    if word == "f16":
        assert row["arithmetic"] == {"operand_eps": 2**-11, "roundings": 3,
                                     "accumulate_eps": 2**-23}


def test_a_precision_that_there_is_not_is_refused(workspace):
    done = workspace.run(spec(workspace, [entry("Halves") | {"precision": "f8"}]),
                         "--allow-foreign", program=RETENSOR)
    assert done.returncode == 2, done.stderr
    assert "expected one of f32, tf32, bf16, f16, f16_sums" in done.stderr, done.stderr


SPARSE = {"ttv": {"axes": {"mode": 1}}, "ttm": {"axes": {"mode": 2, "rank": 3}},
          "tew": {"variant": ["add", "sub", "mul", "div"]}, "ts": {"variant": "mul"},
          "contraction": {"variant": "abk,acd->kbcd"}}


def sparse_rows(workspace, method, operation, **other):
    """Rows of a kernel with a sparse result, beside the planted fault that each form can have."""
    more = SPARSE[operation]
    path = workspace.spec([], operation=operation, measure={"samples": 3},
                          **{k: v for k, v in more.items() if k != "axes"},
                          axes={"dataset": "cube", **more.get("axes", {})})
    content = json.loads(path.read_text())
    content["methods"] = [method]
    path.write_text(json.dumps(content))
    workspace.run(path, "--allow-foreign", program=RETENSOR)
    return [row for row in workspace.lines() if row["case"]["method"] == method["id"]]


# A subclass that answers wrongly, and the words that say how.
WRONG_SPARSE = {
    "Scaled": ("indices, values * 1.01", "wrong", "expected"),
    "Shifted": ("[indices[0][::-1], *indices[1:]], values", "wrong", ""),
    "Dropped": ("[i[1:] for i in indices], values[1:]", "wrong", ""),
    "Repeated": ("[numpy.append(i, i[0]) for i in indices], numpy.append(values, values[:1], 0)",
                 "wrong", "twice"),
    "Outside": ("[i + 1000 for i in indices], values", "wrong", "passes the length"),
}


def wrong_sparse(workspace, name):
    answer = WRONG_SPARSE[name][0]
    return (f"import sys\nsys.path.insert(0, {str(EXAMPLES)!r})\nimport numpy\n"
            "{imports}\n\n\nclass {name}({base}):\n    def {step}:\n"
            "        {call}\n        indices, values = self.out\n"
            f"        self.out = {answer}\n")


@pytest.mark.parametrize("operation", SPARSE)
def test_kernels_with_sparse_results_in_both_forms(workspace, operation):
    workspace.add_uniform("cube", [12, 10, 12], 200)
    python_library(workspace, EXAMPLES / "sparse_library.py", "libsparse.so")
    variants = len(SPARSE[operation].get("variant", [""])) if operation == "tew" else 1
    for method in ({"id": "theirs.cpu.program", "command": "/usr/bin/python3",
                    "args": [str(EXAMPLES / "sparse_results.py")]},
                   {"id": "theirs.cpu.library", "library": "./libsparse.so"}):
        rows = sparse_rows(workspace, method, operation)
        assert len(rows) == variants
        for row in rows:
            assert row["status"] == "ok", row["reason"]
            assert row["check"]["ok"] and row["foreign"]["probes_failed"] == [], row["findings"]


@pytest.mark.parametrize("fault", WRONG_SPARSE)
def test_wrong_sparse_results_are_caught_in_both_forms(workspace, fault):
    workspace.add_uniform("cube", [12, 10, 12], 200)
    text = wrong_sparse(workspace, fault)
    program = workspace.folder / "wrong.py"
    program.write_text(text.format(
        imports="from sparse_results import SparseResults\nfrom steps import serve",
        name=fault, base="SparseResults", step="compute(self)", call="super().compute()")
        + f"\n\nserve({fault}())\n")
    module = workspace.folder / "wrong_library.py"
    module.write_text(text.format(
        imports="import sparse_library", name="Mine", base="sparse_library.Mine",
        step="run(self, stream)", call="super().run(stream)"))
    python_library(workspace, module, "libwrong.so")
    _, status, words = WRONG_SPARSE[fault]
    for method in ({"id": "theirs.cpu.program", "command": "/usr/bin/python3",
                    "args": [str(program)]},
                   {"id": "theirs.cpu.library", "library": "./libwrong.so"}):
        for operation in ("ttm", "contraction"):
            rows = sparse_rows(workspace, method, operation)
            assert rows[-1]["status"] == status and words in rows[-1]["reason"], rows[-1]["reason"]


def test_the_adapter_of_splatt(workspace):
    prefix = os.environ.get("RETENSOR_SPLATT")
    if not prefix:
        pytest.skip("no SPLATT: set RETENSOR_SPLATT to the folder in which it was installed")
    subprocess.run(["c++", "-std=c++17", "-O2", "-shared", "-fPIC", "-I", ROOT / "common/c_api",
                    f"-I{prefix}/include", EXAMPLES / "adapters/splatt_mttkrp.cpp", "-o",
                    workspace.folder / "libsplatt_mttkrp.so", f"-L{prefix}/lib", "-lsplatt",
                    "-fopenmp", "-lm"], check=True, timeout=120)
    adapter = {"id": "splatt.cpu", "library": "./libsplatt_mttkrp.so"}
    row = rows_of(workspace, [adapter], code=0, axes={"dtype": "f64"})["cpu"]
    assert row["status"] == "ok" and row["foreign"]["probes_failed"] == []


LIBRARY_FAULTS = {
    "killed": ("run", "kill(getpid(), SIGKILL);", "crashed", "died of SIGKILL before its row"),
    "exits": ("prepare", "_exit(4);", "crashed", "ended with exit code 4"),
    "early": ("run", "static int done; if (done++) return RETENSOR_METHOD_OK;", "wrong", "run "),
    "says_why": ("run", 'return refuse(reason, RETENSOR_METHOD_FAILED, "out of luck");', "failed",
                 "`run`: out of luck"),
    "next_api": ("api", "return 2;", "failed", "version 2 of retensor_method.h, expected 1"),
}


def test_a_faulty_library_costs_its_row_alone(workspace):
    text = (EXAMPLES / "mttkrp_library.c").read_text()
    methods = []
    for name, (function, planted, *_) in LIBRARY_FAULTS.items():
        at = text.index("{", text.index(f"retensor_method_{function}(")) + 1
        source = workspace.folder / f"{name}.c"
        source.write_text("#include <signal.h>\n#include <unistd.h>\n"
                          + text[:at] + planted + text[at:])
        subprocess.run(["cc", "-w", "-shared", "-fPIC", "-I", ROOT / "common/c_api", source, "-o",
                        workspace.folder / f"lib{name}.so"], check=True, timeout=60)
        methods.append({"id": f"theirs.cpu.{name}", "library": f"./lib{name}.so"})
    (workspace.folder / "libempty.so").write_text("no library")
    methods.append({"id": "theirs.cpu.empty", "library": "./libempty.so"})
    rows = rows_of(workspace, methods, code=1)
    for name, (*_, status, words) in LIBRARY_FAULTS.items():
        assert rows[name]["status"] == status and words in rows[name]["reason"], rows[name]
    assert "can't be loaded" in rows["empty"]["reason"]


def test_what_a_library_leaves_behind_when_it_fails_meets_no_other_method(workspace):
    text = (EXAMPLES / "mttkrp_library.c").read_text()
    at = text.index("{", text.index("retensor_method_run(")) + 1
    source = workspace.folder / "limits.c"
    source.write_text("#include <sys/resource.h>\n" + text[:at]
                      + "struct rlimit none = {1 << 20, 1 << 20}; setrlimit(RLIMIT_AS, &none);"
                        ' return refuse(reason, RETENSOR_METHOD_FAILED, "no luck");' + text[at:])
    subprocess.run(["cc", "-w", "-shared", "-fPIC", "-I", ROOT / "common/c_api", source, "-o",
                    workspace.folder / "libmine.so"], check=True, timeout=60)
    workspace.add_uniform("cube", [60, 50, 40], 30000)
    rows = rows_of(workspace, [{"library": "./libmine.so"}, {"id": "pasta.cpu.coo"}], code=1,
                   axes={"dataset": "cube"})
    assert rows["libmine"]["status"] == "failed" and "no luck" in rows["libmine"]["reason"]
    assert rows["coo"]["status"] == "ok", rows["coo"]


def test_bench_names_a_library_by_the_id_before_it(workspace):
    compiled(workspace, "mttkrp_library.c", "libmine.so", "-std=c99", "-shared", "-fPIC")
    found = bench(workspace, "tiny.tns", "--operation", "mttkrp", "--method", "pasta.cpu.coo",
                  "--library", "theirs.cpu.fast=./libmine.so")[0]
    assert set(found) == {"pasta.cpu.coo", "theirs.cpu.fast"}


@pytest.mark.parametrize("method, words", [
    ({"command": "./nowhere"}, "found no file './nowhere', expected an executable"),
    ({"command": "tiny.tns"}, "is not executable"),
    ({"command": "true", "format": "csv"}, "expected one of tns, tnsb or mtx"),
    ({"command": "true", "arguments": []},
     "found unknown key 'arguments', expected one of id, precision, params, command, args"),
    ({"id": "pasta.cpu.mine", "command": "true"}, "'pasta' is a module of this program"),
    ({"id": "Mine", "command": "true"}, "an id such as"),
])
def test_a_wrong_entry_is_refused_with_its_line(workspace, method, words):
    done = workspace.run(spec(workspace, [method]), "--allow-foreign", program=RETENSOR)
    assert done.returncode == 2 and "spec.yaml:1" in done.stderr, done.stderr
    assert words.split(" or ")[0] in done.stderr, done.stderr


def test_a_spec_runs_no_program_unless_it_may(workspace):
    path = spec(workspace, [{"command": str(HERE / "honest.py")}])
    done = workspace.run(path, program=RETENSOR)
    assert done.returncode == 2 and "--allow-foreign" in done.stderr
    assert workspace.lines() == []
