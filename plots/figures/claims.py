"""Published values of a paper beside the measured ones: a line per claim, from the verdicts.

`place` in the figure map, one or a list, is how the places of the claims to show begin.
"""
import pandas as pd

from plots.errors import PlotError
from plots.figures import text_table
from plots.figures.cells import number

COLUMNS = ("claim", "states", "published", "tolerance", "measured", "verdict", "on")
SHARES = (18, 44, 20, 12, 18, 16, 30)


def draw(view):
    """Draw the claims of a view."""
    chosen = claims_at(view, view.spec.figure.get("place", ""))
    if not chosen:
        raise PlotError(f"{view.spec.artifact}: no verdict on a claim of this place was given")
    lines = [(claim["id"], claim.get("states"), published(claim), tolerance(claim),
              number(_measured(view, claim)), claim["verdict"], basis(claim)) for claim in chosen]
    return text_table.draw(view, pd.DataFrame(lines, columns=COLUMNS, dtype=object), SHARES)


def _measured(view, claim):
    """The measured value; of a claim about a platform what the machine of its rows has instead."""
    group, _, name = str(claim.get("value")).partition(".")
    if claim.get("measured") is not None or group not in ("machine", "ceilings"):
        return claim.get("measured")
    rows = view.results.rows
    rows = rows[rows["key"].isin(claim.get("keys") or ()) & (rows["device"] == claim["machine"])]
    for session, backend in zip(rows["session"], rows["backend"]):
        facts = view.results.sessions[session].get("machine") or {}
        ceilings = view.results.ceilings.get((session, backend), {"values": {}})
        found = _at(facts, name) if group == "machine" else ceilings["values"].get(name)
        if found is not None:
            return found
    return None


def _at(facts, name):
    for part in name.split("."):
        facts = facts.get(part) if isinstance(facts, dict) else None
    return facts


def claims_at(view, places):
    """Verdicts on the claims whose place begins with one of `places`, in their order."""
    places = tuple(places) if isinstance(places, list) else str(places)
    return [claim for claim in view.verdicts if str(claim.get("place", "")).startswith(places)]


def published(claim):
    """The published number with its unit, as text; empty where the claim has none."""
    value = claim.get("published") or {}
    forms = {"value": "{}", "at_least": "at least {}", "at_most": "at most {}"}
    texts = [text.format(number(value[form])) for form, text in forms.items() if form in value]
    if "range" in value:
        texts.append(" to ".join(map(number, value["range"])))
    return " ".join([*texts, str(value.get("unit", ""))]).strip()


def tolerance(claim):
    """How far a measured number may lie from the published one, as text; empty where none may."""
    allowed = claim.get("tolerance") or {}
    if "factor" in allowed:
        return f"factor {number(allowed['factor'])}"
    share, amount = 100 * allowed.get("relative", 0), allowed.get("absolute", 0)
    return f"\N{PLUS-MINUS SIGN}{number(share)}%" if share else (
        f"\N{PLUS-MINUS SIGN}{number(amount)}" if amount else "")


def basis(claim):
    """What a verdict stands on: data, machine where it is not the paper's, rows, whose competitor;
    its reason alone where nothing was measured."""
    if claim.get("measured") is None:
        return claim.get("reason", "")
    hardware = {"other": f"other hardware: {claim.get('machine')}",
                "paper": "the paper's hardware"}.get(claim.get("hardware"), "")
    code = claim.get("competitor_code")
    return ", ".join(filter(None, [
        claim.get("reason"), f"{claim.get('data')} data", hardware,
        code and f"competitor's code: {code}", f"{claim.get('rows')} of {claim.get('of')} rows"]))
