"""Tables as CSV that a spreadsheet opens as what they say."""


def harmless(cell):
    """A text that a spreadsheet would take for a formula, after an apostrophe."""
    return "'" + cell if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") \
        else cell


def rounded(value):
    """A number to six digits, more than times repeat; whole numbers as they are."""
    return float(f"{value:.6g}") if isinstance(value, float) and value % 1 else value


def write_csv(frame, path, short=False):
    """The frame without its index; numbers stay numbers, `short` ones with six digits."""
    if short:
        frame = frame.apply(lambda column: column.map(rounded))
    texts = frame.select_dtypes(include=["object", "category"]).columns
    frame.assign(**{name: frame[name].map(harmless) for name in texts}).rename(
        columns=harmless).to_csv(path, index=False)
