"""`retensor bundle`: one archive with what a reader needs to check the rows of specs."""
import importlib.metadata
import json
import platform
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import yaml

from retensor.bundle import archive, crate, data, quick, rows
from retensor.digitised import PAPERS
from retensor.errors import PlotError
from retensor.library import RetensorError
from retensor.program import output_of
from retensor.results import load_results
from retensor.save import save_artifact
from retensor.spec import load_spec, whole_spec

TREE = PAPERS.parent
PACKAGES = ("numpy", "pandas", "matplotlib", "pyyaml", "jinja2", "scipy", "pyarrow")
CONTAINER = ("Containerfile", "environment.yml")


def build(options):
    """Write the bundle that the options of `retensor bundle` describe; returns its path and what
    had to be left out, as sentences."""
    path = Path(options.out or archive.default_path(options.read))
    with tempfile.TemporaryDirectory(prefix="retensor-") as scratch:
        folder = Path(scratch) / "bundle"
        folder.mkdir()
        specs = [load_spec(spec) for spec in options.specs]
        files, notes = list(options.rows), []
        if options.measure:
            files.append(_measured(specs, Path(scratch) / "measured.jsonl", options, notes))
        kept, imported = rows.copy_rows(files, {spec.rows_of for spec in specs},
                                        folder / "rows.jsonl")
        if not kept:
            raise PlotError(f"{options.read}: no result rows: measure some first, or add --measure")
        names = {row["case"]["dataset"] for row in kept + imported} | _datasets(specs)
        left_out = data.copy_registry(options.registry, names, folder / "datasets")
        notes += [f"data set {name} is not inside: {why}" for name, why in left_out.items()]
        verdicts = _verdicts(specs, kept, folder)
        about = {"artifacts": [spec.artifact for spec in specs],
                 "specs": _copy_specs(specs, folder / "specs"),
                 "machines": rows.machines(kept), "data left out": left_out,
                 "imported": rows.origins([folder / "rows.jsonl"], imported)}
        _write_json(folder / "environment.json", _environment(kept))
        _copy_recipes(folder / "recipes", options.recipes)
        for name in CONTAINER:
            _copy_if_there(TREE / "ci" / "packaging" / name, folder / "container" / name)
        _draw(specs, verdicts, folder, notes)
        crate.write_badges(folder, kept, verdicts, about)
        about["notes"] = notes
        crate.write_metadata(folder, options.read, specs, kept, archive.MANIFEST)
        archive.write(folder, options.read, about, path)
    return path, notes


def _measured(specs, out, options, notes):
    places = ["--registry", options.registry, "--recipes", options.recipes,
              "--cache", options.cache]
    until = time.monotonic() + 600
    for spec in specs:
        why = quick.why_not(spec.path) or quick.run(spec.path, out, places, until)
        if why:
            notes.append(f"{spec.artifact} was not measured: {why}")
    if not out.is_file():
        raise PlotError("--measure: no spec has a quick profile that runs here")
    return out


def _datasets(specs):
    """The data sets of the specs' axes and of their quick profiles."""
    names = set()
    for content in map(whole_spec, (spec.path for spec in specs)):
        quickly = (content.get("profiles") or {}).get("quick") or {}
        for part in (content, quickly):
            value = (part.get("axes") or {}).get("dataset") or []
            names |= set(map(str, value if isinstance(value, list) else [value]))
    return names


def _copy_specs(specs, folder):
    """Each spec as one file, its includes merged."""
    folder.mkdir()
    paths = []
    for spec in specs:
        to = folder / f"{spec.artifact.replace('/', '-')}.yaml"
        to.write_text(yaml.safe_dump(whole_spec(spec.path), sort_keys=False), encoding="utf-8")
        paths.append(f"specs/{to.name}")
    return paths


def _verdicts(specs, kept, folder):
    """The verdicts by the bundle's rows alone on the claims that ask for some of them."""
    papers = sorted({spec.paper for spec in specs
                     if (PAPERS / spec.paper / "paper" / "claims.yaml").is_file()})
    keys = {row["key"] for row in kept}
    found = [verdict for verdict in judged(papers, folder / "rows.jsonl")
             if keys & set(verdict["keys"])]
    for paper in papers:
        for file in sorted((PAPERS / paper / "paper").glob("*.yaml")):
            _copy_if_there(file, folder / "papers" / paper / file.name)
    _write_json(folder / "verdicts.json", found)
    return found


def judged(papers, result_file):
    """The claims of papers with their verdicts by the rows of one file."""
    if not papers:
        return []
    return json.loads(output_of("verdict", *papers, "--json", "--rows", result_file,
                                fine=(0, 1)))


def _environment(kept):
    """What the rows were measured with, and where the bundle was made."""
    sources = {}
    for row in kept:
        hashes = {name: row[name] for name in ("source_hash", "kernel_hash", "host_hash")
                  if row.get(name)}
        known = sources.setdefault(row["case"]["method"], [])
        if hashes not in known:
            known.append(hashes)
    return {"bundled by": {"program": output_of("--version").strip(), "git": _commit(),
                           "machine": _machine(),
                           "python": {"version": platform.python_version(), **_packages()}},
            "sources of methods": dict(sorted(sources.items())),
            "sessions": "the lines of kind session in rows.jsonl: machine, compiler, CUDA, commit"}


def _machine():
    """What the program says of this machine, without its paths."""
    told = json.loads(output_of("doctor", "--json", fine=(0, 1)))
    return {name: told[name] for name in ("CPU", "GPU", "build", "methods")}


def _commit():
    try:
        done = subprocess.run(["git", "-C", TREE, "rev-parse", "HEAD"], capture_output=True,
                              text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None


def _packages():
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _copy_recipes(folder, recipes):
    for file in sorted(Path(recipes).iterdir()):
        if file.suffix in (".py", ".yaml", ".md"):
            _copy_if_there(file, folder / file.name)


def _copy_if_there(source, to):
    if source.is_file():
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, to)


def _draw(specs, verdicts, folder, notes):
    """The figures by the rows of the bundle."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as printed:
        printed.write(output_of("rows", folder / "rows.jsonl"))
        printed.flush()
        results = load_results([printed.name])
    for spec in specs:
        try:
            save_artifact(results, spec, folder / "figures" / spec.paper, verdicts)
        except (PlotError, RetensorError) as error:
            notes.append(f"{spec.artifact} is not drawn: {error}")


def _write_json(path, content):
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
