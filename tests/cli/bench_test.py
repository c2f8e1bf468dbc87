"""`bench`: every method on one tensor without a spec, as `run` would measure it; and `plan`, which
says before what methods will decline."""
import json
import re
import struct
import subprocess

import pytest

from sweeps import RETENSOR


def bench(workspace, *args, code=0):
    done = subprocess.run(
        [RETENSOR, "bench", *map(str, args), "--samples", "3", "--registry",
         str(workspace.registry), "--cache", str(workspace.cache)],
        cwd=workspace.folder, text=True, capture_output=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_methods_are_ranked_fastest_first_with_what_they_decline(workspace):
    problem, = json.loads(bench(workspace, "tiny.tns", "--mode", "1", "--rank", "4",
                                "--no-ceilings", "--json").stdout)
    assert problem["problem"].items() >= {"operation": "mttkrp", "mode": 1, "rank": 4}.items()
    assert problem["problem"]["data"]["nnz"] == 6
    times = [method["seconds"] for method in problem["methods"]]
    assert len(times) > 2 and times == sorted(times)
    for method in problem["methods"]:
        assert method["samples"] == 3 and method["spread"] >= 1
        assert 0 <= method["error_over_bound"] <= 1
        assert method["format_bytes"] >= 0 and method["prepare_seconds"] > 0
    assert {m["status"] for m in problem["not_ok"]} <= {"unsupported"}
    assert all(m["reason"] for m in problem["not_ok"])


def test_the_table_shows_every_problem_with_the_reasons(workspace):
    done = bench(workspace, "tiny", "--operation", "ttm_chain", "--mode", "0", "2", "--rank", "2")
    out = done.stdout
    for mode in (0, 2):
        assert f"ttm_chain of tiny, mode {mode}, rank 2, f32" in out
    assert "spread" in out and "error/bound" in out and "hlsto.cpu" in out
    assert "1.00x" in out and re.search(r" [0-9]+% ", out)
    # What declines stands in the table, once a reason, and has no line among those of the progress.
    assert "unsupported" not in done.stderr and "hlsto.cpu" in done.stderr
    if "no usable NVIDIA driver" in out:
        assert out.count("no usable NVIDIA driver") == 2 and "hicoo_chain.cuda" in out


def test_without_ceilings_there_is_no_share_of_the_roofline(workspace):
    done = bench(workspace, "tiny", "--mode", "0", "--method", "pasta.cpu.coo", "--no-ceilings",
                 "--output", "rows.jsonl")
    row = next(line for line in done.stdout.splitlines() if line.startswith("pasta.cpu.coo"))
    assert re.split(r" {2,}", row)[5] == "-"
    kinds = {json.loads(line)["kind"] for line in
             (workspace.folder / "rows.jsonl").read_text().splitlines()}
    assert kinds == {"session", "row"}


def test_a_matrix_market_file_and_the_rows_that_are_kept(workspace):
    (workspace.folder / "m.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n3 2 2\n1 1 2.5\n3 2 1\n")
    done = bench(workspace, "m.mtx", "--operation", "spmm", "--rank", "8", "--method",
                 "tca_spmm.cpu", "--no-ceilings", "--output", "rows.jsonl")
    assert "tca_spmm.cpu" in done.stdout
    row, = workspace.lines()
    assert (row["status"], row["case"]["method"]) == ("ok", "tca_spmm.cpu")
    assert row["check"]["ok"] and len(row["phases"]["run"]) == 3


@pytest.mark.parametrize("kind, value", [("f32", 0.1000000014901161), ("f64", 0.1)])
def test_a_text_is_read_in_the_type_that_is_asked_for(workspace, kind, value):
    (workspace.folder / "a.tns").write_text("2\n1 1\n1 1 0.1\n")
    done = bench(workspace, "a.tns", "--operation", "tew", "--type", kind, "--method",
                 "pasta.cpu.coo", "--no-ceilings", "--output", "rows.jsonl")
    assert "pasta.cpu.coo" in done.stdout
    kept, = workspace.cache.glob("tensors/*.tnsb")
    width = 8 if kind == "f64" else 4
    held, = struct.unpack("<d" if kind == "f64" else "<f", kept.read_bytes()[-width:])
    assert held == pytest.approx(value, rel=1e-16)


def test_rows_can_be_kept_in_a_folder(workspace):
    (workspace.folder / "kept").mkdir()
    done = bench(workspace, "tiny", "--operation", "ttv", "--method", "pasta.cpu.coo",
                 "--no-ceilings", "--output", "kept")
    assert "pasta.cpu.coo" in done.stdout
    assert len(list((workspace.folder / "kept").glob("*.jsonl"))) == 1


@pytest.mark.parametrize("args, words", [
    (["tiny", "--operation", "mtkrp"], "did you mean 'mttkrp'?"),
    (["tinny"], "retensor: bench: found unknown data set 'tinny'"),
    (["tiny", "--mode", "3"], "mode 3"),
    (["tiny", "--rank", "0"], "--rank: found 0"),
    (["tiny", "--samples", "0"], "--samples"),
    (["tiny", "--operation", "spmm"], "spmm: found a tensor of order 3, expected 2"),
    (["tiny", "--method", "hlsto.cp"], "did you mean 'hlsto.cpu'?"),
    (["tiny", "--type", "f16"], "f16"),
    (["tiny", "--command", ""], "--command: found no words"),
    (["tiny", "--command", "./x 'y"], "--command: found one ' in \"./x 'y\" that is not closed"),
    (["tiny", "--mode", "7"], "mode 7, expected 0 to 2: no tensor here has more modes"),
    (["tiny", "--command", "p", "--precision", "f8"], "--precision: found 'f8', expected one of"),
    (["tiny", "--library", "mine=./l.so"], "or ID=FILE with an id such as mine.cpu"),
    (["tiny", "--library", "./l.so"], "retensor: --library: found no file"),
    (["tiny", "--variant", "add"], "--variant does nothing with --operation mttkrp"),
    (["tiny", "--operation", "ttv", "--rank", "4"], "--rank does nothing with --operation ttv"),
    (["tiny", "--operation", "tew", "--mode", "0"], "--mode does nothing with --operation tew"),
    (["tiny", "--format", "mtx"], "--format does nothing without --command"),
    (["tiny", "--precision", "f32"], "--precision does nothing without --command or --library"),
    ([], "a data set or a tensor file"),
])
def test_what_can_not_be_run_is_refused_in_one_line(workspace, args, words):
    done = subprocess.run([RETENSOR, "bench", *args, "--registry", str(workspace.registry),
                           "--cache", str(workspace.cache)], cwd=workspace.folder, text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1 and done.stdout == ""


def test_words_of_a_command_may_stand_in_quotes(workspace):
    bench(workspace, "tiny", "--operation", "ts", "--no-ceilings", "--output", "own.jsonl",
          "--command", "/bin/sh  -c 'exit 3' \"\" it\"'\"s", code=1)
    lines = map(json.loads, (workspace.folder / "own.jsonl").read_text().splitlines())
    foreign, = [line["case"]["foreign"] for line in lines if "foreign" in line.get("case", {})]
    assert foreign["args"] == ["-c", "exit 3", "", "it's"]


def declined_cases(rows):
    return {(row["case"]["method"], row["case"]["operation"], row["case"]["dataset"],
             row["case"]["mode"], row["case"]["dtype"], row["reason"]) for row in rows}


def test_a_plan_says_what_run_will_decline(workspace):
    workspace.add_uniform("flat", [9, 7], 12)
    workspace.add_uniform("deep", [3, 4, 3, 3, 4, 3], 30)
    spec = workspace.spec(
        ["pasta.cpu.coo", "hlsto.cpu", "flycoo.cpu", "tca_spmm.cpu", "pasta.cuda.coo",
         ("cpd.cpu.als", {"mttkrp": ["flycoo.cpu", "hlsto.cpu"]}),
         ("pasta.cpu.hicoo", {"block": [4, 6]})],
        operation=["mttkrp", "spmm", "ttm_chain", "cpd"],
        axes={"dataset": ["tiny", "flat", "deep"], "rank": 3, "dtype": ["f32", "f64"]})
    planned = subprocess.run([RETENSOR, "plan", str(spec), "--json", "--registry",
                              str(workspace.registry), "--cache", str(workspace.cache)],
                             cwd=workspace.folder, text=True, capture_output=True, timeout=120)
    assert planned.returncode == 0, planned.stderr
    plan, = json.loads(planned.stdout)
    declined = [skip for skip in plan["skips"] if skip["declined"]]
    skips = declined_cases(declined)
    reasons = {reason for *_, reason in skips}
    assert {"found a tensor of order 2, expected 3 to 5", "block edge 6 is not a power of two",
            "hlsto.cpu: found a tensor of order 6, expected 3 to 5"} <= reasons
    assert "supports only tew, ts, ttv, ttm and mttkrp, not cpd" in reasons
    done = workspace.run(spec, "--json", program=RETENSOR)
    assert done.returncode == 1, done.stderr
    rows = workspace.lines()
    assert declined_cases(row for row in rows if row["status"] == "unsupported") == skips
    assert len(rows) == len(plan["cases"]) + len(declined)
    summary, = json.loads(done.stdout)
    assert summary["rows"] == len(rows) and summary["ok"] == len(plan["cases"])
    assert sum(method["rows"] for method in summary["methods"]) == len(rows)
    assert sum(entry["rows"] for entry in summary["not_ok"]) == len(declined)


def test_a_summary_by_method_follows_a_run(workspace):
    spec = workspace.spec([("pasta.cpu.coo", {"update": ["atomic", "owner"]}), "pasta.cpu.hicoo"],
                          operation=["mttkrp"], axes={"dataset": "tiny", "rank": 4},
                          measure={"samples": 4})
    done = workspace.run(spec, program=RETENSOR)
    assert done.returncode == 0, done.stderr
    talk = done.stderr.splitlines()
    # Progress lines name what varies and the spread.
    lines = [line for line in talk if line.startswith("[")]
    assert len(lines) == 9
    for line in lines:
        assert "mode=" in line and "spread " in line and "rank" not in line
    assert sum("update=owner" in line for line in lines) == 3
    head = next(k for k, line in enumerate(talk) if line.startswith("test/spec: 9 of 9 rows ok"))
    assert talk[head + 1].split() == ["method", "ok", "fastest", "time", "/", "fastest", "widest",
                                      "spread"]
    counts = [re.search(r" 3 of 3 +(\d) of 3 +[\d.]+x +[\d.]+x$", line)
              for line in talk[head + 2:head + 5]]
    assert sum(int(count.group(1)) for count in counts) == 3
    quiet = workspace.run(spec, "--quiet", program=RETENSOR)
    assert quiet.stderr == ""
