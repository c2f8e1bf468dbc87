"""The only reader of what `retensor rows` prints (format: experiments/schema/README.md).

Rows become a DataFrame in the order in which they finished, with one dotted column per leaf of the
JSON object (`case.dataset`, `stats.median`); lists stay lists. All columns but `stale` have dtype
object, so that whole numbers stay whole beside missing values. What follows from rows was computed
by the driver: which of them are the newest, their backend, device, currency and roofline.
"""
import json
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from retensor.errors import PlotError

SCHEMA = 1
SESSION_PARTS = ("build", "git", "machine", "spec")  # members that have members of their own
ROW_COLUMNS = ("session", "key", "status", "reason", "case.artifact", "case.operation",
               "case.dataset", "case.method", "case.mode", "case.launch", "case.data.kind")
DERIVED = ("code", "backend", "device", "currency", "stale")  # the last columns


@dataclass
class Results:
    """Rows with what the session and ceilings lines say about them."""

    rows: pd.DataFrame  # but for imported ones
    sessions: dict = field(default_factory=dict)  # session id -> session line
    ceilings: dict = field(default_factory=dict)  # (session id, backend) -> ceilings line
    warnings: list = field(default_factory=list)
    originals: pd.DataFrame = None  # imported: times of original codes, in the columns of `rows`


def load_results(paths):
    """Read files that `retensor rows` wrote; raises PlotError for others."""
    results, records = Results(pd.DataFrame()), []
    for path in paths:
        for number, line in enumerate(_lines(path), start=1):
            try:
                _take(line, records, results)
            except (KeyError, TypeError):
                raise PlotError(f"{path}:{number}: no line of `retensor rows`") from None
    rows = _frame(records)
    imported = rows["code"] == "original"
    results.rows, results.originals = rows[~imported], rows[imported]
    return results


def read_json(path):
    """Parse one JSON file; raises PlotError when it is absent or malformed."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise PlotError(f"{path}: {error}") from error


def _lines(path):
    try:
        with open(path, encoding="utf-8") as file:
            yield from map(json.loads, file)
    except (OSError, ValueError) as error:
        raise PlotError(f"{path}: {error}") from error


def _take(line, records, results):
    if line["schema"] != SCHEMA:
        raise KeyError
    kind = line["kind"]
    if kind == "session":
        if not all(isinstance(line.get(name) or {}, dict) for name in SESSION_PARTS):
            raise TypeError
        results.sessions[line["session"]] = line
    elif kind == "ceilings":
        results.ceilings[line["session"], line["backend"]] = line
    elif kind == "warning":
        results.warnings.append(line["text"])
    elif kind == "row" and line.keys() >= set(DERIVED):  # a result file lacks them
        records.append(_flatten(line))
    else:
        raise KeyError


def _flatten(value, prefix=""):
    flat = {}
    for name, item in value.items():
        if isinstance(item, dict):
            flat.update(_flatten(item, f"{prefix}{name}."))
        else:
            flat[prefix + name] = item
    return flat


def _frame(records):
    names = dict.fromkeys(name for record in records for name in record)
    columns = [*(name for name in names if name not in DERIVED),
               *(name for name in ROW_COLUMNS if name not in names), *DERIVED]
    records = sorted(records, key=lambda record: str(record.get("finished") or ""))
    rows = pd.DataFrame([[record.get(name) for name in columns] for record in records],
                        columns=columns, dtype=object)
    return rows.astype({"stale": bool})
