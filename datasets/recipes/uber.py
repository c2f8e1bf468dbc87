"""Uber pickups in New York, April to September 2014: day x hour x latitude x longitude.

Reads the six files uber-raw-data-{apr,may,jun,jul,aug,sep}14.csv with the columns Date/Time, Lat,
Lon and Base. A value counts the pickups of a bin. FROSTT gives the modes and 183 x 24 x 1140 x 1717
with 3,309,490 nonzeros; 183 are the days of the six months. How places became bins is not stated:
here coordinates are rounded to `--decimals` (3, about 100 m) by the rule `--rounding`, and the
values that occur are numbered in ascending order. The sizes decide whether FROSTT did it so.

    uber.py --out FILE.tns --input FOLDER|ZIP [--decimals 3] [--rounding half-even|half-up|down]
"""
import datetime
import decimal
import sys
from collections import Counter
from functools import lru_cache

import bulk
import recipe

MONTHS = ["apr", "may", "jun", "jul", "aug", "sep"]
FIRST = datetime.date(2014, 4, 1)
DAYS, HOURS = (datetime.date(2014, 10, 1) - FIRST).days, 24
HEADER = ["Date/Time", "Lat", "Lon", "Base"]
HEAD = ",".join(HEADER).encode()
ROUNDING = {"half-even": decimal.ROUND_HALF_EVEN, "half-up": decimal.ROUND_HALF_UP,
            "down": decimal.ROUND_DOWN}
FLAWS = (ValueError, OverflowError, decimal.InvalidOperation)


@lru_cache(maxsize=1 << 16)
def day_of(text):
    month, day, year = map(recipe.integer, text.split("/"))
    days = (datetime.date(year, month, day) - FIRST).days
    if not 0 <= days < DAYS:
        raise ValueError(f"{text} is not in April to September 2014")
    return days


@lru_cache(maxsize=1 << 16)
def hour_of(text):
    hour, minute, second = map(recipe.integer, text.split(":"))
    datetime.time(hour, minute, second)
    return hour


def day_and_hour(moment):
    date, clock = moment.split(" ")
    return day_of(date), hour_of(clock)


def rounder(decimals, rounding):
    """Coordinate in units of the last decimal."""
    unit = decimal.Decimal(1).scaleb(-decimals)

    @lru_cache(maxsize=1 << 18)
    def rounded(text):
        degrees = decimal.Decimal(text)
        if not -180 <= degrees <= 180:
            raise ValueError(f"{text} degrees")
        return int(degrees.quantize(unit, rounding=rounding).scaleb(decimals))
    return rounded


def unquoted(line):
    return line.replace('"', "").split(",")


def rows(source):
    """(place, fields) of all pickups."""
    for month in MONTHS:
        name = f"uber-raw-data-{month}14.csv"
        file = recipe.lines(source, name)
        where, head = next(file, (name, ""))
        if unquoted(head) != HEADER:
            raise recipe.Malformed(f"{where}: found '{head[:60]}', expected {','.join(HEADER)}")
        for where, line in file:
            yield where, unquoted(line)


def in_bulk(source, rounded):
    """(number of latitudes, number of longitudes, entries) of files without a flaw, else None."""
    months = []
    for month in MONTHS:
        text = bulk.text_of(source, f"uber-raw-data-{month}14.csv")
        head, _, body = (text or b"").replace(b'"', b"").partition(b"\n")
        table = bulk.table(body, ",", ["category"] * 4) if head == HEAD else None
        if not table:
            return None
        try:
            days, hours = zip(*map(day_and_hour, table[0].cat.categories))
            values = [days, hours, *([rounded(place) for place in column.cat.categories]
                                     for column in table[1:3])]
        except FLAWS:
            return None
        months.append([bulk.spread(v, table[c]) for v, c in zip(values, (0, 0, 1, 2))])
    days, hours, *places = map(bulk.numpy.concatenate, zip(*months))
    (latitudes, height), (longitudes, width) = map(bulk.renumbered, places)
    entries = bulk.counted([days, hours, latitudes, longitudes], (DAYS, HOURS, height, width))
    return height, width, entries


def line_by_line(source, rounded):
    """The same of any files, with a message where one has a flaw."""
    counts = Counter()
    for where, fields in rows(source):
        try:
            moment, latitude, longitude, _ = fields
            counts[(*day_and_hour(moment), rounded(latitude), rounded(longitude))] += 1
        except FLAWS as error:
            raise recipe.Malformed(f"{where}: not a pickup: {error}") from None
    latitudes, longitudes = ({value: i for i, value in enumerate(sorted({e[m] for e in counts}))}
                             for m in (2, 3))
    entries = [((day, hour, latitudes[y], longitudes[x]), count)
               for (day, hour, y, x), count in sorted(counts.items())]
    return max(len(latitudes), 1), max(len(longitudes), 1), entries


def convert(arguments):
    pickups = arguments.input, rounder(arguments.decimals, ROUNDING[arguments.rounding])
    height, width, entries = in_bulk(*pickups) or line_by_line(*pickups)
    return ((DAYS, HOURS, height, width), entries, "Uber pickups, April to September 2014: day x "
            "hour x latitude x longitude; value: number of pickups")


def add_options(parser):
    parser.add_argument("--decimals", type=recipe.integer, choices=range(7), default=3)
    parser.add_argument("--rounding", choices=ROUNDING, default="half-even")


if __name__ == "__main__":
    sys.exit(recipe.main(__doc__, convert, add_options))
