"""READMEs: one page for the project, one shape for the papers, no link that leads nowhere."""
import os
import re
import shutil
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


def specs():
    """The specs that the pages print in full, by page and line."""
    for page in pages():
        text = page.read_text()
        for block in re.finditer(r"^```yaml\n(schema: 1\nartifact: .*?)^```", text, re.M | re.S):
            yield f"{page.relative_to(ROOT)}:{text[:block.start()].count(chr(10)) + 1}", block[1]


def plan(folder, spec):
    """What `retensor plan` says of a spec beside the files that the pages speak of."""
    shutil.copy(ROOT / "experiments/pasta/suite.yaml", folder)
    (folder / "mine.tns").write_text("1 1 1 1.0\n2 2 2 1.0\n")
    for name in ("theirs", "libmine.so"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    (folder / "mine.yaml").write_text(spec)
    return subprocess.run([os.environ["RETENSOR"], "plan", "mine.yaml"], cwd=folder, text=True,
                          capture_output=True, env={**os.environ, "RETENSOR_ROOT": str(ROOT)})


@pytest.mark.parametrize("spec", [pytest.param(text, id=name) for name, text in specs()])
def test_a_printed_spec_has_a_plan(spec, tmp_path):
    planned = plan(tmp_path, spec)
    assert planned.returncode == 0, planned.stderr
    assert re.search(r"^[1-9]\d* cases", planned.stdout, re.MULTILINE)


def test_the_keys_of_a_sweep_go_with_its_spec(tmp_path):
    page = (ROOT / "plots/docs/how-to/sweep.md").read_text()
    spec = next(text for name, text in specs() if "sweep.md" in name)
    keys = re.findall(r"^\| `(\w+: .*?)` \|", page, re.MULTILINE)
    assert [key.split(":")[0] for key in keys] == ["zip", "exclude", "profiles"]
    without_rank = re.sub(r", rank: \[[^]]*\]", "", spec)
    for key in keys:
        planned = plan(tmp_path, (without_rank if key.startswith("zip") else spec) + key + "\n")
        assert planned.returncode == 0, (key, planned.stderr)
    assert plan(tmp_path, spec + keys[0] + "\n").returncode == 2  # rank stands in two places


def test_the_citation_names_the_five_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0" and len(citation["references"]) == len(PAPERS)
    assert all(paper["title"] and paper["authors"] for paper in citation["references"])
