"""Files that a script writes from others: written anew, or with --check found out of date."""
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def keep(texts, arguments, command):
    """Writes those of the texts {path: text} that their files do not have. With `--check` among the
    arguments it writes nothing and names them and the command. Returns the exit code."""
    stale = [path for path, text in texts.items()
             if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments and stale:
        names = ", ".join(os.path.relpath(path, ROOT) for path in stale)
        print(f"out of date: {names}; python3 {command} writes it anew")
        return 1
    for path in stale:
        path.write_text(texts[path], encoding="utf-8")
    return 0
