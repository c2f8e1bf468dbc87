"""The table of a paper's README from published claim to spec, written from its paper/claims.yaml.

`claims_table.py` writes the tables anew between their marks; `claims_table.py --check` changes
nothing and fails when one is out of date. A line is an entry of the checklist: claims whose ids
differ in their ending alone share it.
"""
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- claims: written by ci/claims_table.py -->\n", "<!-- end of claims -->\n"
REGISTRY = "registry"


def main(arguments):
    """Write or check the tables of all papers; returns the exit code."""
    stale = []
    for path in sorted(ROOT.glob("papers/*/README.md")):
        text = path.read_text(encoding="utf-8")
        if BEGIN not in text:
            continue
        new = with_table(text, path.parent)
        if new != text:
            stale.append(path.relative_to(ROOT).as_posix())
            if "--check" not in arguments:
                path.write_text(new, encoding="utf-8")
    if stale and "--check" in arguments:
        print(f"out of date: {', '.join(stale)}; python3 ci/claims_table.py writes them anew")
        return 1
    return 0


def with_table(text, folder):
    """The README's text with the table of the claims beside it."""
    claims = yaml.safe_load((folder / "paper/claims.yaml").read_text(encoding="utf-8"))["claims"]
    specs = specs_of(folder.name)
    entries = {}
    for claim in claims:
        entries.setdefault("-".join(claim["id"].split("-")[:2]), []).append(claim)
    lines = ["| claim | place | states | spec, or why none |\n", "|---|---|---|---|\n"]
    lines += [line_of(name, parts, specs) for name, parts in entries.items()]
    head, rest = text.split(BEGIN, 1)
    return head + BEGIN + "".join(lines) + END + rest.split(END, 1)[1]


def line_of(name, parts, specs):
    """One line of the table."""
    more = f" (and {len(parts) - 1} more)" if len(parts) > 1 else ""
    ways = dict.fromkeys(way for part in parts for way in ways_of(part, specs))
    return (f"| {name} | {parts[0]['place']} | {parts[0]['states']}{more} "
            f"| {', '.join(ways)} |\n")


def ways_of(claim, specs):
    """Links to the specs that measure a claim, or the reason why none does."""
    if "query" not in claim:
        kind = "contradicts itself" if "contradicts" in claim else "not tested"
        return [f"{kind}: {claim.get('contradicts') or claim.get('untested')}"]
    query = claim["query"]
    selections = [query, *query.get("orders", []), query.get("ratio_to") or {}]
    names = []
    for where in (selection.get("where") or {} for selection in selections):
        named = where.get("case.artifact", where.get("artifact", []))
        names += named if isinstance(named, list) else [named]
    return [link(name, specs, claim) for name in dict.fromkeys(names)]


def link(artifact, specs, claim):
    """A link to the spec of an artifact; raises for a claim about rows that no spec measures."""
    if artifact == REGISTRY:
        return "[registry](../../datasets/registry.yaml)"
    if artifact not in specs:
        raise SystemExit(f"claim {claim['id']}: no spec measures {artifact}")
    return f"[{specs[artifact].stem}](../../{specs[artifact].as_posix()})"


def specs_of(paper):
    """Paths of the specs by artifact."""
    found = {}
    for path in sorted((ROOT / "experiments").glob("*/*.yaml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if str(content.get("artifact", "")).startswith(paper + "/") and "of" not in content:
            found[content["artifact"]] = path.relative_to(ROOT)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
