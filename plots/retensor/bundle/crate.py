"""What describes a bundle: RO-Crate metadata and the checklist for the badges of the ACM."""
import json
import mimetypes
from collections import Counter

METADATA = "ro-crate-metadata.json"
CONTEXT = "https://w3id.org/ro/crate/1.1/context"
PROFILE = "https://w3id.org/ro/crate/1.1"
LICENCE = "https://spdx.org/licenses/Apache-2.0"
TYPES = {".jsonl": "application/jsonl", ".yaml": "application/yaml", ".md": "text/markdown",
         ".tns": "text/plain", ".tnsb": "application/octet-stream"}
WHAT = {"specs": "an experiment, its includes merged", "figures": "drawn from rows.jsonl",
        "datasets": "data sets: registry entries and tensors that may be passed on",
        "recipes": "programs that make data sets", "container": "how to build the environment",
        "papers": "published values and claims", "rows.jsonl": "measured rows",
        "verdicts.json": "the claims judged by rows.jsonl", "badges.md": "checklist of the badges",
        "environment.json": "programs and machine", "manifest.json": "SHA-256 of every other file"}


def write_metadata(folder, name, specs, rows, manifest):
    """Write RO-Crate 1.1 metadata of all files that stand in a folder, and of the manifest."""
    names = sorted({file.relative_to(folder).as_posix() for file in folder.rglob("*")
                    if file.is_file()} | {manifest})
    files = [_file(folder, path) for path in names]
    published = max(str(row.get("finished") or "") for row in rows)[:10] or "1970-01-01"
    root = {"@id": "./", "@type": "Dataset", "name": f"ReTensor bundle {name}",
            "description": "Specs, result rows, figures and verdicts of "
                           + ", ".join(spec.artifact for spec in specs),
            "datePublished": published, "license": {"@id": LICENCE},
            "hasPart": [{"@id": file["@id"]} for file in files]}
    described = {"@id": METADATA, "@type": "CreativeWork", "about": {"@id": "./"},
                 "conformsTo": {"@id": PROFILE}}
    licence = {"@id": LICENCE, "@type": "CreativeWork", "name": "Apache License 2.0",
               "description": "Of the files that ReTensor wrote; a data set has the licence of "
                              "its entry in datasets/registry.yaml."}
    content = {"@context": CONTEXT, "@graph": [described, root, licence, *files]}
    (folder / METADATA).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _file(folder, path):
    suffix = path[path.rfind("."):]
    kind = TYPES.get(suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"
    entity = {"@id": path, "@type": "File", "name": path.rsplit("/", 1)[-1],
              "description": WHAT.get(path.split("/")[0], path), "encodingFormat": kind}
    if (folder / path).is_file():
        entity["contentSize"] = str((folder / path).stat().st_size)
    return entity


def write_badges(folder, rows, verdicts, about):
    """Write badges.md: what of the ACM's badges (Artifact Review and Badging 1.1) the bundle shows
    and what only people can."""
    ok = sum(row["status"] == "ok" for row in rows)
    holds = Counter("holds" if verdict["holds"] else "does not hold" if verdict["holds"] is False
                    else "open" for verdict in verdicts)
    judged = ", ".join(f"{count} {word}" for word, count in sorted(holds.items())) or "none"
    left_out = ", ".join(about["data left out"]) or "none"
    machines = ", ".join(f"{count} on {name}" for name, count in about["machines"].items())
    imported = "".join(f"\n  {one['rows']} imported rows of {one.get('who', 'unknown')} stand "
                       "beside them; no program here repeats them." for one in about["imported"])
    (folder / "badges.md").write_text(f"""# Checklist for the badges of the ACM

A mark stands where the bundle itself shows it. The rest only people can do.

## Artifacts Evaluated: Functional
- [x] Documented: {len(about["specs"])} specs, `environment.json`, RO-Crate metadata.
- [x] Consistent: rows, figures and verdicts are of these specs; {len(rows)} rows,
  {ok} ok ({machines}).{imported}
- [{" " if about["data left out"] else "x"}] Complete: data sets that are not inside: {left_out}.
- [ ] Exercisable: run `retensor replay` on another machine and add its `replay.json`.

## Artifacts Evaluated: Reusable
- [x] Every file is described and has a checksum; the container file is inside.
- [ ] A reviewer says that others can build on it.

## Artifacts Available
- [ ] Deposit the bundle in an archive with a DOI, and add the DOI here.
- [ ] Name the authors, and check the licences of the data in `datasets/registry.yaml`.

## Results Reproduced or Replicated
Claims judged by the rows inside: {judged}.
- [ ] People other than the authors obtained the main results, and say which.
""", encoding="utf-8")
