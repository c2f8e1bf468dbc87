"""The static HTML report: a start page, a page per paper, pages of all claims, tables, methods,
findings and machines, readable from file:// without network.

Every number on the pages comes from rows and verdicts; nothing is computed here but counts.
"""
import shutil
import sys
from collections import Counter
from pathlib import Path

import jinja2
import yaml

from retensor import digitised, prose
from retensor.errors import PlotError
from retensor.figures.claims import basis, measured, published, tolerance
from retensor.report import (artifacts, claims, findings, machines, methods, sections, table_files,
                             tables, words)
from retensor.report.processes import run_all
from retensor.report.text import argv, counted, dittoed, few, flat, show, told
from retensor.report.title_pages import title_page
from retensor.spec import ARTIFACT
from retensor.table import write_csv

HERE = Path(__file__).parent
ASSETS = ("style.css", "table.js", "claims.js")
MOST_COLUMNS = 40
LONGEST_IN_A_LINE = 18  # characters
LOOKS = {"n": "text-align: right; font-variant-numeric: tabular-nums",
         "w": "white-space: normal; min-width: var(--wrap, 7rem)",
         "l": "white-space: normal; min-width: var(--long, 14rem)"}
LONG = ("reason", "states", "on", "parameters", "not measured", "says", "against", "M_F by mode",
        "with one digit misread it would fit")  # columns of tables that hold sentences or lists


def build_report(results, specs, verdicts, out, audits=(), known=(), registry=(), progress=None):
    """Write the report; returns the start page's path and what could not be drawn.

    `audits` is what `retensor audit --json` prints, `known` what `retensor list artifacts --json`
    does, `registry` what `retensor list methods --json` does. `progress(done, total)` is called as
    parts are done. Raises PlotError for lists without the agreed fields.
    """
    _check_verdicts(verdicts)
    artifacts.check(known)
    methods.check(registry)
    papers_findings = findings.arrange(audits)
    out = Path(out)
    _copy_assets(out)
    operations, drawn = _drawn(results, specs, verdicts, registry, out, progress)
    all_claims = claims.arrange(verdicts, drawn)
    claims.write_rows(all_claims, results, out)
    names = sorted({section.spec.paper for section in drawn}
                   | {str(verdict["paper"]) for verdict in verdicts}
                   | {artifact["paper"] for artifact in known})
    reissued = [table for name in names for table in tables.tables(
        name, all_claims, next((a for a in audits if a["paper"] == name), None))]
    table_files.write(reissued, out / "tables")
    write_csv(findings.frame(audits), out / "findings.csv")
    papers = {name: _paper(name, known, drawn, all_claims, reissued) for name in names}
    papers = dict(sorted(papers.items(), key=lambda item: item[1]["about"].own))  # papers first
    labels = _session_machines(results)
    _write_pages(out, {
        "papers": papers, "results": results, "claims": all_claims, "tables": reissued,
        "sections": drawn, "operations": operations, "findings": papers_findings,
        "statuses": Counter(results.rows["status"]), "facts": _machine_facts(results),
        "sessions": machines.by_machine(results.sessions, labels),
        "ceilings": machines.ceilings(results.ceilings, labels),
        "builds": machines.builds(results.sessions), "here_now": artifacts.states_here(known)})
    return out / "index.html", [f"{s.spec.artifact}: {s.error}" for s in drawn if s.error]


def _copy_assets(out):
    (out / "assets").mkdir(parents=True, exist_ok=True)
    for name in ASSETS:
        shutil.copyfile(HERE / "assets" / name, out / "assets" / name)
    with (out / "assets" / "style.css").open("a", encoding="utf-8") as style:
        style.write(_column_rules())


def _column_rules():
    """A rule for the columns of each look: the class n3 of a table means its third column."""
    return "".join(
        ",\n".join(f".{look}{k} td:nth-child({k})" for k in range(1, MOST_COLUMNS + 1))
        + f" {{ {rule} }}\n" for look, rule in LOOKS.items())


def _looks(columns, lines):
    """The classes of a table: one for each column that holds numbers or texts that may wrap."""
    names = ["sortable"]
    for k, name in enumerate(columns[:MOST_COLUMNS]):
        values = [line[k] for line in lines if show(line[k])]
        numbers = sum(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
        texts = [show(v) for v in values if isinstance(v, (str, list, tuple))]
        if numbers > len(values) / 2:
            names.append(f"n{k + 1}")
        elif name in LONG and values:
            names.append(f"l{k + 1}")
        elif any(len(text) > LONGEST_IN_A_LINE for text in texts):
            names.append(f"w{k + 1}")
    return " ".join(names)


def _drawn(results, specs, verdicts, registry, out, progress):
    """The sections of the page of methods and those of the papers' pages, with their files."""
    first = methods.sections(results, specs, registry, out)
    drawn = run_all([*first, *sections.jobs(results, specs, verdicts, out)], progress)
    return drawn[:len(first)], sorted(
        drawn[len(first):], key=lambda section: (section.spec.artifact, section.spec.path))


def _paper(name, known, drawn, all_claims, reissued):
    """What the pages show of a paper, or of a folder of own specs."""
    title = title_page(name)
    own = [claim for claim in all_claims if claim.verdict["paper"] == name]
    chosen = [claim for wanted in title.headline for claim in own if claim.id == wanted]
    placed = [table for table in reissued if table.paper == name]
    arranged = artifacts.arrange(name, known, [s for s in drawn if s.spec.paper == name], own,
                                 placed)
    figure = next((s for s in drawn if s.spec.artifact == title.figure and s.drawn), None)
    return {"about": title, "claims": own, "headline": chosen, "bars": claims.bars(own),
            "sentences": prose.sentences([claim.verdict for claim in own]), "figure": figure,
            "tables": placed,
            "arranged": arranged, "reach": artifacts.reach(known, name)}


def _write_pages(out, common):
    environment = _environment()
    pages = {f"{name}.html": ("index.html.j2" if name == "index" else f"{name}.html.j2", {})
             for name in ("index", "claims", "tables", "methods", "findings", "machines")}
    pages |= {f"{name}.html": ("paper.html.j2", {"paper": paper})
              for name, paper in common["papers"].items()}
    documented = (out / "docs" / "index.html").is_file()  # by ci/docs.py
    for name, (template, values) in pages.items():
        page = environment.get_template(template).render(**{
            **common, **values, "here": name, "documented": documented})
        (out / name).write_text(page, encoding="utf-8")


def _check_verdicts(verdicts):
    for index, verdict in enumerate(verdicts):
        missing = [name for name in ("id", "paper", "verdict", "holds")
                   if not isinstance(verdict, dict) or verdict.get(name, "") == ""
                   or name != "holds" and verdict[name] is None]
        if missing:
            raise PlotError(f"verdict {index}: no {', '.join(missing)}")
        if not ARTIFACT.fullmatch(f"{verdict['paper']}/x"):
            raise PlotError(f"verdict {index}: {verdict['paper']!r} is no paper's id")


def _machine_facts(results):
    """Facts of every machine by its label, flat: {label: {dotted name: value}}."""
    return {", ".join(session["devices"]): flat(session.get("machine") or {})
            for session in results.sessions.values()}


def _session_machines(results):
    rows = results.rows
    return {name: sorted(set(rows.loc[rows["session"] == name, "device"])) or session["devices"]
            for name, session in results.sessions.items()}


def _environment():
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE / "templates"),
                                     autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.globals |= {"told": told, "point_columns": digitised.COLUMNS, "words": words,
                            "states": artifacts.STATES}
    environment.filters |= {
        "show": show, "dittoed": dittoed, "looks": _looks, "published": published,
        "tolerance": tolerance, "by_commit": machines.by_commit,
        "measured": lambda verdict: measured(verdict, verdict.get("measured")), "basis": basis,
        "argv": argv, "counted": counted, "counts": findings.counts, "failing": findings.failing,
        "outcome": _outcome, "css": words.style_class, "twice": lambda word: (word, word),
        "kind_name": lambda kind: (kind, words.KINDS.get(kind, kind)),
        "paper_name": lambda paper, papers: (paper, papers[paper]["about"].name),
        "yaml": lambda query: yaml.safe_dump(query, sort_keys=False, width=90,
                                             default_flow_style=None).strip()}
    return environment


def _outcome(row):
    """A row of a check that does not fit, as a line of the page's table."""
    return [row["row"], *(row[side]["value"] for side in ("left", "right")), row["ratio"],
            few(row["misread"])]


def to_stderr(done, total):
    """Tell progress: on a terminal in one line that is written over, else at every tenth part."""
    terminal = sys.stderr.isatty()
    if terminal or done == total or done % 10 == 0:
        print(f"report: {done} of {total} figures and tables",
              end="\r" if terminal and done < total else "\n", file=sys.stderr, flush=True)
