"""retensor verdict on the committed claims and rows: each claim that asks for a measurement or a
property could have gone the other way, and a claim that could not is named.
"""
import json
import os
import re
import subprocess
import sys

import pytest

from sweeps import RETENSOR, ROOT

sys.path.insert(0, str(ROOT / "ci"))
import readme  # noqa: E402
from retensor.report import words  # noqa: E402: its folder is one that readme knows

CLAIM = """schema: 1
paper: p
claims:
  - {{id: P-1, place: Table I, kind: TAB, asks: {asks}, states: a ratio, hardware: any,
     published: {{{published}}}, tolerance: {{factor: 2}},
     query: {{where: {{method: a.cpu}}, value: stats.median, reduce: geomean}}}}
"""


# Claims that were listed of each paper when it was read: they are numbered from 1.
LISTED = {"bcb_sptc": 67, "flycoo": 33, "hlsto": 61, "pasta": 74, "tca_spmm": 20}


def unanswered(entries):
    """Numbers of listed claims of each paper that no entry answers."""
    found = {(entry["paper"], int(re.match(r"[A-Z]-C(\d+)", entry["id"])[1])) for entry in entries}
    return [one for paper, last in LISTED.items()
            for one in ((paper, number) for number in range(1, last + 1)) if one not in found]


def verdict(*args, root=ROOT, code=0):
    done = subprocess.run([RETENSOR, "verdict", *map(str, args)], cwd=root, text=True, timeout=120,
                          env={**os.environ, "RETENSOR_ROOT": str(root)}, capture_output=True,
                          check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def judged(tmp_path, published, asks, code=0):
    """The mutated verdict on a claim about a time of 1 s; returns its only line."""
    for name, text in {"experiments/schema/README.md": "", "plots/retensor/__init__.py": "",
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


@pytest.fixture(scope="module")
def entries():
    """The committed claims on the committed rows."""
    return readme.verdicts(RETENSOR)


def test_every_claim_that_holds_could_have_gone_the_other_way(entries):
    """What nothing turns is read back from specs or follows from a formula."""
    unturned = [v for v in entries if v["holds"] and v["turned_by"] is None]
    assert {v["asks"] for v in unturned} <= {"setting", "definition"}
    turned = [v for v in entries if v["turned_by"]]
    assert len(turned) > 100
    assert all(v["holds"] for v in turned)


def test_a_claim_that_nothing_turns_is_named(tmp_path):
    assert judged(tmp_path, "value: 1, unit: s", "measurement") == "times of a.cpu times 2"
    assert judged(tmp_path, "at_least: 0.001, unit: s", "measurement", code=1) == "nothing"
    assert judged(tmp_path, "at_least: 0.001, unit: s", "setting") == "nothing"


def test_set_up_is_counted_apart(entries):
    lines = [line.strip() for line in verdict("flycoo").splitlines()]
    own = [entry for entry in entries if entry["paper"] == "flycoo"]
    for set_up, ending in ((False, ""), (True, " (set-up)")):
        for entry in (entry for entry in own if entry["set_up"] == set_up):
            word, said = entry["verdict"], words.outcome(entry)
            count = sum(other["verdict"] == word and other["set_up"] == set_up for other in own)
            told = word if said == word else f"{said}: {word}"
            assert f"{count} {told}{ending}" in lines


def documented():
    """The verdicts that the documentation explains, with what they say of a claim."""
    page = (ROOT / "plots/docs/explanation/verdicts.md").read_text()
    return dict(re.findall(r"^\| `([a-z ]+)` \| ([a-z ]+) \|", page, re.MULTILINE))


def test_readme_report_program_and_documentation_use_the_same_words(entries):
    page = (ROOT / "README.md").read_text()
    head = re.search(r"^\| paper \| claims \|(.*)\|$", page, re.MULTILINE)
    assert [word.strip() for word in head[1].split("|")] == [*words.OUTCOMES, "set-up"]
    said = {entry["verdict"]: words.outcome(entry) for entry in entries}
    assert said.keys() <= words.VERDICTS.keys()
    for word, outcome in said.items():
        assert words.VERDICTS[word].startswith(outcome + ",") or word == outcome
    assert documented().keys() == words.VERDICTS.keys()
    assert {word: documented()[word] for word in said} == said


def test_readmes_say_what_the_committed_rows_say(entries):
    """Their counts and sentences are those of `verdict --json`; a number changed by hand shows."""
    for path, text in readme.texts(entries).items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: ci/readme.py writes it anew"
    other = [{**entry, "holds": False} for entry in entries]
    assert readme.texts(other)[ROOT / "README.md"] != (ROOT / "README.md").read_text("utf-8")


def test_each_paper_has_headlines_and_causes_have_rows(entries):
    by_id = {entry["id"]: entry for entry in [*entries, *json.loads(verdict("retensor", "--json"))]}
    papers = {entry["paper"] for entry in entries}
    assert {entry["paper"] for entry in entries if entry["headline"]} == papers
    for entry in entries:
        for shown in (entry["cause"] or {}).get("shown_by", {}):
            assert by_id[shown]["measured"] is not None, f"{entry['id']}: {shown} has no rows"
    prose = {entry["paper"]: entry["prose"] for entry in entries if entry["headline"]}
    for paper, sentences in prose.items():
        told = " ".join(sentences)
        for entry in entries:
            if entry["paper"] == paper and entry["headline"]:
                assert entry["headline"] in told
                if entry["holds"] is False:
                    cause = entry["cause"]["says"] if entry["cause"] else "Cause not found"
                    assert any(entry["headline"] in one and cause in one for one in sentences)


def test_every_claim_that_was_listed_of_a_paper_has_an_answer(entries):
    assert not unanswered(entries)
    fewer = [entry for entry in entries if not entry["id"].startswith("F-C16")]
    assert unanswered(fewer) == [("flycoo", 16)]
