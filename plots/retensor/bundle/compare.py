"""Whether a row that was measured again agrees with the one of a bundle.

What a case is and does has to be equal; times are never compared. Errors depend on the order of
additions, and what a method executes on the number of its threads.
"""
import math
from itertools import chain

OF_THE_MACHINE = ("facts.cache_bytes", "facts.factors_over_cache")
EQUAL = ("case", "check.ok", "check.entries", "check.sampled", "facts", "work")
OF_THE_THREADS = ("executed", "footprint.format_bytes")
ERROR = "check.relative_frobenius"
ERROR_FACTOR = 10  # that another order of additions may change an error by
COMPARED = ("ok", "wrong")  # the other states tell of the machine, not of the result


def obstacle(then, now):
    """Why two rows of a case cannot be compared; empty where they can."""
    for where, row in (("there", then), ("here", now)):
        if row["status"] not in COMPARED:
            return f"{row['status']} {where}: {row.get('reason', '')}"
    return ""


def differences(then, now):
    """What of two rows of a case differs: [(dotted name, then, now)]."""
    names = [*EQUAL, *(OF_THE_THREADS if _threads(then) == _threads(now) else ())]
    pairs = chain(_leaves("status", then["status"], now["status"]),
                  *(_leaves(name, _at(then, name), _at(now, name)) for name in names))
    found = [(name, a, b) for name, a, b in pairs
             if name not in OF_THE_MACHINE and not _timed(name) and not _equal(a, b)]
    if not _error_agrees(_at(then, ERROR), _at(now, ERROR)):
        found.append((ERROR, _at(then, ERROR), _at(now, ERROR)))
    return found


def _at(row, name):
    for part in name.split("."):
        row = row.get(part) if isinstance(row, dict) else None
    return row


def _threads(row):
    return _at(row, "executed.threads")


def _timed(name):
    """Whether a text of `executed` is a time or a curve of fits, which rounding moves."""
    last = name.rsplit(".", 1)[-1]
    return name.startswith("executed.") and (last.endswith(("_ms", "_s", "seconds"))
                                             or "fit" in last)


def _leaves(name, then, now):
    """Pairs of values that both rows have; an older row may lack a member."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted(then.keys() & now.keys()):
            yield from _leaves(f"{name}.{key}", then[key], now[key])
    elif then is not None or name.startswith("case"):
        if now is not None or name.startswith("case"):
            yield name, then, now


def _equal(then, now):
    """Numbers are equal up to the rounding of a division."""
    if isinstance(then, list) and isinstance(now, list):
        return len(then) == len(now) and all(map(_equal, then, now))
    if isinstance(then, float) or isinstance(now, float):
        try:
            return math.isclose(then, now, rel_tol=1e-9)
        except TypeError:
            return False
    return then == now


def _error_agrees(then, now):
    if then is None or now is None:
        return True
    try:
        return then == now or then / ERROR_FACTOR <= now <= then * ERROR_FACTOR
    except TypeError:
        return False
