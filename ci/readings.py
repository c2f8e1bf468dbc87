"""papers/<id>/paper/readings.yaml: how each sentence of a paper's evaluation and each cell of its
tables was read.

`readings.py` counts them and looks up the claims and findings that they name. For who has the
papers' texts, `--text FOLDER` finds the sentences, in their order, in <id>.txt there. `--root` is
another repository than that of this file. Exit code 1 when something does not agree.
"""
import argparse
import re
import sys
from pathlib import Path

import yaml

NOTHING = "nothing"


def main(arguments):
    """Check the readings of all papers; returns the exit code."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--text", type=Path, help="folder of the papers' texts")
    options.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    chosen = options.parse_args(arguments)
    faults = []
    for claims in sorted(chosen.root.glob("papers/*/paper/claims.yaml")):
        path = claims.with_name("readings.yaml")
        found = faults_of(read(path), known_ids(claims.parent), chosen.text) if path.exists() else [
            "there is no such file"]
        faults += [f"{path.relative_to(chosen.root)}: {fault}" for fault in found]
    print("\n".join(faults) or "every reading agrees")
    return 1 if faults else 0


def read(path):
    """The content of a YAML file."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def known_ids(folder):
    """Ids of a paper's claims, rules and listings."""
    findings = read(folder / "findings.yaml")
    entries = read(folder / "claims.yaml")["claims"] + findings["rules"] + findings.get(
        "listings", [])
    return {entry["id"] for entry in entries}


def faults_of(readings, ids, folder):
    """What does not agree in the readings of one paper, in words."""
    faults = []
    for section in readings["sections"]:
        read_as = [next(iter(sentence.items())) for sentence in section["sentences"]]
        faults += counted(section, len(read_as)) + unknown(section["place"], read_as, ids)
    for table in readings.get("tables", []):
        cells = len(table["rows"]) * len(table["columns"])
        faults += counted(table, cells) + unknown(table["place"], table["columns"].items(), ids)
    if folder is not None:
        text = (folder / f"{readings['paper']}.txt").read_text(encoding="utf-8")
        faults += missing(readings["sections"], words(text))
    return faults


def counted(part, number):
    """A fault where a section or table holds another number than it says."""
    stated = part["count"]
    return [] if number == stated else [f"{part['place']}: {number} readings of {stated}"]


def unknown(place, read_as, ids):
    """Readings that name no claim or finding; an id stands for all that begin with it."""
    return [f"{place}, '{name}': nothing is called '{wanted}'"
            for name, by in read_as if by != NOTHING for wanted in by
            if not any(known == wanted or known.startswith(wanted + "-") for known in ids)]


def missing(sections, text):
    """Sentences that the text does not have, or not after the one before."""
    faults, at = [], 0
    for section in sections:
        for sentence in section["sentences"]:
            begins = words(str(next(iter(sentence))))
            found = text.find(begins, at)
            if found < 0:
                faults.append(f"{section['place']}: no sentence begins with '{begins}'")
            else:
                at = found + len(begins)
    return faults


def words(text):
    """Text in which any run of blanks and line breaks is one blank."""
    return re.sub(r"\s+", " ", text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
