"""The reissued tables as files: CSV with a line per cell, LaTeX with booktabs."""
import pandas as pd

from retensor.report import words
from retensor.table import write_csv

COLUMNS = ("paper", "table", "row", "column", "printed", "measured or recomputed", "ratio",
           "verdict", "digit that would correct it", "reason")
# Colours of outcomes in LaTeX, as in style.css; their signs say the same without colour.
COLOURS = {"holds": "00684C", "undecided": "6B5900", "does not hold": "A33E00",
           "fitted": "00538A", "contradicts itself": "85406B", "not tested": "57606A"}
MARKS = {"holds": r"$\checkmark$", "undecided": "?", "does not hold": r"$\times$", "fitted": "=",
         "contradicts itself": "!", "not tested": "--"}
ESCAPES = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
           "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
PREAMBLE = r"% Needs \usepackage{booktabs,amssymb,xcolor,graphicx}."


def write(tables, folder):
    """Write all cells to tables.csv and each table with numbers to <anchor>.tex in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(frame(tables), folder / "tables.csv")
    for table in tables:
        if not table.without:
            (folder / f"{table.anchor}.tex").write_text(latex(table), encoding="utf-8")


def frame(tables):
    """Every printed cell as a line."""
    lines = [(table.paper, table.place, cell.row, table.columns[cell.column], cell.printed,
              cell.here, cell.ratio, cell.verdict if cell.numeric else "", "; ".join(cell.mend),
              cell.why) for table in tables for cell in table.cells]
    return pd.DataFrame(lines, columns=COLUMNS, dtype=object)


def latex(table):
    """A table in LaTeX: under each printed value what was measured or recomputed, with the sign of
    its verdict."""
    lines = [PREAMBLE, *(rf"\definecolor{{{_name(outcome)}}}{{HTML}}{{{colour}}}"
                         for outcome, colour in COLOURS.items()),
             r"\begin{table}", r"\centering", rf"\caption{{{_caption(table)}}}",
             rf"\label{{tab:{table.anchor}}}", r"\resizebox{\linewidth}{!}{%",
             rf"\begin{{tabular}}{{l{'r' * len(table.headings)}}}", r"\toprule",
             _line(["", *map(escape, table.headings)]), r"\midrule"]
    for heading, cells in table.lines:
        lines.append(_line([escape(heading), *(escape(c.printed) if c else "" for c in cells)]))
        lines.append(_line(["", *map(_below, cells)]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}}", r"\end{table}", ""])


def _caption(table):
    used = dict.fromkeys(cell.outcome for cell in table.cells if cell.numeric)
    marks = ", ".join(f"{MARKS[name]} {name}" for name in words.OUTCOMES if name in used)
    return (f"{escape(table.title)} ({escape(table.paper)}, {escape(table.place)}): as printed, "
            f"below it measured or recomputed. {marks}.")


def _below(cell):
    if cell is None or not cell.numeric:
        return ""
    return (rf"\textcolor{{{_name(cell.outcome)}}}{{\scriptsize {escape(cell.here)} "
            rf"{MARKS[cell.outcome]}}}")


def _line(texts):
    return " & ".join(texts) + r" \\"


def _name(outcome):
    return "retensor" + outcome.title().replace(" ", "")


def escape(text):
    """Text as LaTeX shows it."""
    return "".join(ESCAPES.get(letter, letter) for letter in str(text))
