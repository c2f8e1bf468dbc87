"""Writes an artifact's files: figure as SVG and PDF, its table and its rows as CSV."""
from pathlib import Path

from retensor import style
from retensor.figures import captions, cells, drawer
from retensor.figures.view import make_view
from retensor.table import write_csv

DRAWN = ("svg", "pdf")
FILES = (*DRAWN, "csv", "rows.csv", "caption.txt")
TERMS = {"terms.source": "", "terms.licence": "licence: ", "terms.cite": "cite: "}


def caption(view):
    """What stands below a figure: its title, what its data is, and the terms of every data set."""
    lines = [view.spec.title, *filter(None, [view.data_label, *view.notes])]
    for name, rows in view.rows.groupby("case.dataset", sort=True):
        known = [f"{label}{rows[field].dropna().iloc[-1]}" for field, label in TERMS.items()
                 if field in rows and rows[field].notna().any()]
        if False in set(rows.get("terms.pass_on", ())):
            known.append("the data may not be passed on")
        lines.append(f"{name}: {'; '.join(known) or 'its rows are older than their terms'}")
    return "\n".join(map(str, lines)) + "\n"


def save_artifact(results, spec, folder, verdicts=(), files=FILES):
    """Draw one spec into a folder as `files` of FILES; returns its view and {suffix: path}.

    The files are named by the artifact and by every kind of data but real in it:
    `fig4.svg`, `fig4.generated.svg`, `fig4.stand-in.generated.svg`. A table has no picture.
    """
    view = make_view(results, spec, verdicts)
    module = drawer(spec)
    if hasattr(module, "arrange"):
        module.arrange(view)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with style.applied():
        figure = module.draw(view) if hasattr(module, "draw") else None
        paths = {suffix: folder / f"{view.stem}.{suffix}" for suffix in files
                 if figure is not None or suffix not in DRAWN}
        if figure is not None:
            _write(figure, view, paths)
    if "csv" in paths:
        write_csv(cells.frame(view), paths["csv"], short=True)
    if "caption.txt" in paths:
        paths["caption.txt"].write_text(caption(view), encoding="utf-8")
    if "rows.csv" in paths:
        write_csv(view.rows.dropna(axis="columns", how="all"), paths["rows.csv"])
    return view, paths


def _write(figure, view, paths):
    title = captions.title(view.spec)
    about = "; ".join(filter(None, [title, captions.setting(view), *view.notes]))
    told = {"svg": {"Title": title, "Date": None, "Description": about},
            "pdf": {"Title": title, "Subject": about, "CreationDate": None}}
    for suffix in (name for name in told if name in paths):
        figure.savefig(paths[suffix], metadata=told[suffix])
        figure.set_layout_engine("none")  # what was laid out for one file holds for the other
