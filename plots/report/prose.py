"""What holds of a paper and what does not, in two sentences.

The judge's own words come first: where an entry of `retensor verdict --json` brings `prose`, that
stands. Until then the sentences are made here from the verdicts on the paper's headline claims.
"""
from plots.figures.cells import number
from plots.figures.claims import published
from plots.report.text import joined


def sentences(about, claims):
    """At most two sentences on a paper; empty without verdicts on its headline claims."""
    told = next((claim.verdict["prose"] for claim in claims if claim.verdict.get("prose")), None)
    if told:
        return told if isinstance(told, list) else [str(told)]
    headline = [claim for name in about.headline for claim in claims if claim.id == name]
    holds = [claim for claim in headline if claim.outcome == "holds"]
    fails = [claim for claim in headline if claim.outcome == "does not hold"]
    texts = []
    if holds:
        texts.append(f"Holds: {joined(map(_told, holds[:2]))}.")
    if fails:
        texts.append(f"Does not hold: {joined(map(_told, fails[:3]))}.")
    return texts


def _told(claim):
    """A claim with both numbers."""
    verdict = claim.verdict
    sides = [f"published {published(verdict)}" if published(verdict) else "",
             f"measured {number(verdict['measured'])}" if verdict.get("measured") is not None
             else ""]
    numbers = ", ".join(filter(None, sides))
    return verdict["states"] + (f" ({numbers})" if numbers else "")
