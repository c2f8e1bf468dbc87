"""What a disk may hold after a power loss, from the log of shim.cpp: what was synced, and of the
rest any part, in any order."""

import random
import shutil
from pathlib import Path

BLOCK = 512  # bytes of a write that reach the disk together


def records(log):
    """(call, offset, data, path, other path) of each call."""
    text, at = Path(log).read_bytes(), 0
    while at < len(text):
        end = text.index(b"\n", at)
        call, offset, size, paths = text[at:end].decode().split(" ", 3)
        path, _, other = paths.partition("\t")
        data = text[end + 1:end + 1 + int(size)]
        yield call, int(offset), data, path, other
        at = end + 1 + len(data)


class Content:
    """A file's bytes: those that are safe, and the changes since."""

    def __init__(self, data=b""):
        self.safe = self.now = bytes(data)
        self.changes = []  # (offset, data), data None: cut there

    def change(self, offset, data):
        self.now = changed(self.now, offset, data)
        self.changes.append((offset, data))

    def sync(self):
        self.safe, self.changes = self.now, []

    def after_power_loss(self, dice):
        """What was safe with some blocks of the changes, in some order."""
        parts = []
        for offset, data in self.changes:
            parts += [(offset, None)] if data is None else [
                (offset + k, data[k:k + BLOCK]) for k in range(0, len(data), BLOCK)]
        dice.shuffle(parts)
        data = self.safe
        for part in parts[:dice.randrange(len(parts) + 1)]:
            data = changed(data, *part)
        return data


def changed(content, offset, data):
    if data is None:
        return content[:offset].ljust(offset, b"\0")
    return content[:offset].ljust(offset, b"\0") + data + content[offset + len(data):]


class Disk:
    """The files below a folder while a log is replayed; `before` holds what was there at first."""

    def __init__(self, folder, before):
        self.folder = Path(folder)
        self.safe = {str(self.folder / path.relative_to(before)): Content(path.read_bytes())
                     for path in Path(before).rglob("*") if path.is_file()}
        self.now = dict(self.safe)
        self.changes = []  # of names since their folder was synced: (path, its content or None)

    def play(self, call, offset, data, path, other):
        if call == "sync" and path in self.now:
            self.now[path].sync()
        elif call == "sync":
            mine = [change for change in self.changes if str(Path(change[0]).parent) == path]
            self.changes = [change for change in self.changes if change not in mine]
            apply_names(self.safe, mine)
        elif call == "make" and not path.endswith("/"):
            self.name(path, Content())
        elif call == "move":
            content = self.now[path]
            self.name(path, None)
            self.name(other, content)
        elif call == "remove":
            self.name(path, None)
        elif call in ("write", "cut"):
            self.now[path].change(offset, data if call == "write" else None)

    def name(self, path, content):
        apply_names(self.now, [(path, content)])
        self.changes.append((path, content))

    def lose_power(self, seed):
        """Leaves in the folder what the disk may hold."""
        dice = random.Random(seed)
        names = dict(self.safe)
        apply_names(names, [change for change in self.changes if dice.random() < 0.5])
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        for path, content in names.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(content.after_power_loss(dice))


def apply_names(names, changes):
    for path, content in changes:
        if content is None:
            names.pop(path, None)
        else:
            names[path] = content
