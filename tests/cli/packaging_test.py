"""ci/bootstrap and ci/packaging: what they promise on systems that are not at hand."""
import ast
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "ci" / "packaging"
PROGRAMS = ("awk bash cat command dirname env g++ gcc git grep head mktemp nproc openssl "
            "pkg-config python3 rm sed sort tr uname nice sh").split()


def requirements():
    """{Debian package: group} of ci/bootstrap."""
    text = (ROOT / "ci/bootstrap").read_text()
    found = re.findall(r"^(all|test|optional|optional-test) +(\S+) +\S", text, re.MULTILINE)
    return {package: group for group, package in found}


def names():
    lines = (PACKAGING / "names.tsv").read_text().splitlines()[1:]
    return {line.split("\t")[0]: line.split("\t")[1:] for line in lines}


def bootstrap(path, *arguments):
    return subprocess.run([ROOT / "ci/bootstrap", *arguments], text=True, capture_output=True,
                          check=False, env={**os.environ, "PATH": str(path)}, timeout=120)


@pytest.fixture
def few_programs(tmp_path):
    """A PATH without apt-get, ninja, shellcheck and much else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in PROGRAMS:
        for place in ("/usr/bin", "/bin"):
            if (Path(place) / program).exists():
                (folder / program).symlink_to(Path(place) / program)
                break
    return folder


def test_every_package_has_its_names():
    known = names()
    assert len(requirements()) > 30 and set(requirements()) == set(known)
    assert all(len(line) == 3 and all(line) for line in known.values())


def test_the_environment_of_conda_has_what_is_needed():
    environment = yaml.safe_load((PACKAGING / "environment.yml").read_text())
    held = {re.split("[<>=]", name)[0] for name in environment["dependencies"]}
    for package, group in requirements().items():
        conda = names()[package][1]
        checks = ("clang", "openssl", "libomp", "libclang", "shellcheck", "flake8", "zsh", "fish")
        if conda != "-" and (group == "all" or not package.startswith(checks)):
            assert conda in held, package


def test_without_apt_the_names_of_other_systems_are_said(few_programs):
    done = bootstrap(few_programs, "--test")
    assert done.returncode == 1
    assert re.search(r"Fedora: +dnf install .*ninja-build.*ShellCheck", done.stderr)
    assert re.search(r"conda-forge: .*environment.yml.* ninja ", done.stderr)
    assert re.search(r"modules: +module load .*Ninja", done.stderr)
    assert "missing: ninja-build" in done.stderr


def apt(folder, simulated):
    """An apt-get that simulates what it is told and notes what it is asked to do."""
    (folder / "apt-get").write_text(f"""#!/bin/bash
case "$*" in
  *-s*) printf '%s\\n' '{simulated}' ;;
  *) printf '%s\\n' "$*" >>"{folder}/asked" ;;
esac
""")
    (folder / "apt-get").chmod(0o755)
    (folder / "sudo").write_text("#!/bin/bash\nshift; [[ $1 == true ]] || exec \"$@\"\n")
    (folder / "sudo").chmod(0o755)
    return lambda: (folder / "asked").read_text() if (folder / "asked").exists() else ""


def test_a_dry_run_installs_nothing(few_programs):
    asked = apt(few_programs, "Inst ninja-build (1.11)")
    done = bootstrap(few_programs, "--dry-run")
    assert done.returncode == 1 and asked() == ""
    assert re.search("would be run: apt-get install .*ninja-build", done.stderr)


def test_nothing_installed_is_upgraded_unless_allowed(few_programs):
    asked = apt(few_programs, "Inst libcurl4 [7.88] (7.99)")
    done = bootstrap(few_programs)
    assert done.returncode == 1 and "install" not in asked()
    assert "would be upgraded: libcurl4" in done.stderr and "--upgrade allows it" in done.stderr
    bootstrap(few_programs, "--upgrade")
    assert re.search("install -y --no-install-recommends .*ninja-build", asked())


def test_what_upgrades_nothing_is_installed(few_programs):
    asked = apt(few_programs, "Inst ninja-build (1.11)")
    bootstrap(few_programs)
    assert re.search("install -y --no-install-recommends .*ninja-build", asked())


def test_wrong_arguments_are_refused():
    assert bootstrap(os.environ["PATH"], "--tset").returncode == 2


def test_the_spack_recipe_parses_and_names_options_that_exist():
    text = (PACKAGING / "spack/packages/retensor/package.py").read_text()
    ast.parse(text)
    options = (ROOT / "meson_options.txt").read_text()
    for option in re.findall(r"-D(\w+)=", text):
        assert f"option('{option}'" in options
