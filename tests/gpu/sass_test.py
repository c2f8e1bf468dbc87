"""Which atomics the compiled kernels hold, read from their machine code."""

import re
import shutil
import subprocess

import pytest

from sweeps import RETENSOR

ATOMIC = re.compile(r"\b(?:RED|ATOM)G?\.[A-Z0-9_.]+")  # RED on Ampere, REDG on Hopper


@pytest.fixture(scope="module", name="kernels")
def _kernels():
    """{demangled kernel: atomics on global memory}, of every kernel of the program."""
    if shutil.which("cuobjdump") is None:
        pytest.skip("no cuobjdump")
    dump = subprocess.run(["cuobjdump", "-sass", RETENSOR], capture_output=True, text=True,
                          check=True).stdout
    found, atomics = {}, None
    for line in dump.splitlines():
        if "Function :" in line:
            atomics = found.setdefault(line.split(":", 1)[1].strip(), [])
        elif atomics is not None:
            atomics += [match.group(0) for match in ATOMIC.finditer(line)]
    names = subprocess.run(["c++filt"], input="\n".join(found), capture_output=True, text=True,
                           check=True).stdout.splitlines()
    assert len(names) == len(found) > 0
    return dict(zip(names, found.values()))


def of(kernels, pattern):
    chosen = {name: atomics for name, atomics in kernels.items() if re.search(pattern, name)}
    assert chosen, f"no kernel matches {pattern}"
    return chosen


def test_kernels_with_atomics_are_told_from_those_without(kernels):
    assert all(of(kernels, r"parti::mttkrp<").values())
    assert not any(of(kernels, r"blco::reduce<").values())


def test_tuned_flycoo_holds_no_atomics_at_any_scope(kernels):
    tuned = of(kernels, r"flycoo::tuned::(tile_pass|join_rows)<")
    assert {name: atomics for name, atomics in tuned.items() if atomics} == {}


def test_hlsto_fills_bitmaps_without_atomics(kernels):
    filling = of(kernels, r"hlsto::.*fill_tiles<")
    assert {name: atomics for name, atomics in filling.items() if atomics} == {}


def additions(atomics):
    """The atomics that add; the tags of row owners are compare-and-swaps."""
    return [a for a in atomics if ".ADD" in a]


def test_flycoo_of_block_scope_adds_at_no_wider_scope(kernels):
    scope = r"flycoo::pass<.*\(retensor::flycoo::Scope\){}"
    device = of(kernels, scope.format(1))
    assert all(any(".GPU" in a for a in additions(atomics)) for atomics in device.values())
    block = of(kernels, scope.format(0))
    assert all(additions(atomics) for atomics in block.values())
    assert not any(".GPU" in a or ".SYS" in a for atomics in block.values()
                   for a in additions(atomics))
