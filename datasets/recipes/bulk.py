"""Files of integers alone as arrays of NumPy, several times faster than line by line.

What is not plainly of the expected form gives None, and so does a machine without NumPy: reading
line by line then says what is wrong, and where.
"""
import re

import recipe

try:
    import numpy
except ImportError:
    numpy = None

CHUNK = 1 << 24
BATCH = 1 << 16
TOO_LONG = re.compile(rb"[0-9]{19}")  # beyond 64 bits


def plain(text, separator, columns):
    """Whether each line is `columns` runs of digits with the separator between."""
    lines = text.count(b"\n")
    gaps = (columns - 1) * lines
    empty = (b"\n" + separator, separator + b"\n", 2 * separator, b"\n\n")
    return (text.translate(None, b"0123456789") == (separator * (columns - 1) + b"\n") * lines
            and text.count(separator) == gaps and not text.startswith((separator, b"\n"))
            and not any(gap in text for gap in empty) and not TOO_LONG.search(text))


def columns_of(source, name, separator, columns):
    """Array of shape lines x columns with the numbers of the file, or None."""
    if numpy is None:
        return None
    parts, rest, total = [], b"", 0
    with recipe.opened(source, name) as stream:
        while chunk := stream.read(CHUNK):
            total += len(chunk)
            text, newline, rest = (rest + chunk).rpartition(b"\n")
            if total > recipe.LONGEST_TEXT or len(rest) >= recipe.LONGEST_LINE:
                return None
            parts.append(numbers(text + newline, separator, columns))
            if parts[-1] is None:
                return None
    parts.append(numbers(rest + b"\n" if rest else b"", separator, columns))
    return None if parts[-1] is None else numpy.concatenate(parts)


def numbers(text, separator, columns):
    text = text.replace(b"\r\n", b"\n")
    if not plain(text, separator, columns):
        return None
    spaced = text.replace(separator, b" ").decode("ascii")
    return numpy.fromstring(spaced, numpy.int64, sep=" ").reshape(-1, columns)


class Entries:
    """Sorted entries with integers as values, for tns.write."""

    def __init__(self, indices, values):
        """`indices` of shape entries x modes, from 0."""
        self.table = numpy.column_stack([indices + 1, values])

    def __len__(self):
        return len(self.table)

    def text(self):
        """The lines, some thousand at a time."""
        for start in range(0, len(self), BATCH):
            yield lines_of(self.table[start:start + BATCH])


def lines_of(table):
    """Numbers, none of them negative, as decimal text with blanks between: digits are written into
    columns as wide as the longest number, and leading zeros are left out."""
    digits, kept = [], []
    for column in table.T:
        for power in reversed(range(len(str(column.max())))):
            digits.append(column // 10**power % 10 + ord("0"))
            kept.append((column >= 10**power) | (power == 0))
        digits.append(numpy.full(len(column), ord(" ")))
        kept.append(numpy.full(len(column), True))
    digits[-1][:] = ord("\n")
    text = numpy.column_stack(digits).astype(numpy.uint8)
    return text[numpy.column_stack(kept)].tobytes().decode("ascii")
