"""READMEs: one page for the project, one shape for the papers, no link that leads nowhere."""
import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from conftest import ROOT

sys.path.insert(0, str(ROOT / "ci"))
import readme as verdict_lines  # noqa: E402

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


def test_a_readme_without_the_marks_of_its_verdicts_is_named(tmp_path):
    page = tmp_path / "README.md"
    marks = "<!-- headlines: written by ci/readme.py -->\n", "<!-- end of headlines -->\n"
    page.write_text("above\n" + "old\n".join(marks) + "below\n")
    assert verdict_lines.between(page, "headlines", "new\n") == (
        "above\n" + "new\n".join(marks) + "below\n")
    for text in ("## Results\n", marks[0], marks[1], marks[1] + marks[0]):
        page.write_text(text)
        with pytest.raises(SystemExit, match=r"README.md: found no lines <!-- headlines"):
            verdict_lines.between(page, "headlines", "new\n")


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


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_the_kernel_of_the_page_compiles(tmp_path):
    page = (ROOT / "plots/docs/how-to/own-kernels.md").read_text()
    header, description, registration = re.findall(r"```cpp\n(.*?)```", page, re.DOTALL)
    (tmp_path / "mine_cpu.hpp").write_text(header)
    (tmp_path / "mine.cpp").write_text(
        '#include "mine_cpu.hpp"\n#include "common/method/method_spec.hpp"\n'
        '#include "common/method/registry.hpp"\n'
        f"namespace retensor {{\nnamespace mine {{\n{description}\n}}\n{registration}\n}}\n")
    done = subprocess.run(["g++", "-std=c++20", "-fopenmp", "-fsyntax-only", "-Wall", "-Wextra",
                           "-Wconversion", "-Wno-sign-conversion", "-Werror", "-I", ROOT,
                           tmp_path / "mine.cpp"], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_citation_names_each_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert len(citation["references"]) == len(PAPERS), "CITATION.cff: one reference for each paper"
    assert all(paper["title"] and paper["authors"] for paper in citation["references"])
