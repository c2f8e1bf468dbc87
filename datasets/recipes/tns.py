"""What recipes share: writing a FROSTT text tensor so that it is there whole or not at all."""
import os
from pathlib import Path


def write(path, dims, entries, comment):
    """Writes `entries` ((0-based indices), value), or those of bulk.Entries, below the header
    order / dims; indices in the file are 1-based. The file appears under its name only when
    complete and on disk."""
    path = Path(path)
    part = path.with_name(path.name + ".part")
    with open(part, "w", encoding="ascii") as out:
        out.writelines(f"# {line}\n" for line in comment.splitlines())
        out.write(f"{len(dims)}\n{' '.join(map(str, dims))}\n")
        line = "%d " * len(dims) + "%s\n"
        out.writelines(entries.text() if hasattr(entries, "text") else
                       (line % (*[i + 1 for i in indices], value) for indices, value in entries))
        out.flush()
        os.fsync(out.fileno())
    os.replace(part, path)
