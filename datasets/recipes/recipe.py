"""What recipes share: the command line, reading sources that are not trusted, exact checks.

A source is a text file, a folder or a zip archive that holds it; `.gz` is read as what it packs.
Sizes in an archive are not believed: lines and totals are limited while they are read. What is read
lies in the source: links and patterns that lead out of it are refused.
"""
import argparse
import contextlib
import gzip
import os
import re
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

import tns

LONGEST_LINE = 1 << 16
# Text becomes Python's objects, which take several times its bytes.
LONGEST_TEXT = min(1 << 34, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4)
CHUNK = 1 << 20  # bytes of a read, for which it takes room before it knows how many there are
INTEGER = re.compile(r"-?[0-9]+", re.ASCII)
REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


class Malformed(Exception):
    """A source that has not the expected form; the message names file and line."""


def files_below(folder, pattern):
    """The regular files below a folder that match, sorted. Throws when one lies elsewhere."""
    if pattern.startswith("/") or ".." in PurePosixPath(pattern).parts:
        raise Malformed(f"{pattern}: leads out of {folder}")
    found = sorted(p for p in folder.rglob(pattern) if p.is_file())
    for path in found:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise Malformed(f"{path}: a link that leads out of {folder}")
    return found


def integer(text):
    """As the program's readers take integers: int() takes 1_0 and digits of other scripts too."""
    if not INTEGER.fullmatch(text):
        raise ValueError(f"'{text}' is no integer")
    return int(text)


def real(text):
    if not REAL.fullmatch(text):
        raise ValueError(f"'{text}' is no number")
    return float(text)


@contextlib.contextmanager
def opened(source, name):
    """Binary stream of the file `name` in a folder or zip archive, or of the file itself."""
    if source.is_dir():
        path = only(files_below(source, name), source, name)
        stream = gzip.open(path) if path.suffix == ".gz" else open(path, "rb")
    elif zipfile.is_zipfile(source):
        archive = zipfile.ZipFile(source)
        stream = archive.open(only([i for i in archive.infolist() if not i.is_dir() and
                                    PurePosixPath(i.filename).match(name)], source, name))
    else:
        stream = gzip.open(source) if source.suffix == ".gz" else open(source, "rb")
    with stream:
        yield stream


def whole(stream, most=LONGEST_TEXT):
    """The bytes of a stream, cut off behind `most` and one."""
    parts, left = [], most + 1
    while chunk := stream.read(min(CHUNK, left)):
        parts.append(chunk)
        left -= len(chunk)
    return b"".join(parts)


def only(found, source, name):
    if len(found) != 1:
        raise Malformed(f"{source}: found {len(found)} files {name}, expected 1")
    return found[0]


def lines(source, name, encoding="ascii"):
    """(place for messages, text without line end) of each line."""
    where = str(source if source.is_file() and not zipfile.is_zipfile(source) else source / name)
    total = 0
    with opened(source, name) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), 1):
            total += len(line)
            place = f"{where}:{number}"
            if len(line) == LONGEST_LINE or total > LONGEST_TEXT:
                raise Malformed(f"{place}: a line or file beyond all measure")
            try:
                yield place, line.decode(encoding).rstrip("\r\n")
            except UnicodeDecodeError:
                raise Malformed(f"{place}: bytes that are no {encoding} text") from None


def as_dims(text):
    return tuple(integer(length) for length in text.split("x"))


def check(what, found, expected):
    if expected is not None and found != expected:
        raise Malformed(f"found {what} {found}, expected {expected}")


def main(doc, convert, add_options, needs_input=True):
    """Runs `convert(arguments)` -> (dims, sorted entries, comment) and writes --out when dims and
    number of entries are those of --dims and --nnz; returns the exit code."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--out", required=True)
    parser.add_argument("--dims", type=as_dims, help="mode lengths to insist on: 6040x3952x5")
    parser.add_argument("--nnz", type=integer, help="number of nonzeros to insist on")
    if needs_input:
        parser.add_argument("--input", type=Path, required=True, help="the source, see above")
    add_options(parser)
    arguments = parser.parse_args()
    if [] in vars(arguments).values():  # what argparse makes of --key=--
        parser.error("-- is no value")
    name = Path(sys.argv[0]).stem
    try:
        dims, entries, comment = convert(arguments)
        check("dims", "x".join(map(str, dims)),
              arguments.dims and "x".join(map(str, arguments.dims)))
        check("nonzeros", len(entries), arguments.nnz)
        tns.write(arguments.out, dims, entries, comment)
    except (Malformed, OSError, EOFError, UnicodeDecodeError, RuntimeError, NotImplementedError,
            tarfile.TarError, zipfile.BadZipFile, zlib.error) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    return 0
