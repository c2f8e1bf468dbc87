"""Files of the source tree that pages quote: what papers/<id>/paper says, and where methods are."""
from functools import lru_cache

import yaml

from retensor.digitised import PAPERS
from retensor.errors import PlotError
from retensor.spec import LOADER

TEXTS = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def printed_file(paper, name):
    """As paper_file, with every value as the text that stands there: 2.90 stays 2.90."""
    return paper_file(paper, name, TEXTS)


@lru_cache(maxsize=None)
def paper_file(paper, name, loader=LOADER):
    """Path and content of papers/<paper>/paper/<name>; the content is None where there is none.
    Raises PlotError for a file that is no map."""
    path = PAPERS / paper / "paper" / name
    shown = path.relative_to(PAPERS.parent).as_posix()
    if not path.is_file():
        return shown, None
    content = read_yaml(path, loader)
    if not isinstance(content, dict):
        raise PlotError(f"{shown}: expected a map")
    return shown, content


def read_yaml(path, loader=LOADER):
    """A YAML file's content; raises PlotError naming the file."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise PlotError(f"{path}: {error}") from error


@lru_cache(maxsize=None)
def method_folder(method):
    """The folder of a method's sources, by its id; empty where the tree has none of that name."""
    root, owner = PAPERS.parent, str(method).split(".", maxsplit=1)[0]
    places = [PAPERS / owner, root / "common" / "baselines" / owner, root / "common" / owner,
              *sorted(PAPERS.glob(f"*/baselines/{owner}"))]
    found = next((place for place in places if place.is_dir()), None)
    return found.relative_to(root).as_posix() if found and owner else ""
