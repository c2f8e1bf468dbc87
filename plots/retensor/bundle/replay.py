"""`retensor replay`: runs the quick profile of a bundle's specs and tells what agrees with it."""
import json
import time
from pathlib import Path

from retensor.bundle import archive, compare, judged, quick, rows
from retensor.digitised import PAPERS
from retensor.errors import PlotError
from retensor.library import RetensorError
from retensor.results import read_json

AGREES, DIFFERS, OPEN = "agrees", "differs", "not compared"
CLAIM_FIELDS = ("verdict", "holds", "measured")


def replay(options):
    """Unpack, run, compare, write replay.json and print a summary; returns the exit code."""
    folder = Path(options.out)
    manifest = archive.unpack(Path(options.read), folder)
    measured, notes = _run(manifest, folder, options)
    kept = archive.inside(folder, "rows.jsonl")
    then = rows.lines_of([kept]).get("row", [])
    imported = [row for row in then if rows.is_imported(row)]
    own = [row for row in then if not rows.is_imported(row)]
    now = _with_data(measured, notes)
    report = {"bundle": options.read, "rows": _compared_rows(own, now),
              "imported": rows.origins([kept], imported),
              "claims": _compared_claims(folder, notes),
              "machines": {"there": rows.machines(own), "here": rows.machines(now)},
              "notes": notes}
    (folder / "replay.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    _print(report, folder)
    outcomes = [entry["outcome"] for entry in report["rows"] + report["claims"]]
    return 0 if DIFFERS not in outcomes and AGREES in outcomes else 1


def _run(manifest, folder, options):
    out, notes = folder / "replayed.jsonl", []
    registry = options.registry or str(archive.inside(folder, "datasets/registry.yaml"))
    places = ["--registry", registry,
              "--recipes", options.recipes, "--cache", options.cache]
    until = time.monotonic() + options.time_limit
    for name in manifest.get("specs") or []:
        spec = archive.inside(folder, name)
        why = quick.why_not(spec) or quick.run(spec, out, places, until)
        if why:
            notes.append(f"{name}: {why}")
    return out, notes


def _with_data(measured, notes):
    """The rows that were measured here, but for those whose data set is not at hand."""
    now = rows.lines_of([measured]).get("row", []) if measured.is_file() else []
    lacking = {row["case"]["dataset"]: row["reason"] for row in now
               if not (row["case"].get("data") or {}).get("sha256")}  # that of what was read
    notes += [f"data set {name} is not at hand: {why}" for name, why in sorted(lacking.items())]
    return [row for row in now if row["case"]["dataset"] not in lacking]


def _compared_rows(then, now):
    """An entry for each row of the bundle and for each other row that was measured here."""
    here = {row["key"]: row for row in now}
    entries = [_compared_row(row, here.get(row["key"])) for row in then]
    known = {row["key"] for row in then}
    for row in now:
        if row["key"] not in known:
            failed = row["status"] in ("wrong", "crashed", "failed")
            entries.append(_entry(row, DIFFERS if failed else OPEN,
                                  f"{row['status']} here; the bundle has no row of this case"))
    return entries


def _compared_row(then, now):
    if now is None:
        return _entry(then, OPEN, "not run here")
    if why := compare.obstacle(then, now):
        return _entry(then, OPEN, why)
    found = [f"{name}: {a} there, {b} here" for name, a, b in compare.differences(then, now)]
    return _entry(then, DIFFERS if found else AGREES, "; ".join(found))


def _entry(row, outcome, why):
    case = row["case"]
    return {"outcome": outcome, "why": why, "key": row["key"], "device": row["device"],
            **{name: case.get(name) for name in ("artifact", "operation", "method", "dataset",
                                                 "mode", "params")}}


def _compared_claims(folder, notes):
    """The verdicts anew by the rows of the bundle against those that it states."""
    stated = read_json(archive.inside(folder, "verdicts.json"))
    if not isinstance(stated, list):
        raise PlotError(f"{folder / 'verdicts.json'}: expected a JSON list")
    papers = sorted({claim["paper"] for claim in stated})
    unknown = [paper for paper in papers
               if not (PAPERS / str(paper) / "paper" / "claims.yaml").is_file()]
    if unknown:
        notes.append(f"this program does not know the claims of {', '.join(map(str, unknown))}")
    known = [paper for paper in papers if paper not in unknown]
    try:
        anew = {(claim["paper"], claim["id"]): claim
                for claim in judged(known, folder / "rows.jsonl")}
    except RetensorError as error:
        notes.append(f"claims are not judged: {error}")
        anew = {}
    return [_compared_claim(claim, anew.get((claim["paper"], claim["id"]))) for claim in stated]


def _compared_claim(then, now):
    about = {"paper": then["paper"], "id": then["id"]}
    if now is None:
        return {"outcome": OPEN, "why": "this program does not know it", **about}
    found = [f"{name}: {then.get(name)} there, {now.get(name)} here" for name in CLAIM_FIELDS
             if then.get(name) != now.get(name)]
    return {"outcome": DIFFERS if found else AGREES, "why": "; ".join(found), **about}


def _print(report, folder):
    for kind in ("rows", "claims"):
        outcomes = [entry["outcome"] for entry in report[kind]]
        print(f"{kind}: " + ", ".join(f"{outcomes.count(word)} {word}"
                                      for word in (AGREES, DIFFERS, OPEN)))
        for entry in report[kind]:
            if entry["outcome"] == DIFFERS:
                name = (entry.get("id") or f"{entry['method']} on {entry['dataset']}, "
                                           f"{entry['operation']}, mode {entry['mode']}")
                print(f"  differs: {name}: {entry['why']}")
    names = {where: ", ".join(found) or "no machine" for where, found in
             report["machines"].items()}
    print(f"times are not compared: measured on {names['there']}; here {names['here']}")
    for one in report["imported"]:
        print(f"imported, so not repeated: {one['rows']} rows of {one.get('who', 'unknown')} on "
              f"{one['device']}")
    for note in report["notes"]:
        print(f"note: {note}")
    print(folder / "replay.json")
