"""PASTA Table I: flops, bytes and operational intensity of the kernels on actual tensors.

The counts come from the rows; M_F and n_b are what their work models counted: fibers follow from
the bytes of TTV, blocks are recorded by HiCOO-MTTKRP. A tensor's modes share a line.
"""
import pandas as pd

from retensor.figures.cells import number
from retensor.figures.claims import claims_at

# Flops and upper bound of the bytes as the table prints them, for order 3 and single precision.
FORMULAS = {
    "tew": ("TEW", "M", "12M"),
    "ts": ("TS", "M", "8M"),
    "ttv": ("TTV", "2M", "12M + 12M_F"),
    "ttm": ("TTM", "2MR", "4MR + 4M_F R + 8M + 8M_F"),
    "mttkrp": ("MTTKRP", "3MR", "COO: 12MR + 16M, HiCOO: 12R min(n_b B, M) + 7M + 20n_b"),
}
COLUMNS = ("kernel", "flops", "bytes", "OI printed", "tensor", "M", "M_F by mode", "n_b",
           "OI, COO", "OI, HiCOO")


def arrange(view):
    """Make the table: a line per kernel and tensor."""
    rows = view.rows[view.rows["status"] == "ok"]
    datasets = [name for name in view.spec.order.get("case.dataset", [])
                if name in set(rows["case.dataset"])]
    printed = {claim["place"]: number(claim["published"].get("value"))
               for claim in reversed(claims_at(view, "Table I, row"))}
    lines = []
    for operation, (name, flops, moved) in FORMULAS.items():
        formula = (flops, moved, printed.get(f"Table I, row {name}", ""))
        for dataset in datasets:
            chosen = rows[(rows["case.operation"] == operation) & (rows["case.dataset"] == dataset)]
            if len(chosen):
                lines.append((name, *formula, *_tensor(chosen, rows, dataset)))
                formula = ("", "", "")  # once per kernel
    table = pd.DataFrame(lines, columns=COLUMNS, dtype=object)
    view.table = table


def _tensor(chosen, rows, dataset):
    of_tensor = rows[rows["case.dataset"] == dataset]
    operation = chosen["case.operation"].iloc[0]
    return (dataset, number(int(chosen["case.data.nnz"].iloc[0])),
            _fibers(of_tensor) if operation in ("ttv", "ttm") else "",
            _blocks(chosen) if operation == "mttkrp" else "",
            _intensity(chosen, ".coo"), _intensity(chosen, ".hicoo"))


def _fibers(rows):
    """M_F of every mode: what TTV moves beyond (2v + 4) M, in fibers of v + 4 (N - 1) bytes."""
    by_mode = {}
    for _, row in rows[rows["case.operation"] == "ttv"].iterrows():
        v = {"f32": 4, "f64": 8}[row["case.dtype"]]
        fiber = v + 4 * (len(row["case.data.dims"]) - 1)
        by_mode[row["case.mode"]] = round(
            (row["work.bytes"] - (2 * v + 4) * row["case.data.nnz"]) / fiber)
    return ", ".join(str(by_mode[mode]) for mode in sorted(by_mode))


def _blocks(rows):
    found = rows["executed.blocks"].dropna() if "executed.blocks" in rows.columns else []
    return ", ".join(dict.fromkeys(map(str, found)))


def _intensity(rows, ending):
    """Least and largest intensity over the modes."""
    values = [float(value) for value in
              rows[rows["case.method"].str.endswith(ending)]["work.intensity"]]
    return " to ".join(dict.fromkeys(number(v) for v in (min(values), max(values)))) \
        if values else ""
