"""WordNet 3.0 as a tensor: synset x pointer type x synset.

Reads data.noun, data.verb, data.adj and data.adv (format: wndb(5WN)). Mode 0 is the synset that a
pointer starts from, mode 2 the one that it leads to, both numbered by file in that order and by
place in the file; mode 1 is the pointer's type, in the order of SYMBOLS, which are all that
wninput(5WN) defines. A value counts the pointers of one type between two synsets: lexical pointers
join words, so that two synsets may be joined more than once. Entries come sorted.

`--what lexical`: word x pointer type x word x part of speech of the second word, for the pointers
that join words of two synsets rather than the synsets. Words are numbered in the order of their
bytes. `--what glosses`: synset x word of its gloss x part of speech of the synset (n, v, a, r).
Words are runs of letters in lower case; a value counts how often one stands in the gloss.

    wordnet.py --out FILE.tns [--source FOLDER] [--what pointers|lexical|glosses]
"""
import re
import sys
from collections import Counter
from pathlib import Path

import recipe

FILES = {"n": "data.noun", "v": "data.verb", "a": "data.adj", "r": "data.adv"}
WORD = re.compile("[a-z]+")
SYMBOLS = ["!", "@", "@i", "~", "~i", "#m", "#s", "#p", "%m", "%s", "%p", "=", "+",
           ";c", "-c", ";r", "-r", ";u", "-u", "*", ">", "^", "$", "&", "<", "\\"]


def synset_lines(path):
    """(place for messages, fields) of every synset; the licence at the top is indented."""
    with open(path, encoding="ascii") as lines:
        for number, line in enumerate(lines, 1):
            if not line.startswith("  "):
                yield f"{path}:{number}", line.partition(" | ")[0].split()


def pointers(where, fields):
    """(symbol, part of speech and offset of the target, words that it joins) of each pointer."""
    start = 4 + 2 * int(fields[3], 16)  # offset, file, type, w_cnt, then a pair per word
    count = int(fields[start])
    items = fields[start + 1:start + 1 + 4 * count]
    if len(items) != 4 * count:
        raise recipe.Malformed(f"{where}: {count} pointers announced, {len(items) / 4:g} found")
    for symbol, offset, part, ends in zip(*(items[i::4] for i in range(4))):
        yield symbol, ("a" if part == "s" else part, offset), ends


def gloss_lines(path):
    """Gloss of every synset."""
    with open(path, encoding="ascii") as lines:
        for line in lines:
            if not line.startswith("  "):
                yield line.partition(" | ")[2].lower()


def numbered(words):
    return {word: i for i, word in enumerate(sorted(words, key=str.encode))}


def glosses(folder):
    texts = [(p, text) for p, name in enumerate(FILES.values())
             for text in gloss_lines(folder / name)]
    found = [(p, Counter(WORD.findall(text))) for p, text in texts]
    words = numbered({word for _, counts in found for word in counts})
    entries = [((synset, words[word], p), count) for synset, (p, counts) in enumerate(found)
               for word, count in counts.items()]
    return (len(found), max(len(words), 1), len(FILES)), sorted(entries), \
        "WordNet 3.0: synset x word of its gloss x part of speech; value: how often"


def lexical(folder):
    parsed = [(part, where, fields) for part, name in FILES.items()
              for where, fields in synset_lines(folder / name)]
    words = {(part, fields[0]): [w.lower().partition("(")[0]
                                 for w in fields[4:4 + 2 * int(fields[3], 16):2]]
             for part, _, fields in parsed}
    joined = Counter()
    for part, where, fields in parsed:
        try:
            for symbol, target, ends in pointers(where, fields):
                if ends != "0000":
                    first, second = int(ends[:2], 16) - 1, int(ends[2:], 16) - 1
                    joined[words[part, fields[0]][first], SYMBOLS.index(symbol),
                           words[target][second], list(FILES).index(target[0])] += 1
        except (IndexError, KeyError, ValueError):
            raise recipe.Malformed(f"{where}: not a synset line of wndb(5WN)") from None
    numbers = numbered({word for a, _, b, _ in joined for word in (a, b)})
    entries = sorted(((numbers[a], t, numbers[b], p), n) for (a, t, b, p), n in joined.items())
    length = max(len(numbers), 1)
    return (length, len(SYMBOLS), length, len(FILES)), entries, \
        "WordNet 3.0: word x pointer type x word x part of speech; value: number of pointers"


def read(folder):
    """Number of synsets and the count of pointers by (source, type, target)."""
    parsed = [(part, where, fields) for part, name in FILES.items()
              for where, fields in synset_lines(folder / name)]
    synsets = {(part, fields[0]): i for i, (part, _, fields) in enumerate(parsed)}
    types = {symbol: i for i, symbol in enumerate(SYMBOLS)}
    counts = Counter()
    for source, (_, where, fields) in enumerate(parsed):
        try:
            for symbol, target, _ in pointers(where, fields):
                counts[source, types[symbol], synsets[target]] += 1
        except (IndexError, ValueError):
            raise recipe.Malformed(f"{where}: not a synset line of wndb(5WN)") from None
        except KeyError as unknown:
            raise recipe.Malformed(f"{where}: unknown pointer type or target {unknown}") from None
    return len(parsed), counts


def convert(arguments):
    if arguments.what != "pointers":
        return {"glosses": glosses, "lexical": lexical}[arguments.what](arguments.source)
    synsets, counts = read(arguments.source)
    return ((synsets, len(SYMBOLS), synsets), sorted(counts.items()),
            "WordNet 3.0: synset x pointer type x synset; value: number of pointers")


def add_options(parser):
    parser.add_argument("--source", type=Path, default=Path("/usr/share/wordnet"),
                        help="folder of the data files (default: that of Debian's wordnet-base)")
    parser.add_argument("--what", choices=["pointers", "lexical", "glosses"], default="pointers")


if __name__ == "__main__":
    sys.exit(recipe.main(__doc__, convert, add_options, needs_input=False))
