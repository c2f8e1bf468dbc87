"""Matrices of a folder stacked along the third mode of a tensor: row x column x matrix.

Reads the Matrix Market files (coordinate; real, integer or pattern; general, symmetric or
skew-symmetric) below a folder whose names match `--match`, ordered by name with numbers in it by
value: NAME.mtx, NAME.mtx.gz, or the archive NAME.tar.gz of the SuiteSparse collection, which holds
NAME/NAME.mtx. All have the same size. A zero that a file stores is no nonzero and is left out.

With `--copies N` the files are some of N matrices of one pattern, each at the place that the last
number in its name says; every other place takes the matrix of the nearest number, the lower one
where two are as near. All patterns must be equal.

    stack.py --out FILE.tns --input FOLDER [--match 'name_*'] [--copies N]
"""
import io
import math
import re
import sys
import tarfile

import bulk
import recipe
from bulk import numpy

ENDINGS = (".mtx", ".mtx.gz", ".tar.gz")
FIELDS = ("real", "integer", "pattern")
MIRRORED = {"general": None, "symmetric": 1, "skew-symmetric": -1}  # factor of the other half


def natural(path):
    """Key by which a_2 stands before a_10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part)
            for part in re.split(r"(\d+)", path.name)]


def banner(where, line):
    words = line.lower().split()
    if (len(words) != 5 or words[:3] != ["%%matrixmarket", "matrix", "coordinate"]
            or words[3] not in FIELDS or words[4] not in MIRRORED):
        raise recipe.Malformed(f"{where}: found '{line[:60]}', expected the banner of a sparse "
                               "Matrix Market file")
    return words[3], MIRRORED[words[4]]


def numbers(where, line, kinds):
    fields = line.split()
    try:
        values = [kind(field) for kind, field in zip(kinds, fields)]
        if len(fields) == len(kinds) and all(map(math.isfinite, values)):
            return values
    except ValueError:
        pass
    raise recipe.Malformed(f"{where}: found '{line[:60]}', expected {len(kinds)} numbers")


def entries_of(file, size, field, mirror):
    """(place, cell, value) of the lines and of what symmetry adds to them."""
    kinds = ((recipe.integer,) * 2 if field == "pattern" else
             (recipe.integer, recipe.integer, recipe.real))
    for where, text in file:
        i, j, value = (*numbers(where, text, kinds), 1.0)[:3]
        if not (1 <= i <= size[0] and 1 <= j <= size[1]):
            raise recipe.Malformed(f"{where}: found {i} {j}, expected at most {size}")
        yield where, (i - 1, j - 1), value
        if mirror is not None and i != j:
            yield where, (j - 1, i - 1), mirror * value


def unpacked(path):
    """Name and text of NAME/NAME.mtx in the archive NAME.tar.gz."""
    name = path.name.removesuffix(".tar.gz")
    if not tarfile.is_tarfile(path):
        raise recipe.Malformed(f"{path}: no tar archive")
    with tarfile.open(path, "r:gz") as archive:
        item = recipe.only([m for m in archive if m.isfile() and m.name == f"{name}/{name}.mtx"],
                           path, f"{name}/{name}.mtx")
        if item.size > recipe.LONGEST_TEXT:
            raise recipe.Malformed(f"{path}: {item.name} is beyond all measure")
        return item.name, archive.extractfile(item).read()


def lines_of(path):
    """(place, line) of a file."""
    if not path.name.endswith(".tar.gz"):
        yield from recipe.lines(path, path.name, "latin-1")
        return
    name, content = unpacked(path)
    for number, line in enumerate(io.TextIOWrapper(io.BytesIO(content), "latin-1"), 1):
        yield f"{path}: {name}:{number}", line.rstrip("\r\n")


def matrix_in_bulk(path):
    """((rows, columns), ascending places of the cells, their values) of a file without a flaw,
    else None. A place is row * columns + column."""
    packed = path.name.endswith(".tar.gz") and bulk.numpy is not None
    text = (bulk.with_line_ends(unpacked(path)[1]) if packed else
            bulk.text_of(path, path.name))
    head, _, body = (text or b"").partition(b"\n")
    while body.startswith(b"%"):
        body = body.partition(b"\n")[2]
    sizes, _, body = body.partition(b"\n")
    try:
        field, mirror = banner(path, head.decode("latin-1"))
        *size, count = numbers(path, sizes.decode("latin-1"), (recipe.integer,) * 3)
    except recipe.Malformed:
        return None
    table = bulk.table(body, " ", ["int64"] * 2 + ["float64"] * (field != "pattern"))
    if not table or len(table[0]) != count or size[0] * size[1] >> 63:
        return None
    i, j = (column.to_numpy() - 1 for column in table[:2])
    values = table[2].to_numpy() if table[2:] else numpy.ones(count)
    if min(i.min(), j.min()) < 0 or i.max() >= size[0] or j.max() >= size[1]:
        return None
    places = i * size[1] + j
    if mirror is not None:
        other = i != j
        places = numpy.append(places, (j * size[1] + i)[other])
        values = numpy.append(values, mirror * values[other])
    order, first = bulk.runs(places)
    if not first.all() or not numpy.isfinite(values).all():
        return None
    order = order[values[order] != 0]
    return tuple(size), places[order], values[order]


def matrix(path):
    """(rows, columns) and a map from cells to nonzero values."""
    file = lines_of(path)
    where, head = next(file, (path, ""))
    field, mirror = banner(where, head)
    content = [(w, t) for w, t in file if t.strip() and not t.startswith("%")]
    where, text = content[0] if content else (path, "")
    *size, count = numbers(where, text, (recipe.integer,) * 3)
    recipe.check(f"{path}: entries", len(content) - 1, count)
    cells = {}
    for where, cell, value in entries_of(content[1:], size, field, mirror):
        if cell in cells:
            raise recipe.Malformed(f"{where}: this cell stood before")
        cells[cell] = value
    return tuple(size), {cell: value for cell, value in cells.items() if value != 0}


def found_below(folder, match):
    stem = match.removesuffix(".mtx")
    paths = sorted((p for ending in ENDINGS for p in recipe.files_below(folder, stem + ending)),
                   key=natural)
    if not folder.is_dir() or not paths:
        raise recipe.Malformed(f"{folder}: no folder with files {stem}{{{','.join(ENDINGS)}}}")
    return paths


def at_places(matrices, copies, pattern):
    """The matrices of all places from those that are there, by the last number in their names."""
    known = {}
    for path, cells in matrices:
        numbers_in_name = re.findall(r"[0-9]+", path.name.split(".")[0])
        place = int(numbers_in_name[-1]) if numbers_in_name else 0
        if not 1 <= place <= copies or place in known:
            raise recipe.Malformed(f"{path}: expected a number of its own from 1 to {copies}")
        recipe.check(f"{path}: pattern equal to the first one's",
                     pattern(cells) == pattern(matrices[0][1]), True)
        known[place] = cells
    return [known[min(known, key=lambda p: (abs(p - place), p))]
            for place in range(1, copies + 1)]


def in_bulk(paths, copies):
    """(dims, entries) of files without a flaw, else None."""
    found = [(path, matrix_in_bulk(path)) for path in paths]
    if not all(matrix for _, matrix in found) or len({matrix[0] for _, matrix in found}) > 1:
        return None
    size = found[0][1][0]
    slices = [matrix[1:] for _, matrix in found]
    if copies:
        slices = at_places(list(zip(paths, slices)), copies, lambda cells: cells[0].tobytes())
    cells, values = (numpy.concatenate(parts) for parts in zip(*slices))
    levels = numpy.repeat(numpy.arange(len(slices)), [len(cells) for cells, _ in slices])
    order = numpy.lexsort((levels, cells))
    rows, columns = numpy.divmod(cells[order], size[1])
    return (*size, len(slices)), bulk.Entries([rows, columns, levels[order]], values[order])


def line_by_line(paths, copies):
    """The same of any files, with a message where one has a flaw."""
    matrices, size = [], None
    for path in paths:
        found, cells = matrix(path)
        size = size or found
        recipe.check(f"{path}: rows and columns", found, size)
        matrices.append((path, cells))
    slices = (at_places(matrices, copies, dict.keys) if copies else
              [cells for _, cells in matrices])
    entries = [((i, j, k), f"{value:.17g}") for k, cells in enumerate(slices)
               for (i, j), value in cells.items()]
    return (*size, len(slices)), sorted(entries)


def convert(arguments):
    files = found_below(arguments.input, arguments.match), arguments.copies
    dims, entries = in_bulk(*files) or line_by_line(*files)
    return dims, entries, f"{arguments.match}: row x column x matrix"


def add_options(parser):
    parser.add_argument("--match", default="*")
    parser.add_argument("--copies", type=recipe.integer, choices=range(1, 1 << 20), metavar="N")


if __name__ == "__main__":
    sys.exit(recipe.main(__doc__, convert, add_options))
