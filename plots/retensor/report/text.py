"""Values of rows and verdicts as the text of pages."""
import math
import shlex
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from retensor.figures.cells import number

DITTO = Markup('"')
FEW_LINES = 5  # of a table, which then names in its columns what they have in common


def show(value):
    """A value of a row or verdict as text: numbers short."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(show, value))
    return str(value)


def told(names, lines):
    """Names and lines of a table without the columns that say nothing or, but for the first, the
    same in each of many lines or as another; and what those say: {name: text or other name}."""
    kept, same, seen = [], {}, {}
    for index, name in enumerate(names):
        texts = tuple(show(line[index]) for line in lines)
        if not set(texts) - {"", "0"}:
            continue
        if kept and len(lines) > FEW_LINES and (len(set(texts)) == 1 or texts in seen):
            same[name] = texts[0] if len(set(texts)) == 1 else seen[texts]
        else:
            kept.append(index)
            seen[texts] = name
    return ([names[index] for index in kept], [[line[index] for index in kept] for line in lines],
            same)


def dittoed(lines):
    """The texts of a table's lines; what stands above too is a ditto mark, until table.js has it
    back."""
    above = ()
    for line in lines:
        texts = [show(value) for value in line]
        yield [DITTO if len(text) > len(DITTO) and text == upper else text
               for text, upper in zip(texts, above or [""] * len(texts))]
        above = texts


def flat(value, prefix=""):
    """Leaves of a nested map under dotted names."""
    if not isinstance(value, dict):
        return {prefix: value}
    return {name: leaf for key, item in value.items()
            for name, leaf in flat(item, f"{prefix}.{key}" if prefix else str(key)).items()}


def few(texts, shown=3):
    """The first of many texts, and how many more there are."""
    more = len(texts) - shown
    return "; ".join([*texts[:shown], *([f"and {more} other digits"] if more > 0 else [])])


def argv(words):
    """A command line without the folder of its program."""
    words = [str(word) for word in words or []]
    return shlex.join([Path(words[0]).name, *words[1:]]) if words else ""


def joined(words, last="and"):
    """Words as in a sentence: a, b and c."""
    words = list(words)
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def counted(number, word):
    """A number with what it counts: 1 claim, 2 claims."""
    return f"{number} {word}" + ("" if number == 1 else "s")
