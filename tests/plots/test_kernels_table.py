"""README's table of kernels: what counts as own, as published and as a competitor."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ci"))
import kernels_table  # noqa: E402


def row(method, seconds, form="published", dataset="a", cache="warm", **params):
    """A row of MTTKRP over all modes."""
    return {"case": {"artifact": "flycoo/gpu-speed", "operation": "mttkrp_all", "method": method,
                     "dataset": dataset, "mode": None, "rank": 32, "variant": "", "cache": cache,
                     "params": params},
            "form": form, "stats": {"median": seconds}, "copy": {"compulsory_share": 0.5}}


ROWS = [row("flycoo.cuda", 8), row("blco.cuda", 4), row("parti.cuda", 6),
        row("flycoo.cuda.copies", 2, "own"), row("flycoo.cuda.tuned", 3, "own"),
        row("flycoo.cuda.wide", 1, "own", gather="f16"),
        row("blco.cuda", 9, dataset="b"), row("flycoo.cuda.copies", 1, "own", dataset="b"),
        row("flycoo.cuda.tuned", 1, "own", dataset="c"),
        row("blco.cuda", 5, cache="flushed"), row("flycoo.cuda.tuned", 4, "own", cache="flushed")]


def cells(rows):
    """The cells of the first family's line."""
    line = kernels_table.table(rows).splitlines()[2]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_the_fastest_of_each_group_count_and_cases_without_competitor_do_not():
    # 4/2 and 9/1, whose geometric mean is 4.24; as published 4/8; cold 5/4.
    assert cells(ROWS) == ["`blco.cuda` (2)", "2", "0.50", "4.24", "2.00", "1", "not measured",
                           "1.25", "50%"]


def test_without_another_competitor_the_published_form_is_the_measure():
    rows = [row("flycoo.cuda", 8), row("flycoo.cuda.tuned", 2, "own")]
    assert cells(rows)[:4] == ["`flycoo.cuda` (1)", "1", "1.00", "4.00"]


@pytest.mark.parametrize("change", [
    row("mm_csf.cuda", 3), row("flycoo.cuda.tuned", 1.5, "own"), row("flycoo.cuda", 7),
    row("mm_csf.cuda", 4, cache="flushed")], ids=lambda change: change["case"]["method"])
def test_a_faster_row_changes_the_line(change):
    assert cells([*ROWS, change]) != cells(ROWS)


def test_operands_of_16_bits_stand_apart():
    wide = kernels_table.ratios(ROWS, "flycoo.cuda", kernels_table.HALF, "warm")
    assert wide["own"] == [4]


def test_a_readme_that_is_out_of_date_is_found(tmp_path, monkeypatch, capsys):
    page = tmp_path / "README.md"
    page.write_text(kernels_table.BEGIN + "old\n" + kernels_table.END)
    monkeypatch.setattr(kernels_table, "README", page)
    monkeypatch.setattr(kernels_table, "rows", lambda retensor: ROWS)
    assert kernels_table.main(["build", "--check"]) == 1
    assert "out of date" in capsys.readouterr().out
    assert kernels_table.main(["build"]) == 0 and kernels_table.main(["build", "--check"]) == 0
