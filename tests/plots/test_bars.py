"""The scripts that set rows beside public codes' times: a bar is met, missed or without row."""
import sys
from pathlib import Path

import pytest
import rows

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments import peers  # noqa: E402: scripts beside their specs
from experiments.flycoo import gpu_bars as flycoo_bars  # noqa: E402
from experiments.flycoo import rate_model  # noqa: E402
from experiments.pasta import cpu_bars, gpu_bars  # noqa: E402


def gpu_rows(factor=1.0):
    """Rows of an H200 that meet every bar with `factor` 1, all kernels slower by it else."""
    def line(method, operation, dataset, mode, milliseconds, rank=32, moved=48e6):
        return rows.row(operation, dataset, method, mode, moved=moved, rank=rank,
                        seconds=[1e-3 * factor * milliseconds] * 3, artifact="pasta/gpu-speed")

    lines = [rows.session(), rows.ceilings(backend="cuda", bandwidth=4000.0)]
    for method, times, gain in (("parti.cuda", peers.PARTI, 1),
                                ("pasta.cuda.tuned", peers.PARTI, 2)):
        for dataset, modes in times.items():
            lines += [line(method, "mttkrp", dataset, m, t / gain) for m, t in enumerate(modes)]
    for (operation, dataset), time in gpu_bars.PARTI_FIBERS.items():
        lines.append(line("pasta.cuda.tuned", operation, dataset, 2, time / 2.1, moved=2e9))
    for operation, ranks in (("ttm", (16, 32)), ("ttv", (32,))):
        for mode in range(3):
            # Compulsory bytes are half of what is moved: 0.01 ms at 4 TB/s.
            lines += [line("pasta.cuda.tuned", operation, "g1like", mode, 0.012, rank, moved=80e6)
                      for rank in ranks]
    lines += [line("pasta.cuda.tuned", operation, "uniform-40m", None, 0.12, moved=480e6)
              for operation in ("tew", "ts")]
    return lines


@pytest.fixture
def run(tmp_path, capsys):
    def call(script, lines):
        code = script.main([rows.write(tmp_path / "rows.jsonl", lines)])
        return code, capsys.readouterr().out
    return call


def test_gpu_bars_are_met(run):
    code, printed = run(gpu_bars, gpu_rows())
    assert (code, printed.splitlines()[-1]) == (0, "0 bars missed")


def test_gpu_bars_are_missed_by_slower_kernels(run):
    code, printed = run(gpu_bars, gpu_rows(factor=3))
    assert code == 1
    for what in ("parti.cuda over the original", "tuned MTTKRP over ParTI", "tuned TTM over ParTI",
                 "tuned TTV, share of its bytes' time", "tuned TEW, share of copy"):
        assert any(line.startswith(what) and line.endswith("MISSED")
                   for line in printed.splitlines()), what


def test_a_reduction_counts_and_zeroing_does_not(run):
    """ParTI as fast as the original; another stage takes four times the kernel's time."""
    def with_stage(stage):
        lines = gpu_rows()
        for line in lines:
            if line.get("case", {}).get("method") == "parti.cuda":
                kernel = line["phases"]["stages"]["kernel"]
                line["phases"]["stages"][stage] = [4 * k for k in kernel]
                line["phases"]["run"] = [5 * k for k in kernel]
        return lines

    assert run(gpu_bars, with_stage("zero"))[0] == 0
    code, printed = run(gpu_bars, with_stage("reduce"))
    assert code == 1
    assert all(line.startswith("parti.cuda") for line in printed.splitlines()
               if line.endswith("MISSED"))


def test_a_gpu_bar_without_row_is_missed(run):
    lines = [line for line in gpu_rows() if line.get("case", {}).get("dataset") != "uniform-40m"]
    code, printed = run(gpu_bars, lines)
    assert (code, printed.splitlines()[-1]) == (1, "2 bars missed")
    assert "no row" in printed


def flycoo_rows(tuned=1.0, factor=1.0):
    """Baselines as fast as the originals, FLYCOO's variants at their bars; with `tuned` and
    `factor` slower by them."""
    def line(method, dataset, milliseconds):
        return rows.row("mttkrp_all", dataset, method, None, rank=32, artifact="flycoo/gpu-speed",
                        seconds=[1e-3 * milliseconds] * 3)

    lines = [rows.session(), rows.ceilings(backend="cuda", bandwidth=4000.0)]
    for method, tensors in peers.ORIGINALS.items():
        for dataset, modes in tensors.items():
            slower = factor if method in flycoo_bars.HELD_TO_ORIGINALS else 1
            lines.append(line(method, dataset, slower * (sum(modes) or 99)))
    for dataset in flycoo_bars.TENSORS:
        best = min(sum(t[dataset]) or 99 for t in peers.ORIGINALS.values())
        lines += [line("flycoo.cuda.tuned", dataset, tuned * best / 1.21),
                  line("flycoo.cuda.copies", dataset, tuned * best / 2.01)]
    return lines


def test_flycoo_bars_are_met(run):
    code, printed = run(flycoo_bars, flycoo_rows())
    assert (code, printed.splitlines()[-1]) == (0, "0 bars missed")


def test_flycoo_bars_are_missed_by_slower_baselines_and_variants(run):
    code, printed = run(flycoo_bars, flycoo_rows(factor=1.1))
    missed = [line for line in printed.splitlines() if line.endswith("MISSED")]
    assert code == 1
    assert {line.split()[0] for line in missed} == set(flycoo_bars.HELD_TO_ORIGINALS)
    missed = [line for line in run(flycoo_bars, flycoo_rows(tuned=1.1))[1].splitlines()
              if line.endswith("MISSED")]
    assert [line.split(",")[0] for line in missed] == ["flycoo.cuda.tuned over the best",
                                                       "flycoo.cuda.copies over the best"]


def test_the_best_competitor_needs_a_row_of_each(run):
    lines = [line for line in flycoo_rows() if line.get("case", {}).get("method") != "blco.cuda"]
    assert "flycoo.cuda.tuned over the best               uni          all     no row" in run(
        flycoo_bars, lines)[1]


def test_rows_are_gathered_at_the_rate_of_the_table_s_size():
    assert peers.gather_rate(1000) == 14.0e9
    assert peers.gather_rate(2**23) == 9.8e9
    assert peers.gather_rate(2**28) == pytest.approx(5.35e9)  # half way between 2^27 and 2^29
    assert peers.gather_rate(2**40) == 4.4e9


def test_the_rate_model_of_a_tensor_that_was_counted_by_hand(run):
    """8 x 16 x 4, 9 index bits in a word: records of 8 bytes. Modes gather (7 + 5) rows of 128
    bytes at 14 TB/s each; records and outputs are streamed at 4 TB/s."""
    gather = 3 * 12 * 128 / 14.0e9
    stream = (3 * 7 * 8 + 28 * 128) / 4.0e9
    send = 3 * 7 * 16 / 4.0e9
    lines = [rows.session(), rows.ceilings(backend="cuda", bandwidth=4000.0)]
    for method, parts in (("flycoo.cuda.copies", gather + stream),
                          ("flycoo.cuda.tuned", 2 * (gather + stream + send))):
        line = rows.row("mttkrp_all", "tiny", method, None, rank=32, artifact="flycoo/gpu-speed",
                        kind="generated", seconds=[1e-3 * parts] * 3)
        line["case"]["data"] = {**line["case"]["data"], "dims": [8, 16, 4], "nnz": 7}
        line["facts"] = {"fibers": [5, 5, 7]}  # mode 2 alone cannot be the leaf of its own pass
        lines.append(line)
    code, printed = run(rate_model, lines)
    assert code == 0
    assert "tiny (generated)" in printed and "| 100% | stream |" in printed
    assert "| 50% | stream |" in printed


def cpu_rows(threads, slow=1.0):
    """As fast as the public codes where `slow` is 1, the best MTTKRP 50 times sequential."""
    def line(operation, dataset, mode, method, milliseconds, **params):
        made = rows.row(operation, dataset, "pasta.cpu." + method, mode, moved=48e6,
                        seconds=[1e-3 * milliseconds] * 3, artifact="pasta/cpu-speed",
                        params={"threads": 0, **params})
        return made | {"executed": {"threads": str(threads)}}

    lines = [rows.session(), rows.ceilings(bandwidth=40.0)]
    for dataset, public in cpu_bars.PUBLIC.items():
        for mode, base in enumerate(public["sequential"]):
            lines += [
                line("mttkrp", dataset, mode, "coo", base, update="sequential"),
                line("mttkrp", dataset, mode, "coo", base / 2, update="private"),
                line("mttkrp", dataset, mode, "coo", slow * base / 50, update="owner"),
                line("mttkrp", dataset, mode, "hicoo", slow * public["hicoo"][mode] / 1.1,
                     update="scheduled"),
                line("ttm", dataset, mode, "coo", slow * public["ttm"][mode] / 1.1),
                line("ttv", dataset, mode, "coo", slow * public["ttv"][mode] / 1.1)]
    lines += [line(operation, "uni", None, "coo", slow * 1.25) for operation in ("tew", "ts")]
    return lines


@pytest.mark.parametrize("threads", [2, 16])
def test_cpu_bars_are_met(run, threads):
    code, printed = run(cpu_bars, cpu_rows(threads))
    assert (code, printed.splitlines()[-1]) == (0, "0 bars missed")


def test_cpu_bars_are_missed_by_slower_kernels(run):
    code, printed = run(cpu_bars, cpu_rows(2, slow=40))
    assert code == 1
    for what in ("HiCOO-MTTKRP", "COO-TTM", "COO-TTV", "best", "coo TEW, share of copy"):
        assert any(line.startswith(what) and line.endswith("MISSED")
                   for line in printed.splitlines()), what


def test_the_level_of_alto_is_asked_on_sixteen_cores(run):
    code, printed = run(cpu_bars, cpu_rows(16, slow=20))
    missed = [line for line in printed.splitlines() if line.endswith("MISSED")]
    assert code == 1
    assert any("ALTO" in line for line in missed)
    assert not any(line.startswith(("HiCOO", "COO-TT")) for line in missed)
