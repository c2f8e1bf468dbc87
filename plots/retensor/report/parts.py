"""What an earlier report drew, kept in its folder: a changed figure alone is drawn again."""
import gzip
import hashlib
import inspect
import json
import sys
from functools import lru_cache
from pathlib import Path

import matplotlib

PACKAGE = __name__.split(".")[0] + "."


class Parts:
    """Content by name and by the hash of what it was made from, below `root`/.parts."""

    def __init__(self, root):
        self.root = root
        self.folder = root / ".parts"
        self.folder.mkdir(parents=True, exist_ok=True)

    def kept(self, name, digest):
        """What was kept under this name, where its files still stand and nothing it was made from
        has changed; else None. A damaged part counts as none."""
        part = self._read(name)
        whole = part["digest"] == digest and all(
            (self.root / path).is_file() and (self.root / path).stat().st_size == size
            for path, size in part["files"].items())
        return part["content"] if whole else None

    def keep(self, name, digest, content, files):
        """Keep the content of a part and the sizes of the files below the root that belong to it;
        files that belonged to it before go."""
        sizes = {path: (self.root / path).stat().st_size for path in files}
        for path in self._read(name)["files"].keys() - sizes:
            (self.root / path).unlink(missing_ok=True)
        text = json.dumps({"digest": digest, "files": sizes, "content": content},
                          default=lambda value: value.item())
        # Without the time of writing, so that equal parts are equal files.
        self._path(name).write_bytes(gzip.compress(text.encode(), mtime=0))

    def _read(self, name):
        try:
            with gzip.open(self._path(name), "rt", encoding="utf-8") as file:
                part = json.load(file)
            return {"digest": str(part["digest"]), "content": part["content"], "files": {
                path: size for path, size in part["files"].items() if self._is_own(path)}}
        except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError):
            return {"digest": "", "content": None, "files": {}}

    def _is_own(self, path):
        """Whether a path stays below the root: a part of unknown origin takes no other file away.
        """
        return not Path(path).is_absolute() and ".." not in Path(path).parts

    def _path(self, name):
        return self.folder / f"{name}.json.gz"


def digest(modules, *made_of):
    """The hash of what a part is made of, and of the modules that make it."""
    return hashlib.sha256(repr((_program(tuple(modules)), made_of)).encode()).hexdigest()


@lru_cache(maxsize=None)
def _program(modules):
    """The hash of the sources of modules with all that they use of this package, and of
    matplotlib's version."""
    sources = hashlib.sha256(matplotlib.__version__.encode())
    for path in sorted(_used(modules)):
        sources.update(Path(path).read_bytes())
    return sources.hexdigest()


def _used(modules):
    """Files of modules and of the modules of this package that their names come from. Not those
    behind a package: what one draws with is named by the caller."""
    found, left = {}, list(modules)
    while left:
        module = left.pop()
        if module.__name__ in found or not module.__name__.startswith(PACKAGE):
            continue
        found[module.__name__] = module.__file__
        if not hasattr(module, "__path__"):
            left += filter(None, map(_owner, vars(module).values()))
    return set(found.values())


def _owner(value):
    return value if inspect.ismodule(value) else sys.modules.get(
        getattr(value, "__module__", None) or "")
