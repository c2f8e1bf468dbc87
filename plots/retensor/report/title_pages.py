"""What each paper is: papers/<id>/paper/about.yaml (experiments/schema)."""
from dataclasses import dataclass, field

from retensor.errors import PlotError
from retensor.report.sources import paper_file


@dataclass
class TitlePage:
    """A paper's title page; of a folder of own specs the name alone is known."""

    paper: str
    name: str
    title: str = ""
    authors: list = field(default_factory=list)
    published: str = ""
    headline: list = field(default_factory=list)  # ids of the claims that a reader asks for first
    figure: str = ""  # the artifact that stands on the first page

    @property
    def own(self):
        """Whether it is no paper, but the folder name of own specs."""
        return not self.title


FIELDS = ("name", "title", "authors", "published", "headline", "figure")


def title_page(paper):
    """What about.yaml says of a paper; of what is no paper its name. Raises PlotError for a file
    without the agreed fields."""
    path, content = paper_file(paper, "about.yaml")
    if content is None:
        return TitlePage(paper, paper)
    missing = [name for name in FIELDS if not content.get(name)]
    if missing:
        raise PlotError(f"{path}: no {', '.join(missing)}")
    return TitlePage(paper, **{name: content[name] for name in FIELDS})
