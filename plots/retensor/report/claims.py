"""The page of all claims: a drawer per claim, and the rows that each took in a file per paper.

Drawers are complete without scripts but for the rows, which claims.js reads from
`claims/<paper>.js` when one is opened: a script, since pages opened from a disk may fetch nothing.
"""
import json
from collections import Counter
from dataclasses import dataclass, field

import pandas as pd

from retensor.figures import quantity
from retensor.report import words
from retensor.report.sources import method_folder, paper_file
from retensor.report.text import show

# Columns of the rows that a claim took; `value` is the claim's own.
COLUMNS = {"data set": "case.dataset", "data": "case.data.kind", "operation": "case.operation",
           "mode": "case.mode", "rank": "case.rank", "method": "case.method",
           "machine": "device", "of today's code": "currency"}
FACTS = "registry"  # the artifact under which claims query the facts of data sets
COMPARED = "seconds.without_zero"  # what comparisons without a field of their own are about
LABELS = {COMPARED: "time without zeroing (s)"}


@dataclass
class Claim:
    """A verdict with what the claim's file says of it and where the report shows its rows."""

    verdict: dict
    query: dict = field(default_factory=dict)
    sections: list = field(default_factory=list)  # of the artifacts that it queries
    methods: dict = field(default_factory=dict)   # method -> folder of its sources

    @property
    def id(self):
        return self.verdict["id"]

    @property
    def outcome(self):
        return words.outcome(self.verdict)

    @property
    def asks(self):
        """What it asks for; of a claim that does not say, a measurement."""
        return self.verdict.get("asks") or "measurement"

    @property
    def set_up(self):
        return bool(self.verdict.get("set_up", self.asks in words.SET_UP))

    @property
    def turned_by(self):
        """The nearest change of its rows that would have turned it; "" where none would, None
        where the judge was not asked."""
        if "turned_by" not in self.verdict or self.verdict["holds"] is not True:
            return None
        return (self.verdict["turned_by"] or {}).get("change", "")


def arrange(verdicts, sections):
    """The claims in the order of the verdicts."""
    queries = {paper: _queries(paper) for paper in dict.fromkeys(v["paper"] for v in verdicts)}
    by_artifact = {}
    for section in sections:
        by_artifact.setdefault(section.spec.artifact, []).append(section)
    found = []
    for verdict in verdicts:
        entry = queries[verdict["paper"]].get(verdict["id"]) or {}
        query = entry.get("query") or {}
        if "asks" not in verdict and "asks" in entry:
            verdict = {**verdict, "asks": entry["asks"]}
        artifacts = dict.fromkeys(_named(query, "artifact"))
        found.append(Claim(verdict, query,
                           [section for name in artifacts for section in by_artifact.get(name, ())],
                           {name: method_folder(name) for name in _named(query, "method")}))
    return found


def _queries(paper):
    """The entries of a paper's claims by id."""
    _, content = paper_file(paper, "claims.yaml")
    entries = (content or {}).get("claims") or ()
    return {entry["id"]: entry for entry in entries if isinstance(entry, dict) and "id" in entry}


def _named(value, name):
    """Values of a field of the case anywhere in a query, in their order."""
    if isinstance(value, list):
        return dict.fromkeys(found for item in value for found in _named(item, name))
    if not isinstance(value, dict):
        return {}
    found = {}
    for key, item in value.items():
        if key in (name, f"case.{name}"):
            found |= dict.fromkeys(map(str, item if isinstance(item, list) else [item]))
        else:
            found |= _named(item, name)
    return found


def bars(claims):
    """Counts by outcome of the tests and of the set-up: {"tests": {...}, "set-up": {...}}."""
    counts = {"tests": Counter(), "set-up": Counter()}
    for claim in claims:
        counts["set-up" if claim.set_up else "tests"][claim.outcome] += 1
    return {name: {outcome: count[outcome] for outcome in words.OUTCOMES if count[outcome]}
            for name, count in counts.items()}


def write_rows(claims, results, out):
    """Write `claims/<paper>.js` with the rows that its claims took, each once, and their values.
    """
    folder = out / "claims"
    folder.mkdir(exist_ok=True)
    rows = results.rows.drop_duplicates("key", keep="last").set_index("key")
    for paper in dict.fromkeys(claim.verdict["paper"] for claim in claims):
        taken = [claim for claim in claims if claim.verdict["paper"] == paper]
        content = json.dumps(_rows_of(taken, rows), separators=(",", ":"), ensure_ascii=False)
        (folder / f"{paper}.js").write_text(
            f"showRows({json.dumps(paper)}, {content});\n", encoding="utf-8")


def _rows_of(claims, rows):
    keys = {key for claim in claims for key in claim.verdict.get("keys") or ()}
    shown = rows[rows.index.isin(keys)].sort_values(["case.dataset", "case.method"], kind="stable")
    places = {key: place for place, key in enumerate(shown.index)}
    params = [name for name in shown.columns if name.startswith("case.params.")]
    texts = {}  # each once, since rows say much the same
    lines = [[texts.setdefault(text, len(texts)) for text in (
        *(show(row.get(name)) for name in COLUMNS.values()), _params(row, params),
        str(row["session"]))] for row in shown.to_dict("records")]
    taken, values = {}, {}  # values: column -> place of a row -> text
    for claim in claims:
        own = sorted((key for key in claim.verdict.get("keys") or () if key in places),
                     key=places.get)
        if own:
            column, found = _values(claim, shown.loc[own])
            numbers = [places[key] for key in own]
            values.setdefault(column, {}).update(zip(numbers, found))
            taken[claim.id] = {"value": column, "rows": _steps(numbers),
                               "missing": len(claim.verdict["keys"]) - len(own)}
    values = {column: [_steps(sorted(found)), [text for _, text in sorted(found.items())]]
              for column, found in values.items()}
    labels = {column: LABELS.get(column, quantity.label(column)) for column in values}
    return {"columns": [*COLUMNS, "parameters"], "texts": list(texts), "rows": lines,
            "labels": labels, "values": values, "claims": taken}


def _steps(numbers):
    """Growing numbers as claims.js adds them up again, which are short."""
    return [number - before for before, number in zip([0, *numbers], numbers)]


def _params(row, names):
    return ", ".join(f"{name.removeprefix('case.params.')}={show(row[name])}" for name in names
                     if show(row[name]) != "")


def _values(claim, rows):
    """The column that a claim asks of its rows, and the value of each as text."""
    asked = claim.verdict.get("value") or claim.query.get("value") or COMPARED
    column = asked if asked in rows.columns else f"case.{asked}"
    if column not in rows.columns:
        return column, [""] * len(rows)
    return column, [show(_median(value)) for value in rows[column]]


def _median(value):
    """The median of a list of samples; of anything else itself."""
    if isinstance(value, list) and value and all(isinstance(v, (int, float)) for v in value):
        return float(pd.Series(value).median())
    return value
