"""Sessions on the page of machines: their builds, and the ceilings that they measured, a table per
machine and backend."""
from collections import Counter
from dataclasses import dataclass


@dataclass
class Ceilings:
    """What the sessions of a machine measured of its limits."""

    anchor: str
    machine: str
    backend: str
    usual: dict[str, list]     # ceiling -> its unit and how most of the sessions measured it
    sessions: dict[str, dict]  # session -> ceiling -> what it measured: value, unit, detail

    @property
    def ways(self):
        """Each ceiling with its unit and how it was measured."""
        return [[name, *way] for name, way in self.usual.items()]

    @property
    def lines(self):
        """Of each session its values and what it measured otherwise than most."""
        return [(session, [found.get(name, {}).get("value") for name in self.usual],
                 "; ".join(filter(None, map(self._otherwise, found.values()))))
                for session, found in self.sessions.items()]

    def _otherwise(self, ceiling):
        other = [text for text in _way(ceiling) if text not in self.usual[ceiling["what"]]]
        return other and f"{ceiling['what']}: {', '.join(other)}"


def ceilings(measured, labels):
    """Of `measured`, {(session, backend): ceilings}, the Ceilings by machine and backend."""
    groups = {}
    for (session, backend), record in measured.items():
        groups.setdefault((", ".join(labels[session]), backend), {})[session] = {
            ceiling["what"]: ceiling for ceiling in record["ceilings"]}
    return [Ceilings(f"ceilings-{index}", *place, _usual(sessions), sessions)
            for index, (place, sessions) in enumerate(groups.items(), start=1)]


def _usual(sessions):
    names = dict.fromkeys(name for found in sessions.values() for name in found)
    return {name: Counter(_way(found[name]) for found in sessions.values()
                          if name in found).most_common(1)[0][0] for name in names}


def _way(ceiling):
    return ceiling.get("unit", ""), ceiling.get("detail", "")


def by_machine(sessions, labels):
    """The sessions of each machine: {machine: {name: session}}."""
    found = {}
    for name, session in sessions.items():
        found.setdefault(", ".join(labels[name]), {})[name] = session
    return found


def by_commit(names, sessions):
    """Names of sessions by what their program was built from, in words."""
    found = {}
    for name in names:
        git = sessions.get(name, {}).get("git") or {}
        changed = " with uncommitted changes" if git.get("dirty") else ""
        commit = f" at commit {git['commit'][:12]}{changed}" if git.get("commit") else ""
        found.setdefault(commit, []).append(name)
    return found.items()


def builds(sessions):
    """The different builds of the sessions' program."""
    found = [session["build"] for session in sessions.values() if session.get("build")]
    return [build for index, build in enumerate(found) if build not in found[:index]]
