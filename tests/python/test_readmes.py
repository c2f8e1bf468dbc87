"""READMEs: one page for the project, one shape for the papers, no link that leads nowhere."""
import re
import subprocess

import pytest
import yaml
from conftest import ROOT

SECTIONS = ["The paper", "Results", "From paper to code", "Methods", "Artifacts", "Deviations",
            "Claims"]
PAPERS = sorted(ROOT.glob("papers/*/README.md"))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")


def sections(text):
    return re.findall(r"^## (.*)$", text, re.MULTILINE)


@pytest.mark.parametrize("readme", PAPERS, ids=lambda path: path.parent.name)
def test_papers_have_the_same_sections(readme):
    text = readme.read_text()
    assert sections(text) == SECTIONS
    assert len(text.splitlines()) <= 150


def test_the_readme_is_one_page():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 100
    assert text.count("![") == 1 and sections(text)[:2] == ["Results", "Use it"]


def pages():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, text=True,
                            capture_output=True).stdout
    return [ROOT / name for name in listed.split()]


def broken(page, text):
    """Links to files that are not there."""
    links = [link for link in LINK.findall(text) if not re.match(r"https?:|mailto:", link)]
    generated = [link for link in links if "reference/" in link or "notebook.html" in link]
    return [link for link in links if link not in generated
            and not (page.parent / link).exists()]


def test_links_lead_somewhere():
    found = {str(page): broken(page, page.read_text()) for page in pages()}
    assert {page: links for page, links in found.items() if links} == {}


def test_a_broken_link_is_found():
    assert broken(ROOT / "README.md", "[a](nowhere.md) [b](README.md) [c](ci/gone#x)") == [
        "nowhere.md", "ci/gone"]


def test_the_citation_names_the_five_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0" and len(citation["references"]) == len(PAPERS)
    assert all(paper["title"] and paper["authors"] for paper in citation["references"])
