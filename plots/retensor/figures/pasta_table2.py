"""PASTA Table II: the tensors as printed beside the ones here.

Nonzeros and density here are the registry's (checked whenever a tensor is made), as the verdicts
give them; lengths are those of the tensors that the rows ran on, a stand-in under the name of the
tensor it replaces.
"""
import pandas as pd

from retensor.errors import PlotError
from retensor.figures.cells import number
from retensor.figures.claims import claims_at, published

COLUMNS = ("no.", "as printed", "density", "data here", "lengths (where run)", "nonzeros",
           "density here", "verdict on nonzeros, density")


def arrange(view):
    """Make the table: a line per tensor of the paper."""
    claims = {}
    for claim in claims_at(view, "Table II("):
        number_of_tensor = claim["place"].split(", ")[1]
        claims.setdefault(number_of_tensor, []).append(claim)
    if not claims:
        raise PlotError(f"{view.spec.artifact}: no verdict on a claim of Table II was given")
    ran = _ran(view.rows)
    lines = [_line(tensor, *pair, ran) for tensor, pair in claims.items()]
    table = pd.DataFrame(lines, columns=COLUMNS, dtype=object)
    view.table = table


def _line(tensor, nonzeros, density, ran):
    name = nonzeros["states"].split(":")[0]
    verdicts = dict.fromkeys((nonzeros["verdict"], density["verdict"]))
    return (tensor, nonzeros["states"], published(density).split(" ")[0],
            nonzeros.get("data") or "none", ran.get(name, ""), number(nonzeros.get("measured")),
            number(density.get("measured")), ", ".join(verdicts))


def _ran(rows):
    """Lengths by the name of the tensor or of the one that it stands in for."""
    replaced = rows["case.data.for"] if "case.data.for" in rows.columns else rows["case.dataset"]
    names = replaced.where(replaced.notna(), rows["case.dataset"])
    return {name: " x ".join(map(str, dims)) for name, dims in zip(names, rows["case.data.dims"])
            if isinstance(dims, list)}
