"""The papers' tables again, cell by cell: what is printed, what was measured or recomputed, their
ratio, the verdict, and the digit that would mend a suspected misprint.

papers/<id>/paper/tables.yaml says which claims measure a cell; `retensor audit` relates printed
cells to each other; a data set of the registry has the dims. A cell that none of them reaches has a
reason there: no numeric cell is passed over.
"""
import math
import re
from dataclasses import dataclass, field

from retensor.digitised import PAPERS
from retensor.errors import PlotError
from retensor.figures.cells import number
from retensor.report import words
from retensor.report.sources import printed_file, read_yaml

UNITS = {"": 1, "%": 0.01, "K": 1e3, "M": 1e6, "G": 1e9}
FACTORS = (1, 1e3, 1e6, 1e9, 1e12, 2.0**20, 2.0**30)  # of a claim's unit to the printed one
SUSPECTED = 3  # readings of a cell that would mend a check; with more none is suspected
EQUAL = 0.01   # how near a claim's number has to be to the printed one to be the same
NAME = r"[A-Za-z_][\w-]*"
# What rules say of a cell, by the rule's status, as outcomes of claims.
BY_RULE = {"fits": "holds", "does not fit": "does not hold", "open": "undecided"}


@dataclass
class Checked:
    """What one rule of the audit says of a cell."""

    rule: dict
    status: str
    subject: bool          # the rule is about this cell, not only with it
    value: float = None    # recomputed from other cells, where the rule gives the cell itself
    mend: list = field(default_factory=list)


@dataclass
class Cell:
    """A printed cell with all that stands against it."""

    row: str
    column: str
    printed: str
    ids: list = field(default_factory=list)      # of the claims that measure it
    claims: list = field(default_factory=list)   # retensor.report.claims.Claim, those judged
    checks: list = field(default_factory=list)
    data: tuple = ()       # name, kind and dim of the data set that stands for the row's tensor
    reason: str = ""

    @property
    def numeric(self):
        """Whether it is a number, or a count in terms of nonzeros M and columns R."""
        return (printed_number(self.printed) is not None
                or re.match(r"\d*(M|R|MR)\b", self.printed) is not None)

    @property
    def claim(self):
        """The claim that measured it, else the first that is about it; None without one."""
        measured = [c for c in self.claims if c.verdict.get("measured") is not None]
        return next(iter([*measured, *self.claims]), None)

    @property
    def recomputed(self):
        """The rule that gives the cell from others; None without one."""
        return next((check for check in self.checks if check.value is not None), None)

    @property
    def here(self):
        """What stands against the printed value, as text: measured, of the registry, recomputed."""
        claim, value = self.claim, printed_number(self.printed)
        if claim and claim.verdict.get("measured") is not None:
            return _measured(claim.verdict, value, self.printed.endswith("%"))
        if self.data:
            return number(self.data[2])
        return number(self.recomputed.value / _scale(self.printed)) + _suffix(self.printed) \
            if self.recomputed else ""

    @property
    def ratio(self):
        """What stands against the printed value over it; None without both."""
        claim, value = self.claim, printed_number(self.printed)
        if claim and claim.verdict.get("measured") is not None:
            return claim.verdict.get("ratio")
        other = self.data[2] if self.data else self.recomputed and self.recomputed.value
        return other / value if other is not None and value else None

    @property
    def verdict(self):
        """The word on the cell: of its claim, of its data set, of the rules about it, or none."""
        claim = self.claim
        if claim and claim.outcome != "not tested":
            return claim.verdict["verdict"]
        if self.data:
            return "fitted" if self.data[1] != "real" else "reproduced"
        ruled = [check.status for check in self.checks if check.subject]
        return next((status for status in ("does not fit", "open", "fits") if status in ruled),
                    "not tested")

    @property
    def outcome(self):
        """The outcome whose colour and sign the cell has."""
        if self.verdict in BY_RULE:
            return BY_RULE[self.verdict]
        if self.claim and self.claim.outcome != "not tested":
            return self.claim.outcome
        return {"reproduced": "holds"}.get(self.verdict, self.verdict)

    @property
    def mend(self):
        """The digits that would mend it, each as "printed as read"."""
        return list(dict.fromkeys(text for check in self.checks for text in check.mend))

    @property
    def why(self):
        """What the verdict rests on, as text; never empty for a numeric cell."""
        parts = [f"claim {c.id}" + (f" ({c.verdict['reason']})" if c.verdict.get("reason") else "")
                 for c in self.claims]
        parts += [f"size of {self.data[0]}"] if self.data else []
        parts += [f"check {c.rule['id']} {c.status}" for c in self.checks]
        return "; ".join([*parts, *([self.reason] if self.reason else [])])


@dataclass
class Table:
    """One printed table."""

    paper: str
    place: str
    title: str = ""
    without: str = ""      # why it has no number
    columns: dict = field(default_factory=dict)  # name -> heading
    rows: dict = field(default_factory=dict)     # name -> cells, None where nothing is printed
    transposed: bool = False

    @property
    def anchor(self):
        return re.sub("[^a-z0-9]+", "-", f"{self.paper} {self.place}".lower()).strip("-")

    @property
    def cells(self):
        return [cell for cells in self.rows.values() for cell in cells if cell]

    @property
    def headings(self):
        return list(self.rows) if self.transposed else list(self.columns.values())

    @property
    def lines(self):
        """Heading and cells of each printed line."""
        if not self.transposed:
            return list(self.rows.items())
        return [(heading, [cells[index] for cells in self.rows.values()])
                for index, heading in enumerate(self.columns.values())]

    @property
    def counts(self):
        """Numeric cells by outcome, in the order of the outcomes."""
        found = [cell.outcome for cell in self.cells if cell.numeric]
        return {name: found.count(name) for name in words.OUTCOMES if name in found}


def tables(paper, claims, audit=None):
    """The tables of a paper, none where it has no tables.yaml. Claims that were not judged and
    rules without an audit are left out; `faults` finds names that stand for nothing."""
    path, content = printed_file(paper, "tables.yaml")
    known = {claim.id: claim for claim in claims if claim.verdict["paper"] == paper}
    return [_table(paper, entry, known, audit or {"rules": []}, path)
            for entry in (content or {}).get("tables", ())]


def faults(table, known):
    """What is wrong with a table whose claims have these ids: claims that are none, and numeric
    cells without claim, rule or reason."""
    unknown = [f"{table.place}, {cell.row}, {cell.column}: no claim {name!r}"
               for cell in table.cells for name in cell.ids if name not in known]
    silent = [f"{table.place}, {cell.row}, {cell.column}: neither claim, rule nor reason"
              for cell in table.cells if cell.numeric and not cell.why]
    return unknown + silent


def _table(paper, entry, claims, audit, path):
    table = Table(paper, entry["place"], entry.get("title", ""), entry.get("without", ""),
                  entry.get("columns", {}), transposed=bool(entry.get("transposed")))
    if table.without:
        return table
    sources = _sources(paper, entry, path)
    for index, row in enumerate(entry.get("stems") or sources):
        if row not in sources:
            raise PlotError(f"{path}: {table.place}: no row {row!r}")
        origin, values = sources[row]
        values = {**values, **{name: column[index]
                               for name, column in entry.get("extra", {}).items()}}
        table.rows[row] = [_cell(row, name, values.get(name), origin, entry, claims, audit, path)
                           for name in table.columns]
    return table


def _sources(paper, entry, path):
    """Printed values by row: {row: (table of the findings or "", {column: value})}."""
    if "rows" in entry:
        return {row: ("", dict(zip(entry["columns"], values)))
                for row, values in entry["rows"].items()}
    _, findings = printed_file(paper, "findings.yaml")
    found = {}
    for name in entry["from"]:
        if name not in (findings or {}).get("tables", {}):
            raise PlotError(f"{path}: {entry['place']}: findings.yaml has no table {name!r}")
        source = findings["tables"][name]
        for row, values in source["rows"].items():
            found[row] = (name, dict(zip(source["columns"], values)))
    return found


def _cell(row, column, value, origin, entry, claims, audit, path):
    if value in (None, "~"):
        return None
    cell = Cell(row, column, value, reason=entry.get("reasons", {}).get(column, ""))
    ids = entry.get("cells", {}).get(row, {}).get(column)
    if ids is None and column in entry.get("claims", {}) and (entry.get("stems") or {}).get(row):
        ids = [entry["claims"][column].format(entry["stems"][row])]
    cell.ids = list(ids or ())
    cell.claims = [claims[name] for name in cell.ids if name in claims]
    cell.data = _dim(cell, entry, path)
    figure = entry.get("figures", {}).get(row, {}).get(column, "")
    cell.checks = [*_checks(cell, origin, figure, audit["rules"]),
                   *_named(row, entry.get("rules", {}).get(column, ()), audit["rules"])]
    return cell


def _dim(cell, entry, path):
    """The data set that stands for a row's tensor and its dim nearest to the printed one."""
    name = entry.get("data", {}).get(cell.row)
    value = printed_number(cell.printed)
    if name is None or cell.column not in entry.get("dims", ()) or not value:
        return ()
    known = registry().get(name)
    if known is None:
        raise PlotError(f"{path}: {entry['place']}: no data set {name!r} in the registry")
    return name, known["kind"], min(known["dims"], key=lambda dim: abs(math.log(dim / value)))


def registry():
    """The data sets of the registry and the files beside it, by name."""
    found = {}
    for path in sorted((PAPERS.parent / "datasets").glob("*.yaml")):
        found |= (_registry_file(path) or {}).get("datasets") or {}
    return found


_files = {}


def _registry_file(path):
    if path not in _files:
        _files[path] = read_yaml(path)
    return _files[path]


def _checks(cell, origin, figure, rules):
    """The rules that name a cell: by its column in a rule of its table, by its full name, or by
    the name of a single figure that stands for it."""
    found = []
    for rule in rules:
        rows = _rows_about(cell, origin, figure, rule)
        if not rows:
            continue
        left, relation = _sides(rule["check"])
        names = {figure, f"{origin}.{cell.row}.{cell.column}", f"{origin}.{cell.column}",
                 cell.column if origin else figure}
        gives = len(rows) == 1 and relation in ("=", "==") and left in names
        found.append(Checked(rule, _worst(rows), bool(names & _names(left)),
                             rows[0]["right"]["value"] if gives else None,
                             _mend(cell, origin, figure, rule, rows)))
    return found


def _rows_about(cell, origin, figure, rule):
    """The rows of a rule that a cell has a part in."""
    used = _names(rule["check"])
    if not origin:
        return rule["rows"] if figure in used else []
    of_all = f"{origin}:" in rule["check"] and cell.column in used  # mean(sizes: ...)
    if of_all or f"{origin}.{cell.row}.{cell.column}" in used:
        return rule["rows"]
    if f"{origin}.{cell.column}" in used or (rule["table"] == origin and cell.column in used):
        return [row for row in rule["rows"] if row["row"] == cell.row]
    return []


def _named(row, ids, rules):
    """The rules that tables.yaml names for a column."""
    found = []
    for rule in rules:
        own = [line for line in rule["rows"] if line["row"] == row]
        if rule["id"] in ids and own:
            found.append(Checked(rule, own[0]["status"], True))
    return found


def _sides(check):
    """Left side and relation of a check."""
    found = re.match(r"(.*?)\s(==|=|<=|>=|<|>)\s", check)
    return found.groups() if found else (check, "")


def _names(text):
    """Names in an expression, a path such as table.row.column as one."""
    return set(re.findall(rf"{NAME}(?:\.{NAME})*", text))


def _worst(rows):
    found = {row["status"] for row in rows}
    return next(status for status in ("does not fit", "open", "fits") if status in found)


def _mend(cell, origin, figure, rule, rows):
    """The digits of this cell that would mend a rule, each "printed as read"; none where a rule
    leaves a choice, or where so many would do that none is suspected."""
    if rule["severity"] != "result":
        return []
    names = {f"{origin}.{cell.row}.{cell.column}", figure}
    texts = [text.split(": ", 1) for row in rows for text in row["misread"] if ": " in text]
    found = [reading for name, reading in texts if name in names]
    return found if len(found) <= SUSPECTED else []


def printed_number(text):
    """The number that a printed cell means: 165K is 165000, 0.152% is 0.00152; None without one.
    """
    found = re.fullmatch(r"~?([0-9][0-9,]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?)([%KMG]?)|~?(\d+)/(\d+)",
                         str(text))
    if not found:
        return None
    if found[3]:
        return int(found[3]) / int(found[4])
    return float(found[1].replace(",", "")) * UNITS[found[2]]


def _suffix(text):
    return text[-1] if text[-1:] in UNITS and text[-1:] else ""


def _scale(text):
    return UNITS[_suffix(text)]


def _measured(verdict, value, percent):
    """A measured value in the printed unit where the claim's number is the printed one in another,
    else with the claim's own number beside it."""
    published, measured = verdict.get("published") or {}, verdict["measured"]
    asked = next((published[form] for form in ("value", "at_most", "at_least")
                  if form in published), None)
    if isinstance(asked, (int, float)) and value:
        for factor in FACTORS:
            if abs(asked / (value * factor) - 1) < EQUAL:
                return (f"{number(measured / factor * 100)}%" if percent
                        else number(measured / factor))
    unit = published.get("unit", "")
    return f"{number(measured)} {unit}" + (f", of {number(asked)}" if asked is not None else "")
