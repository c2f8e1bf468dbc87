"""What README of the planner says of its bar follows from the regrets."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ci"))
import advise  # noqa: E402


def table(*lines):
    """A table of regrets as it is printed."""
    head = ["| tensors | calls | problems | mean with trial | above 2 with trial |",
            "|---|---|---|---|---|"]
    return "\n".join(head + [f"| {' | '.join(map(str, line))} |" for line in lines])


def cells(printed):
    """Of the bar's lines the cell of the one group of methods."""
    bar = advise.bar_table({"Methods": advise.lines_of(printed)})
    return [line.split("|")[2].strip() for line in bar.splitlines()[2:]]


def test_a_mean_at_the_bar_holds_and_one_beyond_it_does_not():
    assert cells(table(("all", 1, 9, 1.1, 0), ("all", 10, 9, 1.05, 0), ("real", 1, 3, 1.02, 0),
                       ("real", 10, 3, 1.101, 0))) == [
        "yes, largest 1.1 at 1 call", "no, largest 1.101 at 10 calls", "yes"]


def test_one_regret_above_2_at_any_number_of_calls_is_a_miss():
    assert cells(table(("all", 1, 9, 1.0, 0), ("all", 10, 9, 1.0, 1),
                       ("real", 1, 3, 1.0, 0)))[2] == "no: 0, 1 of 9 problems"
