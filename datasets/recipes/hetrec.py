"""Tag assignments of the HetRec 2011 collections as a tensor: user x item x tag.

Reads a tab separated file whose first line names the columns: user_taggedartists.dat of Last.fm by
default, `--file` and `--columns` name others (user_taggedbookmarks.dat of Delicious with
userID,bookmarkID,tagID). Numbers that occur are renumbered in ascending order, mode by mode; a
value counts the assignments, which is 1 in the published files.

    hetrec.py --out FILE.tns --input FOLDER|ZIP|FILE [--file NAME] [--columns userID,artistID,tagID]
"""
import sys
from collections import Counter

import recipe


def convert(arguments):
    names = arguments.columns.split(",")
    file = recipe.lines(arguments.input, arguments.file, "latin-1")
    where, head = next(file, (arguments.file, ""))
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
    return (tuple(max(len(n), 1) for n in numbers), entries,
            f"{arguments.file}: {' x '.join(names)}; value: number of assignments")


def add_options(parser):
    parser.add_argument("--file", default="user_taggedartists.dat")
    parser.add_argument("--columns", default="userID,artistID,tagID")


if __name__ == "__main__":
    sys.exit(recipe.main(__doc__, convert, add_options))
