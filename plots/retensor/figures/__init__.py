"""Figure functions. `<paper>_<artifact>.py` of this folder draws that artifact where it exists, and
what is named after it with a dash (`table3-gpu`), else the generic kind that the spec's figure map
names. A module offers `draw(view)`, which returns a Figure, or None where there is none to draw,
and `arrange(view)`, which prepares the view or makes its table; a table alone has no drawing.
"""
import importlib
import importlib.util
import re

from retensor.errors import PlotError
from retensor.figures import (claims, curves, dots, lines, performance_profile, roofline,
                              scatter, speedups, stacked_bars, table)

KINDS = {"grouped-bars": dots, "lines": lines, "scatter": scatter, "roofline": roofline,
         "stacked-bars": stacked_bars, "table": table, "speedups": speedups,
         "performance-profile": performance_profile, "claims": claims, "curves": curves}


def drawer(spec):
    """The module that draws a spec's artifact; raises PlotError for an unknown kind."""
    whole = re.sub("[^a-z0-9]", "_", spec.name.lower())
    for name in (whole, whole.split("_")[0]):
        own = f"retensor.figures.{spec.paper}_{name}"
        if importlib.util.find_spec(own):
            return importlib.import_module(own)
    kind = spec.figure.get("kind", "table")
    if kind not in KINDS:
        raise PlotError(f"{spec.path or spec.artifact}: unknown figure kind {kind!r}; known: "
                        + ", ".join(KINDS))
    return KINDS[kind]
