"""datasets/README.md: the data sets of the registry, their sizes, addresses and terms.

`datasets_table.py` writes the page anew; `datasets_table.py --check` changes nothing and fails
when it is out of date.
"""
import sys
from pathlib import Path

import yaml

from written import keep

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "datasets" / "README.md"
HEAD = """# Data sets

`ci/datasets_table.py` writes this page from [registry.yaml](registry.yaml) and the files that it
includes.

`retensor dataset fetch NAME` downloads and verifies a data set that has an address, and
`fetch --paper ID` all data sets that a paper needs. Both print sizes and disk space first. The
addresses come from public pages. This project could not try them; its tests try the forms of
addresses, archives and files against a server of their own. The column "check" says how a file is
verified:

| check | meaning |
|---|---|
| published checksum | the SHA-256 that public downloaders state |
| sizes, then record | mode lengths, nonzeros and index ranges have to be as published; the \
checksum of the first fetch is recorded, and every later fetch and use has to agree with it. \
[checksums.yaml](checksums.yaml) holds records that users contributed; records that contradict \
each other are reported |
| own copy | your file, checked by mode lengths and nonzeros |
| content | made from data of a package, and compared with a checksum of the tensor |

A mirror (`--mirror URL`, `RETENSOR_MIRROR`) has the hosts as folders, in the form that
`wget --mirror` makes. `https_proxy` is respected. A folder that a group shares
(`RETENSOR_SHARED_CACHE`) is read but never written.

"""
COLUMNS = ("| name | also called | papers | mode lengths | nonzeros | address | check | licence "
           "| pass on |\n")


def entries():
    """Names and entries of the registry in the order of the files."""
    found = {}
    registry = yaml.safe_load((ROOT / "datasets" / "registry.yaml").read_text(encoding="utf-8"))
    for name in ["registry.yaml", *registry["include"]]:
        content = yaml.safe_load((ROOT / "datasets" / name).read_text(encoding="utf-8"))
        found.update(content["datasets"])
    return found


def checked(entry):
    """How what arrives is verified."""
    if "fetch" in entry:
        pinned = "sha256" in entry["fetch"]
        return "published checksum" if pinned else "sizes, then record"
    needs = entry.get("make", {}).get("needs")
    if needs == "input" or not ("make" in entry or "file" in entry):
        return "own copy"
    return "content"


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def line(name, entry):
    fetch = entry.get("fetch", {}).get("url")
    address = f"<{fetch}>" if fetch and "{" not in fetch else f"`{fetch}`" if fetch else \
        cell(entry["source"])
    return "| " + " | ".join([
        f"`{name}`", ", ".join(entry.get("aliases", [])), ", ".join(sorted(entry.get("paper", {}))),
        " x ".join(map(str, entry["dims"])), str(entry["nnz"]) if entry["nnz"] else "?", address,
        checked(entry), cell(entry["licence"]), "yes" if entry.get("pass_on") else "no"]) + " |\n"


def table(chosen):
    return COLUMNS + "|---|---|---|---|---|---|---|---|---|\n" + "".join(
        line(name, entry) for name, entry in chosen.items())


def page():
    """The text of the page."""
    every = entries()
    real = {n: e for n, e in every.items() if e["kind"] in ("real", "real pattern")}
    private = {n: e for n, e in every.items() if e["kind"] == "private"}
    public = {n: e for n, e in real.items() if "fetch" in e}
    rest = {n: e for n, e in real.items() if "fetch" not in e}
    kinds = {kind: sum(e["kind"] == kind for e in every.values())
             for kind in ("stand-in", "generated")}
    return (HEAD + f"## By address\n{len(public)} data sets.\n\n{table(public)}\n"
            f"## Made here, or converted from your own copy\n{table(rest)}\n"
            f"## Published facts only\n\n"
            + "| name | papers | mode lengths | nonzeros | why |\n|---|---|---|---|---|\n"
            + "".join(f"| `{n}` | {', '.join(sorted(e.get('paper', {})))} | "
                      f"{' x '.join(map(str, e['dims']))} | {e['nnz']} | {cell(e['source'])} |\n"
                      for n, e in private.items())
            + f"\nThe registry also has {kinds['stand-in']} stand-ins and "
              f"{kinds['generated']} generated tensors and matrices: `retensor dataset list`.\n")


if __name__ == "__main__":
    sys.exit(keep({PAGE: page()}, sys.argv[1:], "ci/datasets_table.py"))
