"""The reader of result rows: torn lines, schema versions, repeated rows, stale rows."""
import pytest
import rows

from plots.errors import PlotError
from plots.load import load_results


def test_rows_become_dotted_columns(tmp_path):
    path = rows.write(tmp_path / "a.jsonl", rows.sweep())
    results = load_results([path])
    assert len(results.rows) == 16
    first = results.rows.iloc[0]
    assert first["case.params.threads"] == 2 and first["work.bytes"] == 48e6
    assert first["case.mode"] is None and first["case.data.dims"] == [4, 5, 6]
    assert first["machine"] == "Fixture CPU" and first["backend"] == "cpu"
    assert results.ceilings["s1", "cpu"]["copy_dram"]["value"] == 20.0
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


def test_a_format_that_counts_its_index_bytes_has_their_rate(tmp_path):
    counted = rows.row() | {"executed": {"index_bytes": "6000000"}}
    path = rows.write(tmp_path / "a.jsonl", [counted, rows.row(dataset="beta")])
    table = load_results([path]).rows
    assert list(table["rates.index_gbytes"]) == [pytest.approx(3.0), None]


def test_whole_numbers_stay_whole_beside_missing_ones(tmp_path):
    path = rows.write(tmp_path / "a.jsonl", [rows.row(mode=None), rows.row("ttv", mode=2)])
    assert [type(mode) for mode in load_results([path]).rows["case.mode"]] == [type(None), int]


@pytest.mark.parametrize("tail", [b'{"kind":"row","sch', b'{"a":{"b":1}', b"\xff\xfe", b"{\n"])
def test_a_torn_last_line_is_reported_and_left_out(tmp_path, tail):
    path = rows.write(tmp_path / "a.jsonl", rows.sweep(), tail)
    results = load_results([path])
    assert len(results.rows) == 16
    assert len(results.warnings) == 1 and "a.jsonl:19" in results.warnings[0]


def test_damage_before_the_last_line_is_refused(tmp_path):
    path = rows.write(tmp_path / "a.jsonl", [rows.session()], b'{"torn\n{"kind":"x","schema":1}\n')
    with pytest.raises(PlotError, match=r"a\.jsonl:2: not a JSON line"):
        load_results([path])


@pytest.mark.parametrize("line, message", [
    (rows.session() | {"schema": 2}, "schema 2 is newer"),
    ({"kind": "session", "session": "s"}, "schema number"),
    ([1], "schema number"),
    ({"kind": "row", "schema": 1, "session": "s1"}, "row with key, case and status"),
    (rows.row() | {"key": None}, "row with key, case and status"),
    ({"kind": "session", "schema": 1}, "session id")])
def test_bad_lines_are_refused(tmp_path, line, message):
    path = rows.write(tmp_path / "a.jsonl", [rows.session(), line, rows.session("s2")])
    with pytest.raises(PlotError, match=rf"a\.jsonl:2: .*{message}"):
        load_results([path])


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(PlotError, match="absent.jsonl"):
        load_results([tmp_path / "absent.jsonl"])


def test_empty_file_has_the_columns_that_others_rely_on(tmp_path):
    results = load_results([rows.write(tmp_path / "a.jsonl", [])])
    assert results.rows.empty and "case.dataset" in results.rows.columns


def test_a_later_row_replaces_the_same_case_on_the_same_machine(tmp_path):
    other = rows.session("s3", machine={"cpu": {"model": "Other CPU"}})
    path = rows.write(tmp_path / "a.jsonl", [
        rows.session(), rows.row(status="oom", reason="no memory"),
        rows.session("s2"), rows.row(name="s2"), other, rows.row(name="s3")])
    found = load_results([path]).rows
    assert list(found["session"]) == ["s2", "s3"] and list(found["status"]) == ["ok", "ok"]


def test_the_later_of_two_rows_is_known_by_its_time_whatever_the_order_of_files(tmp_path):
    old = rows.write(tmp_path / "old.jsonl", [rows.row(status="oom")])
    new = rows.write(tmp_path / "new.jsonl", [rows.row() | {"finished": "2026-05-01T00:00:00Z"}])
    assert list(load_results([new, old]).rows["status"]) == ["ok"]


def test_rows_are_as_current_as_the_driver_says(tmp_path):
    first, second, third = rows.row(), rows.row(dataset="beta"), rows.row(method="blco.cuda")
    path = rows.write(tmp_path / "a.jsonl", [
        first, second, third,
        {"kind": "confirmation", "schema": 1, "session": "s1", "keys": [second["key"]]}])
    said = {f"s1 {first['key']}": "stale", f"s1 {second['key']}": "confirmed"}
    results = load_results([path], said)
    assert list(results.rows["currency"]) == ["stale", "confirmed", "sources"]
    assert list(results.rows["stale"]) == [True, False, False]
    assert not results.warnings
    assert not load_results([path]).rows["stale"].any()
