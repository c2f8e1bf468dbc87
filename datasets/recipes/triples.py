"""A knowledge graph as a tensor: head x relation x tail.

Reads lines `head TAB relation TAB tail` of a file, or of train.txt, valid.txt and test.txt in a
folder or zip archive, of which `--split` chooses the one whose triples become entries. Entities
(heads and tails together) and relations are numbered over all that is read, in the order of their
bytes: so the splits of a graph share their numbers. A value counts how often a triple stands there.

    triples.py --out FILE.tns --input FILE|FOLDER|ZIP [--split train|valid|test]
"""
import sys
import zipfile
from collections import Counter

import bulk
import recipe

SPLITS = ["train", "valid", "test"]


def triples(source, name):
    for where, line in recipe.lines(source, name, "utf-8"):
        fields = line.split("\t")
        if len(fields) != 3 or not all(fields):
            raise recipe.Malformed(f"{where}: found {len(fields)} fields, expected head, relation "
                                   "and tail with tabs between")
        yield fields


def numbered(names):
    return {name: i for i, name in enumerate(sorted(names, key=str.encode))}


def in_bulk(source, names, wanted):
    """(number of entities, number of relations, entries of the file `wanted`) of files without a
    flaw, else None."""
    tables = {}
    for name in names:
        text = bulk.text_of(source, name)
        tables[name] = text and bulk.table(text, "\t", ["category"] * 3, "utf-8")
        if not tables[name]:
            return None
    relations = bulk.union(table[1] for table in tables.values())
    entities = bulk.union(column for table in tables.values() for column in table[::2])
    columns = [bulk.codes_in(words, column) for words, column in
               zip((entities, relations, entities), tables[wanted])]
    entries = bulk.counted(columns, (len(entities), len(relations), len(entities)))
    return entries and (len(entities), len(relations), entries)


def line_by_line(source, names, wanted):
    """The same of any files, with a message where one has a flaw."""
    entities, relations, counts = set(), set(), Counter()
    for name in names:
        for head, relation, tail in triples(source, name):
            entities.update((head, tail))
            relations.add(relation)
            if name == wanted:
                counts[head, relation, tail] += 1
    entities, relations = numbered(entities), numbered(relations)
    entries = sorted(((entities[h], relations[r], entities[t]), n)
                     for (h, r, t), n in counts.items())
    return max(len(entities), 1), max(len(relations), 1), entries


def convert(arguments):
    source, wanted = arguments.input, f"{arguments.split}.txt"
    many = source.is_dir() or zipfile.is_zipfile(source)
    files = source, [f"{split}.txt" for split in SPLITS] if many else [wanted], wanted
    length, relations, entries = in_bulk(*files) or line_by_line(*files)
    return (length, relations, length), entries, "head x relation x tail"


def add_options(parser):
    parser.add_argument("--split", choices=SPLITS, default="train")


if __name__ == "__main__":
    sys.exit(recipe.main(__doc__, convert, add_options))
