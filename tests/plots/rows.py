"""Fixture rows for the tests of plots: invented numbers in the shape of `retensor rows`.

Nothing here was measured; no figure made from these rows leaves the tests' temporary folders.
"""
import json

SPEC = """\
schema: 1
artifact: pasta/fig4
title: Fixture of five kernels
operation: [tew, ttv]
axes: {dataset: [alpha, beta], mode: all}
methods: [{id: pasta.cpu.coo}, {id: pasta.cpu.hicoo}]
figure: {kind: grouped-bars, x: dataset, y: gflops, facet: operation, overlay: roofline}
"""


def session(name="s1", **changes):
    return {"kind": "session", "schema": 1, "session": name, "started": "2026-01-02T03:04:05Z",
            "git": {"commit": "0123456789abcdef", "dirty": False},
            "build": {"version": "0.1.0", "compiler": "gcc 12.2", "flags": "-O3", "cuda": "",
                      "cuda_archs": ""},
            "machine": {"cpu": {"model": "Fixture CPU", "cores": 2},
                        "gpu": {"name": "Fixture GPU"}},
            "devices": ["Fixture CPU", "Fixture GPU"], "file": "rows.jsonl",
            "argv": ["/somewhere/build/retensor", "run", "a spec.yaml"],
            "spec": {"path": "experiments/pasta/fig4.yaml", "sha256": "ab" * 32,
                     "artifact": "pasta/fig4"}, **changes}


def ceilings(name="s1", backend="cpu", bandwidth=20.0):
    values = {"copy_dram": bandwidth, "copy_llc": 5 * bandwidth, "peak_f32": 100.0}
    return {"kind": "ceilings", "schema": 1, "session": name, "backend": backend,
            "device": f"Fixture {'GPU' if backend == 'cuda' else 'CPU'}", "values": values,
            "gbytes": {"dram": bandwidth, "llc": 5 * bandwidth}, "ridge": 100 / bandwidth,
            "ceilings": [{"what": what, "value": value, "unit": "G/s", "detail": "invented"}
                         for what, value in values.items()]}


def row(operation="tew", dataset="alpha", method="pasta.cpu.coo", mode=None, kind="real",
        status="ok", reason="", seconds=(0.001, 0.002, 0.004), flops=4e6, moved=48e6,
        name="s1", stages=None, device=None, currency="sources", bandwidth=None, **case):
    """A row; `bandwidth` of a session with ceilings() of it."""
    backend = "cuda" if ".cuda" in method else "cpu"
    fields = {"artifact": "pasta/fig4", "operation": operation, "variant": "add",
              "dataset": dataset, "data": {"kind": kind, "sha256": "cd" * 32, "dims": [4, 5, 6],
                                           "nnz": 7},
              "mode": mode, "rank": 16, "rank2": 0, "dtype": "f32", "values": "stored",
              "operands": "uniform", "seed": 1, "method": method, "params": {"threads": 2},
              "order": "shuffled", "cache": "warm", "launch": 0, **case}
    line = {"kind": "row", "schema": 1, "session": name, "case": fields,
            "key": json.dumps(fields, sort_keys=True), "status": status, "reason": reason,
            "source_hash": "h1", "finished": "2026-01-02T03:04:06Z", "backend": backend,
            "device": device or f"Fixture {'GPU' if backend == 'cuda' else 'CPU'}",
            "currency": currency, "stale": currency == "stale", "code": "own"}
    if bandwidth:
        line["roofline"] = {"gbytes": bandwidth, "gflops": bandwidth * flops / moved}
    if status == "ok":
        low, median, high = sorted(seconds)
        line |= {"phases": {"load": 0.1, "oracle": 0.2, "prepare": 0.3, "fetch": 0.01,
                            "run": list(seconds),
                            "stages": stages or {"kernel": list(seconds)}},
                 "seconds": {"without_zero": median, "sweep": median},
                 "stats": {"count": 3, "median": median, "q1": (low + median) / 2,
                           "q3": (median + high) / 2, "mean": median, "min": low, "max": high},
                 "work": {"flops": flops, "bytes": moved, "compulsory_bytes": moved / 2,
                          "atomics": 0, "intensity": flops / moved},
                 "rates": {"gflops": flops / median / 1e9, "gbytes": moved / median / 1e9}}
    return line


def sweep(bandwidth=20.0):
    """Two operations, tensors and methods; TTV on three modes."""
    lines = [session(), ceilings()]
    for method, factor in (("pasta.cpu.coo", 1.0), ("pasta.cpu.hicoo", 0.7)):
        for dataset, size in (("alpha", 1.0), ("beta", 2.5)):
            seconds = [factor * size * t for t in (0.001, 0.002, 0.0024)]
            lines.append(row("tew", dataset, method, seconds=seconds, flops=4e6 * size,
                             moved=48e6 * size, bandwidth=bandwidth))
            for mode in range(3):
                lines.append(row("ttv", dataset, method, mode, flops=8e6 * size,
                                 moved=48e6 * size, bandwidth=bandwidth,
                                 seconds=[s * (mode + 1) for s in seconds]))
    return lines


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def verdict(**changes):
    return {"id": "P-C16", "paper": "pasta", "place": "Table I", "kind": "TAB",
            "states": "intensity of TS is 1/8", "published": {"value": 0.125, "unit": "flop/byte"},
            "tolerance": {"relative": 0.001}, "measured": 0.125, "ratio": 1.0,
            "verdict": "consistent", "holds": True, "data": "generated", "hardware": "any",
            "competitor_code": "", "machine": "Fixture CPU", "reason": "",
            "value": "work.intensity", "rows": 2, "of": 2, "stale": 0, "keys": [], **changes}


def audit(**changes):
    """As `retensor audit --json` prints a paper: a rule that fails, one that fits, a listing."""
    def claimed(name, severity, test=None):
        return {"id": name, "says": {"place": "Table I", "text": f"{name} says <this>"},
                "against": {"place": "Table II", "text": f"{name} against"},
                "severity": severity, "confidence": "high", "test": test}

    def outcome(name, status, misread=()):
        return {"row": name, "status": status, "left": {"value": 4.0, "low": 3.5, "high": 4.5},
                "right": {"value": 2.0, "low": 2.0, "high": 2.0}, "ratio": 2.0,
                "misread": list(misread)}

    digits = [f"t.a.{k}: 4 as {k}" for k in range(5)]
    fails = claimed("P-A01", "wording") | {
        "check": "a = b", "table": "t", "status": "does not fit",
        "rows": [outcome("one", "does not fit", digits), outcome("two", "fits")],
        "instead": [{"states": "halves", "check": "a = 2 * b",
                     "rows": [outcome("one", "fits"), outcome("two", "open")]}]}
    fits = claimed("P-A02", "result") | {"check": "c < d", "table": "", "status": "fits",
                                         "rows": [outcome("", "fits")], "instead": []}
    listing = claimed("P-L01", "result", {"file": "tests/printed.cpp", "case": "A < loop"}) | {
        "status": "shown by a test"}
    return {"paper": "pasta", "fit": 2, "fail": 1, "open": 0, "findings": 1, "wording": 1,
            "rules": [fails, fits], "listings": [listing], **changes}
