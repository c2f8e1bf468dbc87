"""Contractions of bcb_sptc.cpu beside NumPy's einsum: values, and the pattern beside that of the
operands. $PROGRAM is the program that prints them (contractions.cpp)."""
import json
import os
import subprocess

import numpy as np
import pytest

# Two halves hold an operand to 2^-21 of its size or 2^-25; sums are in single precision.
RELATIVE, ABSOLUTE = 2.0**-21, 2.0**-25


@pytest.fixture(scope="module")
def cases():
    done = subprocess.run([os.environ["PROGRAM"]], capture_output=True, text=True,
                          check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def dense(tensor, values):
    array = np.zeros(tensor["dims"])
    array[tuple(np.array(i, dtype=int) for i in tensor["indices"])] = values
    return array


def of(tensor):
    return dense(tensor, tensor["values"])


def pattern(tensor):
    return dense(tensor, 1)


def difference(case):
    """What is wrong with a result, or an empty text."""
    def einsum(f):
        return np.einsum(case["einsum"], f(case["x"]), f(case["y"]))

    terms, result = einsum(pattern), case["result"]
    if len(result["values"]) != np.count_nonzero(terms):
        return "number of entries"
    if np.any(pattern(result) != (terms > 0)):
        return "pattern"
    magnitude = abs(case["alpha"]) * einsum(lambda tensor: abs(of(tensor)))
    bound = (terms + 7) * RELATIVE * magnitude + terms * ABSOLUTE
    error = abs(of(result) - case["alpha"] * einsum(of))
    return "values" if np.any(error > bound) else ""


def test_every_contraction_is_numpys(cases):
    assert len(cases) > 5000
    assert [(c["einsum"], wrong) for c in cases if (wrong := difference(c))] == []


def test_most_orders_of_modes_occur(cases):
    assert len({c["einsum"] for c in cases}) > 4000
    assert {len(c["x"]["dims"]) for c in cases} == {1, 2, 3, 4, 5}
    assert sum(len(c["result"]["values"]) > 0 for c in cases) > 2000


def test_planted_differences_are_found(cases):
    case = next(c for c in cases if len(c["result"]["values"]) > 1)
    result = case["result"]
    assert difference(case) == ""
    values = result["values"]
    result["values"] = [values[0] + 1e-3, *values[1:]]
    assert difference(case) == "values"
    result["values"] = values[1:]
    result["indices"] = [i[1:] for i in result["indices"]]
    assert difference(case) == "number of entries"
