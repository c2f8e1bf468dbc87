"""What stands over a figure: the paper with its figure, the title, and the setting in which its
rows were measured.
"""
import functools
import os
from pathlib import Path

import yaml

from retensor import digitised
from retensor.figures import quantity
from retensor.figures.series import written
from retensor.spec import LOADER

TYPES = {"f32": "fp32", "f64": "fp64"}
MOST_NAMES = 4  # of data sets in a setting


@functools.lru_cache(maxsize=None)
def _paper(papers, name):
    """The paper's name as its README gives it, and the places of its artifacts."""
    folder = Path(papers) / name
    places, title = {}, name
    try:
        title = (folder / "README.md").read_text(encoding="utf-8").splitlines()[0]
        text = (folder / "paper/artifacts.yaml").read_text(encoding="utf-8")
        content = yaml.load(text, Loader=LOADER)
        for entry in content["artifacts"]:
            for artifact in entry.get("specs", ()):
                places.setdefault(artifact, []).append(entry["place"])
    except (OSError, IndexError, KeyError, TypeError, yaml.YAMLError):
        pass  # a paper of the user's own
    return title.removeprefix("# ").split(":")[0], places


def title(spec):
    """Paper, figure of the paper where the spec draws one, and the spec's own title."""
    paper, places = _paper(digitised.PAPERS, spec.paper)
    place = ", ".join(places.get(spec.artifact, ()))
    head = f"{paper}{' ' if place else ''}{place}"
    return spec.title if spec.title.startswith(head) else f"{head}: {spec.title}"


def setting(view):
    """Machine, rank and type, as far as all rows share them, and the data that is not real."""
    rows, said = view.rows, []
    devices = [device for device in dict.fromkeys(rows["device"])
               if not view.fields.machines or _has_panel(view, device)]
    said.append(machine(devices[0]) if len(devices) == 1 else f"{len(devices)} machines")
    ranks = rows["case.rank"].dropna().unique() if "case.rank" in rows else ()
    if len(ranks) == 1:
        said.append(f"R = {ranks[0]}")
    if "case.dtype" in rows:
        said.append("/".join(TYPES.get(str(t), str(t)) for t in dict.fromkeys(rows["case.dtype"])))
    kinds = [f"{kind} data: {_few(view.datasets[kind])}" for kind in view.data_kinds]
    if "file" in view.datasets:
        kinds.append(f"user files: {_few(view.datasets['file'])}")
    if not kinds and "real" in view.datasets:
        kinds = ["real data"]
    return "; ".join([", ".join(said), *kinds])


def _has_panel(view, device):
    return any(str(facet).endswith(machine(device)) for facet in view.facets)


def _few(names):
    return ", ".join(names) if len(names) <= MOST_NAMES else f"{len(names)} tensors"


def facet(field, value):
    """Title of a panel: a word says what it is; a number, yes, no or none is that of something."""
    name = quantity.text(field) if field else ""
    if name and value == "none":
        return f"{name}: none"
    if isinstance(value, bool):
        return f"{name}={written(value)}"
    return f"{name} {value:g}" if isinstance(value, (int, float)) else str(value)


def panels(view):
    """Title of each panel by its facet; a machine that all are of stands in the setting."""
    names = {value: facet(view.fields.facet, value) for value in view.facets if value is not None}
    devices = set(view.rows["device"]) if view.fields.machines else ()
    for place in map(machine, devices):
        if all(name.endswith(place) for name in names.values()):
            return {value: name.removesuffix(place).removesuffix(", ")
                    for value, name in names.items()}
    return names


def machine(device):
    """A device's name without the marks of its maker."""
    return str(device).replace("(R)", "").replace("(TM)", "").replace(" Processor", "")


def common_beginning(names):
    """What names begin with alike, up to a dash or dot, where it is worth leaving out."""
    if len(names) < 3:
        return ""
    common = os.path.commonprefix(names)
    end = max(common.rfind("-"), common.rfind("."))
    return common[:end + 1] if end >= 3 else ""


def axis_label(field, common=""):
    """Label of an axis of positions, with what their names begin with."""
    text = quantity.label(field)
    return f"{text} ({common}...)" if common else text
