"""The static HTML report: a start page, a page per paper and one of findings, readable from file://
without network.

Every number on the pages comes from rows and verdicts; nothing is computed here but counts.
"""
import math
import shlex
import shutil
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import jinja2
import pandas as pd

from plots import digitised
from plots.errors import PlotError
from plots.figures import quantity
from plots.figures.cells import frame, number
from plots.figures.claims import basis, claims_at, published, tolerance
from plots.report import artifacts, findings, methods
from plots.report.counters import Counters
from plots.report.processes import run_all
from plots.save import save_artifact
from plots.spec import ARTIFACT, FigureSpec
from plots.table import write_csv

HERE = Path(__file__).parent
ASSETS = ("style.css", "table.js")
LONG = ("reason", "states", "on", "parameters", "not measured", "says", "against", "M_F by mode",
        "with one digit misread it would fit")  # columns of tables that hold sentences or lists


@dataclass
class Section:
    """One artifact on a paper's page."""

    spec: object
    anchor: str
    view: object = None
    paths: dict = field(default_factory=dict)  # suffix -> path relative to the report
    error: str = ""
    sessions: list = field(default_factory=list)
    counters: Counters = None  # None where another artifact's section has those of its rows

    @property
    def table(self):
        """The cells' table without columns that say nothing: names and lines of values."""
        table = frame(self.view)
        return told(list(table.columns), table.values.tolist())

    @property
    def alt(self):
        """What the figure shows, for those who do not see it."""
        view, fields = self.view, self.view.fields
        facets = f", one panel per {quantity.label(fields.facet)}" if fields.facet else ""
        return ". ".join(filter(None, [
            self.spec.title, f"{view.value_label} by {quantity.label(fields.x)}{facets}",
            f"{view.ok} of {view.total} cases ok", view.data_label,
            "the table below holds all values"]))

    @property
    def points_place(self):
        """Where points of the published figure would lie."""
        return digitised.place_of(self.spec).as_posix()

    @property
    def command(self):
        """The command that makes the artifact again, from the root of the source tree."""
        verb = "plot" if self.spec.of else "run"
        return f"retensor {verb} {shlex.quote(self.spec.path)}" if self.spec.path else ""


def build_report(results, specs, verdicts, out, audits=(), known=(), registry=()):
    """Write the report; returns the start page's path and what could not be drawn.

    `audits` is what `retensor audit --json` prints, `known` what `retensor list artifacts --json`
    does, `registry` what `retensor list methods --json` does. Raises PlotError for lists without
    the agreed fields.
    """
    _check_verdicts(verdicts)
    artifacts.check(known)
    methods.check(registry)
    papers_findings = findings.arrange(audits)
    out = Path(out)
    (out / "assets").mkdir(parents=True, exist_ok=True)
    for name in ASSETS:
        shutil.copyfile(HERE / "assets" / name, out / "assets" / name)
    operations, sections = _drawn(results, specs, verdicts, registry, out)
    papers = sorted({section.spec.paper for section in sections}
                    | {str(verdict["paper"]) for verdict in verdicts}
                    | {artifact["paper"] for artifact in known})
    arranged = {paper: _arranged(paper, known, sections, verdicts) for paper in papers}
    common = {"papers": papers, "results": results, "verdicts": verdicts, "sections": sections,
              "words": _verdict_words(verdicts), "counts": _verdict_counts(verdicts),
              "statuses": Counter(results.rows["status"]), "facts": _machine_facts(results),
              "labels": _session_machines(results), "findings": papers_findings,
              "arranged": arranged, "states": artifacts.STATES,
              "here_now": artifacts.states_here(known)}
    write_csv(findings.frame(audits), out / "findings.csv")
    pages = {"index.html": ("index.html.j2", {}), "findings.html": ("findings.html.j2", {}),
             "methods.html": ("methods.html.j2", {"operations": operations})}
    pages |= {f"{paper}.html": ("paper.html.j2", {
        "paper": paper,
        "own": arranged[paper],
        "verdicts": [v for v in verdicts if v["paper"] == paper]}) for paper in papers}
    environment = _environment()
    for name, (template, values) in pages.items():
        page = environment.get_template(template).render(**{**common, **values, "here": name})
        (out / name).write_text(page, encoding="utf-8")
    return out / "index.html", [f"{s.spec.artifact}: {s.error}" for s in sections if s.error]


def _arranged(paper, known, sections, verdicts):
    return artifacts.arrange(paper, known, [s for s in sections if s.spec.paper == paper],
                             [v for v in verdicts if v["paper"] == paper])


def _drawn(results, specs, verdicts, registry, out):
    """The sections of the page of methods and those of the papers' pages, with their files."""
    jobs = methods.sections(results, specs, registry, out)
    drawn = run_all([*jobs, *_sections(results, specs, verdicts, out)])
    sections = sorted(drawn[len(jobs):],
                      key=lambda section: (section.spec.artifact, section.spec.path))
    return drawn[:len(jobs)], sections


def _sections(results, specs, verdicts, out):
    """A function for each artifact that draws its section and returns it."""
    with_rows = set(results.rows["case.artifact"])
    known = {spec.artifact for spec in specs}
    unplanned = [FigureSpec(str(name), f"{name} (no spec)") for name in sorted(
        map(str, with_rows - known)) if ARTIFACT.fullmatch(str(name))]
    repeated = Counter(spec.artifact for spec in specs)
    jobs = []
    for spec in [*specs, *unplanned]:
        own = Path(spec.path).stem if repeated[spec.artifact] > 1 else ""
        section = Section(spec, "-".join(filter(None, [spec.name, own])))
        folder = out / "figures" / spec.paper / own if spec.rows_of in with_rows else None
        jobs.append(partial(_draw, section, results, verdicts, folder, out))
    return jobs


def _draw(section, results, verdicts, folder, out):
    """The section with what it shows; without a folder it has no rows."""
    if folder is None:
        return section
    verdicts = [verdict for verdict in verdicts if verdict["paper"] == section.spec.paper]
    try:
        view, paths = save_artifact(results, section.spec, folder, verdicts)
    except PlotError as error:
        section.error = str(error)
        return section
    section.view = replace(view, results=None)  # the pages show cells, not rows
    section.paths = {suffix: path.relative_to(out).as_posix() for suffix, path in paths.items()}
    rows = results.rows[results.rows["case.artifact"] == section.spec.rows_of]
    section.sessions = list(dict.fromkeys(rows["session"]))
    if not section.spec.of or _tells_counters(section):
        section.counters = Counters(rows)
    return section


def _tells_counters(section):
    """Whether a figure of another artifact's rows is about their hardware counters."""
    figure = section.spec.figure
    claimed = claims_at(section.view, figure["place"]) if figure.get("kind") == "claims" else ()
    return any(str(name).startswith("profile.")
               for name in (figure.get("y"), *(claim.get("value") for claim in claimed)))


def _check_verdicts(verdicts):
    for index, verdict in enumerate(verdicts):
        missing = [name for name in ("id", "paper", "verdict", "holds")
                   if not isinstance(verdict, dict) or verdict.get(name, "") == ""
                   or name != "holds" and verdict[name] is None]
        if missing:
            raise PlotError(f"verdict {index}: no {', '.join(missing)}")
        if not ARTIFACT.fullmatch(f"{verdict['paper']}/x"):
            raise PlotError(f"verdict {index}: {verdict['paper']!r} is no paper's id")


def _verdict_counts(verdicts):
    return Counter((str(verdict["paper"]), verdict["verdict"]) for verdict in verdicts)


def _verdict_words(verdicts):
    """Those that occur: which speak for a claim first, then those against, then the others."""
    places = {True: 0, False: 1, None: 2}
    return [word for _, word in sorted({(places[v["holds"]], v["verdict"]) for v in verdicts})]


def _machine_facts(results):
    """Facts of every machine by its label, flat: {label: {dotted name: value}}."""
    return {", ".join(session["devices"]): flat(session.get("machine") or {})
            for session in results.sessions.values()}


def _session_machines(results):
    rows = results.rows
    return {name: sorted(set(rows.loc[rows["session"] == name, "device"])) or session["devices"]
            for name, session in results.sessions.items()}


def flat(value, prefix=""):
    """Leaves of a nested map under dotted names."""
    if not isinstance(value, dict):
        return {prefix: value}
    return {name: leaf for key, item in value.items()
            for name, leaf in flat(item, f"{prefix}.{key}" if prefix else str(key)).items()}


def show(value):
    """A value of a row or verdict as text: numbers short."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(show, value))
    return str(value)


def told(names, lines):
    """Names and lines of a table without the columns that say nothing."""
    kept = [index for index in range(len(names))
            if any(show(line[index]) not in ("", "0") for line in lines)]
    return [names[index] for index in kept], [[line[index] for index in kept] for line in lines]


def _environment():
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE / "templates"),
                                     autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.globals |= {"told": told, "point_columns": digitised.COLUMNS,
                            "long_columns": LONG}
    environment.filters |= {
        "show": show, "published": published, "tolerance": tolerance, "basis": basis,
        "argv": _argv, "line": lambda point: point.line, "counts": findings.counts,
        "failing": findings.failing, "outcome": _outcome,
        "page": lambda paper: (f"{paper}.html", paper),
        "ceiling": lambda c: [c.get(name) for name in ("what", "value", "unit", "detail")]}
    return environment


def _outcome(row):
    """A row of a check that does not fit, as a line of the page's table."""
    return [row["row"], *(row[side]["value"] for side in ("left", "right")), row["ratio"],
            few(row["misread"])]


def few(texts, shown=3):
    """The first of many texts, and how many more there are."""
    more = len(texts) - shown
    return "; ".join([*texts[:shown], *([f"and {more} other digits"] if more > 0 else [])])


def _argv(words):
    """A command line without the folder of its program."""
    words = [str(word) for word in words or []]
    return shlex.join([Path(words[0]).name, *words[1:]]) if words else ""
