"""Recipes that convert a user's copy of a source, on small files of the same form."""
import gzip
import importlib
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile

import pytest

from sweeps import RETENSOR, ROOT

RECIPES = ROOT / "datasets" / "recipes"
RATINGS = "2::3::5::978300760\n1::2::1::978302109\n1::3::5::978301968\n"
PICKUPS = {
    "apr": '"4/1/2014 0:11:00",40.7690,-73.9549,"B02512"\n'
           '"4/1/2014 0:59:59",40.7694,-73.9546,"B02512"\n',
    "may": "", "jun": "", "jul": "", "aug": "",
    "sep": '"9/30/2014 22:57:00",40.7665,-73.9550,"B02764"\n',
}
TAGS = ("userID\tartistID\ttagID\tday\tmonth\tyear\n2\t52\t13\t1\t4\t2009\n2\t52\t15\t1\t4\t2009\n"
        "9\t7\t13\t1\t4\t2009\n")
SPLITS = {"train.txt": "/m/b\t/r/1\t/m/a\n/m/a\t/r/0\t/m/c\n", "valid.txt": "/m/d\t/r/0\t/m/b\n",
          "test.txt": "/m/a\t/r/2\t/m/b\n"}
GENERAL = "%%MatrixMarket matrix coordinate real general\n% a comment\n2 2 3\n" \
          "2 1 -1.5\n1 1 0.1\n2 2 0\n"
SYMMETRIC = "%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n2 1 4\n2 2 3\n"


def put(folder, files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def zipped(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(f"top/{name}", text)
    return path


def uber_files(**replaced):
    head = '"Date/Time","Lat","Lon","Base"\n'
    return {f"uber-raw-data-{month}14.csv": head + text
            for month, text in {**PICKUPS, **replaced}.items()}


def convert(recipe, source, tmp_path, *more):
    """(exit code, lines of the tensor, message); an output is complete or absent."""
    out = tmp_path / "out.tns"
    out.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, RECIPES / f"{recipe}.py", "--out", out, "--input",
                           source, *more], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode in (0, 2), done.stderr
    assert out.exists() == (done.returncode == 0) and not list(tmp_path.glob("*.part"))
    text = out.read_text() if out.exists() else ""
    return done.returncode, [x for x in text.splitlines() if x[0] != "#"], done.stderr


def tensor(*arguments):
    code, lines, message = convert(*arguments)
    assert code == 0, message
    return lines


def refusal(*arguments):
    code, _, message = convert(*arguments)
    assert code == 2 and len(message.splitlines()) == 1, message
    return message


def test_movielens_from_folder_zip_and_file(tmp_path):
    expected = ["3", "2 3 5", "1 2 1 1", "1 3 5 1", "2 3 5 1"]
    folder = put(tmp_path / "ml-1m", {"ratings.dat": RATINGS, "users.dat": "1::F::1::10::48067\n"})
    archive = zipped(tmp_path / "ml-1m.zip", {"ratings.dat": RATINGS, "README": ""})
    for source in (folder, archive, folder / "ratings.dat"):
        assert tensor("movielens", source, tmp_path) == expected
    stars = tensor("movielens", folder, tmp_path, "--values", "rating")
    assert [line.split()[-1] for line in stars[2:]] == ["1", "5", "5"]


@pytest.mark.parametrize("line, words", [
    ("1::2::6::1", "ratings.dat:4: found user 1, movie 2, rating 6"),
    ("0::2::5::1", "ratings.dat:4: found user 0"),
    ("1::2::5", "ratings.dat:4: found '1::2::5', expected user::movie::rating::time"),
    ("1::x::5::1", "expected user::movie::rating::time"),
    ("1::2::-1::1", "expected user::movie::rating::time"),
    ("1::3::5::9", "ratings.dat:4: this user, movie and rating stood before"),
    ("1::2::3::" + "9" * 70_000, "ratings.dat:4: a line or file beyond all measure"),
    ("\u00e9::2::3::9", "ascii"),
])
def test_movielens_refuses_other_lines(tmp_path, line, words):
    folder = put(tmp_path / "m", {"ratings.dat": RATINGS + line + "\n"})
    assert words in refusal("movielens", folder, tmp_path)


def test_uber_counts_pickups_by_bin(tmp_path):
    archive = zipped(tmp_path / "uber.zip", uber_files())
    expected = ["4", "183 24 2 1", "1 1 2 1 2", "183 23 1 1 1"]
    assert tensor("uber", put(tmp_path / "u", uber_files()), tmp_path) == expected
    assert tensor("uber", archive, tmp_path) == expected
    fine = tensor("uber", archive, tmp_path, "--decimals", "4")
    assert fine[1:] == ["183 24 3 3", "1 1 2 2 1", "1 1 3 3 1", "183 23 1 1 1"]
    up = tensor("uber", archive, tmp_path, "--rounding", "half-up")
    assert up[1] == "183 24 2 1"


@pytest.mark.parametrize("rounding, latitudes", [("half-even", 1), ("half-up", 2), ("down", 1)])
def test_uber_states_how_a_tie_is_rounded(tmp_path, rounding, latitudes):
    rows = '"4/1/2014 0:11:00",40.7665,-73.0000,"B"\n"4/1/2014 0:11:00",40.7660,-73.0000,"B"\n'
    folder = put(tmp_path / "u", uber_files(apr=rows, sep=""))
    assert tensor("uber", folder, tmp_path, "--rounding", rounding)[1] == f"183 24 {latitudes} 1"


@pytest.mark.parametrize("row, words", [
    ('"10/1/2014 0:11:00",40.7,-73.9,"B"', "not in April to September 2014"),
    ('"4/31/2014 0:11:00",40.7,-73.9,"B"', "apr14.csv:2: not a pickup"),
    ('"4/1/2014 24:11:00",40.7,-73.9,"B"', "apr14.csv:2: not a pickup"),
    ('"4/1/2014 0:11:00",north,-73.9,"B"', "apr14.csv:2: not a pickup"),
    ('"4/1/2014 0:11:00",NaN,-73.9,"B"', "apr14.csv:2: not a pickup"),
    ('"4/1/2014 0:11:00",40.7', "apr14.csv:2: not a pickup"),
])
def test_uber_refuses_other_rows(tmp_path, row, words):
    assert words in refusal("uber", put(tmp_path / "u", uber_files(apr=row + "\n")), tmp_path)


def test_uber_needs_all_months_and_the_columns(tmp_path):
    files = uber_files()
    del files["uber-raw-data-jul14.csv"]
    assert "found 0 files uber-raw-data-jul14.csv, expected 1" in refusal(
        "uber", put(tmp_path / "u", files), tmp_path)
    files = uber_files()
    files["uber-raw-data-may14.csv"] = "Lat,Lon\n"
    assert "may14.csv:1: found 'Lat,Lon', expected Date/Time,Lat,Lon,Base" in refusal(
        "uber", put(tmp_path / "u", files), tmp_path)


def test_hetrec_numbers_what_occurs(tmp_path):
    folder = put(tmp_path / "h", {"user_taggedartists.dat": TAGS})
    expected = ["3", "2 2 2", "1 2 1 1", "1 2 2 1", "2 1 1 1"]
    assert tensor("hetrec", folder, tmp_path) == expected
    books = put(tmp_path / "b", {"t.dat": TAGS.replace("artist", "bookmark")})
    assert tensor("hetrec", books, tmp_path, "--file", "t.dat",
                  "--columns", "userID,bookmarkID,tagID") == expected
    assert "expected ['userID', 'artistID', 'tagID'] among them" in refusal(
        "hetrec", books / "t.dat", tmp_path)
    put(folder, {"user_taggedartists.dat": TAGS + "3\tx\t1\n"})
    assert "user_taggedartists.dat:5: found" in refusal("hetrec", folder, tmp_path)


def test_triples_share_numbers_between_splits(tmp_path):
    folder = put(tmp_path / "fb", SPLITS)
    assert tensor("triples", folder, tmp_path) == ["3", "4 3 4", "1 1 3 1", "2 2 1 1"]
    archive = zipped(tmp_path / "fb.zip", SPLITS)
    assert tensor("triples", archive, tmp_path, "--split", "valid") == ["3", "4 3 4", "4 1 2 1"]
    packed = tmp_path / "one.txt.gz"
    packed.write_bytes(gzip.compress(SPLITS["train.txt"].encode() * 2))
    assert tensor("triples", packed, tmp_path) == ["3", "3 2 3", "1 1 3 2", "2 2 1 2"]
    put(folder, {"test.txt": "a b c\n"})
    assert "test.txt:1: found 1 fields" in refusal("triples", folder, tmp_path)
    packed.write_bytes(packed.read_bytes()[:-9])
    assert refusal("triples", packed, tmp_path)


def test_stack_orders_matrices_by_number(tmp_path):
    folder = put(tmp_path / "s", {"a_10.mtx": SYMMETRIC, "a_b.mtx": "not asked for"})
    (folder / "a_9").mkdir()
    (folder / "a_9" / "a_9.mtx.gz").write_bytes(gzip.compress(GENERAL.encode()))
    lines = tensor("stack", folder, tmp_path, "--match", "a_[0-9]*.mtx")
    assert lines[:2] == ["3", "2 2 2"]
    assert [(line.split()[:3], float(line.split()[3])) for line in lines[2:]] == [
        (["1", "1", "1"], 0.1), (["1", "2", "2"], 4), (["2", "1", "1"], -1.5),
        (["2", "1", "2"], 4), (["2", "2", "2"], 3)]


@pytest.mark.parametrize("old, new, words", [
    ("2 2 3\n", "2 2 4\n", "b.mtx: entries 3, expected 4"),
    ("2 2 3\n", "2 3 3\n", "b.mtx: rows and columns (2, 3), expected (2, 2)"),
    ("2 1 -1.5", "3 1 -1.5", "b.mtx:4: found 3 1"),
    ("2 1 -1.5", "1 1 -1.5", "b.mtx:5: this cell stood before"),
    ("2 1 -1.5", "2 1", "b.mtx:4: found '2 1', expected 3 numbers"),
    ("2 1 -1.5", "2 1 inf", "expected 3 numbers"),
    ("coordinate", "array", "expected the banner"),
])
def test_stack_refuses_other_files(tmp_path, old, new, words):
    folder = put(tmp_path / "s", {"a.mtx": GENERAL, "b.mtx": GENERAL.replace(old, new)})
    assert words in refusal("stack", folder, tmp_path)


def test_stack_needs_a_folder_with_matrices(tmp_path):
    assert "no folder with files *{.mtx," in refusal("stack", put(tmp_path / "s", {}), tmp_path)
    assert "no folder" in refusal("stack", tmp_path / "none", tmp_path)


def bomb(path, unpacked):
    """An archive of one file f, a thousandth of what it unpacks to."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("f", unpacked)
    else:
        path.write_bytes(gzip.compress(unpacked))
    assert path.stat().st_size < len(unpacked) / 500
    return path


@pytest.mark.parametrize("name", ["f.zip", "f.gz"])
@pytest.mark.parametrize("unpacked, read", [(b"0" * (8 << 20), 0), (b"1 1\n" * (2 << 20), 1 << 16)])
def test_archives_that_unpack_without_end_are_left_early(tmp_path, monkeypatch, name, unpacked,
                                                         read):
    """One endless line, and lines without end: little is held, no more than the limit is read."""
    monkeypatch.syspath_prepend(RECIPES)
    recipe = importlib.import_module("recipe")
    monkeypatch.setattr(recipe, "LONGEST_TEXT", 1 << 18)
    path, seen = bomb(tmp_path / name, unpacked), 0
    tracemalloc.start()
    with pytest.raises(recipe.Malformed, match="beyond all measure"):
        for _ in recipe.lines(path, "f"):
            seen += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seen == read
    assert peak < 2 << 20


def test_an_archive_unpacks_to_no_more_than_the_stated_nonzeros_take(tmp_path):
    registry = Registry(tmp_path, {"dims": [2, 3], "nnz": 2, "file": "f.tns.gz"})
    tensor_text = b"1 1 1\n2 3 -1.5\n"
    bomb(tmp_path / "f.tns.gz", b"# padding\n" * (1 << 18) + tensor_text)
    refused = registry.run("make", "mine")
    assert refused.returncode == 2
    assert "unpacked bytes, expected an archive within this limit" in refused.stderr
    (tmp_path / "f.tns.gz").write_bytes(gzip.compress(tensor_text))
    assert registry.run("make", "mine").returncode == 0


def test_names_of_files_reach_no_shell(tmp_path):
    """Folder, cache, source, output and a set given by its path have commands in their names."""
    folder = tmp_path / "a'b\"; touch owned; $(touch owned) `touch owned` & touch owned #"
    folder.mkdir()
    source = put(folder / "$(touch owned);ml", {"ratings.dat": RATINGS})
    registry = Registry(folder, {"dims": [2, 3, 5], "nnz": 3,
                                 "make": {"recipe": "movielens", "needs": "input"}})
    copy = folder / "$(touch owned) & touch owned;.tns"
    made = registry.run("make", "mine", copy, "--input", source)
    assert made.returncode == 0, made.stderr
    read = registry.run("info", copy)
    assert read.returncode == 0 and "2 x 3 x 5" in read.stdout, read.stderr
    assert not list(tmp_path.rglob("owned")), "a shell read a name"


def test_sizes_are_insisted_on(tmp_path):
    folder = put(tmp_path / "m", {"ratings.dat": RATINGS})
    assert tensor("movielens", folder, tmp_path, "--dims", "2x3x5", "--nnz", "3")
    assert "found dims 2x3x5, expected 2x4x5" in refusal(
        "movielens", folder, tmp_path, "--dims", "2x4x5")
    assert "found nonzeros 3, expected 4" in refusal("movielens", folder, tmp_path, "--nnz", "4")


@pytest.mark.parametrize("source, words", [
    ("none", "none"), ("empty", "found 0 files ratings.dat"), ("two", "found 2 files ratings.dat"),
    ("broken.zip", ""),
])
def test_sources_that_are_none(tmp_path, source, words):
    put(tmp_path / "empty", {})
    put(put(tmp_path / "two", {"ratings.dat": RATINGS}) / "again", {"ratings.dat": RATINGS})
    whole = zipped(tmp_path / "whole.zip", {"ratings.dat": RATINGS * 99}).read_bytes()
    (tmp_path / "broken.zip").write_bytes(whole[:60] + b"\xff" * 20 + whole[80:])
    assert words in refusal("movielens", tmp_path / source, tmp_path)


class Registry:
    def __init__(self, folder, entry):
        self.folder = folder
        (folder / "recipes").symlink_to(RECIPES)
        content = {"schema": 1, "datasets": {"mine": {
            "kind": "real", "form": "tensor", "source": "a test", "licence": "none", **entry}}}
        (folder / "registry.yaml").write_text(json.dumps(content))

    def run(self, *args):
        return subprocess.run([RETENSOR, "dataset", *map(str, args), "--registry",
                               self.folder / "registry.yaml", "--cache", self.folder / "cache"],
                              capture_output=True, text=True, timeout=60, cwd=self.folder)


@pytest.mark.parametrize("dims, nnz, words", [
    ([2, 3, 5], 3, ""),
    ([2, 4, 5], 3, "found dims 2 x 3 x 5, the registry states 2 x 4 x 5"),
    ([2, 3, 5], 4, "found 3 nonzeros, the registry states 4"),
])
def test_a_users_copy_becomes_a_set_only_with_the_stated_sizes(tmp_path, dims, nnz, words):
    put(tmp_path / "copy of 'ml'; $HOME", {"ratings.dat": RATINGS})
    registry = Registry(tmp_path, {"dims": dims, "nnz": nnz,
                                   "make": {"recipe": "movielens", "needs": "input"}})
    before = registry.run("make", "mine")
    assert before.returncode == 2 and "make mine --input PATH" in before.stderr
    made = registry.run("make", "mine", "--input", "copy of 'ml'; $HOME")
    assert made.returncode == (2 if words else 0) and words in made.stderr
    again = registry.run("verify", "mine").stdout
    assert again.startswith("skipped" if words else "ok")


def test_only_sets_that_need_an_input_take_one(tmp_path):
    registry = Registry(tmp_path, {"dims": [2, 2], "nnz": 1, "make": {
        "recipe": "uniform", "dims": [2, 2], "nnz": 1}})
    done = registry.run("make", "mine", "--input", ".")
    assert done.returncode == 2 and "takes no --input: it is made by uniform" in done.stderr


@pytest.mark.parametrize("name", ["ratings", "uber-raw", "oscil_dcop", "fb15k-237-text"])
def test_the_trees_entries_ask_for_the_users_copy(name, tmp_path):
    done = subprocess.run([RETENSOR, "dataset", "make", name, "--cache", tmp_path], cwd=ROOT,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and f"make {name} --input PATH" in done.stderr


PACKAGES = """Package: a
Depends: b (>= 1), c | d [amd64]
Recommends: b
Description: x

Package: b
Pre-Depends: c:any

"""


def lists(folder, text=PACKAGES):
    folder.mkdir()
    for suite, content in (("bookworm", text), ("bookworm-updates", "Package: c\nBreaks: a\n")):
        (folder / f"deb.x_debian_dists_{suite}_main_binary-amd64_Packages").write_text(content)
    return folder


def made(recipe, what, source, tmp_path):
    out = tmp_path / "made.tns"
    done = subprocess.run([sys.executable, RECIPES / f"{recipe}.py", "--out", out, "--source",
                           source, "--what", what], capture_output=True, text=True, timeout=60)
    return done, out.read_text().splitlines()[1:] if out.exists() else []


needs_apt = pytest.mark.skipif(not os.path.exists("/usr/lib/apt/apt-helper"),
                               reason="no apt, whose lists the recipe reads")


@needs_apt
def test_debian_counts_relations_and_follows_them_twice(tmp_path):
    done, lines = made("debian", "relations", lists(tmp_path / "l"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert lines == ["4", "4 9 4 2", "1 2 2 1 1", "1 2 3 1 1", "1 2 4 1 1", "1 3 2 1 1",
                     "2 1 3 1 1", "3 6 1 2 1"]
    assert made("debian", "paths", tmp_path / "l", tmp_path)[1] == ["3", "4 4 4", "1 2 3 1"]


@needs_apt
def test_debian_refuses_other_lists(tmp_path):
    done, _ = made("debian", "relations", lists(tmp_path / "l", "Depends: b\n\n"), tmp_path)
    assert done.returncode == 2 and "names no package" in done.stderr
    (tmp_path / "empty").mkdir()
    done, _ = made("debian", "relations", tmp_path / "empty", tmp_path)
    assert done.returncode == 2 and "no lists of packages" in done.stderr


def member(folder, number, lines):
    path = folder / f"m_{number:02}.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n2 2 {len(lines)}\n" +
                    "".join(line + "\n" for line in lines))


def test_a_pattern_of_which_some_members_are_known_fills_the_stack(tmp_path):
    folder = tmp_path / "s"
    folder.mkdir()
    member(folder, 2, ["1 1 5", "2 1 6"])
    member(folder, 4, ["2 1 8", "1 1 7"])
    found = tensor("stack", folder, tmp_path, "--match", "m_[0-9][0-9]", "--copies", "5")
    assert found[:2] == ["3", "2 2 5"]
    assert found[2:] == [f"1 1 {k} {v}" for k, v in enumerate([5, 5, 5, 7, 7], 1)] + \
        [f"2 1 {k} {v}" for k, v in enumerate([6, 6, 6, 8, 8], 1)]
    member(folder, 3, ["1 1 5", "2 2 6"])
    assert "pattern equal" in refusal("stack", folder, tmp_path, "--match", "m_*", "--copies", "5")
    assert "from 1 to 3" in refusal("stack", folder, tmp_path, "--match", "m_*4", "--copies", "3")
