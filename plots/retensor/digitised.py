"""Points read off published figures: papers/<id>/paper/digitised/<artifact>.csv
(experiments/schema).
"""
import csv
import math
from dataclasses import dataclass
from pathlib import Path

from retensor.errors import PlotError

PAPERS = Path(__file__).parents[2] / "papers"
COLUMNS = ("facet", "x", "series", "value", "uncertainty", "source", "tool")


@dataclass
class Point:
    """A published value with how far off the reading may be, both in the unit of the figure."""

    facet: str   # panel, position and series as the spec's figure names them; empty where the
    x: str       # figure has no panels, where the point is of no series or is their mean
    series: str
    value: float
    uncertainty: float
    source: str  # figure and panel: "Fig. 12, left"
    tool: str    # what it was read with

    @property
    def line(self):
        """As a line of the report's table."""
        return [getattr(self, name) for name in COLUMNS]


def place_of(spec, papers=None):
    """Where the points of a spec's figure belong, relative to the source tree."""
    return Path((papers or PAPERS).name) / spec.paper / "paper" / "digitised" / f"{spec.name}.csv"


def points(spec, papers=None):
    """The points of a spec's figure; none where there is no file. Raises PlotError for a file that
    lacks a column, a source, or has no number where one belongs."""
    path = (papers or PAPERS).parent / place_of(spec, papers)
    if not path.is_file():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise PlotError(f"{path}: found columns {', '.join(reader.fieldnames or ())}; "
                            f"expected {', '.join(COLUMNS)}")
        return [_point(line, f"{path}:{reader.line_num}") for line in reader]


def _point(line, where):
    if None in line or None in line.values():
        raise PlotError(f"{where}: expected {len(COLUMNS)} cells")
    for name in ("source", "tool"):
        if not line[name].strip():
            raise PlotError(f"{where}: {name} is empty")
    return Point(**line | {name: _number(line[name], name, where)
                           for name in ("value", "uncertainty")})


def _number(text, name, where):
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or (name == "uncertainty" and number < 0):
        raise PlotError(f"{where}: found {name} {text!r}, expected a number"
                        + (" of at least 0" if name == "uncertainty" else ""))
    return number
