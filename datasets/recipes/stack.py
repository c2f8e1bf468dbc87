"""Matrices of a folder stacked along the third mode of a tensor: row x column x matrix.

Reads the Matrix Market files (coordinate; real, integer or pattern; general, symmetric or
skew-symmetric; also .gz) below a folder whose names match `--match`, ordered by name with numbers
in it by value. All have the same size. A zero that a file stores is no nonzero and is left out.

    stack.py --out FILE.tns --input FOLDER [--match 'name_*.mtx']
"""
import math
import re
import sys

import recipe

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


def matrix(path):
    """(rows, columns) and a map from cells to nonzero values."""
    file = recipe.lines(path, path.name, "latin-1")
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


def convert(arguments):
    paths = sorted((p for ending in ("", ".gz")
                    for p in recipe.files_below(arguments.input, arguments.match + ending)),
                   key=natural)
    if not arguments.input.is_dir() or not paths:
        raise recipe.Malformed(f"{arguments.input}: no folder with files {arguments.match}")
    entries, size = [], None
    for k, path in enumerate(paths):
        found, cells = matrix(path)
        size = size or found
        recipe.check(f"{path}: rows and columns", found, size)
        entries += [((i, j, k), f"{value:.17g}") for (i, j), value in cells.items()]
    return (*size, len(paths)), sorted(entries), f"{arguments.match}: row x column x matrix"


def add_options(parser):
    parser.add_argument("--match", default="*.mtx")


if __name__ == "__main__":
    sys.exit(recipe.main(__doc__, convert, add_options))
