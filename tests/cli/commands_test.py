"""The subcommands that look, list and make: help, golden outputs, refusals and exit codes.

Golden files lie in tests/golden; RETENSOR_UPDATE_GOLDEN=1 writes them anew, to be read in the diff.
"""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from sweeps import RETENSOR, ROOT, TENSOR

GOLDEN = ROOT / "tests" / "golden"
COMMANDS = ["run", "plan", "bench", "list", "show", "dataset", "layout", "cp", "tucker", "plot",
            "report", "rows", "verdict", "audit", "import", "compare", "confirm", "schema",
            "doctor", "completion", "man", "help"]

REGISTRY = """schema: 1
datasets:
  tiny: {kind: real, form: tensor, dims: [4, 3, 2], nnz: 6, file: tiny.tns, source: by hand,
         licence: none}
  flat: {kind: generated, form: matrix, dims: [50, 60], nnz: 70, source: uniform, licence: CC0,
         make: {recipe: uniform, dims: [50, 60], nnz: 70}}
  secret: {kind: private, form: tensor, dims: [5, 5, 5], nnz: 10, source: a paper, licence: none,
           paper: {pasta: {id: r1}}}
  absent: {kind: real, form: tensor, dims: [9, 9], nnz: 3, source: elsewhere, licence: none}
"""

SPEC = """schema: 1
artifact: pasta/all
title: Every kind of case and skip
include: ../shared/sets.yaml
operation: [tew, ttm, spmm]
variant: [add, mul]
methods: [{id: pasta.cpu.coo, params: {threads: [1, 2]}}]
exclude:
  - {when: {operation: ttm, mode: 1, params.threads: 2}, reason: shown once is enough}
profiles:
  quick: {axes: {dataset: [tiny]}, operation: ttm}
figure: {kind: table}
"""

SETS = "schema: 1\naxes: {dataset: [tiny, flat, secret, absent], mode: all, rank: [4, 8]}\n"


class Tree:
    """A source tree of its own with two specs, a fragment and a registry."""

    def __init__(self, root):
        self.root = root
        for name, content in {
            "experiments/schema/README.md": "", "experiments/shared/sets.yaml": SETS,
            "experiments/pasta/all.yaml": SPEC, "datasets/registry.yaml": REGISTRY,
            "datasets/tiny.tns": TENSOR,
            "experiments/pasta/one.yaml": "schema: 1\nartifact: pasta/one\ntitle: One\n"
                                          "operation: ts\naxes: {dataset: tiny}\n"
                                          "methods: [{id: pasta.cpu.coo}]\n",
            "experiments/pasta/view.yaml": "schema: 1\nartifact: pasta/view\ntitle: A view\n"
                                           "of: pasta/one\nfigure: {kind: table}\n",
        }.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        (root / "plots" / "retensor").mkdir(parents=True)
        (root / "plots" / "retensor" / "__init__.py").write_text("")

    def run(self, *args, code=0, **environment):
        done = subprocess.run([RETENSOR, *map(str, args)], cwd=self.root, text=True,
                              capture_output=True, timeout=120,
                              env={**os.environ, "RETENSOR_ROOT": str(self.root),
                                   "RETENSOR_CACHE": str(self.root / "cache"), **environment})
        assert done.returncode == code, f"{done.args}: {done.stdout}{done.stderr}"
        return done

    def stdout(self, *args, **options):
        """Standard output without what differs between runs: folders, digests of times, caches."""
        text = self.run(*args, **options).stdout.replace(str(self.root), "ROOT")
        text = re.sub(r"(tensors/[a-z]+)-[0-9a-f]{12}", r"\1-DIGEST", text)
        return re.sub(r"(last-level cache of this processor:) .*", r"\1 BYTES", text)

    def refusal(self, *args):
        done = self.run(*args, code=2)
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        return done.stderr

    def spec(self, **replaced):
        text = SPEC
        for old, new in replaced.values():
            assert old in text
            text = text.replace(old, new)
        path = self.root / "experiments" / "pasta" / "changed.yaml"
        path.write_text(text)
        return path.relative_to(self.root)


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


@pytest.mark.parametrize("name, args", [
    ("plan", ["plan", "experiments/pasta/all.yaml"]),
    ("plan-quick", ["plan", "experiments/pasta/all.yaml", "--with", "quick"]),
    ("list-experiments", ["list", "experiments"]),
    ("list-experiments-quick", ["list", "experiments", "--with", "quick"]),
    ("list-artifacts", ["list", "artifacts"]),
    ("list-datasets", ["list", "datasets"]),
    ("list-datasets", ["dataset", "list"]),
    ("dataset-info", ["dataset", "info", "tiny", "secret", "absent"]),
    ("dataset-verify", ["dataset", "verify"]),
    ("show", ["show", "pasta.cpu.coo"]),
    ("help", ["--help"]),
    ("plan-help", ["plan", "--help"]),
])
def test_golden(tree, name, args):
    output = tree.stdout(*args)
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("RETENSOR_UPDATE_GOLDEN"):
        path.write_text(output)
    assert output == path.read_text()


@pytest.mark.parametrize("name, args", [
    ("layout-fig1", ["pasta-fig1.tns", "--block", "2", "--plain", "2"]),
    ("layout-fig1-dense", ["pasta-fig1-dense.tns", "--block", "2", "--dense", "2"]),
])
def test_layouts_are_those_of_the_papers_figures_1_and_2(tree, name, args):
    for file in (ROOT / "datasets").glob("pasta-fig1*.tns"):
        (tree.root / file.name).write_bytes(file.read_bytes())
    output = tree.stdout("layout", *args)
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("RETENSOR_UPDATE_GOLDEN"):
        path.write_text(output)
    assert output == path.read_text()


FINDINGS = """schema: 1
paper: p
figures:
  cells: {place: section 1, is: 24}
  nonzeros: {place: section 1, is: 6}
  density: {place: abstract, is: 25%}
rules:
  - id: P-A01
    says: {place: abstract, text: density}
    against: {place: section 1, text: nonzeros over cells}
    check: density = nonzeros / cells
"""


def test_audit_finds_a_wrong_figure_and_passes_a_right_one(tree):
    path = tree.root / "papers" / "p" / "paper" / "findings.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(FINDINGS)
    right = "p: checks: 1 fit, 0 do not, 0 open; findings: 0 of wording, 0 besides"
    assert tree.stdout("audit", "--strict").splitlines()[0] == right
    assert "density = nonzeros / cells: fits 1 of 1" in tree.stdout("audit", "p", "--all")
    path.write_text(FINDINGS.replace("25%", "35%"))
    wrong = tree.stdout("audit")
    assert "findings: 0 of wording, 1 besides" in wrong
    assert "left 0.35, right 0.25, left / right 1.4" in wrong
    assert json.loads(tree.stdout("audit", "p", "--json", "--strict", code=1))[0]["findings"] == 1
    path.write_text(FINDINGS.replace("nonzeros / cells", "nonzeros /"))
    assert "papers/p/paper/findings.yaml:11:" in tree.refusal("audit")
    assert "no findings of a paper 'q', expected one of p" in tree.refusal("audit", "q")


def test_findings_of_the_tree_are_well_formed():
    done = subprocess.run([RETENSOR, "audit", "--json"], cwd=ROOT, text=True, capture_output=True,
                          check=True)
    assert all(paper["fit"] > 0 for paper in json.loads(done.stdout))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(tree, command):
    text = tree.stdout(command, "--help")
    assert text.startswith(f"Usage: retensor {command}")
    assert "--help" in text
    assert f"Example:\n  retensor {command}" in text
    assert re.search(f"^  {command} ", tree.stdout("--help"), re.MULTILINE)


def test_methods_are_listed_with_their_summary(tree):
    lines = tree.stdout("list", "methods").splitlines()
    assert any(line.startswith("pasta.cpu.coo  ") and "PASTA" in line for line in lines)


def test_methods_as_json_say_what_they_solve_and_which_convert_least(tree):
    listed = json.loads(tree.stdout("list", "methods", "--json"))
    table = tree.stdout("list", "methods").split("\n\n")[0].splitlines()
    assert [method["id"] for method in listed] == [line.split()[0] for line in table[1:]]
    methods = {method["id"]: method for method in listed}
    assert methods["pasta.cpu.coo"].items() >= {
        "backend": "cpu", "operations": ["tew", "ts", "ttv", "ttm", "mttkrp"],
        "converts_least": True}.items()
    assert not methods["pasta.cpu.hicoo"]["converts_least"]
    # The report's page of methods has something to weigh the others against.
    for operation in ("mttkrp", "contraction", "spmm"):
        assert any(m["converts_least"] for m in listed
                   if operation in m["operations"] and m["backend"] == "cuda")


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_methods_are_listed_by_their_backend(tree, backend):
    listed = json.loads(tree.stdout("list", "methods", "--backend", backend, "--json"))
    assert listed and {method["backend"] for method in listed} == {backend}
    others = json.loads(tree.stdout("list", "methods", "--json"))
    assert len(listed) < len(others)


def test_experiments_are_listed_by_the_backend_that_they_measure_in_a_profile(tree):
    assert tree.stdout("list", "experiments", "--backend", "cuda") == ""
    tree.spec(profile=("  quick: {", "  quick: {methods: [{id: pasta.cuda.coo}], "))
    listed = tree.stdout("list", "experiments", "--with", "quick", "--backend", "cuda")
    assert listed == "experiments/pasta/changed.yaml\n"
    assert tree.stdout("list", "experiments", "--backend", "cuda") == ""
    assert "changed" in tree.stdout("list", "experiments", "--backend", "cpu")


@pytest.mark.parametrize("old, new, where, nearest", [
    ("operation: [tew", "operation: [twe", "changed.yaml:5:13", "'tew'"),
    ("exclude:", "exclud:", "changed.yaml:8:1", "'exclude'"),
    ("pasta.cpu.coo", "pasta.cpu.cooo", "changed.yaml:7:16", "'pasta.cpu.coo'"),
    ("{threads:", "{thread:", "changed.yaml:7:49", "'threads'"),
    ("[1, 2]}}", "[1, -2]}}", "changed.yaml:7:53", "0 to 4096"),
    ("variant: [add", "variant: [ad", "changed.yaml:6:11", "'add'"),
    ("  quick:", "  quik:", "changed.yaml:11:3", "'quick'"),
    ("[tiny]", "[tinny]", "", "'tiny'"),
    ("../shared/sets.yaml", "../../../secrets.yaml", "changed.yaml:4:10", "experiments/"),
])
def test_mistakes_in_a_spec_end_with_2_place_and_nearest_name(tree, old, new, where, nearest):
    spec = tree.spec(change=(old, new))
    message = tree.refusal("plan", spec, "--with", "quick" if old == "[tiny]" else "")
    assert where in message
    assert nearest in message


def test_more_nonzeros_than_a_method_counts_are_declined_before_they_are_read(tree):
    registry = tree.root / "datasets/registry.yaml"
    registry.write_text(registry.read_text() +
                        "  vast: {kind: real, form: tensor, source: elsewhere, licence: none, "
                        "dims: [9000, 9000, 9000], nnz: 4294967296}\n")
    (tree.root / "experiments/pasta/one.yaml").write_text(
        "schema: 1\nartifact: pasta/one\ntitle: One\noperation: mttkrp_all\n"
        "axes: {dataset: vast, mode: all, rank: 4}\n"
        "methods: [{id: flycoo.cuda.copies}, {id: pasta.cpu.coo}]\n")
    plan = json.loads(tree.run("plan", "experiments/pasta/one.yaml", "--json").stdout)[0]
    assert [case["case"]["method"] for case in plan["cases"]] == ["pasta.cpu.coo"]
    assert [skip["reason"] for skip in plan["skips"]] == ["supports fewer than 2^32 nonzeros"]


def test_a_mistake_in_an_included_file_is_found_there(tree):
    (tree.root / "experiments/shared/sets.yaml").write_text(SETS.replace("rank", "rnak"))
    assert "shared/sets.yaml:2:" in tree.refusal("plan", "experiments/pasta/all.yaml")


@pytest.mark.parametrize("args, words", [
    ([], "expected a command"),
    (["plann"], "'plan'"),
    (["plan"], "at least one spec"),
    (["plan", "none.yaml"], "none.yaml: there is no such file"),
    (["plan", "experiments"], "experiments: found a folder, expected a file"),
    (["plan", "--wiht", "quick", "x.yaml"], "'--with'"),
    (["plan", "experiments/pasta/all.yaml", "--with", "fast"], "quick"),
    (["plan", "experiments/pasta/one.yaml", "--with", "quick"], "no profiles"),
    (["list", "method"], "'methods'"),
    (["list", "experiments", "--with", "quik"], "'quick'"),
    (["list"], "methods, datasets, experiments or artifacts"),
    (["list", "experiments", "--backend", "gpu"], "expected one of cpu, cuda"),
    (["list", "methods", "--backend", "gpu"], "expected one of cpu, cuda"),
    (["list", "datasets", "--backend", "cpu"], "--backend does nothing for list datasets"),
    (["list", "methods", "--with", "quick"], "--with does nothing for list methods"),
    (["run", "experiments/pasta/one.yaml", "--lock-clock", "0"], "--lock-clock: found 0"),
    (["advise", "tiny", "--variant", "add"], "--variant does nothing with --operation mttkrp"),
    (["dataset", "info", "tiny", "--to", "mtx"], "--to does nothing for dataset info"),
    (["dataset", "convert", "a.tns", "b.tns", "--paper", "x"], "--paper does nothing for dataset"),
    (["show", "pasta.cpu.co"], "'pasta.cpu.coo'"),
    (["dataset", "mke"], "'make'"),
    (["dataset", "make", "tine"], "'tiny'"),
    (["dataset", "make", "secret"], "published facts only"),
    (["dataset", "make", "tiny", "x.csv"], "'.csv' names no format"),
    (["dataset", "convert", "none.tns", "x.tns"], "none.tns"),
    (["layout", "tiny", "--block", "3"], "power of two"),
    (["layout", "tiny", "--plain", "3"], "expected 0 to 2"),
    (["layout", "tiny", "--dense", "0", "1", "2"], "at least one must be left out"),
    (["layout", "matmul-16-16-16"], "at most 1000"),
    (["run", "experiments/pasta/view.yaml"], "draws the rows of pasta/one"),
    (["plot", "experiments/pasta/one.yaml"], "no result files"),
    (["report"], "no result files"),
    (["rows"], "no result files"),
    (["compare", "a.jsonl"], "two result files"),
    (["compare", "a.jsonl", "--by-method", "x"], "takes two methods"),
    (["compare", "a.jsonl", "b.jsonl", "--threshold", "-1"], "percentage"),
])
def test_bad_arguments_end_with_2_in_one_line(tree, args, words):
    assert words in tree.refusal(*args)


def test_a_malformed_tensor_is_refused_at_its_place(tree):
    (tree.root / "bad.tns").write_text("1 1 1\n1 x 1\n")
    assert "bad.tns:2:3: found" in tree.refusal("dataset", "convert", "bad.tns", "out.tns")


def test_values_at_equal_coordinates_become_one_on_request(tree):
    (tree.root / "twice.tns").write_text("1 1 2\n2 2 5\n1 1 3\n")
    words = "'retensor dataset convert --duplicates sum' adds them up"
    assert words in tree.refusal("dataset", "convert", "twice.tns", "once.tns")
    for policy, value in (("sum", 5), ("last", 3)):
        tree.run("dataset", "convert", "twice.tns", "once.tns", "--duplicates", policy)
        assert (tree.root / "once.tns").read_text() == f"2\n2 2\n1 1 {value}\n2 2 5\n"
    assert "--duplicates: found 'max'" in tree.refusal("dataset", "convert", "twice.tns",
                                                       "once.tns", "--duplicates", "max")


@pytest.mark.parametrize("args, words", [
    (["convert", "a.tns", "b.tns"], "did you mean 'dataset convert'?"),
    (["methods"], "did you mean 'list methods'?"),
    (["plam"], "did you mean 'plan'?"),
    (["cp", "tiny", "--sweeps", "3"], "unknown option '--sweeps'; did you mean '--max-sweeps'?"),
    (["help", "cp", "tucker"], "help: found more arguments than 'retensor help [COMMAND]' takes"),
    (["cp", "tiny", "--rank", "-3"], "--rank: found -3, expected a whole number from 0 on"),
    (["advise", "tiny", "--rank", "-3"], "--rank: found -3"),
    (["tucker", "tiny", "--ranks", "-2", "2", "2"], "--ranks: found -2"),
    (["tucker", "tiny", "--ranks", "2,2,2"],
     "--ranks: found 2,2,2, expected whole numbers from 0 on, separated by blanks"),
    (["cp", "tiny", "--rank", "3.5"], "--rank: found 3.5, expected a whole number from 0 on"),
    (["cp", "tiny", "--rank", "99999999999999999999"], "--rank: found 99999999999999999999, exp"),
    (["cp", "tiny", "--rank", "3", "--max-sweeps", "999999999999"],
     "--max-sweeps: found 999999999999, expected at most 2147483647"),
    (["cp", "tiny", "--rank", "99999999999999999999"], "expected at most 18446744073709551615"),
    (["bench", "tiny", "--mode", "-99999999999999999999"],
     "expected at least -9223372036854775808"),
    (["cp", "tiny", "--rank", ""], "--rank: found nothing, expected a whole number from 0 on"),
    (["cp", "tiny", "--rank", "3", "--seed", "-1"], "--seed: found -1"),
    (["cp", "tiny", "--rank", "3", "--tolerance", "small"],
     "--tolerance: found small, expected a number"),
    (["bench", "tiny", "--mode", "1st"], "--mode: found 1st, expected whole numbers, separated by"),
    (["advise", "tiny", "--error", "-1"], "--error: found -1, expected 0 or more"),
    (["cp", "lost.tns", "--rank", "3"], "expected a tensor file or a name that"),
    (["cp", "experiments", "--rank", "3"], "expected a tensor file or a name that"),
])
def test_what_was_meant_is_said(tree, args, words):
    assert words in tree.refusal(*args)


def test_a_tensor_of_order_1_and_an_empty_one_are_refused_in_words(tree):
    (tree.root / "line.tns").write_text("1 2\n3 1\n")
    assert "found a tensor of order 1, expected 2 or more" in tree.refusal(
        "tucker", "line.tns", "--ranks", "1", "--method", "tucker.cpu.chain")
    assert "order 1" in tree.refusal("tucker", "line.tns", "--ranks", "1")
    (tree.root / "empty.tns").write_text("3\n4 5 6\n")
    assert "the tensor has no nonzeros" in tree.refusal("advise", "empty.tns")


@pytest.mark.parametrize("command", [["cp", "--rank", "500"],
                                     ["tucker", "--ranks", "500", "1", "500"]])
def test_factors_beyond_the_memory_are_refused_before_they_are_made(tree, command):
    (tree.root / "hashed.tns").write_text("1 1 4000000000 1\n2 3 5 2\n")
    done = tree.run(command[0], "hashed.tns", *command[1:], code=3)
    assert re.search(r"the factors take .* or more, this machine has .* of memory", done.stderr)


def test_a_made_file_travels(tree, tmp_path):
    assert tree.stdout("dataset", "make", "tiny", "carried.tnsb") == "carried.tnsb\n"
    (tree.root / "datasets/tiny.tns").unlink()
    (tree.root / "cache" / "tensors").rename(tree.root / "lost")
    assert "no such file" in tree.refusal("dataset", "make", "tiny")
    (tree.root / "carried.tnsb").rename(tree.root / "cache" / "tiny.tnsb")
    assert tree.stdout("dataset", "make", "tiny") == "ROOT/cache/tiny.tnsb\n"
    tree.run("dataset", "convert", "cache/tiny.tnsb", "back.tns")
    assert len((tree.root / "back.tns").read_text().splitlines()) == 2 + 6


def test_verify_finds_a_set_that_is_not_what_the_registry_states(tree):
    registry = tree.root / "datasets" / "registry.yaml"
    registry.write_text(REGISTRY.replace("nnz: 6", "nnz: 5"))
    assert "wrong    tiny: " in tree.stdout("dataset", "verify", "tiny", code=1)


STAND_IN = """schema: 1
datasets:
  tiny-like:
    {kind: stand-in, form: tensor, dims: [4, 3, 2], nnz: 6, source: s, licence: CC0,
     make: {recipe: power_law, exponent: [0.5, 0.5, 0], seed: 1},
     stand_in: {for: tiny, fitted_to: [P-C1], residual: {nnz: 0}, assumed: [exponent],
                variants: {seed: {seed: 2}, skew: {exponent: 3}, clustering: {run: 2, group: 3}}}}
"""


def test_a_stand_in_of_an_included_registry_has_its_variants_by_name(tree):
    datasets = tree.root / "datasets"
    (datasets / "stand-ins.yaml").write_text(STAND_IN)
    (datasets / "registry.yaml").write_text(
        REGISTRY.replace("datasets:", "include: [stand-ins.yaml]\ndatasets:", 1))
    listed = [line for line in tree.stdout("list", "datasets").splitlines() if "-like" in line]
    assert len(listed) == 1 and "stand-in for tiny" in listed[0]
    info = tree.stdout("dataset", "info", "tiny-like@skew")
    for part in ("for tiny, variant skew", '"exponent":3', '["P-C1"]', "@clustering"):
        assert part in info
    made = [tree.stdout("dataset", "make", f"tiny-like{variant}", "out.tns") and
            (tree.root / "out.tns").read_text() for variant in ("", "@seed", "@skew")]
    assert len(set(made)) == 3
    assert all(text.splitlines()[1].split() == ["4", "3", "2"] for text in made)
    assert "'tiny-like@skew'" in tree.refusal("dataset", "make", "tiny-like@skwe")

    spec = tree.spec(change=("[tiny]", "[tiny-like@all]"))
    plan = tree.stdout("plan", spec, "--with", "quick")
    assert {f"tiny-like{variant}" for variant in ("", "@seed", "@skew", "@clustering")} <= set(
        plan.split())
    (datasets / "stand-ins.yaml").write_text(STAND_IN.replace("run: 2", "rum: 2"))
    message = tree.refusal("list", "datasets")
    assert "stand-ins.yaml:7:" in message and "'run'" in message


def test_verify_and_info_leave_out_what_takes_long_to_make(tree):
    registry = tree.root / "datasets" / "registry.yaml"
    registry.write_text(REGISTRY + "  big: {kind: generated, form: tensor, dims: [9000, 9000], "
                        "nnz: 6000000, source: s, licence: CC0, make: {recipe: uniform}}\n")
    assert "skipped  big: not made yet" in tree.stdout("dataset", "verify")
    assert "not made yet: retensor dataset make big" in tree.stdout("dataset", "info", "big")


def test_sizes_that_nobody_published_are_not_zero(tree):
    registry = tree.root / "datasets" / "registry.yaml"
    registry.write_text(REGISTRY + "  raw: {kind: real, form: tensor, dims: [9, '?'], nnz: 0, "
                        "source: s, licence: none}\n")
    told = tree.stdout("dataset", "info", "raw")
    assert [line.split()[-1] for line in told.splitlines()[3:6]] == ["?", "?", "?"]


def test_a_data_set_may_be_a_path(tree):
    spec = tree.spec(change=("[tiny]", "[datasets/tiny.tns]"))
    lines = tree.stdout("plan", spec, "--with", "quick").splitlines()
    assert len([line for line in lines if " datasets/tiny.tns " in line]) == 2 * 3 * 2


def test_doctor_says_why_there_is_no_gpu_and_what_is_missing(tree):
    text = tree.stdout("doctor")
    for word in ("CPU", "GPU", "python", "tiny", "not here"):
        assert word in text
    broken = tree.stdout("doctor", RETENSOR_PYTHON="/bin/false")
    assert "missing: jinja2, matplotlib, pandas, yaml" in broken


def test_output_that_can_not_be_written_is_a_system_error(tree):
    with open("/dev/full", "w") as full:
        done = subprocess.run([RETENSOR, "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3
    assert "standard output" in done.stderr


def test_plots_get_their_arguments_unchanged(tree):
    """No shell stands between: blanks and quotes of a path arrive as they are. What is read stands
    in no folder that outlives the command."""
    (tree.root / "plots" / "retensor" / "cli.py").write_text(
        "import json, os, sys\n"
        "given = {a: open(b).read() for a, b in zip(sys.argv, sys.argv[1:]) if os.path.isfile(b)}\n"
        "print(json.dumps([sys.argv[1:], given]))\n"
        "sys.exit(2 if 'no' in sys.argv else 0)\n")
    rows = "rows of 'one'; $HOME.jsonl"
    for name in (rows, "r"):
        (tree.root / name).write_text("")
    (tree.root / rows).write_text(json.dumps(
        {"kind": "row", "schema": 1, "session": "s", "key": "k", "status": "ok",
         "source_hash": "of older code", "case": {"method": "pasta.cpu.coo"}}) + "\n")
    (tree.root / "papers" / "p" / "paper").mkdir(parents=True)
    (tree.root / "papers" / "p" / "paper" / "claims.yaml").write_text(
        "schema: 1\npaper: p\nclaims:\n  - {id: P-1, place: Table I, kind: TAB, asks: setting, "
        "states: s, published: {value: 6},\n     hardware: any, tolerance: {absolute: 0}, "
        "query: {where: {case.artifact: registry, original: tiny}, value: data.nnz, "
        "reduce: median}}\n")
    argv, given = json.loads(tree.stdout("report", "--rows", rows, "--out", "o"))
    assert argv[0] == "report"
    row = json.loads(given["--rows"])
    assert (row["key"], row["file"], row["currency"]) == ("k", rows, "stale")
    verdicts = json.loads(given["--verdicts"])
    assert [(v["id"], v["verdict"], v["measured"]) for v in verdicts] == [("P-1", "consistent", 6)]
    assert json.loads(given["--audits"]) == []
    methods = json.loads(given["--methods"])
    assert methods == json.loads(tree.stdout("list", "methods", "--json"))
    listed = json.loads(given["--artifacts"])
    assert [entry["specs"][0]["path"] for entry in listed] == [
        f"experiments/pasta/{name}.yaml" for name in ("all", "one", "view")]
    assert list((tree.root / "o").iterdir()) == []
    assert not Path(argv[argv.index("--rows") + 1]).exists()
    spec = "experiments/pasta/one.yaml"
    argv, _ = json.loads(tree.stdout("plot", spec, "--rows", "r", "--out", "o"))
    assert argv[:3] == ["figure", "--spec", spec]
    argv, _ = json.loads(tree.stdout("report", "--rows", "r", "--out", "o", "--specs", "a b", "c"))
    assert argv[1:4] == ["--specs", "a b", "c"]
    tree.run("report", "--rows", "r", "--out", "no", code=2)


def test_rows_are_printed_with_what_follows_from_them(tree):
    head = {"schema": 1, "session": "s"}
    lines = [{"kind": "session", "machine": {"cpu": {"model": "a CPU"}, "gpu": None}, **head},
             {"kind": "ceilings", "backend": "cpu", **head, "ceilings": [
                 {"what": "copy_dram", "value": 10.0}, {"what": "triad_dram", "value": 20.0},
                 {"what": "peak_f32", "value": 100.0}]}]
    lines += [{"kind": "row", "key": key, "status": "ok", "v": v, "work": {"intensity": 0.5},
               "case": {"method": "pasta.cpu.coo"}, "source_hash": "of older code", **head}
              for key, v in (("k", 1), ("l", 2), ("k", 3))]
    (tree.root / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"to')
    warning, session, ceilings, *rows = map(json.loads, tree.stdout("rows", "r.jsonl").splitlines())
    assert warning["kind"] == "warning" and "r.jsonl:6: the last line is torn" in warning["text"]
    assert (session["kind"], session["devices"]) == ("session", ["a CPU"])
    assert (ceilings["device"], ceilings["gbytes"], ceilings["ridge"]) == (
        "a CPU", {"dram": 20.0}, 5.0)
    assert [(row["line"], row["v"]) for row in rows] == [(4, 2), (5, 3)]
    for row in rows:
        assert (row["backend"], row["device"], row["currency"], row["stale"], row["file"]) == (
            "cpu", "a CPU", "stale", True, "r.jsonl")
        assert row["roofline"] == {"gbytes": 20.0, "gflops": 10.0, "ridge": 5.0}
        assert "machine" not in row
    (tree.root / "kept" / "here").mkdir(parents=True)
    (tree.root / "r.jsonl").rename(tree.root / "kept" / "here" / "r.jsonl")
    below = list(map(json.loads, tree.stdout("rows", "kept").splitlines()))
    assert [row["v"] for row in below if row["kind"] == "row"] == [2, 3]
    (tree.root / "empty").mkdir()
    assert "empty: found no result file (.jsonl) below it" in tree.refusal("rows", "empty")
    (tree.root / "r.jsonl").write_text(json.dumps({"kind": "row", **head}))
    assert "r.jsonl:1: found a row that lacks its key or case" in tree.refusal("rows", "r.jsonl")


CLAIM = """  - {{id: {id}, place: Table {place}, kind: {kind}, asks: setting, states: {states},
     published: {{value: {value}}}, hardware: any, tolerance: {{absolute: 0}}, query: {{where:
     {{case.artifact: registry, original: tiny}}, value: data.nnz, reduce: median}}}}
"""


def claims_file(tree, paper, *claims):
    path = tree.root / "papers" / paper / "paper" / "claims.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"schema: 1\npaper: {paper}\nclaims:\n" + "".join(
        CLAIM.format(**claim) for claim in claims))


def test_verdicts_are_filtered(tree):
    (tree.root / "rows.jsonl").write_text("")
    claims_file(tree, "p",
                {"id": "P-1", "place": "I", "kind": "TAB", "states": "sizes", "value": 6},
                {"id": "P-2", "place": "II", "kind": "DATA", "states": "HiCOO sizes", "value": 7})
    claims_file(tree, "q", {"id": "Q-1", "place": "III", "kind": "TAB", "states": "q", "value": 6})

    def ids(*args):
        listed = json.loads(tree.stdout("verdict", "--rows", "rows.jsonl", "--json", *args))
        return [verdict["id"] for verdict in listed]

    assert ids() == ["P-1", "P-2", "Q-1"]
    assert ids("--paper", "q") == ["Q-1"] and ids("--paper", "q", "p") == ["Q-1", "P-1", "P-2"]
    assert ids("--verdict", "inconsistent") == ["P-2"]
    assert ids("--verdict", "inconsistent", "consistent", "--kind", "TAB") == ["P-1", "Q-1"]
    assert ids("--text", "hicoo") == ["P-2"] and ids("--text", "TABLE I") == ["P-1", "P-2", "Q-1"]
    assert ids("--text", "nowhere") == []
    assert ids("--data", "other real") == ["P-1", "P-2", "Q-1"]
    table = tree.stdout("verdict", "p", "--rows", "rows.jsonl", "--kind", "DATA")
    assert table.splitlines()[0].split()[:3] == ["claim", "verdict", "published"]
    assert "P-2" in table and "P-1" not in table and "1 does not hold: inconsistent" in table
    # What is filtered out fails nothing.
    tree.run("verdict", "--rows", "rows.jsonl", "--strict", code=1)
    tree.run("verdict", "--rows", "rows.jsonl", "--strict", "--kind", "TAB")
    assert "--verdict: found 'consistant', expected one of reproduced, " in tree.refusal(
        "verdict", "--rows", "rows.jsonl", "--verdict", "consistant")
    assert "--data: found 'imaginary', expected one of real, real pattern, " in tree.refusal(
        "verdict", "--rows", "rows.jsonl", "--data", "imaginary")


def test_words_that_no_claim_has_today_filter_all_of_them(tree):
    (tree.root / "rows.jsonl").write_text("")
    claims_file(tree, "p",
                {"id": "P-1", "place": "I", "kind": "TAB", "states": "sizes", "value": 6})
    for words in (("--verdict", "reproduced"), ("--verdict", "contradicts itself"),
                  ("--kind", "QUAL"), ("--data", "real")):
        assert tree.stdout("verdict", "--rows", "rows.jsonl", "--json", *words) == "[]\n"


def test_what_a_data_set_does_not_state_is_not_made_up(tree):
    (tree.root / "own.tns").write_text("1 2 3 4.5\n")
    told = tree.stdout("dataset", "info", "own.tns").splitlines()
    assert any(line.split() == ["pass", "on", "not", "stated"] for line in told)
    listed = subprocess.run([RETENSOR, "list", "datasets"], cwd=ROOT, text=True, check=True,
                            capture_output=True, timeout=60).stdout.splitlines()
    line = next(line for line in listed if line.startswith("chicago-crime-geo "))
    assert line.split()[1:4] == ["real", "tensor", "?"]


ARTIFACTS = """schema: 1
paper: pasta
artifacts:
  - {place: Fig. 2, drawing: a sketch}
  - {place: Table I, specs: [pasta/one]}
  - {place: Fig. 1, specs: [pasta/view, pasta/one]}
"""


def artifacts_file(tree, text=ARTIFACTS):
    path = tree.root / "papers" / "pasta" / "paper" / "artifacts.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_artifacts_stand_in_the_papers_order_with_what_they_need_here(tree):
    artifacts_file(tree)
    listed = json.loads(tree.stdout("list", "artifacts", "--json"))
    assert [(entry["place"], entry["drawing"], [spec["artifact"] for spec in entry["specs"]])
            for entry in listed] == [
        ("Fig. 2", "a sketch", []), ("Table I", "", ["pasta/one"]),
        ("Fig. 1", "", ["pasta/view", "pasta/one"]), ("", "", ["pasta/all"])]
    view, rest = listed[2]["specs"][0], listed[3]["specs"][0]
    assert (view["state"], view["cases"], view["measured"]) == ("can run", 1, "not run")
    assert rest["needs_data"] == ["absent"] and 0 < rest["runnable"] < rest["cases"]
    assert rest["state"] == f"{rest['runnable']} of {rest['cases']} can run, else needs data absent"
    text = tree.stdout("list", "artifacts")
    assert re.search(r"^pasta +Fig. 2 +- +without numbers +- +- +a sketch$", text, re.MULTILINE)
    quick = json.loads(tree.stdout("list", "artifacts", "--json", "--with", "quick"))
    assert [entry["specs"] for entry in quick[:3]] == [[], [], []]


@pytest.mark.parametrize("old, new, message", [
    ("[pasta/one]", "[pasta/lost]", ":5:5: found no spec of the artifact 'pasta/lost'"),
    ("Table I", "Fig. 2", "'Fig. 2' a second time"),
    (", drawing: a sketch", "", "none of specs, drawing"),
    ("drawing: a sketch", "drawing: a sketch, specs: [pasta/one]", "specs beside drawing"),
    ("[pasta/one]", "[]", "an empty list"), ("drawing:", "drawn:", "unknown key 'drawn'"),
    ("schema: 1", "schema: 2", "schema")])
def test_bad_lists_of_artifacts_are_refused(tree, old, new, message):
    artifacts_file(tree, ARTIFACTS.replace(old, new, 1))
    assert message in tree.refusal("list", "artifacts")


def test_specs_of_the_tree_plan():
    listed = subprocess.run([RETENSOR, "list", "experiments"], cwd=ROOT, text=True,
                            capture_output=True, check=True).stdout.splitlines()
    assert listed and all(Path(ROOT, path).exists() for path in listed)
    plans = json.loads(subprocess.run([RETENSOR, "plan", *listed, "--json"], cwd=ROOT, text=True,
                                      capture_output=True, check=True).stdout)
    assert len(plans) == len(listed)
