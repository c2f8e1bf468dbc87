"""Rows as frames, Parquet, runs of specs, figures and claims, with the real program."""
import json
import random
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, random_case

import retensor
from retensor.program import output_of

matplotlib.use("Agg")
ROWS = ROOT / "experiments/results/cpu/flycoo-fig2.jsonl"
SPEC = ROOT / "experiments/flycoo/fig2.yaml"


@pytest.fixture(scope="module")
def frame():
    files = sorted((ROOT / "experiments/results/cpu").glob("*.jsonl"))
    return retensor.load(random.Random(1).sample(files, 4) + [ROWS])


def test_every_column_has_a_type_and_a_name(frame):
    assert len(frame) > 10
    assert not [name for name in frame if frame[name].dtype == object]
    assert all(name.isidentifier() for name in frame)
    assert str(frame["data_nnz"].dtype) == "Int64" and str(frame["stale"].dtype) == "boolean"
    assert str(frame["finished"].dtype) == "datetime64[ns, UTC]"
    assert str(frame["stats_median"].dtype) == "Float64"
    assert frame["executed_load_ratio"].dropna().between(1, 10).all()  # a text that is a number


def test_a_frame_has_what_the_file_has(frame):
    lines = map(json.loads, ROWS.read_text().splitlines())
    rows = {line["key"]: line for line in lines if line["kind"] == "row"}
    found = frame[frame["key"].isin(rows)]
    assert len(found) == len(rows)
    for line in found.itertuples():
        row = rows[line.key]
        assert line.method == row["case"]["method"] and line.rank == row["case"]["rank"]
        assert line.stats_median == row["stats"]["median"]
        assert json.loads(line.data_dims) == row["case"]["data"]["dims"]
    measured = retensor.samples(found)
    assert list(measured["seconds"]) == sum(
        (rows[key]["phases"]["run"] for key in found["key"]), [])


def test_rows_come_back_from_a_frame(frame):
    results = retensor.frame.results_of([ROWS])
    back = retensor.frame.rows_of(retensor.frame.frame_of(results))
    for column in results.rows:
        if column.startswith("executed.") or column == "finished":
            continue  # texts of numbers are numbers now
        assert list(back.rows[column]) == list(results.rows[column]), column
    assert back.sessions == results.sessions and back.ceilings == results.ceilings


@pytest.mark.pypi
def test_parquet_keeps_types_and_rows(frame, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.parquet"
    retensor.to_parquet(frame, path)
    back = retensor.load(path)
    pd.testing.assert_frame_equal(back, frame)
    part = back[back["artifact"] == "flycoo/fig2"]
    assert retensor.plot(part, kind="grouped-bars", x="dataset", y="executed.load_ratio",
                         hue="params.partition").axes


@pytest.mark.pypi
def test_the_program_exports_parquet(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("RETENSOR_PYTHON", sys.executable)
    path = tmp_path / "rows.parquet"
    assert retensor.program.output_of("export", ROWS, "--out", path).strip() == str(path)
    pd.testing.assert_frame_equal(retensor.load(path), retensor.load(ROWS))


def test_the_program_says_what_parquet_needs(tmp_path, monkeypatch):
    (tmp_path / "pyarrow.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("RETENSOR_PYTHON", sys.executable)
    with pytest.raises(retensor.InputError, match="pip install pyarrow"):
        retensor.program.output_of("export", ROWS, "--out", tmp_path / "rows.parquet")


def test_a_frame_of_something_else_is_refused():
    with pytest.raises(retensor.InputError, match="expected a DataFrame of retensor.load"):
        retensor.plot(pd.DataFrame({"a": [1]}))


def test_a_figure_that_cannot_be_drawn_is_bad_input():
    with pytest.raises(retensor.InputError, match="y can't be a rate"):
        retensor.plot(SPEC, rows=ROWS, kind="speedups", y="gflops", to={"method": "flycoo.cpu"})
    frame = retensor.load(ROWS)
    frame["artifact"] = "own/x"
    with pytest.raises(retensor.InputError, match="^own/x: unknown figure kind 'line'; known: "):
        retensor.plot(frame, kind="line")


@pytest.mark.pypi
def test_a_file_of_something_else_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.parquet").write_text("no parquet")
    with pytest.raises(retensor.InputError, match="a.parquet"):
        retensor.load(tmp_path / "a.parquet")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(retensor.InputError, match="b.parquet: found no rows of ReTensor"):
        retensor.load(tmp_path / "b.parquet")


def test_a_run_streams_its_rows(tmp_path):
    spec = retensor.read_spec(SPEC, axes={"rank": [4, 8]})
    sweep = retensor.run(spec, out=tmp_path / "rows.jsonl")
    rows = list(sweep)
    assert [row["case"]["rank"] for row in rows] == [4, 4, 8, 8]
    assert {row["status"] for row in rows} == {"ok"}
    assert len(retensor.load(tmp_path / "rows.jsonl")) == 4
    assert retensor.plot(spec, sweep).axes


def test_a_run_that_is_left_early_stops(tmp_path):
    path = tmp_path / "x.tns"
    retensor.tensor(random_case(1, 3).dense).write(path)
    spec = {"schema": 1, "artifact": "own/long", "title": "Many ranks", "operation": "mttkrp",
            "axes": {"dataset": str(path), "rank": list(range(1, 400))},
            "methods": [{"id": "pasta.cpu.coo"}]}
    for row in retensor.run(spec, out=tmp_path / "rows.jsonl"):
        break
    assert row["status"] == "ok"
    assert 0 < len(retensor.load(tmp_path / "rows.jsonl")) < 1197


def test_external_code_runs_when_it_is_allowed(tmp_path):
    """Its path is relative to the folder of the spec, and the program gets another spec."""
    (tmp_path / "x.tns").write_text("1 1 2.5\n2 3 1\n")
    (tmp_path / "theirs").write_text("#!/bin/sh\nread -r _\n"
                                     """echo '{"status": "unsupported", "reason": "too hard"}'\n""")
    (tmp_path / "theirs").chmod(0o755)
    spec = tmp_path / "mine.yaml"
    spec.write_text("{schema: 1, artifact: own/theirs, title: t, operation: spmm, axes: {rank: 2}, "
                    "measure: {samples: 1}, methods: [{id: theirs.cpu, command: ./theirs}]}")
    how = {"axes": {"dataset": str(tmp_path / "x.tns")}}
    with pytest.raises(retensor.InputError, match="allow"):
        list(retensor.run(spec, **how))
    row, = retensor.run(spec, allow_foreign=True, **how)
    assert row["status"] == "unsupported" and "too hard" in row["reason"]


def test_a_wrong_spec_is_refused_with_its_place():
    spec = retensor.read_spec(SPEC, axez={"rank": 4})
    with pytest.raises(retensor.InputError, match=r"spec.yaml:\d+:\d+: .*axez"):
        list(retensor.run(spec))


def test_a_stranger_asks_which_method_is_fastest():
    table = retensor.bench(random_case(2, 3).dense, "mttkrp", rank=8, samples=2)
    assert table["method"][0] in retensor.methods("mttkrp")
    for mode, lines in table.groupby("mode"):
        measured = lines[lines["status"] == "ok"]
        assert len(measured) >= 3 and measured["seconds"].is_monotonic_increasing, mode
        assert (measured["error_over_bound"] <= 1).all() and measured["over_fastest"].iloc[0] == 1
    assert (table["roofline_share"].dropna() > 0).sum() >= 3
    declined = table[table["status"] != "ok"]
    assert declined["reason"].str.len().gt(10).all() and declined["seconds"].isna().all()


def test_bench_is_the_table_of_the_command(tmp_path):
    """Its problems, methods, states and reasons; a file is not read twice, a wrong word refused."""
    path = tmp_path / "x.tns"
    retensor.tensor(random_case(3, 3).dense).write(path)
    table = retensor.bench(path, "ttv", mode=[0, 2], samples=1, ceilings=False)
    told = json.loads(output_of("bench", path, "--operation", "ttv", "--mode", 0, 2, "--samples", 1,
                                "--no-ceilings", "--quiet", "--json", fine=(0, 1)))
    assert table["roofline_share"].isna().all()
    for problem in told:
        lines = table[table["mode"] == problem["problem"]["mode"]]
        for status, methods in (("ok", problem["methods"]), ("other", problem["not_ok"])):
            here = lines[(lines["status"] == "ok") == (status == "ok")]
            assert set(here["method"]) == {method["method"] for method in methods}
    assert len(table) == sum(len(problem["methods"]) + len(problem["not_ok"]) for problem in told)
    with pytest.raises(retensor.InputError, match="mttkrpp"):
        retensor.bench(path, "mttkrpp")


def test_a_stranger_redraws_a_figure_with_one_parameter_changed(tmp_path):
    spec = retensor.read_spec(SPEC, axes={"rank": 8})
    figure = retensor.plot(spec, retensor.run(spec))
    figure.savefig(tmp_path / "fig2.pdf")
    assert (tmp_path / "fig2.pdf").stat().st_size > 1000


def test_a_stranger_asks_why_a_claim_fails():
    failed = [claim for claim in retensor.claims("bcb_sptc") if claim["holds"] is False]
    assert failed
    for claim in failed:
        assert claim["states"] and np.isfinite(claim["measured"]) and claim["keys"]
        assert claim["verdict"] in ("deviates", "inconsistent", "does not transfer")


def test_claims_are_judged_by_the_rows_that_are_named(tmp_path):
    none = tmp_path / "none.jsonl"
    none.write_text("")
    judged = retensor.claims("tca_spmm", rows=[none])
    assert len(judged) == len(retensor.claims("tca_spmm"))
    assert not any(claim["holds"] for claim in judged if claim["keys"])


def test_a_folder_stands_for_its_files(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "rows.jsonl").write_bytes(ROWS.read_bytes())
    assert len(retensor.load(tmp_path)) == len(retensor.load(ROWS))
    (tmp_path / "empty").mkdir()
    with pytest.raises(retensor.InputError, match="empty: found no result file"):
        retensor.load(tmp_path / "empty")
