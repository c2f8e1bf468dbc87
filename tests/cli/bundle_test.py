"""`bundle` and `replay`: what goes in, what a replay finds, what it refuses."""
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile

import pytest

from sweeps import RETENSOR, ROOT, Workspace

PYPI = ROOT / "out" / "pypi"
OFFLINE = ["unshare", "-rn"]
VALUE = "0.8515625"  # stands in the tensor that may not be passed on, and nowhere else
# Files, classes and checks that the reader of RO-Crates finds in a bundle.
READ_CRATE = """
import sys
from rocrate.rocrate import ROCrate
crate = ROCrate(sys.argv[1])
assert crate.root_dataset["license"] and crate.root_dataset["datePublished"]
print("\\n".join(sorted(part.id for part in crate.root_dataset["hasPart"])))
"""


def call(folder, *words, before=()):
    return subprocess.run([*before, RETENSOR, *map(str, words)], cwd=folder, capture_output=True,
                          text=True, timeout=300, check=False)


def offline():
    return OFFLINE if not subprocess.run([*OFFLINE, "true"], capture_output=True,
                                         check=False).returncode else []


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Rows on a generated tensor, on a file that may be passed on and on one that may not."""
    workspace = Workspace(tmp_path_factory.mktemp("sweep"))
    workspace.add_uniform("made", [20, 30, 40], 500)
    workspace.sets["tiny"].update(pass_on=True, licence="CC0")
    (workspace.folder / "kept.tns").write_text(f"3\n2 2 2\n1 1 1 {VALUE}\n2 2 2 3\n")
    workspace.sets["kept"] = {"kind": "real", "form": "tensor", "dims": [2, 2, 2], "nnz": 2,
                              "file": "kept.tns", "source": "a friend", "licence": "own use"}
    workspace._register()
    spec = workspace.spec(["pasta.cpu.coo"], operation="mttkrp",
                          axes={"dataset": ["made", "tiny", "kept"], "rank": [4, 8]})
    done = workspace.run(spec, program=RETENSOR)
    assert done.returncode == 0, done.stderr
    return workspace


def bundle(sweep, out, *more, rows=None):
    """The archive, and what was said of it."""
    done = call(sweep.folder, "bundle", sweep.folder / "spec.yaml", "--out", out / "b.tar.gz",
                "--registry", sweep.registry, "--cache", sweep.cache,
                "--rows", *(rows if isinstance(rows, list) else [rows or sweep.out]), *more)
    assert done.returncode == 0, done.stderr
    return out / "b.tar.gz", done.stderr


@pytest.fixture(scope="module")
def bundled(sweep, tmp_path_factory):
    return bundle(sweep, tmp_path_factory.mktemp("bundle"))


@pytest.fixture
def archive(bundled, tmp_path):
    """A copy of the sweep's bundle."""
    return shutil.copy(bundled[0], tmp_path / "b.tar.gz")


@pytest.fixture
def no_rows(sweep, tmp_path):
    """A result file with a session alone."""
    path = tmp_path / "none.jsonl"
    path.write_text(sweep.out.read_text().splitlines(keepends=True)[0])
    return path


def replay(folder, archive, before=()):
    folder.mkdir(exist_ok=True)
    done = call(folder, "replay", archive, "--cache", folder / "cache", before=before)
    report = folder / "replayed" / "replay.json"
    return done, json.loads(report.read_text()) if report.is_file() else None


def contents(archive):
    with tarfile.open(archive) as tar:
        return {member.name.split("/", 1)[1]: tar.extractfile(member).read() for member in tar}


def packed(path, files, members=()):
    """An archive of files, and of members that no bundle has."""
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"spec/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for member in members:
            tar.addfile(member)
    return path


def forged(archive, change):
    """The bundle with other rows, and with the manifest of these."""
    files = contents(archive)
    lines = [json.loads(line) for line in files["rows.jsonl"].splitlines()]
    change(next(line for line in lines if line["kind"] == "row"))
    files["rows.jsonl"] = "".join(json.dumps(line) + "\n" for line in lines).encode()
    manifest = json.loads(files["manifest.json"])
    manifest["files"]["rows.jsonl"] = {
        "sha256": hashlib.sha256(files["rows.jsonl"]).hexdigest(),
        "bytes": len(files["rows.jsonl"])}
    files["manifest.json"] = json.dumps(manifest).encode()
    return packed(archive.with_name("forged.tar.gz"), files)


def test_a_bundle_is_replayed_in_an_empty_folder_without_network(bundled, tmp_path):
    archive, told = bundled
    assert "data set kept is not inside: may not be passed on: own use" in told
    done, report = replay(tmp_path / "elsewhere", archive, offline())
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = {(row["dataset"], row["outcome"]) for row in report["rows"]}
    assert outcomes == {("made", "agrees"), ("tiny", "agrees"), ("kept", "not compared")}
    assert len(report["rows"]) == 18  # three data sets, three modes, two ranks
    assert "note: data set kept is not at hand" in done.stdout
    assert "times are not compared: measured on" in done.stdout


# A root of its own: the system, the program and its sources, an empty folder for the rest.
CHROOT = """
set -e
root=$1; shift
mount -t tmpfs tmpfs "$root"
for path in /usr /bin /lib /lib64 /etc /dev "$@"; do
  [ -e "$path" ] || continue
  mkdir -p "$root$path"
  mount --rbind "$path" "$root$path"
done
mkdir -p "$root/tmp" "$root/data" "$root/proc"
mount --rbind /proc "$root/proc"
cp "$ARCHIVE" "$root/data/b.tar.gz"
cd "$root/data"
exec chroot "$root" /usr/bin/env -i HOME=/data PATH=/usr/bin:/bin "RETENSOR_ROOT=$1" sh -c "$RUN"
"""


def test_a_bundle_is_replayed_in_a_chroot_without_network(archive, tmp_path):
    apart = ["unshare", "-rnm"]
    if subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces for a user here")
    root = tmp_path / "root"
    root.mkdir()
    program = os.path.realpath(RETENSOR)
    done = subprocess.run(
        [*apart, "bash", "-c", CHROOT, "chroot", root, ROOT, os.path.dirname(program)],
        env={**os.environ, "ARCHIVE": str(archive),
             "RUN": f"cd /data && {program} replay b.tar.gz --time-limit 600"},
        capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rows: 12 agrees, 0 differs" in done.stdout, done.stdout
    assert not (root / "home").exists(), "the root was not the process's own"


def test_who_has_the_data_compares_all(sweep, archive, tmp_path):
    done = call(tmp_path, "replay", archive, "--registry", sweep.registry, "--cache", sweep.cache)
    assert done.returncode == 0 and "rows: 18 agrees, 0 differs" in done.stdout, done.stdout


def test_what_is_inside(sweep, archive):
    files = contents(archive)
    assert {"manifest.json", "ro-crate-metadata.json", "rows.jsonl", "verdicts.json", "badges.md",
            "environment.json", "specs/test-spec.yaml", "datasets/registry.yaml",
            "datasets/tiny.tns", "container/Containerfile", "recipes/recipes.yaml"} <= files.keys()
    assert any(name.startswith("figures/test/spec") for name in files)
    session, *rows = [json.loads(line) for line in sweep.out.read_text().splitlines()]
    own = [json.loads(line) for line in files["rows.jsonl"].splitlines()]
    assert own[0] == session and [row for row in own if row["kind"] == "row"] == \
        [row for row in rows if row["kind"] == "row"]
    environment = json.loads(files["environment.json"])
    assert environment["sources of methods"]["pasta.cpu.coo"][0]["source_hash"]
    for name, facts in json.loads(files["manifest.json"])["files"].items():
        assert facts == {"sha256": hashlib.sha256(files[name]).hexdigest(),
                         "bytes": len(files[name])}


IMPORTED = """artifact,method,operation,dataset,mode,rank,dtype,milliseconds
test/spec,parti.cuda,mttkrp,tiny,0,4,f32,2.5
others/times,blco.cuda,mttkrp,tiny,1,4,f32,1.5
others/times,blco.cuda,mttkrp,tiny,1,64,f32,3.5
"""


def test_imported_times_go_in_with_their_origin_and_are_not_repeated(sweep, tmp_path):
    table, rows = tmp_path / "times.csv", tmp_path / "imported.jsonl"
    table.write_text(IMPORTED)
    done = call(sweep.folder, "import", table, "--who", "their authors", "--gpu", "A GPU", "--out",
                rows, "--registry", sweep.registry)
    assert done.returncode == 0, done.stderr
    archive, _ = bundle(sweep, tmp_path, rows=f"{sweep.out} {rows}".split())
    files = contents(archive)
    lines = [json.loads(line) for line in files["rows.jsonl"].splitlines()]
    # Those of the artifact and of a problem in it; R = 64 is none.
    assert [line["stats"]["median"] for line in lines if line.get("code") == "original"] == \
        [2.5e-3, 1.5e-3]
    origin = {"who": "their authors", "file": str(table), "device": "A GPU", "rows": 2}
    told, = json.loads(files["manifest.json"])["imported"]
    assert told == origin | {"commit": told["commit"]}
    assert b"2 imported rows of their authors stand beside them" in files["badges.md"]
    done, report = replay(tmp_path / "there", archive)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(report["rows"]) == 18 and report["imported"] == [told]
    assert "imported, so not repeated: 2 rows of their authors on A GPU" in done.stdout
    assert "A GPU" not in report["machines"]["there"]
    # Times that others took are none of one's own.
    done = call(sweep.folder, "bundle", sweep.folder / "spec.yaml", "--rows", rows, "--registry",
                sweep.registry)
    assert done.returncode == 2 and "no result rows" in done.stderr


def test_data_that_may_not_be_passed_on_stays_out(sweep, archive, tmp_path):
    files = contents(archive)
    assert "datasets/kept.tns" not in files
    assert not [name for name, content in files.items() if VALUE.encode() in content]
    sweep.sets["kept"]["pass_on"] = True
    sweep._register()
    allowed, _ = bundle(sweep, tmp_path)
    del sweep.sets["kept"]["pass_on"]
    sweep._register()
    assert VALUE.encode() in contents(allowed)["datasets/kept.tns"]


def test_the_same_input_gives_the_same_bytes(sweep, bundled, tmp_path):
    assert bundle(sweep, tmp_path)[0].read_bytes() == bundled[0].read_bytes()


@pytest.mark.parametrize("change", [
    lambda row: row["footprint"].update(format_bytes=1),
    lambda row: row["facts"]["fibers"].reverse() or row["facts"]["fibers"].append(1),
    lambda row: row["check"].update(ok=False),
    lambda row: row["check"].update(relative_frobenius=0.5),
    lambda row: row["case"]["data"].update(sha256="0" * 64)])
def test_an_altered_row_differs(archive, tmp_path, change):
    done, report = replay(tmp_path / "there", forged(archive, change))
    assert done.returncode == 1, done.stdout + done.stderr
    assert [row["outcome"] for row in report["rows"]].count("differs") == 1
    assert "differs: pasta.cpu.coo on" in done.stdout


def test_another_time_is_no_difference(archive, tmp_path):
    slower = forged(archive, lambda row: row["stats"].update(median=1e3))
    assert replay(tmp_path / "there", slower)[0].returncode == 0


def test_measure_gives_a_replay_its_rows(sweep, no_rows, tmp_path):
    archive, _ = bundle(sweep, tmp_path, "--measure", rows=no_rows)
    done, report = replay(tmp_path / "there", archive)
    assert done.returncode == 0 and len(report["rows"]) == 18, done.stdout + done.stderr


def test_without_rows_there_is_no_bundle(sweep, no_rows):
    done = call(sweep.folder, "bundle", sweep.folder / "spec.yaml", "--rows", no_rows,
                "--registry", sweep.registry)
    assert done.returncode == 2 and "no result rows" in done.stderr


def link(name, to, kind):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return member


def without(files, name):
    return {other: content for other, content in files.items() if other != name}


def test_an_archive_has_the_name_of_what_it_is(sweep, tmp_path):
    done = call(sweep.folder, "bundle", sweep.folder / "spec.yaml", "--out", tmp_path / "b.zip")
    assert done.returncode == 2 and not (tmp_path / "b.zip").exists()
    assert "b.zip, expected a name that ends in .tar.gz or .tgz" in done.stderr


def test_an_absent_archive_is_named(tmp_path):
    done, report = replay(tmp_path / "there", tmp_path / "none.tar.gz")
    assert done.returncode == 2 and report is None
    assert done.stderr == f"retensor: {tmp_path / 'none.tar.gz'}: No such file or directory\n"


@pytest.mark.parametrize("make, complaint", [
    (lambda a, f: packed(a, f, [link("spec/x", "/etc/passwd", tarfile.SYMTYPE)]), "no regular"),
    (lambda a, f: packed(a, f, [link("spec/x", "spec/rows.jsonl", tarfile.LNKTYPE)]), "no regular"),
    (lambda a, f: packed(a, {**f, "../../out": b""}), "leads out"),
    (lambda a, f: packed(a, f, [tarfile.TarInfo("/absolute")]), "leads out"),
    (lambda a, f: packed(a, f | {"extra": b""}), "extra: only in the archive"),
    (lambda a, f: packed(a, without(f, "rows.jsonl")), "rows.jsonl: only in the manifest.json"),
    (lambda a, f: packed(a, f | {"rows.jsonl": b"{}"}), "rows.jsonl: its SHA-256"),
    (lambda a, f: packed(a, without(f, "manifest.json")), "no manifest.json"),
    (lambda a, f: packed(a, f | {"manifest.json": b"[]"}), "expected what `retensor bundle`"),
    (lambda a, f: a.write_bytes(a.read_bytes()[:3000]), "damaged"),
    (lambda a, f: a.write_bytes(b"no archive"), "damaged")])
def test_what_is_no_bundle_is_refused(archive, tmp_path, make, complaint):
    make(archive, contents(archive))
    done, report = replay(tmp_path / "there", archive)
    assert done.returncode == 2 and report is None
    assert complaint in done.stderr and "b.tar.gz" in done.stderr, done.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_with_files_stays_as_it_is(archive, tmp_path):
    mine = tmp_path / "there" / "replayed" / "mine"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    done, _ = replay(tmp_path / "there", archive)
    assert done.returncode == 2 and "empty or absent" in done.stderr
    assert [path.name for path in mine.parent.iterdir()] == ["mine"]


@pytest.mark.skipif(not (PYPI / "rocrate").is_dir(), reason="rocrate is not in out/pypi")
def test_others_read_the_metadata(archive, tmp_path):
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "crate")  # our own archive
    read = subprocess.run([sys.executable, "-c", READ_CRATE, tmp_path / "crate" / "spec"],
                          env={"PYTHONPATH": str(PYPI)}, capture_output=True, text=True,
                          check=False)
    assert read.returncode == 0, read.stderr
    assert set(read.stdout.split()) == contents(archive).keys() - {"ro-crate-metadata.json"}


# The validator asks for the context of RO-Crate 1.1: rocrate 0.10.0 ships it, its cache takes it.
KEEP_CONTEXT = """
import io
import sys
from pathlib import Path
import requests
from requests_cache import CachedSession
from urllib3 import HTTPResponse
url, body, kind = sys.argv[1], Path(sys.argv[2]).read_bytes(), "application/ld+json"
answer = requests.Response()
answer.status_code, answer._content, answer.url = 200, body, url
answer.headers["Content-Type"] = kind
answer.request = requests.Request("GET", url, headers={"Accept": kind}).prepare()
answer.raw = HTTPResponse(io.BytesIO(body), {"Content-Type": kind}, 200, preload_content=False)
CachedSession(sys.argv[3], backend="sqlite").cache.save_response(answer)
"""
CONTEXT = "https://w3id.org/ro/crate/1.1/context"


def test_the_validator_of_ro_crates_finds_all_that_is_required(archive, tmp_path):
    folder = os.environ.get("RETENSOR_ROCRATE_VALIDATOR")
    if not folder:
        pytest.skip("no RETENSOR_ROCRATE_VALIDATOR: a folder with roc-validator, and in its folder "
                    "`context` rocrate 0.10.0")
    own = {**os.environ, "PYTHONPATH": folder, "HOME": str(tmp_path)}
    cache = tmp_path / "cache"
    subprocess.run([sys.executable, "-c", KEEP_CONTEXT, CONTEXT,
                    f"{folder}/context/rocrate/data/ro-crate.jsonld", cache], env=own, check=True,
                   timeout=60)
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "crate")  # our own archive
    crate = tmp_path / "crate" / "spec"

    def validate():
        return subprocess.run(
            [*offline(), sys.executable, f"{folder}/bin/rocrate-validator", "-y", "validate",
             "--offline", "--cache-path", cache, "-p", "ro-crate-1.1", "-l", "required",
             "--no-paging", crate], env=own, capture_output=True, text=True, timeout=300,
            check=False)

    done = validate()
    assert done.returncode == 0, done.stdout
    metadata = crate / "ro-crate-metadata.json"
    content = json.loads(metadata.read_text())
    root = next(entity for entity in content["@graph"] if entity["@id"] == "./")
    del root["datePublished"]
    metadata.write_text(json.dumps(content))
    assert validate().returncode == 1
