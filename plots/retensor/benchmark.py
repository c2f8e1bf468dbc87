"""The command `retensor bench` from Python."""
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from retensor.program import output_of
from retensor.tensors import tensor

PROBLEM = {"operation": "string", "variant": "string", "mode": "Int64", "rank": "Int64",
           "dtype": "string"}
COLUMNS = {**PROBLEM, "method": "string", "seconds": "Float64", "over_fastest": "Float64",
           "spread": "Float64", "gflops": "Float64", "roofline_share": "Float64",
           "format_bytes": "Int64", "prepare_seconds": "Float64", "error_over_bound": "Float64",
           "status": "string", "reason": "string"}


def bench(x, operation="mttkrp", rank=None, mode=None, variant=None, methods=None, samples=5,
          timeout=60, ceilings=True):
    """Time every method that has an operation on a tensor: `retensor bench`, as a DataFrame.

    `x` is a data set's name, the path of a file, or anything that `tensor` takes. `mode` (all by
    default) and `rank` (16 by default) may be lists; without `methods` all that have the operation
    are tried, each for `timeout` seconds at most. The table has one line per problem and method;
    the fastest method of a problem comes first. Its columns are `mode`, `rank`, ..., `method`,
    `seconds` (median), `over_fastest`, `spread` (slowest sample over the fastest), `gflops`,
    `roofline_share`, `format_bytes`, `prepare_seconds`, `error_over_bound` (at most 1), `status`,
    and the `reason` of a method that is not `ok`. The memory bandwidth is measured first, which
    takes a few seconds; with `ceilings=False` it is not, and no `roofline_share` is known. Raises
    InputError if the command rejects its input."""
    options = ["--operation", operation, "--samples", samples, "--timeout", timeout, "--json",
               "--quiet"]
    options += [] if ceilings else ["--no-ceilings"]
    for name, given in (("--rank", rank), ("--mode", mode), ("--variant", variant),
                        ("--method", methods)):
        options += [name, *_list(given)] if given is not None else []
    with tempfile.TemporaryDirectory(prefix="retensor-") as folder:
        if not isinstance(x, (str, Path)):
            given, x = tensor(x), Path(folder) / "tensor.tns"
            given.write(x)
            options += ["--type", "f64" if given.values.dtype == np.float64 else "f32"]
        return _table(json.loads(output_of("bench", x, *options, fine=(0, 1))))


def _list(given):
    return list(given) if isinstance(given, (list, tuple, range)) else [given]


def _table(problems):
    lines = []
    for problem in problems:
        place = {name: problem["problem"].get(name) for name in PROBLEM}
        fastest = next((method["seconds"] for method in problem["methods"]), None)
        lines += [{**place, **method, "over_fastest": method["seconds"] / fastest, "status": "ok"}
                  for method in problem["methods"]]
        lines += [{**place, **method} for method in problem["not_ok"]]
    return pd.DataFrame(lines, columns=list(COLUMNS)).astype(COLUMNS)
