"""Published values of a paper beside the measured ones, from the verdicts: a table with a line per
claim, and measured over published for those that have a number.

`place` in the figure map, one or a list, is how the places of the claims to show begin.
"""
import pandas as pd
from matplotlib.lines import Line2D

from retensor import style
from retensor.errors import PlotError
from retensor.figures import panels, units
from retensor.figures.cells import number

COLUMNS = ("claim", "states", "published", "tolerance", "measured", "verdict", "on")
LINE_MM, HEAD_MM = 2.9, 13
NAMES = 0.29       # characters of a claim in a line, for each mm of width
NOTE_MM = 1.15     # width of a character of the numbers
SHARE = "share"    # how the unit of a share begins; more words say of what
LOOKS = {True: (style.SERIES[0], "o"), False: (style.FAILED, "D"), None: ("white", "s")}


def arrange(view):
    """Make the table of the claims of a view."""
    chosen = claims_at(view, view.spec.figure.get("place", ""))
    if not chosen:
        raise PlotError(f"{view.spec.artifact}: no verdict on a claim of this place was given")
    lines = [(claim["id"], claim.get("states"), published(claim), tolerance(claim),
              measured(claim, _measured(view, claim)), claim["verdict"], basis(claim))
             for claim in chosen]
    view.table = pd.DataFrame(lines, columns=COLUMNS, dtype=object)


def draw(view):
    """Draw measured over published values with what is allowed; None where no claim has both."""
    claims = [(claim, _allowed(claim)) for claim in claims_at(view, view.spec.figure["place"])]
    shown = [(claim, allowed) for claim, allowed in claims
             if allowed and _is_positive(claim.get("measured"))]
    if not shown:
        return None
    width = style.width_mm(view.spec.figure.get("width"))
    names = [panels.wrapped(f"{claim['id']}: {claim.get('states', '')}", NAMES * width)[:4]
             for claim, _ in shown]
    heights = [LINE_MM * len(name) + 1.2 for name in names]
    view.facets = [None]
    figure = panels.Panels(view, 1, [sum(heights) + HEAD_MM])
    figure.draws(*view.cells)
    axes, y, middles = figure.axes[0], 0.0, []
    for (claim, (reference, low, high)), height in zip(shown, heights):
        middles.append(y + height / 2)
        _claim(figure, axes, claim, (claim["measured"] / reference, low, high), middles[-1])
        y += height
    axes.set_yticks(middles, ["\n".join(name) for name in names])
    axes.set_ylim(y, 0)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    ends = axes.dataLim.intervalx
    low, high = min(ends[0], 1 / 1.3), max(ends[1], 1.3)
    notes = max(len(_numbers(claim)) for claim, _ in shown) * NOTE_MM + 4
    share = min(0.85, notes / (width - panels.CHARACTER_MM * NAMES * width - 4))
    axes.set_xlim(low / 1.1, high * (high / low) ** (share / (1 - share)))
    panels.set_scale(axes, "x", "log", "%", 3)
    axes.axvline(1, color="#222222", linewidth=0.8, zorder=1)
    figure.label_axes("measured over published", "")
    rest = len(claims) - len(shown)
    if rest:
        view.notes.append(f"{rest} more claims have no two numbers to compare: see the table")
    return figure.finish()


def _claim(figure, axes, claim, values, y):
    ratio, low, high = values
    colour, marker = LOOKS[claim.get("holds")]
    look = {"marker": marker, "markerfacecolor": colour, "markeredgecolor": style.EDGE,
            "markersize": 4, "linestyle": "none", "markeredgewidth": 0.6}
    axes.plot([low, high], [y, y], color="#BBBBBB", linewidth=3, solid_capstyle="butt", zorder=1)
    axes.plot(ratio, y, zorder=3, **look)
    axes.annotate(_numbers(claim), (max(ratio, high), y), (5, 0), va="center", fontsize=5.5,
                  textcoords="offset points")
    figure.explain(claim["verdict"], Line2D([], [], **look))
    figure.explain("allowed", Line2D([], [], color="#BBBBBB", linewidth=3))


def _numbers(claim):
    shown = _percent if is_share(claim) else units.shown
    if is_share(claim):  # the claim's words say of what
        claim = claim | {"published": {**claim["published"], "unit": ""}}
    return f"{shown(claim['measured'], digits=4)} for {published(claim, shown)}"


def is_share(claim):
    """Whether its numbers are shares of something, which are written in percent."""
    return str((claim.get("published") or {}).get("unit", "")).split(" ")[0] == SHARE


def _percent(value, unit="", digits=3):
    return f"{100 * value:.{digits}g}%"


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_positive(value):
    return _is_number(value) and value > 0


def _allowed(claim):
    """(reference, least, largest allowed) of a claim, the last two over the reference; None where
    it publishes no positive number."""
    value, allowed = claim.get("published") or {}, claim.get("tolerance") or {}
    bounds = value.get("range") or [value.get(form) for form in ("at_least", "at_most")]
    if _is_positive(value.get("value")):
        bounds = [value["value"]] * 2
    low, high = bounds if len(bounds) == 2 else (None, None)
    if not any(map(_is_positive, (low, high))):
        return None
    reference = ((low * high) ** 0.5 if _is_positive(low) and _is_positive(high) else low or high)
    least, most = ((bound / reference if _is_positive(bound) else None) for bound in (low, high))
    share = max(allowed.get("relative", 0), allowed.get("absolute", 0) / reference)
    factor = allowed.get("factor", 1)
    return (reference, max(0.05, least * (1 - share)) / factor if least else 0.5,
            most * (1 + share) * factor if most else 2.0)


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


def published(claim, shown=None):
    """The published number with its unit, as text; empty where the claim has none."""
    value = claim.get("published") or {}
    shown = shown or (_percent if is_share(claim) else number)
    forms = {"value": "{}", "at_least": "at least {}", "at_most": "at most {}"}
    texts = [text.format(shown(value[form])) for form, text in forms.items() if form in value]
    if "range" in value:
        texts.append(" to ".join(map(shown, value["range"])))
    return " ".join([*texts, str(value.get("unit", "")).removeprefix(SHARE).strip()]).strip()


def measured(claim, value):
    """A measured value of a claim as text; empty where there is none."""
    return _percent(value, digits=4) if is_share(claim) and _is_number(value) else number(value)


def tolerance(claim):
    """How far a measured number may lie from the published one, as text; empty where none may."""
    allowed = claim.get("tolerance") or {}
    if "factor" in allowed:
        return f"factor {number(allowed['factor'])}"
    share, amount = 100 * allowed.get("relative", 0), allowed.get("absolute", 0)
    if share:
        return f"\N{PLUS-MINUS SIGN}{number(share)}%"
    points = f"{number(100 * amount)} percentage points" if is_share(claim) else number(amount)
    return f"\N{PLUS-MINUS SIGN}{points}" if amount else ""


def basis(claim):
    """What a verdict stands on: data, machine where it is not the paper's, rows, whose competitor;
    its reason alone where nothing was measured."""
    if claim.get("measured") is None:
        return claim.get("reason", "")
    hardware = {"other": f"other hardware: {claim.get('machine')}",
                "paper": "the paper's hardware"}.get(claim.get("hardware"), "")
    code = claim.get("competitor_code")
    return ", ".join(filter(None, [
        claim["verdict"] != "fitted" and claim.get("reason"), f"{claim.get('data')} data", hardware,
        code and f"competitor's code: {code}", f"{claim.get('rows')} of {claim.get('of')} rows"]))
