"""Values of rows and verdicts as the text of pages."""
import math
import shlex
from pathlib import Path

import pandas as pd

from retensor.figures.cells import number


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
    """Names and lines of a table without the columns that say nothing."""
    kept = [index for index in range(len(names))
            if any(show(line[index]) not in ("", "0") for line in lines)]
    return [names[index] for index in kept], [[line[index] for index in kept] for line in lines]


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
