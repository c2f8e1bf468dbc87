"""Text files as arrays of NumPy, ten times faster than line by line.

What is not plainly of the expected form gives None, and so does a machine without NumPy and pandas:
reading line by line then says what is wrong, and where.
"""
import csv
import io
import re
import warnings

import recipe

try:
    import numpy
    import pandas
except ImportError:
    numpy = pandas = None

LARGEST = recipe.LONGEST_TEXT // 4  # of a file that is read at once; pandas takes copies of it
ODD = b"\r\0"
ODD_BY_NUMBERS = b" \t\v\f"  # which pandas takes beside a number, as it does a plus
BATCH = 1 << 14
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
        while chunk := stream.read(recipe.CHUNK):
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


def text_of(source, name):
    """The bytes of the file with its line ends, or None."""
    if numpy is None:
        return None
    with recipe.opened(source, name) as stream:
        text = recipe.whole(stream, LARGEST)
    return None if len(text) > LARGEST else with_line_ends(text)


def with_line_ends(text):
    """The same text with line ends of one form, also behind the last line."""
    text = text.replace(b"\r\n", b"\n")
    return text if text[-1:] in (b"", b"\n") else text + b"\n"


def table(text, separator, kinds, encoding="ascii"):
    """The columns of lines with a separator between fields, each read as its kind says, "category"
    for words that are not empty, "int64" or "float64"; or None."""
    gap, lines = separator.encode(), text.count(b"\n")
    odd = ODD + (ODD_BY_NUMBERS if "int64" in kinds else b"")
    if (not lines or text.count(gap) != (len(kinds) - 1) * lines
            or text.startswith((b"\xef\xbb\xbf", b"+")) or b"\n+" in text or gap + b"+" in text
            or any(byte in text for byte in odd if byte != ord(separator))):
        return None
    types = {c: kind for c, kind in enumerate(kinds) if kind != "int64"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of lines with more fields than others
            frame = pandas.read_csv(
                io.BytesIO(text), sep=separator, names=range(len(kinds)), index_col=False,
                dtype=types, encoding=encoding, quoting=csv.QUOTE_NONE, na_filter=False,
                skip_blank_lines=False, low_memory=False, float_precision="round_trip")
    except (ValueError, OverflowError, Warning):
        return None
    columns = [frame[c] for c in frame]
    plain = len(frame) == lines and all(map(is_plain, columns, kinds))
    return columns if plain else None


def is_plain(column, kind):
    """Whether a column is of its kind, and no word of it is empty or beyond all measure."""
    if kind != "category":
        return column.dtype == kind  # pandas takes 1e3 for an integer where it is told to
    lengths = [len(word) for word in column.cat.categories]
    return (0 < min(lengths) and max(lengths) < recipe.LONGEST_LINE // 8
            and column.cat.codes.min() >= 0)


def renumbered(column):
    """(number of each value in ascending order, words in that of their bytes; how many)."""
    if column.dtype == "category":  # which pandas sorts by code points
        return column.cat.codes.to_numpy(), len(column.cat.categories)
    numbers, values = pandas.factorize(column, sort=True)
    return numbers, len(values)


def spread(values, column):
    """What stands for each word of a column, of `values` for the different ones."""
    return numpy.asarray(values)[column.cat.codes]


def union(columns):
    """The words of several columns, in the order of their bytes."""
    return pandas.Index(sorted(set().union(*(column.cat.categories for column in columns))))


def codes_in(words, column):
    """The place among `words` of each word of a column."""
    return spread(words.get_indexer(column.cat.categories), column)


def runs(places):
    """The order in which places rise, and for each of it whether it is the first of its value."""
    order = places.argsort()
    places = places[order]
    return order, numpy.concatenate([[True], places[1:] != places[:-1]])


def counted(columns, dims):
    """The entries of rows of 0-based indices with how often each row stands there, or None."""
    places, length = numpy.zeros(len(columns[0]), numpy.int64), 1
    for column, size in zip(columns, dims):
        if length * size >> 63:  # numbers without gaps need fewer bits
            order, first = runs(places)
            places[order] = first.cumsum() - 1
            length = int(first.sum())
        if length * size >> 63:
            return None
        places, length = places * size + column, length * size
    order, first = runs(places)
    rows = order[first]
    counts = numpy.diff(numpy.flatnonzero(first), append=len(first))
    return Entries([column[rows] for column in columns], counts)


def integers(line):
    """The numbers of one line with blanks between, an array; or None."""
    line = line.encode().rstrip(b"\n")
    plain_line = line.strip() and not line.translate(None, b"0123456789 ")
    if numpy is None or not plain_line or TOO_LONG.search(line):
        return None
    return numpy.fromstring(line, numpy.int64, sep=" ")


class Entries:
    """Sorted entries for tns.write."""

    def __init__(self, columns, values):
        """`columns`: an array of indices from 0 for each mode; `values`: of integers from 0, or
        of floating point, which is written with 17 digits."""
        self.columns = [small(column + 1) for column in columns]
        self.values = numpy.asarray(values)

    def __len__(self):
        return len(self.values)

    def text(self):
        """The lines, some thousand at a time."""
        for start in range(0, len(self), BATCH):
            part = slice(start, start + BATCH)
            columns, values = [column[part] for column in self.columns], self.values[part]
            if values.dtype.kind == "f":
                yield lines_of(columns).replace("\n", " %.17g\n") % (*values.tolist(),)
            else:
                yield lines_of([*columns, small(values)])


def small(column):
    """The same numbers in 32 bits where they fit, whose digits take half the time."""
    return column.astype(numpy.uint32) if column.max(initial=0) < 1 << 32 else column


def lines_of(columns):
    """Numbers, none of them negative, as decimal text with blanks between: digits are written into
    columns as wide as the longest number, and leading zeros are left out."""
    digits, kept = [], []
    for column in columns:
        for power in reversed(range(len(str(column.max())))):
            digits.append(column // 10**power % 10 + ord("0"))
            kept.append((column >= 10**power) | (power == 0))
        digits.append(numpy.full(len(column), ord(" ")))
        kept.append(numpy.full(len(column), True))
    digits[-1][:] = ord("\n")
    text = numpy.column_stack(digits).astype(numpy.uint8)
    return text[numpy.column_stack(kept)].tobytes().decode("ascii")
