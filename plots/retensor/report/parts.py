"""What an earlier report drew, kept in its folder: a changed figure alone is drawn again."""
import gzip
import hashlib
import inspect
import json
import re
import sys
from collections import Counter
from functools import lru_cache
from itertools import groupby
from pathlib import Path

import matplotlib

PACKAGE = __name__.split(".")[0] + "."
LINE = re.compile(r'<path d="(M[^"z]*)" class="([^"]*)"/>')
MARK = re.compile(r'(<use [^>]*) class="([^"]*)"/>')
REFERENCES = re.compile(r'(?:(?<=href="#)|(?<=url\(#))[\w-]+')
PLACES = re.compile(r' (?:d|x|y|transform)="(?![^"]*(?:scale|matrix))[^"]*"')
# Of a place: digits below a hundredth, zeros at its end, blanks beside the letter of a step.
SHORTER = ((r"(\.\d\d)\d+", r"\1"), (r"(\.\d*?)0+\b", r"\1"), (r"\.(?!\d)", ""), (r"\s+", " "),
           (r" ?([MLCQz]) ?", r"\1"), (r" ?\" ?", '"'),
           (r"M(\S+) ([\d.]+)L\1 ([\d.]+)(?=[\"MLz])", r"M\1 \2V\3"),
           (r"M([\d.]+) ([\d.]+)L([\d.]+) \2(?=[\"MLz])", r"M\1 \2H\3"))


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


def slim(path):
    """Leave out of an SVG file what no one sees: comments, indentation, turns by nothing, names
    that nothing refers to, groups that say nothing or the same as the one before, and digits of
    positions below a hundredth of a point. Looks that occur twice have a class, lines of one look
    are one path, and names are short."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r' transform="rotate\(-?0 [^)]*\)"', "", text)
    text = PLACES.sub(_shorter, _short_names(_said_once(_with_classes(text))))
    tags = _joined_groups(re.split(r"(?<=>)\s+(?=<)", text.strip()))
    steady = _steady(tags)
    path.write_text("".join(_joined_marks(_joined_lines(tags, steady), steady)), encoding="utf-8")


def _joined_groups(lines):
    """Lines of a tag each without groups that say nothing; neighbours that say the same are one."""
    kept, stack = [], []
    for line in lines:
        if line == "<g/>":
            continue
        if line.startswith(("<g>", "<g ")):
            stack.append(line)
            if line == "<g>":
                continue
            if kept[-1] == ("</g>", line):
                kept.pop()
                continue
        kept.append(("</g>", stack.pop()) if line == "</g>" else (line, None))
        if kept[-1] == ("</g>", "<g>"):
            kept.pop()
    return [line for line, _ in kept]


def _steady(tags):
    """The rules of classes that look the same whether their parts are drawn one by one or as one:
    nothing shines through, no dashes."""
    rules = re.findall(r"\.(s\d+){([^}]*)}", "".join(tags[:40]))
    return {name: rule for name, rule in rules if "opacity" not in rule and "dash" not in rule}


def _joined_lines(tags, steady):
    """Lines that follow each other and look the same are one path."""
    kept, before = [], None
    for tag in tags:
        found = LINE.fullmatch(tag)
        look = found and "fill: none" in steady.get(found[2], "") and found[2]
        if look and look == before:
            kept[-1] = kept[-1].replace('" class', found[1] + '" class')
        else:
            kept.append(tag)
        before = look
    return kept


def _joined_marks(tags, steady):
    """Marks that follow each other and have one class are a group that has it."""
    found = [MARK.fullmatch(tag) for tag in tags]
    for look, run in groupby(zip(tags, found), lambda each: each[1] and each[1][2]):
        run = list(run)
        if look in steady and len(run) > 2:
            yield f'<g class="{look}">{"".join(mark[1] + "/>" for _, mark in run)}</g>'
        else:
            yield from (tag for tag, _ in run)


def _with_classes(text):
    text = re.sub(r' (clip-path)="([^"]*)" style="([^"]*)"', r' style="\3; \1: \2"', text)
    looks = Counter(re.findall(r' style="([^"]*)"', text))
    often = {look: f"s{index}" for index, (look, count) in enumerate(looks.items())
             if count > 1 and "</style>" in text}
    text = re.sub(r' style="([^"]*)"', lambda found: f' class="{often[found[1]]}"'
                  if found[1] in often else found[0], text)
    rules = "".join(f".{name}{{{look}}}" for look, name in often.items())
    return text.replace("</style>", rules + "</style>", 1)


def _said_once(text):
    """A mark has the look of the part that it shows, and need not repeat it."""
    looks = dict(re.findall(r'<path id="([^"]*)"[^>]* class="([^"]*)"', text))
    return re.sub(r'(<use xlink:href="#([^"]*)"[^>]*) class="([^"]*)"',
                  lambda found: found[1 if looks.get(found[2]) == found[3] else 0], text)


def _short_names(text):
    """Names of parts that something refers to, by number; others go."""
    named = REFERENCES.findall(text)
    numbers = {name: f"n{index}" for index, name in enumerate(dict.fromkeys(named))}
    text = re.sub(r' id="([^"]*)"', lambda found: f' id="{numbers[found[1]]}"'
                  if found[1] in numbers else "", text)
    return REFERENCES.sub(lambda found: numbers[found[0]], text)


def _shorter(place):
    name, _, text = place[0].partition("=")
    for pattern, kept in SHORTER:
        text = re.sub(pattern, kept, text)
    return f"{name}={text}"


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
