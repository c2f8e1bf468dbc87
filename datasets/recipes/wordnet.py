"""WordNet 3.0 as a tensor: synset x pointer type x synset.

Reads data.noun, data.verb, data.adj and data.adv (format: wndb(5WN)). Mode 0 is the synset that a
pointer starts from, mode 2 the one that it leads to, both numbered by file in that order and by
place in the file; mode 1 is the pointer's type, in the order of SYMBOLS, which are all that
wninput(5WN) defines. A value counts the pointers of one type between two synsets: lexical pointers
join words, so that two synsets may be joined more than once. Entries come sorted.

    wordnet.py --out FILE.tns [--source FOLDER]
"""
import argparse
import sys
from collections import Counter
from pathlib import Path

import tns

FILES = {"n": "data.noun", "v": "data.verb", "a": "data.adj", "r": "data.adv"}
SYMBOLS = ["!", "@", "@i", "~", "~i", "#m", "#s", "#p", "%m", "%s", "%p", "=", "+",
           ";c", "-c", ";r", "-r", ";u", "-u", "*", ">", "^", "$", "&", "<", "\\"]


class Malformed(Exception):
    """A source file that does not follow wndb(5WN)."""


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
        raise Malformed(f"{where}: {count} pointers announced, {len(items) / 4:g} found")
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
            raise Malformed(f"{where}: not a synset line of wndb(5WN)") from None
        except KeyError as unknown:
            raise Malformed(f"{where}: unknown pointer type or target {unknown}") from None
    return len(parsed), counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--source", type=Path, default=Path("/usr/share/wordnet"),
                        help="folder of the data files (default: that of Debian's wordnet-base)")
    arguments = parser.parse_args()
    try:
        synsets, counts = read(arguments.source)
        tns.write(arguments.out, (synsets, len(SYMBOLS), synsets), sorted(counts.items()),
                  "WordNet 3.0: synset x pointer type x synset; value: number of pointers")
    except (Malformed, OSError, UnicodeDecodeError) as error:
        print(f"wordnet: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
