"""The reader of what `retensor rows` prints: typed columns, and what is refused."""
import pytest
import rows

from retensor.errors import PlotError
from retensor.results import load_results


def test_rows_become_dotted_columns(tmp_path):
    path = rows.write(tmp_path / "a.jsonl", rows.sweep())
    results = load_results([path])
    assert len(results.rows) == 16
    first = results.rows.iloc[0]
    assert first["case.params.threads"] == 2 and first["work.bytes"] == 48e6
    assert first["case.mode"] is None and first["case.data.dims"] == [4, 5, 6]
    assert first["device"] == "Fixture CPU" and first["backend"] == "cpu"
    assert results.ceilings["s1", "cpu"]["values"]["copy_dram"] == 20.0
    assert results.warnings == []


def test_facts_of_data_sets_are_columns_and_rows_without_them_load(tmp_path):
    known = rows.row() | {"facts": {"per_fiber": [1.5, 2.0], "tile8": {"tiles": 3, "per_tile": 2},
                                    "factors_over_cache": 0.25}}
    unknown = rows.row(dataset="beta") | {"facts": {"reason": "no memory"}}
    path = rows.write(tmp_path / "a.jsonl", [known, unknown, rows.row(dataset="gamma")])
    table = load_results([path]).rows
    assert list(table["facts.per_fiber"]) == [[1.5, 2.0], None, None]
    assert list(table["facts.tile8.per_tile"]) == [2, None, None]
    assert list(table["facts.reason"]) == [None, "no memory", None]


def test_whole_numbers_stay_whole_beside_missing_ones(tmp_path):
    path = rows.write(tmp_path / "a.jsonl", [rows.row(mode=None), rows.row("ttv", mode=2)])
    assert [type(mode) for mode in load_results([path]).rows["case.mode"]] == [type(None), int]


def test_warnings_of_the_driver_are_kept(tmp_path):
    path = rows.write(tmp_path / "a.jsonl", [
        {"kind": "warning", "schema": 1, "text": "the last line is torn"}, *rows.sweep()])
    assert load_results([path]).warnings == ["the last line is torn"]


@pytest.mark.parametrize("line", [
    rows.session() | {"schema": 2}, rows.session() | {"build": 7}, [1],
    {"kind": "session", "session": "s"},
    {"kind": "session", "schema": 1}, {"kind": "note", "schema": 1},
    {name: value for name, value in rows.row().items() if name != "currency"}])
def test_what_is_no_line_of_the_driver_is_refused(tmp_path, line):
    path = rows.write(tmp_path / "a.jsonl", [rows.session(), line, rows.session("s2")])
    with pytest.raises(PlotError, match=r"a\.jsonl:2: no line of `retensor rows`"):
        load_results([path])


@pytest.mark.parametrize("text", [b'{"torn', b"\xff\xfe", b"\n"])
def test_what_is_no_json_is_refused(tmp_path, text):
    (tmp_path / "a.jsonl").write_bytes(text)
    with pytest.raises(PlotError, match="a.jsonl"):
        load_results([tmp_path / "a.jsonl"])


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(PlotError, match="absent.jsonl"):
        load_results([tmp_path / "absent.jsonl"])


def test_empty_file_has_the_columns_that_others_rely_on(tmp_path):
    results = load_results([rows.write(tmp_path / "a.jsonl", [])])
    assert results.rows.empty and "case.dataset" in results.rows.columns


def test_rows_are_as_current_as_the_driver_says(tmp_path):
    found = load_results([rows.write(tmp_path / "a.jsonl", [
        rows.row(currency=word) for word in ("stale", "confirmed", "sources")])]).rows
    assert list(found["currency"]) == ["stale", "confirmed", "sources"]
    assert found["stale"].dtype == bool and list(found["stale"]) == [True, False, False]
