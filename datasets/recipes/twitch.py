"""Viewers on Twitch as a tensor: user x stream x streamer x start x stop.

Reads lines `user,stream,streamer,start,stop` of 100k_a.csv (Rappaz, McAuley and Aberer 2021),
times in steps of ten minutes. Users and streams are renumbered in ascending order, streamers in
the order of their bytes; the steps keep their numbers and both modes have the length of the later
one. A value counts the records of an entry.

    twitch.py --out FILE.tns --input 100k_a.csv|FOLDER
"""
import sys
from collections import Counter

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


def convert(arguments):
    counts = Counter(record(*line) for line in recipe.lines(arguments.input, FILE, "utf-8"))
    numbers = [{value: i for i, value in enumerate(sorted({e[m] for e in counts}))}
               for m in range(3)]
    steps = max((e[m] + 1 for e in counts for m in (3, 4)), default=1)
    entries = sorted(((*(n[value] for n, value in zip(numbers, e)), *e[3:]), count)
                     for e, count in counts.items())
    return ((*(max(len(n), 1) for n in numbers), steps, steps), entries,
            "Twitch: user x stream x streamer x start x stop; value: number of records")


def add_options(parser):
    pass


if __name__ == "__main__":
    sys.exit(recipe.main(__doc__, convert, add_options))
