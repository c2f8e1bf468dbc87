"""The archive of a bundle: written the same from the same files, unpacked with distrust.

It is a gzipped tar of regular files in one folder. `manifest.json` states the SHA-256 and the bytes
of every other file.
"""
import gzip
import hashlib
import io
import json
import os
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from retensor.errors import PlotError

MANIFEST = "manifest.json"
SCHEMA = 1
MOST_FILES = 20_000
# As of the archives of data sets (datasets/recipes/recipe.py).
MOST_BYTES = min(1 << 34, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4)


def write(folder, name, about, path):
    """Pack a folder below the name `name`, with a manifest that says `about` it too."""
    files = {file.relative_to(folder).as_posix(): _facts(file)
             for file in sorted(folder.rglob("*")) if file.is_file()}
    manifest = {"schema": SCHEMA, "kind": "retensor bundle", "name": name, **about, "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    # The time and the name of a gzip file stay out, else no two archives were equal.
    with open(partial, "wb") as raw, \
            gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for file in sorted([*files, MANIFEST]):
            content = (folder / file).read_bytes()
            member = tarfile.TarInfo(f"{name}/{file}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    partial.replace(path)


def unpack(path, folder):
    """Unpack into an empty or absent folder and return the manifest, which all files agree with.
    Raises PlotError for a damaged archive, a name that leads out of the folder, links, more than
    MOST_BYTES, and files that the manifest does not state so."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlotError(f"{folder}: expected an empty or absent folder")
    try:
        with gzip.open(path) as packed, tarfile.open(fileobj=_Limited(packed, path),
                                                     mode="r|") as tar:
            for number, member in enumerate(tar):
                if number == MOST_FILES:
                    raise PlotError(f"{path}: more than {MOST_FILES} files")
                _take(tar, member, path, folder)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise PlotError(f"{path}: damaged, or no gzipped tar archive: {error}") from error
    return _checked(path, folder)


class _Limited:
    """A stream that ends in an error once it has given too many bytes."""

    def __init__(self, stream, path):
        self._stream, self._path, self._left = stream, path, MOST_BYTES

    def read(self, size):
        self._left -= size
        if self._left < 0:
            raise PlotError(f"{self._path}: more than {MOST_BYTES} bytes when unpacked")
        return self._stream.read(size)


def _take(tar, member, path, folder):
    if not member.isreg():
        raise PlotError(f"{path}: {member.name!r} is no regular file")
    parts = member.name.split("/")
    if len(parts) < 2 or any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise PlotError(f"{path}: {member.name!r} leads out of the bundle's folder")
    to = folder.joinpath(*parts[1:])
    to.parent.mkdir(parents=True, exist_ok=True)
    with open(to, "xb") as file:
        file.write(tar.extractfile(member).read())


def _checked(path, folder):
    stated = folder / MANIFEST
    try:
        manifest = json.loads(stated.read_text(encoding="utf-8"))
        if manifest["schema"] != SCHEMA or manifest["kind"] != "retensor bundle":
            raise PlotError(f"{path}: {MANIFEST} is not of a bundle with schema {SCHEMA}")
        files = manifest["files"]
        here = {file.relative_to(folder).as_posix() for file in folder.rglob("*")
                if file.is_file()} - {MANIFEST}
        for name in sorted(here ^ files.keys()):
            raise PlotError(f"{path}: {name}: only in the " +
                            ("archive" if name in here else MANIFEST))
        for name in sorted(here):
            if _facts(folder / name) != files[name]:
                raise PlotError(f"{path}: {name}: its SHA-256 or size is not that of {MANIFEST}")
    except PlotError:
        raise
    except FileNotFoundError as error:
        raise PlotError(f"{path}: no {MANIFEST}, so it is no bundle") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise PlotError(f"{path}: {MANIFEST}: expected what `retensor bundle` writes") from error
    return manifest


def _facts(path):
    content = path.read_bytes()
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def inside(folder, name):
    """A file of an unpacked bundle that its manifest names."""
    if not isinstance(name, str) or ".." in PurePosixPath(name).parts \
            or not (folder / name).is_file():
        raise PlotError(f"{folder}: {MANIFEST} names {name!r}, which is not there")
    return folder / name


def default_path(name):
    return Path("out") / f"{name}.tar.gz"
