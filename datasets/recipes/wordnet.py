"""WordNet 3.0 as a tensor: synset x pointer type x synset.

Reads data.noun, data.verb, data.adj and data.adv (format: wndb(5WN)). Mode 0 is the synset that a
pointer starts from, mode 2 the one that it leads to, both numbered by file in that order and by
place in the file; mode 1 is the pointer's type, in the order of SYMBOLS, which are all that
wninput(5WN) defines. A value counts the pointers of one type between two synsets: lexical pointers
join words, so that two synsets may be joined more than once. Entries come sorted.

    wordnet.py --out FILE.tns [--source FOLDER]
"""
import sys
from collections import Counter
from pathlib import Path

import recipe

FILES = {"n": "data.noun", "v": "data.verb", "a": "data.adj", "r": "data.adv"}
SYMBOLS = ["!", "@", "@i", "~", "~i", "#m", "#s", "#p", "%m", "%s", "%p", "=", "+",
           ";c", "-c", ";r", "-r", ";u", "-u", "*", ">", "^", "$", "&", "<", "\\"]


def synset_lines(path):
    """(place for messages, fields) of every synset; the licence at the top is indented."""
    with open(path, encoding="ascii") as lines:
        for number, line in enumerate(lines, 1):
            if not line.startswith("  "):
                yield f"{path}:{number}", line.partition(" | ")[0].split()


def pointers(where, fields):
    """(symbol, part of speech and offset of the target) of each pointer of a synset."""
    start = 4 + 2 * int(fields[3], 16)  # offset, file, type, w_cnt, then a pair per word
    count = int(fields[start])
    items = fields[start + 1:start + 1 + 4 * count]
    if len(items) != 4 * count:
        raise recipe.Malformed(f"{where}: {count} pointers announced, {len(items) / 4:g} found")
    for symbol, offset, part in zip(items[0::4], items[1::4], items[2::4]):
        yield symbol, ("a" if part == "s" else part, offset)


def read(folder):
    """Number of synsets and the count of pointers by (source, type, target)."""
    parsed = [(part, where, fields) for part, name in FILES.items()
              for where, fields in synset_lines(folder / name)]
    synsets = {(part, fields[0]): i for i, (part, _, fields) in enumerate(parsed)}
    types = {symbol: i for i, symbol in enumerate(SYMBOLS)}
    counts = Counter()
    for source, (_, where, fields) in enumerate(parsed):
        try:
            for symbol, target in pointers(where, fields):
                counts[source, types[symbol], synsets[target]] += 1
        except (IndexError, ValueError):
            raise recipe.Malformed(f"{where}: not a synset line of wndb(5WN)") from None
        except KeyError as unknown:
            raise recipe.Malformed(f"{where}: unknown pointer type or target {unknown}") from None
    return len(parsed), counts


def convert(arguments):
    synsets, counts = read(arguments.source)
    return ((synsets, len(SYMBOLS), synsets), sorted(counts.items()),
            "WordNet 3.0: synset x pointer type x synset; value: number of pointers")


def add_options(parser):
    parser.add_argument("--source", type=Path, default=Path("/usr/share/wordnet"),
                        help="folder of the data files (default: that of Debian's wordnet-base)")


if __name__ == "__main__":
    sys.exit(recipe.main(__doc__, convert, add_options, needs_input=False))
