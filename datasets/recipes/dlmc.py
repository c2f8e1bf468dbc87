"""A layer of the Deep Learning Matrix Collection as a matrix of ones.

Reads one pattern in CSR (`.smtx`: rows, columns, nonzeros; row starts; column indices from zero)
of the archive dlmc.tar.gz, of a folder, or the file itself, also .gz. `--layer` names it as the
collection does, MODEL/PRUNING/SPARSITY/NAME; the archive is read up to that layer alone.

    dlmc.py --out FILE.tns --input dlmc.tar.gz|FOLDER|FILE.smtx [--layer rn50/.../NAME]
"""
import io
import itertools
import sys
import tarfile

import bulk
import recipe
from bulk import numpy


def member(archive, layer):
    """Text of the layer in the archive, which holds thousands."""
    with tarfile.open(archive, "r|*") as packed:
        for item in packed:
            if item.isfile() and item.name.endswith(f"{layer}.smtx"):
                if item.size > recipe.LONGEST_TEXT:
                    raise recipe.Malformed(f"{item.name}: {item.size} bytes, beyond all measure")
                return item.name, packed.extractfile(item).read()
    raise recipe.Malformed(f"{archive}: holds no layer {layer}.smtx")


def text_of(source, layer):
    """(place for messages, the file's text)."""
    if source.is_file() and tarfile.is_tarfile(source):
        place, content = member(source, layer)
    else:
        name = f"{layer.rsplit('/', 1)[-1]}.smtx" if layer else source.name
        found = [source]
        if source.is_dir():  # an unpacked archive has the name once for each sparsity
            found = (recipe.files_below(source, f"{layer}.smtx*") or
                     recipe.files_below(source, f"{name}*"))
        place = recipe.only(found, source, name)
        with recipe.opened(place, name) as stream:
            content = recipe.whole(stream)
    try:
        return place, io.StringIO(content.decode("ascii"))
    except UnicodeDecodeError:
        raise recipe.Malformed(f"{place}: bytes that are no ascii text") from None


def numbers(place, number, line, count, what, largest):
    try:
        found = [recipe.integer(word) for word in line.replace(",", " ").split()]
    except ValueError as error:
        raise recipe.Malformed(f"{place}:{number}: {error}") from None
    if len(found) != count or (found and not 0 <= min(found) <= max(found) <= largest):
        raise recipe.Malformed(f"{place}:{number}: found {len(found)} numbers, expected {count} "
                               f"{what} from 0 to {largest}")
    return found


def in_bulk(row_starts, column_indices, sizes):
    """Entries of two lines without a flaw, else None."""
    rows, columns, nnz = sizes
    starts, indices = bulk.integers(row_starts), bulk.integers(column_indices)
    if starts is None or indices is None or (len(starts), len(indices)) != (rows + 1, nnz):
        return None
    lengths = numpy.diff(starts)
    if (starts[0] != 0 or starts[-1] != nnz or lengths.min() < 0 or indices.max() >= columns
            or rows * columns >> 63):
        return None
    places = numpy.repeat(numpy.arange(rows), lengths) * columns + indices
    places.sort()
    good = (places[1:] != places[:-1]).all()
    return bulk.Entries(numpy.divmod(places, columns), numpy.ones_like(places)) if good else None


def with_messages(place, row_starts, column_indices, sizes):
    """The same of any lines, with a message where they have a flaw."""
    rows, columns, nnz = sizes
    starts = numbers(place, 2, row_starts, rows + 1, "row starts", nnz)
    indices = numbers(place, 3, column_indices, nnz, "columns", columns - 1)
    if starts != sorted(starts) or (starts[0], starts[-1]) != (0, nnz):
        raise recipe.Malformed(f"{place}:2: row starts that do not rise from 0 to {nnz}")
    entries = [((row, column), 1) for row, (begin, end) in enumerate(itertools.pairwise(starts))
               for column in sorted(indices[begin:end])]
    if len(set(entries)) != nnz:
        raise recipe.Malformed(f"{place}:3: a column twice in a row")
    return entries


def convert(arguments):
    place, file = text_of(arguments.input, arguments.layer)
    sizes = numbers(place, 1, file.readline(), 3, "sizes", 1 << 32)
    lines = file.readline(), file.readline()
    entries = in_bulk(*lines, sizes) or with_messages(place, *lines, sizes)
    return tuple(sizes[:2]), entries, f"{place}: pattern, values 1"


def add_options(parser):
    parser.add_argument("--layer", default="")


if __name__ == "__main__":
    sys.exit(recipe.main(__doc__, convert, add_options))
