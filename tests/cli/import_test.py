"""retensor import and the project's claims about itself, which stand on imported times."""

import json
import subprocess

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
    (HEADER, "no times"),
])
def test_bad_tables_are_refused_with_their_line_and_nothing_is_written(workspace, text, message):
    assert message in bring(workspace, text, code=2).stderr
    assert not workspace.out.exists()


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
