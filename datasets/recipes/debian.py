"""Dependencies between Debian's packages as tensors, from the lists that apt keeps on the machine.

`--what relations`: package x relation x package x suite. A value counts how often a field of a
package (RELATIONS) names another one in a suite; versions, architectures and alternatives are left
out. Names are all that occur, virtual packages too, in the order of their bytes and the same in
both modes; suites are those of the lists, in that order. `--what paths`: package x package x
package: a asks for b and b for c, by Pre-Depends, Depends, Recommends or Suggests, over all
suites; values are 1.

    debian.py --out FILE.tns [--source FOLDER] [--what relations|paths]
"""
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import recipe

HELPER = "/usr/lib/apt/apt-helper"  # unpacks what apt packs: lz4, xz, gzip, zstd
RELATIONS = ["Pre-Depends", "Depends", "Recommends", "Suggests", "Enhances", "Breaks", "Conflicts",
             "Replaces", "Provides"]
ASKS = RELATIONS[:4]
LIST = re.compile(r"_dists_([^_]+)_.*_Packages(\.[a-z0-9]+)?$")
NAME = re.compile(r"\s*([a-z0-9][a-z0-9+.-]*)")


def paragraphs(path):
    """(place for messages, fields) of each package of a list."""
    done = subprocess.run([HELPER, "cat-file", path], capture_output=True, check=False)
    if done.returncode != 0:
        raise recipe.Malformed(f"{path}: {done.stderr.decode(errors='replace').strip()}")
    for number, text in enumerate(done.stdout.decode("utf-8").split("\n\n"), 1):
        fields = dict(line.split(": ", 1) for line in text.split("\n")
                      if ": " in line and not line.startswith(" "))
        if fields:
            if "Package" not in fields:
                raise recipe.Malformed(f"{path}: paragraph {number} names no package")
            yield f"{path}: paragraph {number}", fields


def named(where, text):
    """The packages that a field names, alternatives each for itself."""
    for item in re.split(r"[,|]", text):
        name = NAME.match(item)
        if not name:
            raise recipe.Malformed(f"{where}: found '{item[:40]}', expected the name of a package")
        yield name[1]


def read(folder):
    """(suite, package, relation, package) with how often each stands there."""
    counts, files = Counter(), sorted(p for p in folder.glob("*_Packages*") if LIST.search(p.name))
    if not files:
        raise recipe.Malformed(f"{folder}: no lists of packages; apt-get update fetches them")
    for path in files:
        suite = LIST.search(path.name)[1]
        for where, fields in paragraphs(path):
            for relation in RELATIONS:
                if relation in fields:
                    for other in named(where, fields[relation]):
                        counts[suite, fields["Package"], relation, other] += 1
    return counts


def numbered(names):
    return {name: i for i, name in enumerate(sorted(set(names), key=str.encode))}


def relations(counts):
    names = numbered(n for _, package, _, other in counts for n in (package, other))
    suites = numbered(suite for suite, *_ in counts)
    entries = sorted(((names[a], RELATIONS.index(relation), names[b], suites[suite]), count)
                     for (suite, a, relation, b), count in counts.items())
    return (len(names), len(RELATIONS), len(names), len(suites)), entries, \
        "Debian: package x relation x package x suite; value: how often it is named"


def paths(counts):
    needs = defaultdict(set)
    for _, package, relation, other in counts:
        if relation in ASKS:
            needs[package].add(other)
    names = numbered(n for package, others in needs.items() for n in (package, *others))
    entries = sorted(((names[a], names[b], names[c]), 1) for a, others in needs.items()
                     for b in others for c in needs.get(b, ()))
    return (len(names),) * 3, entries, "Debian: a asks for b, which asks for c"


def convert(arguments):
    counts = read(arguments.source)
    return relations(counts) if arguments.what == "relations" else paths(counts)


def add_options(parser):
    parser.add_argument("--source", type=Path, default=Path("/var/lib/apt/lists"),
                        help="folder of the lists (default: apt's)")
    parser.add_argument("--what", choices=["relations", "paths"], default="relations")


if __name__ == "__main__":
    sys.exit(recipe.main(__doc__, convert, add_options, needs_input=False))
