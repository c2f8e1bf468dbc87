"""What the series of a figure are called: the one place that names them, for cells and for cases
one by one alike.

A series is named by its hue and by what else differs inside a cell. In an ablation, where more than
half of the settings share a value of several choices, that value is left out: a series is named by
where it departs from the others. Two settings never share a name.
"""
import json

import numpy as np

SELF_EXPLAINING = ("case.method", "case.operation", "case.dataset", "device")
FEWEST_CHOICES = 3  # that make an ablation


class Names:
    """The name of each row's series."""

    def __init__(self, rows, hue, free, words=None):
        """`free` are the columns beside `hue` that tell rows of one cell apart; `words` are what
        values of `hue` are called in place of themselves."""
        self.words = {_key_of(value): word for value, word in (words or {}).items()}
        self.columns = list(dict.fromkeys((hue, *free)))
        self.hue = hue
        settings = rows[self.columns]
        kept = ~settings.apply(lambda values: values.map(text)).duplicated()
        settings = settings[kept].to_dict("records")
        self.usual = self._usual(settings, free)
        self.names = self._told(settings)
        if len(set(self.names.values())) < len(self.names):
            self.usual = {}
            self.names = self._told(settings)
        if len(set(self.names.values())) < len(self.names):
            self.names = {self._key(setting): ", ".join(
                f"{name.split('.')[-1]}={text(setting[name])}" for name in self.columns)
                for setting in settings}

    def __call__(self, row):
        return self.names[self._key(row)]

    def _key(self, row):
        return tuple(text(row[name]) for name in self.columns)

    def _told(self, settings):
        return {self._key(setting): ", ".join(
            self._named(name, setting[name]) for name in self.columns
            if name == self.hue or not self._goes_without_saying(name, setting[name]))
            for setting in settings}

    def _named(self, name, value):
        word = self.words.get(_key_of(value)) if name == self.hue else None
        return word or named(name, value)

    def _goes_without_saying(self, name, value):
        return value is None or name in self.usual and text(self.usual[name]) == text(value)

    def _usual(self, settings, free):
        """The values of free columns that more than half of the settings share."""
        if len(free) < FEWEST_CHOICES:
            return {}
        usual = {}
        for name in free:
            values = [text(setting[name]) for setting in settings]
            most = max(sorted(set(values)), key=values.count)
            value = json.loads(most)
            if (values.count(most) > len(values) / 2 and value is not None
                    and name not in SELF_EXPLAINING):
                usual[name] = value
        return usual


def _key_of(value):
    """As a key of a spec's map has it: 0.0 is 0."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{value:g}" if is_number else written(value)


def named(name, value):
    """A value with what it is of, where that is not clear by itself."""
    if name in SELF_EXPLAINING:
        return str(value)
    return f"{name.split('.')[-1]}={written(value)}"


def written(value):
    """As a spec has it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():  # of a column with gaps
        value = int(value)
    return "none" if value in ("", None) else str(value)


def text(value):
    """A value as text that tells 1, True and '1' apart."""
    return json.dumps(value, sort_keys=True, default=str)
