"""Tables as CSV that a spreadsheet opens as what they say."""


def harmless(cell):
    """A text that a spreadsheet would take for a formula, after an apostrophe."""
    return "'" + cell if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") \
        else cell


def write_csv(frame, path):
    """The frame without its index; numbers stay numbers."""
    texts = frame.select_dtypes(include=["object", "category"]).columns
    frame.assign(**{name: frame[name].map(harmless) for name in texts}).rename(
        columns=harmless).to_csv(path, index=False)
