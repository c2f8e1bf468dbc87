"""The only reader of result rows (format: experiments/schema/README.md).

Rows become a DataFrame with one dotted column per leaf of the JSON object (`case.dataset`,
`stats.median`); lists stay lists. All columns have dtype object, so that whole numbers stay whole
beside missing values. A measurement repeated later on the same machine replaces the earlier one.
"""
import json
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from plots.errors import PlotError

SCHEMA = 1
ROW_COLUMNS = ("session", "key", "status", "reason", "case.artifact", "case.operation",
               "case.dataset", "case.method", "case.mode", "case.launch", "case.data.kind",
               "currency")


@dataclass
class Results:
    """Rows with what the session and ceilings lines of their files say about them."""

    rows: pd.DataFrame
    sessions: dict = field(default_factory=dict)  # session id -> session line
    ceilings: dict = field(default_factory=dict)  # (session id, backend) -> {what: ceiling}
    warnings: list = field(default_factory=list)


def load_results(paths, currency=None):
    """Read row files in order; `currency` maps a session and a key, with a blank between, to what
    the driver says of the row: sources, kernels, confirmed, unknown or stale.

    Raises PlotError for a newer schema and for damage anywhere but in the last line.
    """
    results = Results(pd.DataFrame())
    records = []
    for path in paths:
        for line in _read_lines(Path(path), results.warnings):
            _take(line, Path(path), records, results)
    results.rows = _frame(records, results, currency or {})
    return results


def read_json(path):
    """Parse one JSON file; raises PlotError when it is absent or malformed."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise PlotError(f"{path}: {error}") from error


def backend_of(method):
    """The backend in a method id `<paper>.<backend>.<variant>`: cpu, cuda or None."""
    return next((part for part in str(method).split(".")[1:] if part in ("cpu", "cuda")), None)


def _read_lines(path, warnings):
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise PlotError(f"{path}: {error.strerror}") from error
    last = max((i for i, text in enumerate(lines) if text.strip()), default=-1)
    for number, text in enumerate(lines[:last + 1], start=1):
        if not text.strip():
            continue
        try:
            line = json.loads(text.decode("utf-8"))
        except ValueError as error:
            if number == last + 1:
                warnings.append(f"{path}:{number}: the last line is torn and was left out")
                return
            raise PlotError(f"{path}:{number}: not a JSON line: {error}") from error
        if not isinstance(line, dict) or not isinstance(line.get("schema"), int):
            raise PlotError(f"{path}:{number}: expected an object with a schema number")
        if line["schema"] > SCHEMA:
            raise PlotError(f"{path}:{number}: schema {line['schema']} is newer than {SCHEMA}, "
                            "which this reader knows")
        yield {**line, "line": number}


def _take(line, path, records, results):
    kind = line.get("kind")
    if not isinstance(line.get("session"), str):
        raise PlotError(f"{path}:{line['line']}: expected a session id")
    if kind == "session":
        results.sessions[line["session"]] = {**line, "file": path.name}
    elif kind == "ceilings":
        known = results.ceilings.setdefault((line["session"], line.get("backend")), {})
        known.update({c["what"]: c for c in line.get("ceilings", [])})
    elif kind == "confirmation":
        pass  # the driver has read it: see `currency`
    elif kind == "row" and line.get("code") == "original":
        pass  # times of original codes stand in no figure that does not ask for them
    elif kind == "row":
        if not isinstance(line.get("case"), dict) or not line.get("status") or not line.get("key"):
            raise PlotError(f"{path}:{line['line']}: expected a row with key, case and status")
        records.append({**_with_index_rate(_flatten(line)), "file": path.name})
    else:
        results.warnings.append(f"{path}:{line['line']}: a line of kind {kind!r} was left out")


def _with_index_rate(row):
    """Index bytes over the median time, HLSTO's bandwidth, where a format counts them."""
    held, seconds = row.get("executed.index_bytes"), row.get("stats.median")
    return row | ({"rates.index_gbytes": float(held) / seconds / 1e9} if held and seconds else {})


def _flatten(value, prefix=""):
    flat = {}
    for name, item in value.items():
        if isinstance(item, dict):
            flat.update(_flatten(item, f"{prefix}{name}."))
        else:
            flat[prefix + name] = item
    return flat


def _frame(records, results, currency):
    names = {name: None for record in records for name in record}
    columns = [*names, *(name for name in ROW_COLUMNS if name not in names)]
    records = sorted(records, key=lambda record: str(record.get("finished") or ""))
    rows = pd.DataFrame([[record.get(name) for name in columns] for record in records],
                        columns=columns, dtype=object)
    rows["backend"] = [backend_of(method) for method in rows["case.method"]]
    rows["machine"] = [machine_label(results.sessions.get(session), backend)
                       for session, backend in zip(rows["session"], rows["backend"])]
    rows["currency"] = [currency.get(f"{row['session']} {row['key']}", "sources")
                        for row in records]
    rows["stale"] = rows["currency"] == "stale"
    unique = rows.drop_duplicates(subset=["key", "machine"], keep="last")
    return unique.reset_index(drop=True)


def machine_label(session, backend):
    """A short name of the processor that a backend ran on, from the session's machine facts."""
    machine = (session or {}).get("machine") or {}
    gpu, cpu = machine.get("gpu"), machine.get("cpu")
    if backend == "cuda" and isinstance(gpu, dict) and gpu.get("name"):
        return gpu["name"]
    if isinstance(cpu, dict) and cpu.get("model"):
        return cpu["model"]
    return "unknown machine"
