"""A paper's page in the paper's order: its tables and figures with the specs that reproduce them,
then what else there are specs for, and how each stands beside what is published.
"""
import re
from collections import Counter
from dataclasses import dataclass, field

from retensor.errors import PlotError

NEEDED = ("paper", "place", "drawing", "specs")
COMPARED = "compared"
REGENERATED = "regenerated, not compared"
NOT_DRAWN = "not drawn"
NOT_RUN = "not run"
WITHOUT = "without numbers"
STATES = (COMPARED, REGENERATED, NOT_DRAWN, NOT_RUN, WITHOUT)


@dataclass
class Entry:
    """Tables or figures that one spec, or several, reproduce together."""

    places: list
    drawing: str = ""
    sections: list = field(default_factory=list)
    claims: list = field(default_factory=list)  # of these places
    tables: list = field(default_factory=list)  # reissued, of these places

    @property
    def title(self):
        return " and ".join(self.places)

    @property
    def anchor(self):
        return re.sub("[^a-z0-9]+", "-", self.title.lower()).strip("-")

    def state(self, place):
        """How a place stands: a figure is compared where points of it are at hand, a table where a
        claim of it was measured to which no stand-in was fitted."""
        if self.drawing:
            return WITHOUT
        shown = [section for section in self.sections if section.drawn]
        if place.startswith("Fig"):
            known = any(stands_at(source, place) for section in shown
                        for source in section.drawn.sources)
        else:
            known = any(_counts(claim.verdict) for claim in self.claims
                        if stands_at(claim.verdict.get("place"), place))
        if known:
            return COMPARED
        if shown:
            return REGENERATED
        return NOT_DRAWN if any(section.error for section in self.sections) else NOT_RUN

    @property
    def states(self):
        return {place: self.state(place) for place in self.places}


@dataclass
class Paper:
    """One paper: entries in its order, sections that belong to none of them."""

    name: str
    entries: list
    others: list

    @property
    def counts(self):
        """Tables and figures by state, in the order of STATES."""
        found = Counter(state for entry in self.entries for state in entry.states.values())
        return {state: found[state] for state in STATES}


def arrange(name, artifacts, sections, claims, tables=()):
    """The paper's entries from `retensor list artifacts --json`, which was checked."""
    entries = {}
    for artifact in artifacts:
        if artifact["paper"] == name and artifact["place"]:
            specs = tuple(spec["artifact"] for spec in artifact["specs"])
            key = specs or (artifact["place"],)
            entries.setdefault(key, Entry([], artifact["drawing"])).places.append(artifact["place"])
    for key, entry in entries.items():
        entry.sections = [section for section in sections if section.spec.artifact in key]
        entry.claims = [claim for claim in claims if any(
            stands_at(claim.verdict.get("place"), place) for place in entry.places)]
        entry.tables = [table for table in tables if any(
            stands_at(table.place, place) for place in entry.places)]
    placed = [id(section) for entry in entries.values() for section in entry.sections]
    return Paper(name, list(entries.values()),
                 [section for section in sections if id(section) not in placed])


def states_here(artifacts):
    """What each spec's cases need on this machine, by the spec's artifact."""
    return {spec["artifact"]: spec["state"] for artifact in artifacts
            for spec in artifact["specs"]}


def reach(artifacts, paper):
    """How many of a paper's specs this machine can run whole, in part and not at all, and what
    the rest needs: (whole, part, none, {need: specs})."""
    states = states_here([artifact for artifact in artifacts if artifact["paper"] == paper])
    whole = sum(state == "can run" for state in states.values())
    part = sum(state != "can run" and "can run" in state for state in states.values())
    needs = Counter(need.strip() for state in states.values() if "needs " in state
                    for need in re.split(",| and ", state.split("needs ", 1)[1]
                                         .replace("data ", "")))
    return whole, part, len(states) - whole - part, dict(needs.most_common())


def check(artifacts):
    """Raise PlotError for a list without the agreed fields."""
    for index, artifact in enumerate(artifacts):
        missing = [name for name in NEEDED if not isinstance(artifact, dict)
                   or name not in artifact]
        if missing:
            raise PlotError(f"artifact {index}: no {', '.join(missing)}")


def _counts(verdict):
    return verdict["holds"] is not None and bool(verdict.get("published"))


def stands_at(text, place):
    """Whether a text such as "Fig. 5 and 6, left" names a table or figure such as "Fig. 6"."""
    kind, number = place.split(" ", 1)
    for found in re.finditer(r"(Table|Fig\.)\s+([0-9IVX]+)(?:\s+(?:and|to)\s+([0-9IVX]+)\b)?",
                             str(text or "")):
        if found[1] == kind and number in (found[2], found[3]):
            return True
    return False
