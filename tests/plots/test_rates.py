"""The model of MTTKRP's time by the rates of a device."""
import sys
from pathlib import Path

import pytest
import rows

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments import rates  # noqa: E402: scripts beside their specs
from experiments.flycoo import rate_model  # noqa: E402


@pytest.fixture
def run(tmp_path, capsys):
    def call(script, lines):
        code = script.main([rows.write(tmp_path / "rows.jsonl", lines)])
        return code, capsys.readouterr().out
    return call


def test_rows_are_gathered_at_the_rate_of_the_table_s_size():
    assert rates.gather_rate(1000) == 14.0e9
    assert rates.gather_rate(2**23) == 9.8e9
    assert rates.gather_rate(2**28) == pytest.approx(5.35e9)  # half way between 2^27 and 2^29
    assert rates.gather_rate(2**40) == 4.4e9


def test_a_session_s_own_probes_come_first():
    found = rates.Rows.__new__(rates.Rows)
    found.ceilings = {("s", "cuda"): {"values": {"gather": 3.0, "gather_dram": 1.0,
                                                 "gather_1024": 12000.0, "gather_128": 20000.0}}}
    gathers = found.gathers({"session": "s"})
    assert gathers == {2**17: 20.0e9, 2**20: 12.0e9}
    assert rates.gather_rate(2**30, gathers) == 12.0e9


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
