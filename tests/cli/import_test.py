"""retensor import and the project's claims about itself, which stand on imported times."""

import json
import subprocess
import sys

import pytest

from sweeps import RETENSOR, ROOT, Workspace

HEADER = "artifact,method,operation,dataset,mode,rank,dtype,milliseconds\n"
LINE = "a/b,parti.cuda,mttkrp,tiny,0,32,f32,2.5\n"
RESULTS = ROOT / "experiments" / "results"
SPEEDS = ["nvidia-h200/flycoo-gpu-speed.jsonl", "nvidia-h200/pasta-gpu-speed.jsonl"]


def retensor(*args, code=0):
    done = subprocess.run([RETENSOR, *map(str, args)], cwd=ROOT, text=True, timeout=120,
                          capture_output=True, check=False)
    assert done.returncode == code, done.stderr
    return done


def bring(workspace, text, *more, code=0):
    table = workspace.folder / "times.csv"
    table.write_text(text)
    return retensor("import", table, "--who", "somebody", "--gpu", "A GPU", "--out", workspace.out,
                    "--registry", workspace.registry, *more, code=code)


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)


def test_times_become_rows_that_say_whose_code_it_was(workspace):
    bring(workspace, "# a remark\n" + HEADER + LINE + LINE.replace(",0,", ",1,"))
    session, = workspace.lines("session")
    assert session["imported"]["who"] == "somebody"
    assert session["machine"] == {"gpu": {"name": "A GPU"}}
    rows = workspace.lines()
    assert [row["case"]["mode"] for row in rows] == [0, 1]
    assert {row["code"] for row in rows} == {"original"}
    assert rows[0]["stats"]["median"] == pytest.approx(2.5e-3)
    assert rows[0]["case"]["data"]["dims"] == [4, 3, 2]


@pytest.mark.parametrize("text, message", [
    (HEADER + LINE.replace("2.5", "-1"), ":2: found milliseconds '-1', expected a positive number"),
    (HEADER + LINE.replace("2.5", "fast"), "milliseconds 'fast'"),
    (HEADER + LINE + LINE, ":3: found the case of line 2 a second time"),
    (HEADER.replace("dataset", "datset") + LINE, "did you mean 'dataset'?"),
    (HEADER.replace(",milliseconds", "") + LINE, "the column milliseconds once"),
    (HEADER + LINE.replace("tiny", "tinny"), "'tiny'"),
    (HEADER + LINE.replace("mttkrp", "mtkrp"), "mttkrp"),
    (HEADER + LINE.replace(",f32", ""), ":2: found 7 cells, expected 8"),
    (HEADER + LINE.replace("parti.cuda", "splatt.cpu"), "method 'splatt.cpu', expected --cpu NAME"),
    (HEADER + LINE.replace("a/b", "a/" + 999 * "b"), "expected <paper>/<artifact>"),
    (HEADER, "no times"),
    (HEADER + LINE.replace("mttkrp", "spmm"), ":2: found mode '0', expected none for spmm"),
    (HEADER + LINE.replace(",0,", ",7,"), ":2: mttkrp: found mode 7, expected 0 to 2"),
    (HEADER + LINE.replace(",0,", ",,"), ":2: found mode '', expected one, counted from 0, for"),
    (HEADER + LINE.replace(",32,", ",,"), ":2: found rank '', expected one for mttkrp"),
    (HEADER + LINE.replace("mttkrp", "ttv"), ":2: found rank '32', expected none for ttv"),
    (HEADER + LINE.replace(",32,", ",0,"), ":2: mttkrp: found rank 0, expected at least 1"),
    (HEADER + LINE.replace("mttkrp", "spmm").replace(",0,", ",,"),
     ":2: spmm: found a tensor of order 3, expected 2"),
    (HEADER + LINE.replace("a/b", "ab"), ":2: found 'ab', expected <paper>/<artifact>"),
    (HEADER + LINE.replace("a/b", '"a,b"'), ":2: found 'a,b', expected <paper>/<artifact>"),
    (HEADER + LINE.replace("a/b", '"a/b'), "with a pair of quotes around all of it or none"),
    (HEADER + LINE.replace("2.5", "inf"), ":2: found milliseconds 'inf', expected a positive"),
    (HEADER + LINE.replace("parti.cuda", "partl.cuda"), "unknown method 'partl.cuda', expected"),
    (HEADER + LINE.replace("mttkrp", "contraction").replace(",0,32,", ",,,"),
     ":2: contraction '': expected the form"),
    (HEADER + LINE.replace("f32", "f16"), ":2: dtype: unknown value type 'f16', expected f32 or"),
    (HEADER + LINE.replace("tiny", "far"), ":2: dataset: unknown data set 'far'"),
])
def test_bad_tables_are_refused_with_their_line_and_nothing_is_written(workspace, text, message):
    assert message in bring(workspace, text, code=2).stderr
    assert not workspace.out.exists()


def test_times_on_a_file_of_ones_own_become_rows(workspace, tmp_path):
    tensor = tmp_path / "own.tns"
    tensor.write_text("1 1 1 2\n3 4 2 5\n")
    bring(workspace, HEADER + LINE.replace("tiny", str(tensor)))
    row, = workspace.lines()
    assert row["case"]["data"]["dims"] == [3, 4, 2] and row["case"]["data"]["kind"] == "file"
    assert ":2: mttkrp: found mode 3, expected 0 to 2" in bring(
        workspace, HEADER + LINE.replace("tiny", str(tensor)).replace(",0,", ",3,"), code=2).stderr


def test_a_table_names_the_variant_of_an_operation(workspace, tmp_path):
    matrix = tmp_path / "square.tns"
    matrix.write_text("1 1 2\n2 2 5\n")
    head = HEADER.replace("mode,rank", "variant")
    bring(workspace, head + f'a/b,tsparse.cuda,contraction,{matrix},"ab,bc->ac",f32,2.5\n'
          f"a/b,pasta.cuda.coo,tew,{matrix},,f32,2.5\na/b,pasta.cuda.coo,ts,{matrix},div,f32,2\n")
    assert [row["case"]["variant"] for row in workspace.lines()] == ["ab,bc->ac", "add", "div"]


def test_the_table_of_an_adapter_is_taken(workspace, tmp_path):
    matrix, program = tmp_path / "square.mtx", tmp_path / "spmm"
    matrix.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 3.0\n")
    program.write_text("#!/bin/sh\necho 'Bmp Device | 2.5 ms'\n")
    program.chmod(0o755)
    adapter = ROOT / "experiments/examples/foreign/adapters/tsparse_times.py"
    table = subprocess.run([sys.executable, adapter, program, matrix, matrix], check=True,
                           text=True, capture_output=True, timeout=60).stdout
    bring(workspace, table)
    row, = workspace.lines()
    assert row["case"]["variant"] == "ab,bc->ac" and row["stats"]["median"] == 2.5e-3


def test_a_table_of_a_spreadsheet_is_taken_and_a_torn_line_is_reported(workspace):
    bring(workspace, "\ufeff" + HEADER + LINE.replace("a/b", '"a/b"'))
    row, = workspace.lines()
    assert row["case"]["artifact"] == "a/b"
    whole = workspace.out.read_text()
    workspace.out.write_text(whole + '{"kind":"ro')
    done = bring(workspace, HEADER + LINE.replace(",0,", ",1,"))
    assert "cut off a torn last line of 11 bytes" in done.stderr
    assert len(workspace.lines()) == 2


def test_a_table_that_is_not_there_is_a_mistake_of_the_caller(workspace):
    done = retensor("import", workspace.folder / "no.csv", "--who", "x", "--gpu", "A", "--out",
                    workspace.out, code=2)
    assert "no.csv: can't be read: No such file" in done.stderr
    for command in (["rows"], ["compare", "no.jsonl"], ["confirm"], ["calibrate"]):
        assert "no.jsonl: there is no such file" in retensor(*command, "no.jsonl", code=2).stderr


@pytest.mark.parametrize("command", [
    ["compare", "OUT"],
    ["referee", "experiments/pasta/fig4.yaml", "--rows"],
    ["verdict", "pasta", "--rows"],
    ["confirm", "--dry-run"],
    ["calibrate"],
])
def test_a_torn_last_line_is_told_by_whoever_reads_the_file(workspace, command):
    bring(workspace, HEADER + LINE)
    with open(workspace.out, "a", encoding="utf-8") as file:
        file.write('{"kind":"ro')
    command = [workspace.out if word == "OUT" else word for word in command]
    done = subprocess.run([RETENSOR, *command, workspace.out], cwd=ROOT, text=True, timeout=120,
                          capture_output=True, check=False)
    assert f"{workspace.out}:3: the last line is torn and was left out" in done.stderr


def test_a_damaged_line_is_shown_with_its_zero_bytes(workspace):
    bring(workspace, HEADER + LINE)
    whole = workspace.out.read_text()
    workspace.out.write_text("\0abc\n" + whole)
    done = retensor("rows", workspace.out, code=2)
    assert ":1: found '\\x00abc', expected a line of a result file (JSON)" in done.stderr


def test_an_import_names_its_source_and_one_device(workspace):
    table = workspace.folder / "times.csv"
    table.write_text(HEADER + LINE)
    common = ["import", table, "--registry", workspace.registry, "--out", workspace.out]
    assert "--who" in retensor(*common, "--gpu", "A", code=2).stderr
    assert "either" in retensor(*common, "--who", "x", code=2).stderr
    assert "either" in retensor(*common, "--who", "x", "--gpu", "A", "--cpu", "B", code=2).stderr


def test_imported_rows_change_no_verdict_on_a_paper():
    imported = RESULTS / "originals" / "h200.jsonl"
    own = [RESULTS / name for name in SPEEDS]
    for paper in ("flycoo", "pasta"):
        alone, beside = (retensor("verdict", paper, "--json", "--rows", *files).stdout
                         for files in (own, [*own, imported]))
        assert alone == beside


def verdicts(tmp_path, change):
    """The project's verdicts on the committed rows of the GPU's speeds after `change(row)`."""
    files = []
    for name in SPEEDS:
        path = tmp_path / name.split("/")[-1]
        lines = [json.loads(text) for text in (RESULTS / name).read_text().splitlines()]
        kept = [line for line in lines if line["kind"] != "row" or change(line) is not False]
        path.write_text("".join(json.dumps(line) + "\n" for line in kept))
        files.append(path)
    found = json.loads(retensor("verdict", "retensor", "--json", "--rows", *files,
                                RESULTS / "originals" / "h200.jsonl").stdout)
    return {v["id"]: v for v in found}


def slower(method, factor):
    def change(row):
        if row["case"]["method"] == method and row["status"] == "ok":
            row["phases"]["run"] = [factor * t for t in row["phases"]["run"]]
            row["stats"]["median"] *= factor
    return change


@pytest.mark.parametrize("claim, method, factor", [
    ("R-original-blco", "blco.cuda", 4), ("R-original-mm_csf", "mm_csf.cuda", 4),
    ("R-original-b_csf", "b_csf.cuda", 4), ("R-original-parti", "parti.cuda", 0.25),
    ("R-flycoo-tuned-each", "flycoo.cuda.tuned", 0.25),
    ("R-flycoo-copies-mean", "flycoo.cuda.copies", 0.25),
    ("R-pasta-mttkrp-each", "pasta.cuda.tuned", 4), ("R-pasta-ttm", "pasta.cuda.tuned", 4),
    ("R-pasta-fibers", "pasta.cuda.tuned", 0.1), ("R-pasta-stream", "pasta.cuda.tuned", 4),
])
def test_a_claim_of_the_project_turns_with_the_times_that_it_is_about(tmp_path, claim, method,
                                                                      factor):
    before = verdicts(tmp_path, lambda row: None)[claim]["verdict"]
    after = verdicts(tmp_path, slower(method, factor))[claim]["verdict"]
    assert {before, after} == {"consistent", "inconsistent"}


def test_a_claim_about_six_tensors_needs_all_of_them(tmp_path):
    left_out = verdicts(tmp_path, lambda row: row["case"]["dataset"] != "deli4s")
    assert left_out["R-original-blco"]["verdict"] == "not tested"
    assert "5 of 6" in left_out["R-original-blco"]["reason"]
