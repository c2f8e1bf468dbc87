"""Tag assignments of the HetRec 2011 collections as a tensor: user x item x tag.

Reads a tab separated file whose first line names the columns: user_taggedartists.dat of Last.fm by
default, `--file` and `--columns` name others (user_taggedbookmarks.dat of Delicious with
userID,bookmarkID,tagID). Numbers that occur are renumbered in ascending order, mode by mode; a
value counts the assignments, which is 1 in the published files.

    hetrec.py --out FILE.tns --input FOLDER|ZIP|FILE [--file NAME] [--columns userID,artistID,tagID]
"""
import sys
from collections import Counter

import bulk
import recipe


def in_bulk(source, name, names):
    """(dims, entries) of a file without a flaw, else None."""
    text = bulk.text_of(source, name)
    head, _, body = (text or b"").partition(b"\n")
    titles = head.decode("latin-1").split("\t")
    wanted = [titles.index(n) for n in names if n in titles]
    kinds = ["int64" if c in wanted else "category" for c in range(len(titles))]
    table = bulk.table(body, "\t", kinds, "latin-1") if len(wanted) == len(names) else None
    if not table:
        return None
    modes = [bulk.renumbered(table[c]) for c in wanted]
    dims = tuple(length for _, length in modes)
    entries = bulk.counted([numbers for numbers, _ in modes], dims)
    return entries and (dims, entries)


def line_by_line(source, name, names):
    """The same of any file, with a message where it has a flaw."""
    file = recipe.lines(source, name, "latin-1")
    where, head = next(file, (name, ""))
    titles = head.split("\t")
    if not set(names) <= set(titles):
        raise recipe.Malformed(f"{where}: found columns {titles}, expected {names} among them")
    places = [titles.index(name) for name in names]
    counts = Counter()
    for where, line in file:
        fields = line.split("\t")
        try:
            counts[tuple(recipe.integer(fields[p]) for p in places)] += 1
        except (IndexError, ValueError):
            raise recipe.Malformed(f"{where}: found '{line[:60]}', expected numbers in the "
                                   f"columns {names}") from None
    numbers = [{value: i for i, value in enumerate(sorted({e[m] for e in counts}))}
               for m in range(len(names))]
    entries = [(tuple(n[value] for n, value in zip(numbers, e)), count)
               for e, count in sorted(counts.items())]
    return tuple(max(len(n), 1) for n in numbers), entries


def convert(arguments):
    names = arguments.columns.split(",")
    file = arguments.input, arguments.file, names
    dims, entries = in_bulk(*file) or line_by_line(*file)
    return dims, entries, f"{arguments.file}: {' x '.join(names)}; value: number of assignments"


def add_options(parser):
    parser.add_argument("--file", default="user_taggedartists.dat")
    parser.add_argument("--columns", default="userID,artistID,tagID")


if __name__ == "__main__":
    sys.exit(recipe.main(__doc__, convert, add_options))
