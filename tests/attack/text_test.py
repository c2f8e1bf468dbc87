"""Texts of a stranger's file reach a terminal, a table and a spreadsheet as texts."""

import csv
import subprocess
import sys

import pandas as pd
import pytest

from attacks import METHOD, RECIPES, refused, run
from sweeps import ROOT

ESCAPE = "\x1b]0;owned\x07\x1b[31m\nretensor: all is well"


def specs(workspace):
    yield workspace.spec([METHOD], title=ESCAPE)
    yield workspace.spec([METHOD], artifact="test/" + ESCAPE)
    yield workspace.spec([ESCAPE])
    yield workspace.spec([METHOD], axes={"dataset": ESCAPE})
    yield workspace.spec([METHOD], axes={"values": ESCAPE})
    yield workspace.spec([METHOD], **{ESCAPE: 1})
    yield workspace.spec([METHOD], exclude=[{"when": {"mode": 0}, "reason": ESCAPE}])


def test_control_characters_are_shown_not_sent(workspace):
    for spec in specs(workspace):
        for command in ("plan", "run"):
            more = ["--out", workspace.out] if command == "run" else []
            done = run(command, spec, "--registry", workspace.registry, "--cache", workspace.cache,
                       *more)
            for text in (done.stdout, done.stderr):
                assert "\x1b" not in text and "\x07" not in text
                assert "\nretensor: all is well" not in text


def test_arguments_are_shown_not_sent(tmp_path):
    for command in ((ESCAPE,), ("plan", ESCAPE), ("dataset", "info", ESCAPE),
                    ("verdict", ESCAPE), ("plan", "--" + ESCAPE)):
        done = run(*command)
        assert "\x1b" not in done.stderr and "\nretensor: all is well" not in done.stderr


NUMBER = {
    "movielens": ("ratings.dat", "{}::1::5::978300760\n"),
    "hetrec": ("user_taggedartists.dat", "userID\tartistID\ttagID\n{}\t1\t1\n"),
    "stack": ("a.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 {}\n"),
}


@pytest.mark.parametrize("number", ["1_0", "٣", "1e", "0x10", "inf", "nan", ""])
@pytest.mark.parametrize("recipe", NUMBER)
def test_recipes_take_numbers_as_the_readers_do(tmp_path, recipe, number):
    name, text = NUMBER[recipe]
    (tmp_path / name).write_text(text.format(number), encoding="utf-8")
    done = subprocess.run(["/usr/bin/python3", str(RECIPES / (recipe + ".py")), "--out",
                           str(tmp_path / "out.tns"), "--input", str(tmp_path)],
                          capture_output=True, text=True, check=False)
    refused(done, f"{name}:")
    assert not (tmp_path / "out.tns").exists()


@pytest.mark.parametrize("word", ["=1+1", "+1", "-cmd", "@SUM(A1)", "\t=1"])
def test_cells_are_no_formulas(tmp_path, word):
    sys.path.insert(0, str(ROOT / "plots"))
    from retensor.table import write_csv
    write_csv(pd.DataFrame({word: [word, "plain"], "value": [-1.5, 2]}), tmp_path / "t.csv")
    head, first, second = csv.reader((tmp_path / "t.csv").open(newline=""))
    assert head == ["'" + word, "value"]
    assert first == ["'" + word, "-1.5"] and second == ["plain", "2.0"]
