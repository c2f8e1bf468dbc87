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
    """Write the newest rows of artifacts with their sessions and ceilings, and the imported rows
    that stand beside them. Returns both, with the quantities that the program derives from them."""
    lines = lines_of(files).get("row", [])
    own = [row for row in lines if not is_imported(row) and row["case"]["artifact"] in artifacts]
    problems = set(map(_problem, own))
    imported = [row for row in lines if is_imported(row)
                and (row["case"]["artifact"] in artifacts or _problem(row) in problems)]
    kept = own + imported
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
    return own, imported


def is_imported(row):
    """Whether others took the time with the original code: nothing here repeats it."""
    return row["code"] == "original"


def _problem(row):
    return tuple(row["case"].get(name)
                 for name in ("operation", "variant", "dataset", "mode", "rank", "dtype"))


def origins(files, imported):
    """Whose times imported rows have: [{who, file, commit, device, rows}]."""
    counts = Counter((row["session"], row["device"]) for row in imported)
    told = {line["session"]: line["imported"] for line in lines_of(files).get("session", [])
            if "imported" in line}
    return [{**told.get(session, {}), "device": device, "rows": count}
            for (session, device), count in sorted(counts.items())]


def _texts(file):
    """The whole lines of a file; `retensor rows` warned of a torn one."""
    with open(file, encoding="utf-8", errors="replace") as source:
        yield from (line for line in source if line.endswith("}\n"))


def machines(rows):
    """How many rows each machine has, by its name."""
    return dict(sorted(Counter(row["device"] for row in rows).items()))
