"""ci/readings.py: what it finds in files of readings that do not agree."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "ci/readings.py"
READINGS = """schema: 1
paper: p
sections:
  - place: section 1
    count: 2
    sentences:
      - It is fast: [C1]
      - It is so: nothing
tables:
  - place: Table 1
    count: 4
    rows: [a, b]
    columns:
      x: [A1]
      y: nothing
"""


def checked(*arguments):
    done = subprocess.run([sys.executable, SCRIPT, *arguments], text=True, capture_output=True,
                          check=False)
    return done.returncode, done.stdout


@pytest.fixture(name="repository")
def _repository(tmp_path):
    folder = tmp_path / "papers/p/paper"
    folder.mkdir(parents=True)
    (folder / "claims.yaml").write_text("claims: [{id: C1-x}]\n")
    (folder / "findings.yaml").write_text("rules: [{id: A1}]\n")
    (folder / "readings.yaml").write_text(READINGS)
    return tmp_path


def read_with(repository, old, new):
    path = repository / "papers/p/paper/readings.yaml"
    assert old in READINGS
    path.write_text(READINGS.replace(old, new))
    return checked("--root", repository)


def test_the_papers_readings_agree():
    assert checked() == (0, "every reading agrees\n")


def test_an_id_stands_for_all_that_begin_with_it(repository):
    assert checked("--root", repository)[0] == 0


@pytest.mark.parametrize("old, new, fault", [
    ("      - It is so: nothing\n", "", "section 1: 1 readings of 2"),
    ("rows: [a, b]", "rows: [a]", "Table 1: 2 readings of 4"),
    ("      y: nothing\n", "", "Table 1: 2 readings of 4"),
    ("[C1]", "[C2]", "section 1, 'It is fast': nothing is called 'C2'"),
    ("[C1]", "[C]", "section 1, 'It is fast': nothing is called 'C'"),
    ("[A1]", "[A1-x]", "Table 1, 'x': nothing is called 'A1-x'"),
])
def test_a_reading_that_does_not_agree_is_told(repository, old, new, fault):
    code, said = read_with(repository, old, new)
    assert code == 1 and f"readings.yaml: {fault}" in said


def test_a_paper_without_readings_is_told(repository):
    (repository / "papers/p/paper/readings.yaml").unlink()
    code, said = checked("--root", repository)
    assert code == 1 and "there is no such file" in said


@pytest.mark.parametrize("text, code", [
    ("It is\nfast. It is so.", 0),
    ("It is so. It is fast.", 1),
    ("It is fast.", 1),
])
def test_sentences_are_sought_in_the_text_in_their_order(repository, tmp_path, text, code):
    (tmp_path / "p.txt").write_text(text)
    assert checked("--root", repository, "--text", tmp_path)[0] == code


def test_one_sentence_taken_out_of_a_paper_is_missed(tmp_path):
    shutil.copytree(ROOT / "papers/hlsto/paper", tmp_path / "papers/hlsto/paper")
    path = tmp_path / "papers/hlsto/paper/readings.yaml"
    lines = path.read_text().splitlines(keepends=True)
    sentence = next(k for k, line in enumerate(lines) if line.startswith("      - "))
    path.write_text("".join(lines[:sentence] + lines[sentence + 1:]))
    assert checked("--root", tmp_path)[0] == 1
