"""retensor schema: what it prints takes all files of the tree and refuses what the program does."""
import json
import os
import re
import subprocess
from functools import cache

import pytest
import yaml

from sweeps import RETENSOR, ROOT

jsonschema = pytest.importorskip("jsonschema")

FILES = {
    "spec": sorted(ROOT.glob("experiments/*/*.yaml")),
    "registry": [p for p in sorted(ROOT.glob("datasets/*.yaml")) if p.stem != "checksums"],
    "recipes": sorted(ROOT.glob("datasets/recipes/*.yaml")),
    **{kind: sorted(ROOT.glob(f"papers/**/{kind}.yaml"))
       for kind in ("claims", "findings", "artifacts")},
}


class Core(yaml.SafeLoader):
    """YAML with the scalars of the core schema, as the program and editors read them."""
    yaml_implicit_resolvers = {}


for tag, expression in {
        "bool": "true|false", "null": "~|null|", "int": "[-+]?[0-9]+",
        "float": r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"}.items():
    Core.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{expression})$"), None)


def parsed(text):
    return yaml.load(text, Core)


@cache
def validator(kind):
    printed = subprocess.run([RETENSOR, "schema", kind], check=True, text=True,
                             capture_output=True).stdout
    schema = json.loads(printed)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("kind", FILES)
def test_every_file_of_the_tree_has_the_printed_form(kind):
    assert FILES[kind]
    for path in FILES[kind]:
        errors = [f"{path}: {error.json_path}: {error.message}"
                  for error in validator(kind).iter_errors(parsed(path.read_text()))]
        assert errors == []


EXAMPLES = {
    "spec": ("plan experiments/p/s.yaml", """schema: 1
artifact: p/s
title: a title
operation: [ts, ttm]
variant: mul
axes: {dataset: tiny, mode: all, rank: [1, 2], seed: 1}
zip: [{dtype: [f32, f64], values: [stored, uniform]}]
exclude: [{when: {rank: 1, params.threads: 2}, reason: shown once}]
methods: [{id: pasta.cpu.coo, params: {threads: [1, 2]}}]
measure: {warmup: 0, samples: 3, timeout: 60s, memory: 0, order: rotation, ceilings: true}
profiles: {quick: , full: {axes: {rank: 4}, measure: {memory: 1GiB}}}
figure: {kind: lines, x: rank}
"""),
    "registry": ("dataset list", """schema: 1
datasets:
  tiny: {kind: real, form: tensor, dims: [4, 3, 2], nnz: 6, source: by hand, licence: none,
         fetch: {url: 'https://a.org/t.tns', sha256: %s, bytes: 9}}
  like: {kind: stand-in, form: tensor, dims: [4, 3, 2], nnz: 6, source: made, licence: CC0,
         make: {recipe: uniform, seed: 1},
         stand_in: {for: tiny, fitted_to: [P-1], residual: {},
                    variants: {seed: {seed: 2}, skew: {seed: 3}, clustering: {seed: 4}}}}
""" % ("a1" * 32)),
    "claims": ("verdict", """schema: 1
paper: p
claims:
  - {id: P-1, place: Table I, kind: TAB, asks: measurement, states: a ratio, hardware: {gpu: A100},
     published: {range: [2, 3], unit: x}, tolerance: {factor: 2},
     query: {where: {method: a.cpu.x}, value: v, reduce: geomean, per: [dataset],
             ratio_to: {where: {method: [b.cpu.y, c.cpu.z]}, code: own}}}
  - {id: P-2, place: Table I, kind: NUM, asks: measurement, states: a time, hardware: any
     , untested: no machine}
  - {id: P-3, place: Table I, kind: QUAL, asks: property, states: an order, hardware: any,
     published: {value: 1}, tolerance: {absolute: 0},
     query: {orders: [{where: {rank: 1}}, {where: {rank: 2}}], value: v, reduce: median}}
"""),
    "findings": ("audit", """schema: 1
paper: p
tables:
  t: {place: Table I, columns: [I, share], rows: {one: [4, 25%], two: [8, ~]}}
figures:
  most: {place: section 1, is: 480}
rules:
  - {id: P-A1, says: {place: a, text: b}, against: {place: c, text: d}, severity: choice,
     table: t, rows: [one], check: I < most, instead: [{states: more, check: I > most}]}
"""),
    "artifacts": ("list artifacts", """schema: 1
paper: p
artifacts:
  - {place: Table I, specs: [p/s]}
  - {place: Fig. 1, drawing: a sketch}
"""),
}
MISTAKES = [
    ("spec", "title: a title", "titel: a title"), ("spec", "title: a title\n", ""),
    ("spec", "schema: 1", "schema: 2"), ("spec", "operation: [ts, ttm]", "operation: tz"),
    ("spec", "variant: mul", "variant: mult"), ("spec", "mode: all", "mode: 8"),
    ("spec", "rank: [1, 2]", "rank: ['1']"), ("spec", "rank: [1, 2]", "rank: []"),
    ("spec", "dataset: tiny", "dataset: 7"), ("spec", "f64]", "f65]"),
    ("spec", "reason: shown once", "reasons: x"), ("spec", "params.threads", "parms.threads"),
    ("spec", "{id: pasta.cpu.coo, ", "{"), ("spec", "samples: 3", "samples: 0"),
    ("spec", "60s", "60"), ("spec", "1GiB", "1GB"), ("spec", "ceilings: true", "ceilings: 1"),
    ("spec", "quick: ,", "quik: ,"), ("spec", "{axes: {rank: 4}", "{artifact: a/b"),
    ("spec", "x: rank}", "x: rank, names: {'1': [2]}}"),
    ("spec", "kind: lines, ", ""), ("spec", "{kind: lines, x: rank}", "lines"),
    ("registry", "kind: real", "kind: rael"), ("registry", "dims: [4, 3, 2]", "dims: [4, 0, 2]"),
    ("registry", "nnz: 6", "nnz: six"), ("registry", "source: by hand, ", ""),
    ("registry", "https:", "http:"), ("registry", "a1a1", "A1a1"),
    ("registry", "  tiny:", "  a/b:"),
    ("registry", "recipe: uniform, seed", "recipe: uniform, sead"),
    ("registry", "skew: {seed: 3}, ", ""), ("registry", "bytes: 9", "bytes: 0"),
    ("claims", "kind: TAB", "kind: TABLE"), ("claims", "tolerance: {factor: 2}", "tolerance: {}"),
    ("claims", "factor: 2", "factor: 0.5"), ("claims", "range: [2, 3]", "range: [2]"),
    ("claims", "range: [2, 3]", "range: [2, 3], value: 2"), ("claims", "gpu:", "tpu:"),
    ("claims", "untested: no machine", "tested: no"), ("claims", "geomean", "geomaen"),
    ("claims", ", untested: no machine", ""), ("claims", "where: {method: a.cpu.x}, ", ""),
    ("claims", "published: {value: 1}, ", ""), ("claims", ", {where: {rank: 2}}]", "]"),
    ("findings", "columns: [I", "columns: [1I"), ("findings", "place: section 1, ", ""),
    ("findings", "severity: choice", "severity: bad"), ("findings", "table: t, ", ""),
    ("findings", "check: I <", "chek: I <"), ("findings", "one: [4, 25%]", "one: 4"),
    ("artifacts", "place: Table I, ", ""), ("artifacts", "specs: [p/s]", "specs: p/s"),
    ("artifacts", "drawing: a sketch", "drawing: a sketch, specs: [p/s]"),
    ("artifacts", ", drawing: a sketch", ""), ("artifacts", "paper: p", "papers: p"),
]


def answer(kind, text, root):
    """Of the program over a tree with the examples, this one replaced."""
    paper = FILES["claims"][0].relative_to(ROOT / "papers").parts[1:-1]
    folders = {"spec": "experiments/p/s", "registry": "datasets/registry",
               **{k: "/".join(["papers/p", *paper, k])
                  for k in ("claims", "findings", "artifacts")}}
    (root / "experiments/schema").mkdir(parents=True)
    (root / "experiments/schema/README.md").touch()
    for other, path in folders.items():
        file = root / (path + ".yaml")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text if other == kind else EXAMPLES[other][1])
    return subprocess.run([RETENSOR, *EXAMPLES[kind][0].split()], cwd=root, text=True,
                          capture_output=True, timeout=120,
                          env=os.environ | {"RETENSOR_ROOT": str(root)})


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_examples_pass(kind, tmp_path):
    text = EXAMPLES[kind][1]
    assert list(validator(kind).iter_errors(parsed(text))) == []
    done = answer(kind, text, tmp_path)
    assert done.returncode in (0, 1), done.stderr


@pytest.mark.parametrize("kind, old, new", MISTAKES)
def test_a_mistake_is_refused_by_the_program_and_by_the_schema(kind, old, new, tmp_path):
    text = EXAMPLES[kind][1]
    assert old in text
    text = text.replace(old, new, 1)
    assert not validator(kind).is_valid(parsed(text))
    done = answer(kind, text, tmp_path)
    assert done.returncode == 2 and re.search(r"yaml:\d+:\d+: found ", done.stderr), done.stderr


def test_fragments_and_files_that_include_need_not_be_complete():
    assert validator("spec").is_valid({"schema": 1, "axes": {"dataset": "a"}})
    including = {"schema": 1, "artifact": "a/b", "include": ["c.yaml"]}
    assert validator("spec").is_valid(including)
    assert not validator("spec").is_valid(including | {"axis": {}})
    del including["include"]
    assert not validator("spec").is_valid(including)


def test_the_view_of_another_spec_measures_nothing():
    view = {"schema": 1, "artifact": "a/b", "title": "t", "of": "a/c", "figure": {"kind": "table"}}
    assert validator("spec").is_valid(view)
    assert not validator("spec").is_valid(view | {"operation": "ts"})


def test_an_unknown_kind_names_the_nearest():
    done = subprocess.run([RETENSOR, "schema", "claim"], text=True, capture_output=True)
    assert done.returncode == 2 and "did you mean 'claims'?" in done.stderr


def test_the_quick_profile_needs_no_gpu():
    """`ci/reproduce` runs it on any machine and fails where a case is not ok."""
    listed = subprocess.run([RETENSOR, "list", "experiments", "--with", "quick"], cwd=ROOT,
                            check=True, text=True, capture_output=True).stdout.split()
    plans = json.loads(subprocess.run([RETENSOR, "plan", *listed, "--with", "quick", "--json"],
                                      cwd=ROOT, check=True, text=True, capture_output=True).stdout)
    found = {(plan["artifact"], name) for plan in plans
             for name in [case["case"]["method"] for case in plan["cases"]] +
                         [method for skip in plan["skips"] for method in re.findall(
                             r"[a-z_0-9]+\.cuda[a-z_.]*", json.dumps(skip))]
             if ".cuda" in name}
    assert len(plans) == len(listed) > 10 and not found
