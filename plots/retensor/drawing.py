"""Figures from Python: those of specs, and of any rows at hand."""
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from retensor import style
from retensor.figures import drawer
from retensor.figures.view import make_view
from retensor.spec import FigureSpec, check_figure, load_spec
from retensor.frame import load, results_of, rows_of
from retensor.library import InputError
from retensor.program import Run, read_spec

DEFAULT_FIGURE = {"kind": "grouped-bars"}


def plot(what, rows=None, **figure):
    """A matplotlib Figure of a spec (path or map) or of rows (a frame of `load`, a file, a Run).

    `rows` are those to draw for a spec: a frame, a file, a Run; by default all result files of the
    source tree. `figure` overlays the spec's map of that name (experiments/schema): kind, x, y,
    facet, hue, to, xscale, ... Raises InputError where there is no row to draw."""
    if isinstance(what, pd.DataFrame) or isinstance(what, Run) or _is_rows(what):
        spec, results = None, rows_of(load(what))
    else:
        spec = what
        results = results_of([]) if rows is None else rows_of(load(rows))
    asked = _figure_spec(spec, results, figure)
    view = make_view(results, asked)
    module = drawer(asked)
    if hasattr(module, "arrange"):
        module.arrange(view)
    _show_in_notebooks()
    with style.applied():
        drawn = module.draw(view) if hasattr(module, "draw") else None
    if drawn is None:
        raise InputError(f"{asked.artifact}: kind {asked.figure['kind']} is a table, of "
                         "which no picture is made: give another kind, such as kind='lines'")
    plt.close(drawn)  # the caller's alone: pyplot keeps no figure that nobody asks it for
    return drawn


def _show_in_notebooks():
    """Figures that a cell returns are pictures; matplotlib sees to that for its own backends."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None:
        from IPython.core.pylabtools import select_figure_formats
        select_figure_formats(shell, {"png"})


def _is_rows(what):
    return isinstance(what, (str, Path)) and str(what).endswith((".jsonl", ".parquet"))


def _figure_spec(spec, results, figure):
    if isinstance(spec, (str, Path)):
        asked = load_spec(spec)
        asked.figure = {**asked.figure, **figure}
    else:
        content = {} if spec is None else read_spec(spec)
        artifact = content.get("artifact") or _only_artifact(results)
        asked = FigureSpec(artifact, content.get("title", artifact),
                           {**(content.get("figure") or DEFAULT_FIGURE), **figure},
                           of=content.get("of", ""))
    check_figure(asked.figure, asked.artifact)
    return asked


def _only_artifact(results):
    artifacts = sorted(set(results.rows["case.artifact"]))
    if len(artifacts) != 1:
        raise InputError(f"found rows of {', '.join(artifacts) or 'no artifact'}, expected those "
                         "of one: select them, or give a spec")
    return artifacts[0]
