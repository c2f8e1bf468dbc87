"""Recipes that read a file at once: they write what they write line by line, or say the same."""
import argparse
import importlib
import random
import time

import pytest

from sweeps import ROOT

RECIPES = ROOT / "datasets" / "recipes"
FLAWS = ["", "0", ":", "::", "6", "\n", "\r", "\r\n", " ", "\t", ",", '"', "-", "+", "+1", "1_0",
         ".", "e", "e5", "nan", "inf", "1e999", "\u0661", "\ufeff", "\0", "#", "%", "NA", "9" * 19,
         "0x1", "\x85"]


@pytest.fixture
def module_of(monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.syspath_prepend(RECIPES)
    return importlib.import_module


def triples(dice):
    def name():
        return f"/m/{dice.choice('abcé')}{dice.randint(0, 9)}"
    return "\t".join([name(), f"/r/{dice.randint(0, 2)}", name()])


def rating(dice):
    return "::".join(str(dice.randint(1, last)) for last in (99, 99, 5, 9))


def watched(dice):
    start = dice.randint(0, 9)
    return f"{dice.randint(0, 12)},{dice.randint(10, 20)},n{dice.randint(0, 9)},{start},{start + 2}"


def tagged(dice):
    return "\t".join(str(dice.randint(1, 12)) for _ in range(4))


def pickup(dice):
    date = f"{dice.randint(4, 9)}/{dice.randint(1, 30)}/2014"
    return (f'"{date} {dice.randint(0, 23)}:0{dice.randint(0, 9)}:00",{dice.uniform(40, 41):.4f},'
            f'-73.{dice.randint(1, 3)},"B02512"')


def cell(dice):
    value = dice.choice(["1.5", "-2", "0", "1e-3", "2E+2", ".5"])
    return f"{dice.randint(1, 9)} {dice.randint(1, 9)} {value}"


MONTHS = ["apr", "may", "jun", "jul", "aug", "sep"]
# The files of each recipe, the head of each, a line, and the options.
CASES = {
    "movielens": (["ratings.dat"], "", rating, {"values": "rating"}),
    "triples": (["a.txt"], "", triples, {"split": "train"}),
    "twitch": (["100k_a.csv"], "", watched, {}),
    "hetrec": (["tags.dat"], "userID\tartistID\ttagID\tday\n", tagged,
               {"file": "tags.dat", "columns": "userID,artistID,tagID"}),
    "uber": ([f"uber-raw-data-{month}14.csv" for month in MONTHS],
             '"Date/Time","Lat","Lon","Base"\n', pickup, {"decimals": 3, "rounding": "half-even"}),
    "stack": (["m_1.mtx", "m_2.mtx"], None, cell, {"match": "m_*", "copies": None}),
    "dlmc": (["l.smtx"], None, None, {"layer": ""}),
}


def text_of(recipe, dice):
    _, head, line, _ = CASES[recipe]
    if recipe == "dlmc":
        rows = [sorted(dice.sample(range(9), dice.randint(0, 4))) for _ in range(3)]
        starts = [sum(map(len, rows[:r])) for r in range(4)]
        return (f"3, 9, {starts[-1]}\n{' '.join(map(str, starts))}\n"
                f"{' '.join(str(c) for row in rows for c in row)}\n")
    lines = [line(dice) for _ in range(dice.randint(1, 8))]
    if recipe == "stack":
        lines = list({tuple(text.split()[:2]): text for text in lines}.values())
        kind = dice.choice(["general", "general", "symmetric", "skew-symmetric"])
        head = f"%%MatrixMarket matrix coordinate real {kind}\n% made\n9 9 {len(lines)}\n"
    return head + "".join(text + "\n" for text in lines)


def damaged(text, dice):
    characters = list(text)
    for _ in range(dice.choice([0, 0, 0, 1, 2])):
        at = dice.randrange(len(characters) + 1)
        characters[at:at + dice.randint(0, 2)] = dice.choice(FLAWS)
    return "".join(characters)


def outcome(recipe, tns, malformed, arguments, out):
    """What the recipe writes or says."""
    try:
        dims, entries, comment = recipe.convert(arguments)
    except malformed as error:
        return str(error)
    tns.write(out, dims, entries, comment)
    return out.read_bytes()


@pytest.mark.parametrize("name", CASES)
def test_reading_at_once_gives_what_reading_line_by_line_gives(name, module_of, tmp_path,
                                                               monkeypatch):
    recipe, recipes, tns = module_of(name), module_of("recipe"), module_of("tns")
    files, _, _, options = CASES[name]
    folder = tmp_path / "source"
    folder.mkdir()
    source = folder / files[0] if len(files) == 1 else folder
    arguments = argparse.Namespace(input=source, **options)
    real, taken, dice = recipe.in_bulk, [], random.Random(1)
    monkeypatch.setattr(tns.os, "fsync", lambda _: None)  # 600 times

    def counting(*given):
        found = real(*given)
        taken.append(found is not None)
        return found
    for _ in range(300):
        damage = dice.choice(files)
        for file in files:
            text = text_of(name, dice)
            text = damaged(text, dice) if file == damage else text
            encoding = "latin-1" if dice.randint(0, 9) == 0 else "utf-8"
            (folder / file).write_bytes(text.encode(encoding, "replace"))
        said = []
        for reader in (counting, lambda *_: None):
            monkeypatch.setattr(recipe, "in_bulk", reader)
            said.append(outcome(recipe, tns, recipes.Malformed, arguments, tmp_path / "out.tns"))
        assert said[0] == said[1], text
    assert 0.3 < sum(taken) / 300 < 0.95, sum(taken)


@pytest.mark.parametrize("name", ["triples", "twitch", "hetrec"])
def test_reading_at_once_takes_a_part_of_the_time(name, module_of, tmp_path):
    recipe = module_of(name)
    (file,), head, line, options = CASES[name]
    dice = random.Random(1)
    lines = (line(dice) + "\n" for _ in range(100000))
    (tmp_path / file).write_text(head + "".join(lines))
    arguments = argparse.Namespace(input=tmp_path / file, **options)
    took = []
    for reader in (recipe.in_bulk, lambda *_: None):
        recipe.in_bulk, kept = reader, recipe.in_bulk
        start = time.process_time()
        recipe.convert(arguments)
        took.append(time.process_time() - start)
        recipe.in_bulk = kept
    assert took[0] < 0.8 * took[1], took


def test_entries_of_arrays_are_written_like_others(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(RECIPES)
    bulk, tns = (importlib.import_module(m) for m in ("bulk", "tns"))
    numpy = pytest.importorskip("numpy")
    monkeypatch.setattr(bulk, "BATCH", 7)
    dice = random.Random(1)
    entries = sorted({(dice.randrange(10 ** dice.randint(1, 8)), dice.randrange(12), 0)
                      for _ in range(100)})
    values = [dice.randrange(10 ** dice.randint(1, 6)) for _ in entries]
    tns.write(tmp_path / "a.tns", (10**8, 12, 1), list(zip(entries, values)), "made")
    arrays = bulk.Entries(numpy.array(entries).T, values)
    tns.write(tmp_path / "b.tns", (10**8, 12, 1), arrays, "made")
    assert (tmp_path / "a.tns").read_bytes() == (tmp_path / "b.tns").read_bytes()
