"""`meson install`: header, library, pkg-config file and program work where they were put."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["RETENSOR"]).resolve().parents[2]
PROGRAM = Path(__file__).with_name("install_program.c")


def run(*argv, **environment):
    done = subprocess.run(list(map(str, argv)), text=True, capture_output=True, check=False,
                          env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    root = tmp_path_factory.mktemp("installed")
    run(os.environ["RETENSOR_MESON"], "install", "-C", BUILD, "--no-rebuild", "--destdir", root)
    (header,) = root.rglob("retensor.h")
    return header.parents[1]


@pytest.mark.skipif(os.environ["RETENSOR_SANITIZED"] == "1",
                    reason="the library of this build needs the sanitizers' own program")
def test_a_c_program_uses_the_library(prefix, tmp_path):
    (package,) = prefix.rglob("retensor.pc")
    # The files were installed below another folder than they were configured for.
    settings = {"PKG_CONFIG_PATH": str(package.parent)}
    flags = run("pkg-config", f"--define-variable=prefix={prefix}", "--cflags", "--libs",
                "retensor", **settings).split()
    program = tmp_path / "program"
    run("gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", PROGRAM, "-o", program,
        *flags)
    (library,) = (path for path in prefix.rglob("libretensor.so.1"))
    assert run(program, LD_LIBRARY_PATH=str(library.parent)).splitlines() == [
        "200 430", "ttv: found mode 5, expected 0 to 2"]


def test_the_library_has_the_symbols_of_its_header_alone(prefix):
    (library,) = prefix.rglob("libretensor.so.1")
    symbols = {line.split()[-1].split("@")[0]
               for line in run("nm", "-D", "--defined-only", library).splitlines()}
    header = (prefix / "include" / "retensor.h").read_text()
    assert len(symbols) > 15
    assert all(f"{symbol}(" in header for symbol in symbols if symbol.startswith("retensor_"))
    assert not [symbol for symbol in symbols
                if not symbol.startswith(("retensor_", "__asan", "__odr_asan"))]


def test_nothing_is_installed_that_python_compiled(prefix):
    assert list(prefix.rglob("retensor/cli.py")) and not list(prefix.rglob("__pycache__"))


def test_the_installed_program_finds_its_registry(prefix, tmp_path):
    program = prefix / "bin" / "retensor"
    own = {"HOME": str(tmp_path), "XDG_CACHE_HOME": ""}
    elsewhere = shutil.copytree(prefix, tmp_path / "moved", symlinks=True)
    for found in (program, elsewhere / "bin" / "retensor"):
        done = subprocess.run([found, "dataset", "info", "flycoo-fig2"], cwd=tmp_path, text=True,
                              capture_output=True, check=False, env={**os.environ, **own})
        assert done.returncode == 0, done.stderr
        assert f"{tmp_path}/.cache/retensor" in done.stdout


def test_the_installed_program_writes_a_report_of_own_rows(prefix, tmp_path):
    (tmp_path / "mine.tns").write_text("1 1 1 2.0\n2 3 1 1.0\n")
    (tmp_path / "mine.yaml").write_text(
        "schema: 1\nartifact: own/mine\ntitle: Mine\noperation: mttkrp\n"
        "axes: {dataset: mine.tns, mode: 0, rank: 4}\nmethods: [{id: pasta.cpu.coo}]\n"
        "figure: {kind: grouped-bars, x: dataset}\n")
    for command in (["run", "mine.yaml"], ["report", "--out", "report"]):
        done = subprocess.run([prefix / "bin" / "retensor", *command], cwd=tmp_path, text=True,
                              capture_output=True, check=False,
                              env={**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": ""})
        assert done.returncode == 0, done.stderr
    assert "pasta.cpu.coo" in (tmp_path / "report" / "own.html").read_text()
