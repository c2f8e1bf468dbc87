"""Viewers on Twitch as a tensor: user x stream x streamer x start x stop.

Reads lines `user,stream,streamer,start,stop` of 100k_a.csv (Rappaz, McAuley and Aberer 2021),
times in steps of ten minutes. Users and streams are renumbered in ascending order, streamers in
the order of their bytes; the steps keep their numbers and both modes have the length of the later
one. A value counts the records of an entry.

    twitch.py --out FILE.tns --input 100k_a.csv|FOLDER
"""
import sys
from collections import Counter

import bulk
import recipe

FILE = "100k_a.csv"


def record(where, line):
    fields = line.split(",")
    try:
        user, stream, streamer, start, stop = fields
        numbers = [recipe.integer(text) for text in (user, stream, start, stop)]
    except ValueError:
        numbers = [-1]
    if min(numbers) < 0 or not streamer:
        raise recipe.Malformed(f"{where}: found '{line[:60]}', expected user,stream,streamer,start,"
                               "stop")
    return numbers[0], numbers[1], streamer.encode(), numbers[2], numbers[3]


def in_bulk(source):
    """(dims, entries) of a file without a flaw, else None."""
    text = bulk.text_of(source, FILE)
    kinds = ["int64", "int64", "category", "int64", "int64"]
    table = text and bulk.table(text, ",", kinds, "utf-8")
    if not table or min(table[m].min() for m in (0, 1, 3, 4)) < 0:
        return None
    modes = [bulk.renumbered(column) for column in table[:3]]
    steps = int(max(table[3].max(), table[4].max())) + 1
    dims = (*(length for _, length in modes), steps, steps)
    columns = [*(numbers for numbers, _ in modes), table[3].to_numpy(), table[4].to_numpy()]
    entries = bulk.counted(columns, dims)
    return entries and (dims, entries)


def line_by_line(source):
    """The same of any file, with a message where it has a flaw."""
    counts = Counter(record(*line) for line in recipe.lines(source, FILE, "utf-8"))
    numbers = [{value: i for i, value in enumerate(sorted({e[m] for e in counts}))}
               for m in range(3)]
    steps = max((e[m] + 1 for e in counts for m in (3, 4)), default=1)
    entries = sorted(((*(n[value] for n, value in zip(numbers, e)), *e[3:]), count)
                     for e, count in counts.items())
    return (*(max(len(n), 1) for n in numbers), steps, steps), entries


def convert(arguments):
    dims, entries = in_bulk(arguments.input) or line_by_line(arguments.input)
    return (dims, entries,
            "Twitch: user x stream x streamer x start x stop; value: number of records")


def add_options(parser):
    pass


if __name__ == "__main__":
    sys.exit(recipe.main(__doc__, convert, add_options))
