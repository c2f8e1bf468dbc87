"""A registry is data, whoever wrote it: it runs no code of his and writes none of my files."""

import pytest

from attacks import RECIPES, refused, registry, run

PARAMETERS = ["out", "--out", "ou", "o", "input", "inp", "dims", "nnz", "-o", "=x", "help",
              "source"]


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_a_recipe_gets_the_parameters_that_it_declares_alone(tmp_path, parameter):
    mine = tmp_path / "mine.txt"
    mine.write_text("my own")
    path = registry(tmp_path, evil={"make": {"recipe": "movielens", "needs": "input",
                                             parameter: str(mine)}})
    done = run("dataset", "make", "evil", "--input", tmp_path, "--registry", path, "--cache",
               tmp_path / "cache")
    refused(done, "registry.yaml:1", parameter)
    assert mine.read_text() == "my own"


@pytest.mark.parametrize("value", ["--out=mine.txt", "-h", "--"])
def test_a_value_that_looks_like_an_option_is_a_value(tmp_path, value):
    (tmp_path / "mine.txt").write_text("my own")
    path = registry(tmp_path, evil={"make": {"recipe": "stack", "needs": "input", "match": value}})
    done = run("dataset", "make", "evil", "--input", tmp_path, "--registry", path, "--cache",
               tmp_path / "cache", cwd=tmp_path)
    refused(done)
    assert (tmp_path / "mine.txt").read_text() == "my own"


def stranger(folder):
    """A folder whose registry comes with a recipe of its own, and what that would leave behind."""
    (folder / "recipes").mkdir()
    trace = folder / "ran"
    code = f"import pathlib, sys\npathlib.Path({str(trace)!r}).write_text('ran')\n"
    for name in ("evil", "movielens", "recipe", "tns", "json", "argparse"):
        (folder / "recipes" / (name + ".py")).write_text(code + (
            "sys.exit(0)\n" if name == "evil" else ""))
    (folder / "recipes" / "recipes.yaml").write_text('{"schema": 1, "recipes": {"evil": []}}')
    return trace


@pytest.mark.parametrize("command", ["info", "verify", "make"])
def test_recipes_beside_a_stranger_s_registry_do_not_run(tmp_path, command):
    trace = stranger(tmp_path)
    path = registry(tmp_path, evil={"make": {"recipe": "evil"}})
    refused(run("dataset", command, "evil", "--registry", path, "--cache", tmp_path / "cache",
                cwd=tmp_path), "registry.yaml:1", "'evil'")
    assert not trace.exists()


def test_a_recipe_of_the_project_is_not_replaced_by_a_stranger_s(tmp_path):
    trace = stranger(tmp_path)
    path = registry(tmp_path, mine={"make": {"recipe": "movielens", "needs": "input"}})
    refused(run("dataset", "make", "mine", "--input", tmp_path, "--registry", path, "--cache",
                tmp_path / "cache", cwd=tmp_path), "ratings.dat")
    assert not trace.exists()


def test_recipes_of_a_folder_that_the_user_names_do_run(tmp_path):
    trace = stranger(tmp_path)
    path = registry(tmp_path, evil={"make": {"recipe": "evil"}})
    run("dataset", "make", "evil", "--registry", path, "--cache", tmp_path / "cache", "--recipes",
        tmp_path / "recipes", cwd=tmp_path)
    assert trace.exists()


def links(folder):
    (folder / "secret").write_text("1::1::5::978300760\n")
    (folder / "input").mkdir()
    (folder / "input" / "ratings.dat").symlink_to(folder / "secret")
    return folder / "input"


def test_a_link_leads_out_of_no_input_folder(tmp_path):
    path = registry(tmp_path, mine={"dims": [1, 1, 5], "make": {"recipe": "movielens",
                                                                "needs": "input"}})
    refused(run("dataset", "make", "mine", "--input", links(tmp_path), "--registry", path,
                "--cache", tmp_path / "cache"), "leads out of")


def test_a_pattern_leads_out_of_no_input_folder(tmp_path):
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n")
    (tmp_path / "input").mkdir()
    path = registry(tmp_path, mine={"dims": [1, 1, 1], "make": {
        "recipe": "stack", "needs": "input", "match": "../*.mtx"}})
    refused(run("dataset", "make", "mine", "--input", tmp_path / "input", "--registry", path,
                "--cache", tmp_path / "cache"), "../*.mtx")


def test_every_recipe_declares_its_parameters():
    declared = (RECIPES / "recipes.yaml").read_text()
    for recipe in RECIPES.glob("*.py"):
        # What recipes and convert use is no recipe.
        if recipe.stem not in ("recipe", "bulk", "tns", "tnsb", "exchange"):
            assert f"{recipe.stem}:" in declared
