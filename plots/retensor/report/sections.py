"""The sections of the papers' pages: one per artifact, with its figure, values and provenance.

A section is drawn again only when something it is made of has changed: rows, spec, verdicts that it
shows, points read off the published figure, or the program.
"""
import shlex
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from retensor import digitised
from retensor.errors import PlotError
from retensor.figures import KINDS, drawer, quantity
from retensor.figures.cells import frame
from retensor.figures.claims import claims_at
from retensor.figures.view import make_view, rows_of
from retensor.report import counters, parts, slim
from retensor.save import save_artifact
from retensor.spec import ARTIFACT, FigureSpec, own_spec


@dataclass
class Drawn:
    """What a page shows of an artifact with rows, as plain values that JSON keeps."""

    svg: str     # empty where the artifact is a table, which the page shows as one
    csv: str
    ok: int      # rows
    total: int
    stale: int
    data: dict   # kind -> its data sets, of the kinds that have to be announced
    datasets: list
    notes: list
    columns: list
    lines: list
    points: list    # lines of points read off the published figure
    sources: list   # their panels
    alt: str
    machines: list
    sessions: list
    counters: dict = field(default_factory=dict)


@dataclass
class Section:
    """One artifact on a paper's page."""

    spec: object
    anchor: str
    drawn: Drawn = None
    error: str = ""

    @property
    def points_place(self):
        """Where points of the published figure would lie."""
        return digitised.place_of(self.spec).as_posix()

    @property
    def command(self):
        """The command that makes the artifact again, from the root of the source tree."""
        verb = "plot" if self.spec.of else "run"
        return f"retensor {verb} {shlex.quote(self.spec.path)}" if self.spec.path else ""


def jobs(results, specs, verdicts, out):
    """A function for each artifact that returns its section, drawn or as it was kept in `out`."""
    with_rows = set(results.rows["case.artifact"])
    repeated = Counter(spec.artifact for spec in specs)
    store = parts.Parts(out)
    found = []
    for spec in [*specs, *_unlisted(results, with_rows - {spec.artifact for spec in specs})]:
        own = Path(spec.path).stem if repeated[spec.artifact] > 1 else ""
        section = Section(spec, "-".join(filter(None, [spec.name, own])))
        folder = out / "figures" / spec.paper / own if spec.rows_of in with_rows else None
        found.append(partial(_section, section, results, verdicts, folder, store))
    return found


def _unlisted(results, artifacts):
    """The specs of artifacts that have rows and are not among those given: where their session
    says that it read them, where they still are, else tables of their rows."""
    paths = {spec.get("artifact"): spec.get("path") for spec in (
        session.get("spec") or {} for session in results.sessions.values())}
    return [_read(name, paths.get(name)) for name in sorted(map(str, artifacts))
            if ARTIFACT.fullmatch(name)]


def _read(artifact, path):
    if path and Path(path).is_file():
        try:
            spec = own_spec(path)
            if spec.artifact == artifact:
                return spec
        except PlotError:
            pass  # it is no spec any more
    return FigureSpec(artifact, f"{artifact} (no spec)")


def _section(section, results, verdicts, folder, store):
    """The section with what it shows; without a folder it has no rows."""
    if folder is None:
        return section
    verdicts = [verdict for verdict in verdicts if verdict["paper"] == section.spec.paper]
    rows = rows_of(section.spec, results)
    name = f"{section.spec.paper}-{section.anchor}"
    try:
        digest = _digest(section.spec, rows, results, verdicts)
        kept = store.kept(name, digest)
        if kept:
            section.drawn = Drawn(**kept)
            return section
        section.drawn = _draw(section.spec, rows, results, verdicts, folder, store.root)
    except PlotError as error:
        section.error = str(error)
        return section
    files = filter(None, (section.drawn.svg, section.drawn.csv))
    store.keep(name, digest, asdict(section.drawn), files)
    return section


def _draw(spec, rows, results, verdicts, folder, out):
    view, paths = save_artifact(results, spec, folder, verdicts, ("svg", "csv"))
    if "svg" in paths:
        slim.slim(paths["svg"])
    table = frame(view)
    points = view.digitised
    drawn = Drawn(
        paths["svg"].relative_to(out).as_posix() if "svg" in paths else "",
        paths["csv"].relative_to(out).as_posix(),
        view.ok, view.total, sum(cell.stale for cell in view.cells),
        {kind: view.datasets[kind] for kind in view.data_kinds}, list(view.datasets),
        list(view.notes), list(table.columns), table.values.tolist(),
        [point.line for point in points], [point.source for point in points], alternative(view),
        sorted(set(rows["device"].dropna())), list(dict.fromkeys(rows["session"])))
    if not spec.of or _tells_counters(view):
        drawn.counters = counters.told(rows)
    return drawn


def alternative(view):
    """What a figure shows, for those who do not see it: axes, the extreme values, data, gaps."""
    fields = view.fields
    facets = f", one panel per {quantity.label(fields.facet)}" if fields.facet else ""
    series = (f", {len(view.series)} series: {', '.join(view.series[:4])}"
              f"{' and others' if len(view.series) > 4 else ''}" if len(view.series) > 1 else "")
    parts_told = [view.spec.title,
                  f"{view.value_label} by {quantity.label(fields.x)}{facets}{series}",
                  *_extremes(view), f"{view.ok} of {view.total} cases ok", view.data_label,
                  "the table below holds all values"]
    return ". ".join(filter(None, parts_told))


def _extremes(view):
    """The smallest and the largest value with what they are of; none without two values."""
    known = [cell for cell in view.cells if cell.measured is not None
             and cell.measured.value is not None]
    if len(known) < 2:
        return []
    ends = [min(known, key=lambda cell: cell.measured.value),
            max(known, key=lambda cell: cell.measured.value)]
    return [f"from {_at(ends[0])} to {_at(ends[1])}"]


def _at(cell):
    place = ", ".join(str(part) for part in (cell.series, cell.x, cell.facet) if part is not None)
    return f"{cell.measured.value:.3g} ({place})"


def _tells_counters(view):
    """Whether a figure of another artifact's rows is about their hardware counters."""
    figure = view.spec.figure
    claimed = claims_at(view, figure["place"]) if figure.get("kind") == "claims" else ()
    return any(str(name).startswith("profile.")
               for name in (figure.get("y"), *(claim.get("value") for claim in claimed)))


def _digest(spec, rows, results, verdicts):
    """The hash of all that a section is made of."""
    sessions = [results.sessions.get(name) for name in dict.fromkeys(rows["session"])]
    ceilings = [line for (name, _), line in results.ceilings.items()
                if name in set(rows["session"])]
    points = Path(digitised.PAPERS.parent / digitised.place_of(spec))
    modules = (drawer(spec), sys.modules[make_view.__module__], sys.modules[__name__])
    return parts.digest(modules, spec, list(rows.columns), rows.values.tolist(), sessions, ceilings,
                        _shown(spec, rows, verdicts),
                        points.read_bytes() if points.is_file() else b"")


def _shown(spec, rows, verdicts):
    """What a figure may show of verdicts: all of them where it is a table of claims or has a
    function of its own, else those on its rows, and the published numbers of the others."""
    if drawer(spec) not in KINDS.values() or drawer(spec) is KINDS["claims"]:
        return verdicts
    keys = set(rows["key"])
    return [verdict if keys.intersection(verdict.get("keys") or ())
            else (verdict["id"], verdict.get("place"), verdict.get("published"))
            for verdict in verdicts]
