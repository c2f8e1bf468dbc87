"""Result rows as a DataFrame with types, for analysis with pandas and for Parquet.

A column is a leaf of the row's JSON object (experiments/schema) under a name that is an identifier:
`case.` is left out, dots and blanks are underscores (`dataset`, `params_update`, `stats_median`).
Whole numbers are Int64, others Float64, truth values boolean, times of day datetime64 in UTC, all
else string; missing values are <NA>. A list, such as the samples of a run, is its JSON text, and
`samples` gives those as numbers. What turns a frame back into rows travels in `frame.attrs` and in
Parquet files.
"""
import json
import re
import tempfile
import warnings
from pathlib import Path

import pandas as pd

from retensor.results import Results, load_results
from retensor.library import InputError, RetensorError
from retensor.program import Run, output_of

ATTRIBUTE = "retensor"  # in frame.attrs and the metadata of Parquet files
TIMES = ("finished",)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def load(rows=None):
    """A typed DataFrame with one line per row: from a result file, a folder, a list of both, a
    Parquet file, a Run (which is measured to its end), or all result files of the source tree. It
    has only the newest row of each case on a machine. Raises InputError for a file that holds no
    rows."""
    if isinstance(rows, pd.DataFrame):
        return rows
    if isinstance(rows, Run):
        for _ in rows:
            pass
        return load(rows.path)  # while the Run, and with it a temporary file, is there
    paths = [] if rows is None else [rows] if isinstance(rows, (str, Path)) else list(rows)
    if len(paths) == 1 and str(paths[0]).endswith(".parquet"):
        return read_parquet(paths[0])
    return frame_of(results_of([file for path in paths for file in _files(path)]))


def _files(path):
    """A result file, or all below a folder; InputError where it has none."""
    if not Path(path).is_dir():
        return [path]
    found = sorted(Path(path).rglob("*.jsonl"))
    if not found:
        raise InputError(f"{path}: found no result file, expected *.jsonl in it or below")
    return found


def results_of(paths):
    """Rows with sessions and ceilings as figures take them."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.write(output_of("rows", *paths))
        file.flush()
        results = load_results([file.name])
    for warning in results.warnings:
        warnings.warn(warning, stacklevel=3)
    return results


def frame_of(results):
    """The typed frame of what the program printed of result files."""
    rows = results.rows
    names = _names(rows.columns)
    frame = pd.DataFrame({names[column]: _typed(rows[column], column) for column in rows.columns},
                         index=pd.RangeIndex(len(rows)))
    frame.attrs[ATTRIBUTE] = {
        "columns": {new: old for old, new in names.items()},
        "sessions": list(results.sessions.values()),
        "ceilings": list(results.ceilings.values())}
    return frame


def rows_of(frame):
    """The inverse: rows as figures take them. Raises InputError for a frame that `load` did not
    make."""
    about = frame.attrs.get(ATTRIBUTE)
    if about is None:
        raise InputError("expected a DataFrame of retensor.load, or a part of one")
    raw = {old: _raw(frame[new]) for new, old in about["columns"].items() if new in frame}
    rows = pd.DataFrame(raw, dtype=object)
    return Results(rows.astype({"stale": bool}),
                   {line["session"]: line for line in about["sessions"]},
                   {(line["session"], line["backend"]): line for line in about["ceilings"]})


def samples(frame, column="phases_run"):
    """The samples of every row in seconds, a line for each: `key`, `dataset`, `method`, `mode`,
    `sample` from 0, `seconds`."""
    lines = [(*row[:-1], at, float(seconds))
             for row in frame[["key", "dataset", "method", "mode", column]].itertuples(index=False)
             if not pd.isna(row[-1]) for at, seconds in enumerate(json.loads(row[-1]))]
    made = pd.DataFrame(lines, columns=["key", "dataset", "method", "mode", "sample", "seconds"])
    return made.astype({"key": "string", "dataset": "string", "method": "string", "mode": "Int64",
                        "sample": "Int64", "seconds": "Float64"})


def to_parquet(frame, path):
    """Write a frame of `load`. Raises RetensorError where pyarrow is not installed."""
    pyarrow, parquet = _pyarrow()
    table = pyarrow.Table.from_pandas(frame.rename_axis(None), preserve_index=False)
    about = json.dumps(frame.attrs.get(ATTRIBUTE, {})).encode()
    metadata = {**(table.schema.metadata or {}), ATTRIBUTE.encode(): about}
    parquet.write_table(table.replace_schema_metadata(metadata), path)


def read_parquet(path):
    """A frame that `to_parquet` wrote, with the same types."""
    _, parquet = _pyarrow()
    try:
        table = parquet.read_table(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}") from error
    frame = table.to_pandas()
    about = (table.schema.metadata or {}).get(ATTRIBUTE.encode())
    if about is None:
        raise InputError(f"{path}: found no rows of ReTensor, expected a file of retensor export")
    frame.attrs[ATTRIBUTE] = json.loads(about)
    return frame


def _pyarrow():
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise RetensorError("Parquet needs the Python package pyarrow: pip install pyarrow") \
            from error
    return pyarrow, parquet


def _names(columns):
    """{column: name}; a name that two columns would share keeps its `case_`."""
    names = {}
    for column in columns:
        short = re.sub(r"\W", "_", column.removeprefix("case."))
        names[column] = short if short not in names.values() else re.sub(r"\W", "_", column)
    return names


def _typed(column, name):
    values = [value for value in column if value is not None]
    if name in TIMES:
        return pd.to_datetime(column, utc=True)
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return column.astype("boolean")
    if name.startswith("executed.") and values and all(map(_is_number, values)):
        column, kinds = column.map(_number, na_action="ignore"), {type(_number(v)) for v in values}
    if kinds == {int} and all(abs(value) < 2**63 for value in column if value is not None):
        return column.astype("Int64")
    if kinds and kinds <= {int, float}:
        return column.map(lambda value: pd.NA if value is None else float(value)).astype("Float64")
    return column.map(_text, na_action="ignore").astype("string")


def _is_number(value):
    return isinstance(value, str) and NUMBER.fullmatch(value) is not None


def _number(text):
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _text(value):
    return value if isinstance(value, str) else json.dumps(value)


def _raw(column):
    """Python values, None where missing: texts of lists are lists again."""
    if str(column.dtype).startswith("datetime"):
        return column.dt.strftime("%Y-%m-%dT%H:%M:%SZ").astype(object)
    values = column.astype(object)
    if str(column.dtype) == "string":
        values = values.map(_untext, na_action="ignore")
    return values.where(column.notna(), None)


def _untext(text):
    return json.loads(text) if text.startswith("[") else text
