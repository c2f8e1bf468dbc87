"""The part of a spec that figures need: artifact, title, order of the axes' values, figure map.

The driver checks specs in full before it runs them; here only the keys of `figure` are checked.
"""
import difflib
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml

from retensor.errors import PlotError

ARTIFACT = re.compile(r"[A-Za-z0-9_-]+/[A-Za-z0-9_-]+")  # as experiments/driver/spec has it
FIGURE_KEYS = ("kind", "x", "y", "facet", "hue", "overlay", "label", "stack", "share", "xscale",
               "yscale", "width", "xlabel", "ylabel", "to", "of", "mark", "place", "distance_from",
               "absent", "names", "originals")
DEPTH_LIMIT = 8
# That of libyaml, ten times as fast where it is built.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass
class FigureSpec:
    """What a figure function is asked to draw."""

    artifact: str
    title: str = ""
    figure: dict = field(default_factory=lambda: {"kind": "table"})
    order: dict = field(default_factory=dict)  # case field -> its values in the order of the spec
    path: str = ""
    of: str = ""  # the artifact whose rows are drawn, where the spec measures none of its own

    @property
    def rows_of(self):
        """The artifact that the rows to draw carry."""
        return self.of or self.artifact

    @property
    def paper(self):
        return self.artifact.split("/")[0]

    @property
    def name(self):
        return self.artifact.split("/")[1]


def load_spec(path):
    """Read a spec with its includes; raises PlotError naming the file."""
    content = whole_spec(path)
    artifact = str(content.get("artifact", ""))
    if not ARTIFACT.fullmatch(artifact):
        raise PlotError(f"{path}: artifact must read <paper>/<name>, found {artifact!r}")
    if not isinstance(content.get("axes") or {}, dict):
        raise PlotError(f"{path}: axes must be a map")
    figure = content.get("figure") or {"kind": "table"}
    check_figure(figure, path)
    of = str(content.get("of") or "")
    return FigureSpec(artifact, str(content.get("title") or artifact), figure,
                      _order(_measuring(of, Path(path)) if of else content), str(path), of)


def find_specs(*places):
    """The specs that places name, in order: files, and folders with all specs below them that have
    an artifact (other files are for inclusion).

    Their paths start with the folder's own name, so that pages hold no path of a machine.
    """
    found = []
    for place in map(Path, places):
        if not place.is_dir():
            found.append(own_spec(place))
            continue
        for path in sorted(place.rglob("*.yaml")):
            if "artifact" in whole_spec(path):
                short = Path(place.resolve().name) / path.relative_to(place)
                found.append(replace(load_spec(path), path=short.as_posix()))
    return found


def own_spec(path):
    """A spec by itself; its path is told from the working directory, outside of that by name."""
    whole, here = Path(path).resolve(), Path.cwd().resolve()
    short = whole.relative_to(here) if whole.is_relative_to(here) else Path(whole.name)
    return replace(load_spec(path), path=short.as_posix())


def check_figure(figure, path):
    """Raise PlotError for a figure map with an unknown key."""
    if not isinstance(figure, dict):
        raise PlotError(f"{path}: figure must be a map")
    for key in figure:
        if key not in FIGURE_KEYS:
            near = difflib.get_close_matches(str(key), FIGURE_KEYS, 1, 0) or FIGURE_KEYS
            raise PlotError(f"{path}: unknown key {key!r} in figure; nearest: {near[0]}")


def whole_spec(path):
    """A spec's content as a map, its includes merged. Raises PlotError for what is no spec."""
    return _merged(Path(path), _trees(path))


def _trees(path):
    """Folders that includes may not leave: the working directory and the spec's experiments."""
    return Path.cwd().resolve(), Path(path).resolve().parent.parent


def _merged(path, trees, depth=0):
    if not any(path.resolve().is_relative_to(tree) for tree in trees):
        raise PlotError(f"{path}: an include may not leave {trees[-1]}")
    if depth > DEPTH_LIMIT:
        raise PlotError(f"{path}: includes are nested deeper than {DEPTH_LIMIT}")
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)
    except OSError as error:
        raise PlotError(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise PlotError(f"{path}: {error}") from error
    if not isinstance(content, dict):
        raise PlotError(f"{path}: expected a map")
    schema = content.get("schema", 1)
    if not isinstance(schema, int) or schema > 1:
        raise PlotError(f"{path}: schema {schema!r} is newer than 1, which this reader knows")
    includes = content.pop("include", None) or []
    result = {}
    for name in [includes] if isinstance(includes, str) else includes:
        result = overlaid(result, _merged(path.parent / str(name), trees, depth + 1))
    return overlaid(result, content)


def _measuring(artifact, path):
    """Content of the spec beside this one that measures an artifact; empty without one."""
    trees = _trees(path)
    contents = (_merged(other, trees) for other in sorted(path.parent.glob("*.yaml")))
    return next((content for content in contents if content.get("artifact") == artifact), {})


def overlaid(base, top):
    """A map with another one laid over it: maps are merged, all else is replaced."""
    both = {key: overlaid(base[key], top[key]) for key in base.keys() & top.keys()
            if isinstance(base[key], dict) and isinstance(top[key], dict)}
    return {**base, **top, **both}


def _order(content):
    axes = {**(content.get("axes") or {}), "operation": content.get("operation")}
    order = {f"case.{name}": values if isinstance(values, list) else [values]
             for name, values in axes.items()}
    order["case.method"] = [method.get("id") for method in content.get("methods") or []
                            if isinstance(method, dict)]
    return order
