"""The methods of all papers on the same tensors: lines of the cross-paper page, and its figures.

A line is a method with its parameters on a problem and a machine. Of the artifacts that measured it
counts the one of today's sources, with times, of more modes, the newest, in this order. Modes are
averaged as in every figure (figures/quantity.py). MTTKRP a mode at a time and over all modes
at once are different problems, whose rates share a figure.
"""
import math
import sys
from dataclasses import asdict, dataclass
from functools import partial

import pandas as pd

from retensor import style
from retensor.errors import PlotError
from retensor.figures import quantity
from retensor.figures.methods import draw
from retensor.report import parts, slim
from retensor.table import write_csv

OPERATIONS = {"mttkrp": ("MTTKRP", ("mttkrp", "mttkrp_all")),
              "contraction": ("Contraction", ("contraction",)), "spmm": ("SpMM", ("spmm",))}
PROBLEM = ("operation", "variant", "dataset", "data.sha256", "rank", "rank2", "dtype", "values",
           "operands", "seed", "alpha", "beta")
SHOWN = ("variant", "rank", "dtype", "values", "operands", "seed", "alpha", "beta")
# Beginnings of the columns that a line is made of.
ASKED = ("case.", "device", "status", "stale", "finished", "stats.", "phases.run", "phases.prep",
         "rates.gflops", "footprint.", "check.")
NEVER = "never"
FEWEST_SAMPLES = 3  # of a time
COLUMNS = ("time (s)", "GFLOPS", "times the baseline's speed", "format (bytes)",
           "bytes per nonzero", "peak device memory (bytes)", "relative error", "error over bound",
           "conversion (s)", "runs to break even", "baseline", "cases ok", "of",
           "status", "stale rows", "rows of")


@dataclass
class Line:
    """A method on a problem; numbers are None where no row tells them."""

    problem: tuple
    row: dict       # its newest
    modes: tuple    # that are ok
    ok: int
    total: int
    status: str
    stale: int
    time: object = None     # quantity.Value, seconds
    gflops: object = None
    format_bytes: float = None
    device_bytes: float = None
    error: float = None     # the largest over modes
    over_bound: float = None
    prepare: float = None
    params: str = ""
    base: object = None

    @property
    def method(self):
        return self.row["case.method"]

    @property
    def machine(self):
        return self.row["device"]

    @property
    def per_nonzero(self):
        """Bytes of the format a nonzero."""
        held = self.row["case.data.nnz"]
        return self.format_bytes / held if self.format_bytes and held else None

    @property
    def over(self):
        """How many times as fast as the baseline."""
        known = self.time and self.base and self.base.time
        return self.base.time.value / self.time.value if known else None

    @property
    def break_even(self):
        """Runs after which the method with its conversion is ahead of the baseline with its own:
        0 when it is so from the first, NEVER when runs are no faster; None where one is unknown.
        """
        if self.base is None or self.base is self or None in (self.prepare, self.base.prepare):
            return None
        gain = self.base.time.value - self.time.value
        cost = self.prepare - self.base.prepare
        return max(0, math.ceil(cost / gain)) if gain > 0 else NEVER


@dataclass
class Section:
    """One operation: its lines, their table, and a figure per machine."""

    key: str
    title: str
    stale: int     # lines with rows that are older than the sources of their method
    names: list
    table: list
    csv: str
    figures: list  # {"svg", "machine"}
    specs: list    # paths of those that measure this operation

    @property
    def machines(self):
        """Each machine with its figure, "" where it has none, and its lines, below `columns`."""
        place = self.names.index("machine")
        pictures = {figure["machine"]: figure["svg"] for figure in self.figures}
        lines = {}
        for line in self.table:
            lines.setdefault(line[place], []).append(line[:place] + line[place + 1:])
        return [(name, pictures.get(name, ""), own) for name, own in lines.items()]

    @property
    def columns(self):
        return [name for name in self.names if name != "machine"]


def check(registry):
    """Raises PlotError unless it is what `retensor list methods --json` prints."""
    for index, method in enumerate(registry):
        missing = [name for name in ("id", "operations", "converts_least") if name not in method]
        if missing:
            raise PlotError(f"method {index}: no {', '.join(missing)}")


def baselines(registry, operations):
    """Against which conversions are weighed: on each problem and machine the first of these that
    has a result there, with its fastest parameters. They read coordinates or CSR as they are.
    """
    return [method["id"] for method in registry
            if method["converts_least"] and set(method["operations"]) & set(operations)]


def sections(results, specs, registry, out):
    """A function for each section of the page: it writes figures and CSV file below `out`."""
    folder = out / "figures" / "methods"
    folder.mkdir(parents=True, exist_ok=True)
    return [partial(_kept, key, results.rows, specs, registry, folder, out)
            for key in OPERATIONS]


def _kept(key, rows, specs, registry, folder, out):
    """The section as an earlier report left it where nothing it is made of has changed."""
    rows = rows[rows["case.operation"].isin(OPERATIONS[key][1])]
    store = parts.Parts(out)
    digest = parts.digest([sys.modules[__name__]], list(rows.columns), rows.values.tolist(),
                          specs, registry)
    kept = store.kept(f"methods-{key}", digest)
    if kept:
        return Section(**kept)
    section = _section(key, rows, specs, registry, folder, out)
    store.keep(f"methods-{key}", digest, asdict(section),
               [section.csv, *(figure["svg"] for figure in section.figures)])
    return section


def _section(key, rows, specs, registry, folder, out):
    title, operations = OPERATIONS[key]
    lines = lines_of(rows, baselines(registry, operations))
    names, table = tabulate(lines)
    csv = folder / f"{key}.csv"
    write_csv(pd.DataFrame(table, columns=names, dtype=object), csv, short=True)
    machines = dict.fromkeys(line.machine for line in lines)
    found = []
    for index, machine in enumerate(machines):
        shown = [line for line in lines if line.machine == machine]
        path = folder / f"{key}-{index + 1}.svg"
        if _figure(shown, f"{title} on {machine}", path):
            slim.slim(path)
            found.append({"svg": path.relative_to(out).as_posix(), "machine": machine})
    return Section(key, title, sum(line.stale > 0 for line in lines), names, table,
                   csv.relative_to(out).as_posix(), found,
                   [spec.path for spec in specs if not spec.of
                    and set(spec.order.get("case.operation", ())) & set(operations)])


def lines_of(rows, against):
    """The lines of an operation's rows with their baselines, by problem, machine and time."""
    asked = [name for name in rows.columns if name.startswith(ASKED)]  # few of hundreds
    groups = {}
    for row in rows[asked].to_dict("records"):
        place = (_problem(row), row["device"], row["case.method"], _params(row))
        groups.setdefault(place, []).append(row)
    lines = [_line(place[0], members) for place, members in groups.items()]
    _name_params(lines)
    _set_baselines(lines, against)
    return sorted(lines, key=lambda line: (
        str(line.row["case.dataset"]), line.row["case.rank"] or 0, line.problem, line.machine,
        line.time.value if line.time else math.inf))


def _problem(row):
    return tuple(str(row.get(f"case.{name}")) for name in PROBLEM)


def _params(row):
    return tuple((name.removeprefix("case.params."), str(value)) for name, value in row.items()
                 if name.startswith("case.params.") and value is not None)


def _line(problem, rows):
    of_artifacts = {}
    for row in rows:
        of_artifacts.setdefault(row["case.artifact"], []).append(row)
    rows = max(of_artifacts.values(), key=_worth)
    ok = [row for row in rows if row["status"] == "ok"]
    line = Line(problem, rows[-1], tuple(sorted({str(row["case.mode"]) for row in ok})), len(ok),
                len(rows), next((row["status"] for row in rows if row["status"] != "ok"), "ok"),
                sum(row["stale"] for row in rows))
    timed = _timed(ok)
    line.time, line.gflops = (quantity.measure(timed, name) for name in ("stats.median",
                                                                         "rates.gflops"))
    prepare = quantity.measure(ok, "phases.prepare")
    line.prepare = prepare and prepare.value
    line.format_bytes, line.device_bytes = (_mean(ok, name) for name in (
        "footprint.format_bytes", "footprint.device_bytes"))
    line.error, line.over_bound = (_largest(ok, name) for name in (
        "check.relative_frobenius", "check.error_over_bound"))
    return line


def _timed(rows):
    return [row for row in rows if _is_number(count := row.get("stats.count"))
            and count >= FEWEST_SAMPLES]


def _worth(rows):
    return (not any(row["stale"] for row in rows), len(_timed(rows)) > 0,
            sum(row["status"] == "ok" for row in rows), str(rows[-1].get("finished")))


def _mean(rows, name):
    numbers = _numbers(rows, name)
    return math.fsum(numbers) / len(numbers) if numbers else None


def _largest(rows, name):
    return max(_numbers(rows, name), default=None)


def _numbers(rows, name):
    return [float(row[name]) for row in rows if _is_number(row.get(name))]


def _is_number(value):
    return isinstance(value, (int, float)) and not math.isnan(value)


def _name_params(lines):
    """Every line names the parameters in which the lines of its method differ."""
    for method in {line.method for line in lines}:
        own = [line for line in lines if line.method == method]
        sets = [dict(_params(line.row)) for line in own]
        free = [name for name in dict.fromkeys(name for params in sets for name in params)
                if len({params.get(name) for params in sets}) > 1]
        for line, params in zip(own, sets):
            line.params = ", ".join(f"{name}={params[name]}" for name in free if name in params)


def _set_baselines(lines, against):
    """Lines are compared where the same modes are ok on the same machine."""
    places = {}
    for line in lines:
        if line.time:
            places.setdefault((line.problem, line.machine, line.modes), []).append(line)
    for members in places.values():
        candidates = [min((line for line in members if line.method == name),
                          key=lambda line: line.time.value, default=None) for name in against]
        base = next(filter(None, candidates), None)
        for line in members:
            line.base = base


def tabulate(lines):
    """Names and lines of the page's table; of the problem's fields those that differ."""
    varying = [name for name in SHOWN
               if len({str(line.row.get(f"case.{name}")) for line in lines}) > 1]
    names = ["tensor", "data", "machine", *varying, "modes", "method", "parameters", *COLUMNS]
    return names, [[line.row["case.dataset"], line.row["case.data.kind"], line.machine,
                    *(line.row.get(f"case.{name}") for name in varying), modes_text(line),
                    line.method, line.params, *_values(line)] for line in lines]


def modes_text(line):
    """Over which modes a line is averaged, or that its runs take them all."""
    if line.row["case.operation"] == "mttkrp_all":
        return "all in one run"
    known = [mode for mode in line.modes if mode != "None"]
    whole = len(known) == len(line.row["case.data.dims"] or ())
    return f"each of {len(known)}" if whole else ", ".join(known)


def _values(line):
    return [line.time and line.time.value, line.gflops and line.gflops.value, line.over,
            line.format_bytes, line.per_nonzero, line.device_bytes, line.error, line.over_bound,
            line.prepare, line.break_even, line.base and line.base.method, line.ok, line.total,
            line.status, line.stale, line.row["case.artifact"]]


def _figure(lines, title, path):
    """Write the figure of a machine; returns whether two methods met on any tensor."""
    with style.applied():
        figure = draw(lines, title)
        if figure is not None:
            figure.savefig(path, metadata={"Title": title, "Date": None})
    return figure is not None
