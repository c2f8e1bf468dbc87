"""The lines of result files that belong to artifacts, as they stand in those files."""
import json
from collections import Counter
from pathlib import Path

from retensor.program import output_of


def lines_of(files):
    """What `retensor rows` prints of result files: {kind: [line]}."""
    kinds = {}
    for line in map(json.loads, output_of("rows", *files).splitlines()):
        kinds.setdefault(line["kind"], []).append(line)
    return kinds


def copy_rows(files, artifacts, out):
    """Write the newest rows of artifacts with their sessions and ceilings; returns the rows, with
    the quantities that the program derives from them."""
    kept = [row for row in lines_of(files).get("row", [])
            if row["case"].get("artifact") in artifacts and row["code"] != "original"]
    sessions = {row["session"] for row in kept}
    places = {(Path(row["file"]).name, row["line"], row["session"]) for row in kept}
    with open(out, "w", encoding="utf-8") as target:
        for file in map(Path, files):
            for number, text in enumerate(_texts(file), start=1):
                line = json.loads(text)
                owner = line.get("session")
                if (file.name, number, owner) in places or (line["kind"] != "row"
                                                            and owner in sessions):
                    target.write(text.rstrip("\n") + "\n")
    return kept


def _texts(file):
    """The whole lines of a file; `retensor rows` warned of a torn one."""
    with open(file, encoding="utf-8", errors="replace") as source:
        yield from (line for line in source if line.endswith("}\n"))


def machines(rows):
    """How many rows each machine has, by its name."""
    return dict(sorted(Counter(row["device"] for row in rows).items()))
