"""PASTA Table III: the machines that measured the rows beside the paper's four."""
import pandas as pd

from retensor.figures.cells import number
from retensor.figures.claims import claims_at

# Lines by the ending of the claims' ids.
LINES = {
    "cores": "cores, single-precision lanes of a GPU",
    "clock": "frequency (MHz)",
    "peak": "peak single precision, theory (GFLOPS)",
    "peak-measured": "peak single precision, measured (GFLOPS)",
    "cache": "last-level cache (MB)",
    "memory": "memory (GB)",
    "bandwidth": "memory bandwidth, theory (GB/s)",
    "bandwidth-measured": "memory bandwidth, measured (GB/s)",
    "cache-bandwidth": "last-level cache bandwidth, measured (GB/s)",
}
SCALES = {"cache": 1e6, "memory": 1e9}  # bytes of a line's unit
UNKNOWN = "not told"


def arrange(view):
    """Make the table: a line per quantity, a column per machine."""
    columns = {"": list(LINES.values())}
    for claim in claims_at(view, "Table III, "):
        machine = claim["place"].split(", ")[1]
        values = columns.setdefault(machine, [""] * len(LINES))
        quantity = claim["id"].split("-", 2)[-1]
        if quantity in LINES:
            bound = claim["published"]
            printed = bound.get("value", bound.get("at_most")) / SCALES.get(quantity, 1)
            values[list(LINES).index(quantity)] = number(printed)
    for session in dict.fromkeys(view.rows["session"]):
        facts = view.results.sessions.get(session)
        for backend in ("cpu", "cuda"):
            ceilings = view.results.ceilings.get((session, backend))
            if facts and ceilings:
                columns[ceilings["device"]] = _measured(facts["machine"], backend, ceilings)
    table = pd.DataFrame(columns, dtype=object)
    view.table = table


def _measured(machine, backend, ceilings):
    values, gbytes = ceilings["values"], ceilings["gbytes"]
    cpu, gpu = machine.get("cpu") or {}, machine.get("gpu") or {}
    if backend == "cuda":
        known = {"cores": values.get("lanes_f32"), "clock": gpu.get("sm_clock_mhz"),
                 "cache": gpu.get("l2_bytes"), "memory": gpu.get("memory_bytes")}
    else:
        known = {"cores": cpu.get("cores"),
                 "clock": cpu.get("max_clock_mhz") or cpu.get("clock_mhz"),
                 "cache": cpu.get("llc_bytes"), "memory": machine.get("memory_bytes")}
    known |= {"peak": values.get("theory_f32"), "peak-measured": values.get("peak_f32"),
              "bandwidth": values.get("theory_dram"),
              "bandwidth-measured": gbytes.get("dram"),
              "cache-bandwidth": gbytes.get("llc")}
    return [_shown(known[name] / SCALES.get(name, 1)) if known[name] else UNKNOWN
            for name in LINES]


def _shown(value):
    return number(round(value) if value > 1000 else value)
