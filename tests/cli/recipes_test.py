"""Recipes of datasets/recipes on small folders of the same form, and the registry's facts."""
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "datasets" / "recipes"
LICENCE = "  1 This software and database is being provided to you\n"
# Two nouns that point at each other, one of them twice to a verb by different words; an adjective
# satellite that is named by `s`, as wndb(5WN) allows; an adverb without pointers.
TINY = {
    "data.noun": LICENCE +
    "00000100 03 n 01 entity 0 001 ~ 00000200 n 0000 | all there is  \n"
    "00000200 03 n 02 act 0 deed 0 003 @ 00000100 n 0000 + 00000300 v 0101 + 00000300 v 0201 | x\n",
    "data.verb": LICENCE +
    "00000300 29 v 01 act 0 001 + 00000200 n 0101 02 + 02 00 + 08 00 | do  \n",
    "data.adj": LICENCE + "00000400 00 s 01 active(p) 0 001 & 00000500 s 0000 | y\n"
    "00000500 00 a 01 live 0 000 | z\n",
    "data.adv": LICENCE + "00000600 02 r 0a a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 000 | w\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in TINY.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def wordnet(folder, out):
    command = [sys.executable, RECIPES / "wordnet.py", "--source", folder, "--out", out]
    return subprocess.run(command, capture_output=True, text=True)


def test_wordnet_counts_pointers_between_synsets(folder, tmp_path):
    out = tmp_path / "w.tns"
    assert wordnet(folder, out).returncode == 0
    lines = [line for line in out.read_text().splitlines() if not line.startswith("#")]
    assert lines[:2] == ["3", "6 26 6"]
    assert lines[2:] == ["1 4 2 1", "2 2 1 1", "2 13 3 2", "3 13 2 1", "4 24 5 1"]
    assert not list(tmp_path.glob("*.part"))


def test_wordnet_replaces_a_torn_file_of_an_earlier_run(folder, tmp_path):
    out = tmp_path / "w.tns"
    (tmp_path / "w.tns.part").write_text("3\n6 2")
    assert wordnet(folder, out).returncode == 0
    assert out.read_text().endswith("4 24 5 1\n")
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("what, expected", [
    ("lexical", ["4", "2 26 2 4", "1 13 1 1 1", "1 13 1 2 1", "2 13 1 2 1"]),
    ("glosses", ["3", "6 8 4", "1 1 1 1", "1 3 1 1", "1 4 1 1", "2 6 1 1", "3 2 2 1", "4 7 3 1",
                 "5 8 3 1", "6 5 4 1"])])
def test_siblings_of_wordnet_have_words_and_glosses(folder, tmp_path, what, expected):
    out = tmp_path / "w.tns"
    done = subprocess.run([sys.executable, RECIPES / "wordnet.py", "--source", folder, "--out", out,
                           "--what", what], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line for line in out.read_text().splitlines() if not line.startswith("#")] == expected


@pytest.mark.parametrize("old, new, message", [
    ("~ 00000200", "~ 00000999", "data.noun:2: unknown pointer type or target"),
    ("~ 00000200", "? 00000200", "data.noun:2: unknown pointer type or target"),
    ("n 0000 |", "n |", "data.noun:2: 1 pointers announced"),
    ("0 001 ~", "0 one ~", "data.noun:2: not a synset line"),
])
def test_wordnet_refuses_malformed_lines(folder, tmp_path, old, new, message):
    noun = folder / "data.noun"
    noun.write_text(noun.read_text().replace(old, new, 1))
    done = wordnet(folder, tmp_path / "w.tns")
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "w.tns").exists()


def test_wordnet_names_a_missing_file(folder, tmp_path):
    (folder / "data.adv").unlink()
    done = wordnet(folder, tmp_path / "w.tns")
    assert done.returncode == 2 and "data.adv" in done.stderr


DATASETS = yaml.safe_load((ROOT / "datasets" / "registry.yaml").read_text())["datasets"]


def printed_value(text):
    """The number that a table prints as 165K, 1.1M or 76, and half a unit of its last digit."""
    digits, decimals, unit = re.fullmatch(r"(\d+(?:\.(\d+))?)([KM]?)", text.strip()).groups()
    scale = {"": 1, "K": 1e3, "M": 1e6}[unit]
    return float(digits) * scale, 0.5 * scale * 10 ** -len(decimals or "")


@pytest.mark.parametrize("name", DATASETS)
def test_registry_agrees_with_the_tables_of_the_papers(name):
    entry = DATASETS[name]
    for paper, facts in entry.get("paper", {}).items():
        printed = [*zip(facts["dims"].split(" x "), entry["dims"]), (facts["nnz"], entry["nnz"])]
        assert len(printed) == len(entry["dims"]) + 1, f"{name}: number of modes in {paper}"
        for text, number in printed:
            value, half_unit = printed_value(str(text).replace(",", ""))
            assert abs(number - value) <= half_unit, f"{name}: {number} against {text} in {paper}"


@pytest.mark.parametrize("name", DATASETS)
def test_registry_entries_name_source_and_licence(name):
    entry = DATASETS[name]
    assert entry["source"] and entry["licence"]
    assert entry["kind"] != "private" or not {"make", "file"} & set(entry)
