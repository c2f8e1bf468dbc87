"""The documentation site and the notebook, built as ci/reproduce builds them."""
import re
import shutil
import sys
from pathlib import Path

import pytest
from conftest import ROOT

import retensor

sys.path.insert(0, str(ROOT / "ci"))
pytest.importorskip("mkdocs")
pytest.importorskip("nbclient")
import docs  # noqa: E402  of ci/
import notebook  # noqa: E402


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    assert notebook.main(folder / "notebook") == 0
    return folder


@pytest.fixture(scope="module")
def site(executed, tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    assert docs.build_site(ROOT / "plots/docs", executed, out) == 0
    return out


def test_the_notebook_shows_tables_and_figures(executed):
    page = (executed / "notebook.html").read_text()
    assert page.count("<img alt=") == 2 and page.count("<table") >= 3
    assert "pasta.cpu.coo" in page and "Traceback" not in page


def test_a_failing_cell_fails_the_notebook(tmp_path):
    source = tmp_path / "broken.py"
    source.write_text("# %% [markdown]\n# words\n# %%\n1 / 0\n")
    assert notebook.main(tmp_path / "broken", source) == 1
    assert not (tmp_path / "broken.html").exists()


def test_the_reference_names_everything_that_there_is(site):
    methods = (site / "reference/methods.html").read_text()
    assert all(f'id="{name.replace(".", "")}"' in methods for name in retensor.methods())
    python = (site / "reference/python.html").read_text()
    assert all(f">{name}<" in python for name in retensor.__all__)
    specs = (site / "reference/specs.html").read_text()
    assert all(f"<code>{key}</code>" in specs for key in ("axes", "samples", "figure", "when"))
    commands = (site / "reference/commands.html").read_text()
    assert all(f'id="{name}"' in commands for name in ("run", "plan", "export", "verdict"))


def test_every_threat_stands_in_the_site_with_its_promise(site):
    # The theme's dialog of keys, a table too, follows the footer.
    page = (site / "explanation/security.html").read_text().split("<footer")[0]
    rows = re.findall(r"^\| (?!threat)(.+?) \|", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
    assert len(rows) > 20 and page.count("<tr>") == len(rows) + 1
    assert all(row in page for row in rows if "`" not in row)


def test_no_page_asks_the_network_for_anything(site):
    for page in site.rglob("*.html"):
        asked = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]*)"',
                           page.read_text())
        assert asked == [], page


def test_a_link_that_leads_nowhere_is_an_error(executed, tmp_path):
    pages = shutil.copytree(ROOT / "plots/docs", tmp_path / "docs")
    with open(Path(pages) / "index.md", "a", encoding="utf-8") as file:
        file.write("\n[nowhere](nowhere.md)\n")
    assert docs.build_site(pages, executed, tmp_path / "site") != 0


def test_what_the_pages_say_of_the_package_is_true():
    """Every `retensor.name(` of the handwritten pages exists."""
    for page in (ROOT / "plots/docs").rglob("*.md"):
        for name in re.findall(r"\bretensor\.(\w+)\(", page.read_text()):
            assert hasattr(retensor, name), f"{page}: {name}"
