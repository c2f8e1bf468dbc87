"""CUDA objects are compiled anew when a header changes that they include, by any Meson."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["RETENSOR"]).parents[2]
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# As Meson 1.0.1 writes it; a newer one hands $DEPFILE to the compiler.
NINJA = """rule cuda_COMPILER
 command = nvcc $ARGS -o $out -c $in
 deps = gcc
 depfile = $DEPFILE_UNQUOTED

build one.o: cuda_COMPILER one.cu
 DEPFILE = one.o.d
 DEPFILE_UNQUOTED = one.o.d
"""
needs_nvcc = pytest.mark.skipif(not (shutil.which("nvcc") and shutil.which("ninja")),
                                reason="nvcc or ninja is not installed")


def repaired(folder, text):
    (folder / "build.ninja").write_text(text)
    subprocess.run([sys.executable, ROOT / "ci/cuda_depends.py", folder], check=True)
    return (folder / "build.ninja").read_text()


def work_after_a_change(folder):
    """What Ninja would do once a header of one.cu is newer than its object."""
    ninja = ["ninja", "-C", folder]
    (folder / "one.hpp").write_text("#pragma once\ninline int one() { return 1; }\n")
    (folder / "one.cu").write_text('#include "one.hpp"\nint two() { return 2 * one(); }\n')
    subprocess.run(ninja, check=True, capture_output=True)
    (folder / "one.hpp").write_text("#pragma once\ninline long one() { return 1; }\n")
    return subprocess.run([*ninja, "-n"], check=True, capture_output=True, text=True).stdout


@needs_nvcc
def test_a_header_compiles_its_sources_anew(tmp_path):
    repaired(tmp_path, NINJA)
    assert "one.o" in work_after_a_change(tmp_path)


@needs_nvcc
def test_what_an_older_meson_writes_would_leave_them(tmp_path):
    (tmp_path / "build.ninja").write_text(NINJA)
    assert "no work to do" in work_after_a_change(tmp_path)


def test_rules_that_name_headers_stay_as_they_are(tmp_path):
    newer = NINJA.replace("$ARGS", "$ARGS -MD -MQ $out -MF $DEPFILE")
    assert repaired(tmp_path, newer) == newer
    assert repaired(tmp_path, repaired(tmp_path, NINJA)) == repaired(tmp_path, NINJA)


def test_this_build_knows_the_headers_of_its_cuda_objects():
    objects = re.findall(r"^build (\S+\.cu\.o): cuda_COMPILER (\S+)",
                         (BUILD / "build.ninja").read_text(), re.MULTILINE)
    made = [(name, BUILD / source) for name, source in objects if (BUILD / name).exists()]
    if not made:
        pytest.skip("a build without CUDA objects")
    known = subprocess.run(["ninja", "-C", BUILD, "-t", "deps", *(name for name, _ in made)],
                           check=True, capture_output=True, text=True).stdout
    known = dict(part.split(":", 1) for part in known.split("\n\n") if ":" in part)
    for name, source in made:
        for header in INCLUDE.findall(source.read_text()):
            assert f"/{header}\n" in known[name] + "\n", f"{name} does not follow {header}"
