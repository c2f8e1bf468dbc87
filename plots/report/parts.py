"""What an earlier report drew, kept in its folder: a changed figure alone is drawn again."""
import gzip
import hashlib
import json
from functools import lru_cache
from pathlib import Path

import matplotlib

PACKAGE = Path(__file__).parents[1]


class Parts:
    """Content by name and by the hash of what it was made from, below `root`/.parts."""

    def __init__(self, root):
        self.root = root
        self.folder = root / ".parts"
        self.folder.mkdir(parents=True, exist_ok=True)

    def kept(self, name, digest):
        """What was kept under this name, where its files still stand and nothing it was made from
        has changed; else None. A damaged part counts as none."""
        try:
            with gzip.open(self._path(name), "rt", encoding="utf-8") as file:
                part = json.load(file)
            whole = part["digest"] == digest and all(
                (self.root / path).is_file() and (self.root / path).stat().st_size == size
                for path, size in part["files"].items())
            return part["content"] if whole else None
        except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def keep(self, name, digest, content, files):
        """Keep the content of a part and the sizes of the files below the root that belong to it.
        """
        sizes = {path: (self.root / path).stat().st_size for path in files}
        with gzip.open(self._path(name), "wt", encoding="utf-8") as file:
            json.dump({"digest": digest, "files": sizes, "content": content}, file,
                      default=lambda value: value.item())

    def _path(self, name):
        return self.folder / f"{name}.json.gz"


def digest(*made_of):
    """The hash of what a part is made of, this program included."""
    return hashlib.sha256(repr((program(), made_of)).encode()).hexdigest()


@lru_cache(maxsize=1)
def program():
    """The hash of all that draws: this package's sources and matplotlib's version."""
    sources = hashlib.sha256(matplotlib.__version__.encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        sources.update(path.read_bytes())
    return sources.hexdigest()
