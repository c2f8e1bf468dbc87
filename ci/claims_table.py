"""papers/<id>/paper/claims.md: which spec measures each published claim, from the claims.yaml
beside it.

`claims_table.py` writes these files anew; `claims_table.py --check` changes nothing and fails when
one is out of date. A line is an entry of the checklist: claims that rows measure share it when
their ids differ in their ending alone, and so do claims that no row measures for the same reason.
"""
import sys
from pathlib import Path

import yaml

from written import keep

ROOT = Path(__file__).resolve().parent.parent
# Artifacts that the judge makes, no spec: what they are made of.
MADE = {"registry": "datasets/registry.yaml", "layouts": "experiments/driver/commands/layouts.cpp"}
HEAD = """# Claims of {paper}

`ci/claims_table.py` writes this page from [claims.yaml](claims.yaml), which has the published
values, the tolerances and the queries. `retensor verdict {paper}` prints the verdicts.

| claim | place | states | spec, or why none |
|---|---|---|---|
"""


def main(arguments):
    """Write or check the tables of all papers; returns the exit code."""
    pages = {claims.with_suffix(".md"): table(claims)
             for claims in sorted(ROOT.glob("papers/*/paper/claims.yaml"))}
    return keep(pages, arguments, "ci/claims_table.py")


def table(path):
    """The page of the claims in a file."""
    paper = path.parents[1].name
    claims = yaml.safe_load(path.read_text(encoding="utf-8"))["claims"]
    specs = specs_of(paper)
    entries = {}
    for claim in claims:
        entry = "-".join(claim["id"].split("-")[:2])
        entries.setdefault((entry, reason(claim)), []).append(claim)
    return HEAD.format(paper=paper) + "".join(
        line_of(parts[0]["id"] if why else entry, why, parts, specs)
        for (entry, why), parts in entries.items())


def reason(claim):
    """Why no row measures a claim, None where rows do."""
    if "query" in claim:
        return None
    kind = "contradicts itself" if "contradicts" in claim else "not tested"
    return f"{kind}: {claim.get('contradicts') or claim.get('untested')}"


def line_of(name, why, parts, specs):
    """One line of the table."""
    more = f" (and {len(parts) - 1} more)" if len(parts) > 1 else ""
    ways = [why] if why else dict.fromkeys(way for part in parts for way in links(part, specs))
    return (f"| {name} | {parts[0]['place']} | {parts[0]['states']}{more} "
            f"| {', '.join(ways)} |\n")


def links(claim, specs):
    """Links to the specs that measure a claim."""
    query = claim["query"]
    selections = [query, *query.get("orders", []), query.get("ratio_to") or {}]
    names = []
    for where in (selection.get("where") or {} for selection in selections):
        named = where.get("case.artifact", where.get("artifact", []))
        names += named if isinstance(named, list) else [named]
    return [link(name, specs, claim) for name in dict.fromkeys(names)]


def link(artifact, specs, claim):
    """A link to the spec of an artifact; raises for a claim about rows that no spec measures."""
    if artifact in MADE:
        return f"[{artifact}](../../../{MADE[artifact]})"
    if artifact not in specs:
        raise SystemExit(f"claim {claim['id']}: no spec measures {artifact}")
    return f"[{specs[artifact].stem}](../../../{specs[artifact].as_posix()})"


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
