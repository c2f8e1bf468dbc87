"""Tables as CSV that a spreadsheet opens as what they say."""
import pandas as pd


def harmless(cell):
    """A text that a spreadsheet would take for a formula, after an apostrophe."""
    return "'" + cell if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") \
        else cell


def rounded(value):
    """A number to six digits, more than times repeat; whole numbers in full."""
    if not isinstance(value, float) or value % 1 == 0 and abs(value) >= 1e15:
        return value
    return float(f"{value:.6g}") if value % 1 else int(value)


def write_csv(frame, path, short=False):
    """The frame without its index; numbers stay numbers, `short` ones with six digits."""
    if short:
        frame = frame.apply(_changed, change=rounded)
    texts = frame.select_dtypes(include=["object", "category"]).columns
    frame.assign(**{name: _changed(frame[name], harmless) for name in texts}).rename(
        columns=harmless).to_csv(path, index=False)


def _changed(column, change):
    """A column cell by cell; map() would make whole numbers beside others fractions."""
    return pd.Series(list(map(change, column)), column.index, dtype=object)
