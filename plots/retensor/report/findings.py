"""The findings of `retensor audit --json` (experiments/schema) arranged for their page.

What does not fit comes first, by severity; what fits is counted rule by rule.
"""
from dataclasses import dataclass

import pandas as pd

from retensor.errors import PlotError

NEEDED = ("paper", "fit", "fail", "open", "findings", "wording", "rules", "listings")
SEVERITIES = ("result", "choice", "wording")
FAILS = "does not fit"
COLUMNS = ("paper", "id", "severity", "confidence", "place", "says", "place against", "against",
           "check", "row", "status", "left", "right", "left over right", "a digit misread",
           "shown by")


@dataclass
class PaperFindings:
    """One paper: its counts, what does not fit, and the rules that fit."""

    audit: dict

    @property
    def paper(self):
        return self.audit["paper"]

    @property
    def found(self):
        """Failing rules and faults of listings, the gravest first, else in their order."""
        failing = [rule for rule in self.audit["rules"] if rule["status"] == FAILS]
        return sorted([*failing, *self.audit["listings"]],
                      key=lambda entry: SEVERITIES.index(entry["severity"]))

    @property
    def fitting(self):
        """A line per rule that fits: id, places, texts, check, rows that fit, open ones, of all."""
        return [[rule["id"], rule["says"]["place"], rule["says"]["text"], rule["against"]["place"],
                 rule["against"]["text"], rule["check"], counts(rule["rows"])]
                for rule in self.audit["rules"] if rule["status"] != FAILS]


def arrange(audits):
    """The findings by paper; raises PlotError for an audit without the agreed fields."""
    for index, audit in enumerate(audits):
        missing = [name for name in NEEDED if not isinstance(audit, dict) or name not in audit]
        if missing:
            raise PlotError(f"audit {index}: no {', '.join(missing)}")
        odd = [entry["severity"] for entry in [*audit["rules"], *audit["listings"]]
               if entry["severity"] not in SEVERITIES]
        if odd:
            raise PlotError(f"audit {index}: found severity {odd[0]!r}, "
                            f"expected {', '.join(SEVERITIES)}")
    return [PaperFindings(audit) for audit in audits]


def counts(rows):
    """How many of a rule's rows fit, and how many are open, as text."""
    fit, left_open = (sum(row["status"] == status for row in rows) for status in ("fits", "open"))
    return f"{fit} of {len(rows)}" + (f", {left_open} open" if left_open else "")


def failing(entry):
    """The rows of a rule that do not fit; none of a listing."""
    return [row for row in entry.get("rows", ()) if row["status"] == FAILS]


def frame(audits):
    """Every check and every listing as a table: what the page's CSV file holds."""
    lines = [_line(audit["paper"], entry, row) for audit in audits
             for entry in [*audit["rules"], *audit["listings"]]
             for row in entry.get("rows") or [{}]]
    return pd.DataFrame(lines, columns=COLUMNS, dtype=object)


def _line(paper, entry, row):
    test = entry["test"]
    left, right = ((row.get(side) or {}).get("value") for side in ("left", "right"))
    return [paper, entry["id"], entry["severity"], entry["confidence"], entry["says"]["place"],
            entry["says"]["text"], entry["against"]["place"], entry["against"]["text"],
            entry.get("check"), row.get("row"), row.get("status", entry["status"]), left, right,
            row.get("ratio"), "; ".join(row.get("misread", ())),
            f"{test['file']}: {test['case']}" if test else None]
