"""retensor verdict on the committed claims and rows: each claim that asks for a measurement or a
property could have gone the other way, and a claim that could not is named.
"""
import json
import os
import subprocess

from sweeps import RETENSOR, ROOT

CLAIM = """schema: 1
paper: p
claims:
  - {{id: P-1, place: Table I, kind: TAB, asks: {asks}, states: a ratio, hardware: any,
     published: {{{published}}}, tolerance: {{factor: 2}},
     query: {{where: {{method: a.cpu}}, value: stats.median, reduce: geomean}}}}
"""


def verdict(*args, root=ROOT, code=0):
    done = subprocess.run([RETENSOR, "verdict", *map(str, args)], cwd=root, text=True, timeout=120,
                          env={**os.environ, "RETENSOR_ROOT": str(root)}, capture_output=True,
                          check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def judged(tmp_path, published, asks, code=0):
    """The mutated verdict on a claim about a time of 1 s; returns its only line."""
    for name, text in {"experiments/schema/README.md": "", "plots/__init__.py": "",
                       "datasets/registry.yaml": "schema: 1\ndatasets: {}\n",
                       "papers/p/paper/claims.yaml": CLAIM.format(asks=asks, published=published),
                       "experiments/results/rows.jsonl": json.dumps({
                           "kind": "row", "schema": 1, "session": "s", "key": "k", "status": "ok",
                           "stats": {"median": 1},
                           "case": {"method": "a.cpu", "dataset": "t",
                                    "data": {"kind": "generated"}}}) + "\n"}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [line for line in verdict("--mutate", root=tmp_path, code=code).splitlines()
            if line.startswith("P-1")][0].split(maxsplit=2)[2]


def test_every_claim_that_holds_could_have_gone_the_other_way():
    """What nothing turns is read back from specs or follows from a formula."""
    entries = json.loads(verdict("--mutate", "--json"))
    unturned = [v for v in entries if v["holds"] and v["turned_by"] is None]
    assert {v["asks"] for v in unturned} <= {"setting", "definition"}
    turned = [v for v in entries if v["turned_by"]]
    assert len(turned) > 100
    assert all(v["holds"] for v in turned)


def test_a_claim_that_nothing_turns_is_named(tmp_path):
    assert judged(tmp_path, "value: 1, unit: s", "measurement") == "times of a.cpu times 2"
    assert judged(tmp_path, "at_least: 0.001, unit: s", "measurement", code=1) == "nothing"
    assert judged(tmp_path, "at_least: 0.001, unit: s", "setting") == "nothing"


def test_set_up_is_counted_apart():
    lines = verdict("flycoo").splitlines()
    entries = json.loads(verdict("flycoo", "--json"))
    for set_up, ending in ((False, ""), (True, " (set-up)")):
        for word in {v["verdict"] for v in entries if v["set_up"] == set_up}:
            count = sum(v["verdict"] == word and v["set_up"] == set_up for v in entries)
            assert f"{count} {word}{ending}" in lines
