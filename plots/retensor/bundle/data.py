"""The data sets of a bundle: their registry entries, and the files that may be passed on."""
import shutil
from pathlib import Path

import yaml

from retensor.report.sources import read_yaml

LARGEST = 1 << 26  # bytes of a tensor's file; larger data is named by its checksum alone


def entries_of(path):
    """All entries of a registry and of those that it includes, by name, with the folder in which
    their files lie."""
    content = read_yaml(path)
    found = {name: (entry, path.parent) for name, entry in (content.get("datasets") or {}).items()}
    for name in content.get("include") or []:
        found.update(entries_of(path.parent / name))
    return found


def copy_registry(registry, names, folder):
    """Write registry.yaml with the entries of data sets, and what tensor files may be passed on.
    Returns {name: why its tensor is not in the bundle} of those that a replay cannot make."""
    known = entries_of(Path(registry))
    by_alias = {alias: name for name, (entry, _) in known.items()
                for alias in entry.get("aliases") or []}
    wanted = {by_alias.get(base, base) for base in (name.split("@")[0] for name in names)}
    wanted |= {(known[name][0].get("stand_in") or {}).get("for") for name in wanted & known.keys()}
    folder.mkdir(parents=True)
    entries, left_out = {}, {}
    for name in sorted(wanted & known.keys()):
        entries[name], reason = _copied(name, *known[name], folder)
        if reason:
            left_out[name] = reason
    for name in sorted(names):
        if Path(name).suffix and name not in known:
            left_out[name] = "a file without a registry entry, so that nothing says whether it " \
                             "may be passed on"
    (folder / "registry.yaml").write_text(yaml.safe_dump({"schema": 1, "datasets": entries}),
                                          encoding="utf-8")
    return left_out


def may_be_passed_on(entry):
    """As the program reads the registry: real data may not where nothing is said."""
    return entry.get("pass_on", entry.get("kind") in ("stand-in", "generated")) is True


def _copied(name, entry, base, folder):
    """An entry for the bundle, its file beside it, and why that is not there."""
    if "fetch" in entry or (entry.get("make") or {}).get("needs"):
        return entry, "its source gives it to you"
    if "file" not in entry:
        return entry, ""
    if not may_be_passed_on(entry):
        return entry, f"may not be passed on: {entry.get('licence', 'no licence')}"
    source = base / entry["file"]
    if not source.is_file() or source.stat().st_size > LARGEST:
        return entry, f"no file of at most {LARGEST} bytes"
    copy = name + "".join(source.suffixes)
    shutil.copyfile(source, folder / copy)
    return {**entry, "file": copy}, ""
