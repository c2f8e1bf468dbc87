"""MovieLens 1M as a tensor: user x movie x rating.

Reads `UserID::MovieID::Rating::Timestamp` lines of ratings.dat. The BCB-SpTC paper gives sizes
alone, 6040 x 3952 x 5 with 1,000,209 records; the only field of a record that takes five values is
the rating. So mode 2 is read as the rating's value, 1 to 5 stars, and an entry as one record. Its
value is not stated either: 1, since the rating is an index already, or with `--values rating` the
rating. Mode lengths are the largest numbers in the file.

    movielens.py --out FILE.tns --input ml-1m.zip|FOLDER|ratings.dat [--values one|rating]
"""
import re
import sys

import bulk
import recipe

STARS = 5
LARGEST = 10**8
RECORD = re.compile(r"([0-9]+)::([0-9]+)::([0-9]+)::[0-9]+", re.ASCII)


def record(where, line):
    """0-based user, movie and rating of a line."""
    fields = RECORD.fullmatch(line)
    if not fields:
        raise recipe.Malformed(f"{where}: found '{line[:60]}', expected user::movie::rating::time")
    user, movie, stars = map(int, fields.groups())
    if not (1 <= stars <= STARS and 1 <= user <= LARGEST and 1 <= movie <= LARGEST):
        raise recipe.Malformed(f"{where}: found user {user}, movie {movie}, rating {stars}; "
                               f"numbers count from 1, ratings to {STARS}")
    return user - 1, movie - 1, stars - 1


def in_bulk(source):
    """(dims, indices of shape entries x 3) of a file without a flaw, else None."""
    table = bulk.columns_of(source, "ratings.dat", b"::", 4)
    if table is None or len(table) == 0:
        return None
    indices = table[:, :3] - 1
    dims = (*(int(n) + 1 for n in indices.max(axis=0)[:2]), STARS)
    if indices.min() < 0 or max(dims) > LARGEST or indices[:, 2].max() >= STARS:
        return None
    places = indices @ [dims[1] * STARS, STARS, 1]
    order = places.argsort()
    places = places[order]
    return None if (places[1:] == places[:-1]).any() else (dims, indices[order])


def line_by_line(source):
    """The same of any file, with a message where it has a flaw."""
    seen = set()
    for where, line in recipe.lines(source, "ratings.dat"):
        entry = record(where, line)
        if entry in seen:
            raise recipe.Malformed(f"{where}: this user, movie and rating stood before")
        seen.add(entry)
    users, movies = (max((e[m] + 1 for e in seen), default=1) for m in (0, 1))
    return (users, movies, STARS), sorted(seen)


def convert(arguments):
    stars = arguments.values == "rating"
    if found := in_bulk(arguments.input):
        dims, indices = found
        entries = bulk.Entries(indices.T, indices[:, 2] + 1 if stars else indices[:, 2] * 0 + 1)
    else:
        dims, indices = line_by_line(arguments.input)
        entries = [(e, e[2] + 1 if stars else 1) for e in indices]
    return dims, entries, f"MovieLens 1M: user x movie x rating; value: {arguments.values}"


def add_options(parser):
    parser.add_argument("--values", choices=["one", "rating"], default="one")


if __name__ == "__main__":
    sys.exit(recipe.main(__doc__, convert, add_options))
