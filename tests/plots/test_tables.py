"""Tables of a paper: claims beside measured values, machines, intensities; views of other rows."""
import csv

import pytest
import rows

from retensor.errors import PlotError
from retensor.figures import roofline
from retensor.figures.claims import basis, measured, published, tolerance
from retensor.figures.view import make_view
from retensor.results import load_results
from retensor.save import save_artifact
from retensor.spec import FigureSpec, load_spec


def read(tmp_path, lines):
    return load_results([rows.write(tmp_path / "rows.jsonl", lines)])


def claim(**changes):
    return {"paper": "pasta", "id": "P-1", "place": "Table I, row TTV", "states": "a number",
            "published": {"value": 0.5, "unit": "flop/byte"}, "verdict": "consistent",
            "measured": 0.25, "data": "generated", "hardware": "any", "rows": 2, "of": 3,
            "reason": "", **changes}


def saved(tmp_path, spec, lines, verdicts=()):
    view, paths = save_artifact(read(tmp_path, lines), spec, tmp_path / "out", verdicts)
    with open(paths["csv"], encoding="utf-8") as file:
        return view, list(csv.DictReader(file))


@pytest.mark.parametrize("allowed, text", [
    ({"factor": 2}, "factor 2"), ({"relative": 0.001}, "\N{PLUS-MINUS SIGN}0.1%"),
    ({"absolute": 0.5}, "\N{PLUS-MINUS SIGN}0.5"), ({"absolute": 0}, ""), (None, "")])
def test_tolerances_as_text(allowed, text):
    assert tolerance({"tolerance": allowed}) == text


def test_shares_are_written_in_percent():
    share = claim(published={"at_least": 2 / 3, "unit": "share of the groups in this order"},
                  tolerance={"absolute": 0.05})
    assert published(share) == "at least 66.7% of the groups in this order"
    assert measured(share, 0.44) == "44%" and measured(share, None) == ""
    assert tolerance(share) == "\N{PLUS-MINUS SIGN}5 percentage points"
    plain = claim(published={"range": [0.5, 1], "unit": "share"})
    assert published(plain) == "50% to 100%"
    assert measured(claim(), 0.44) == "0.44"


def test_a_verdict_says_what_it_stands_on():
    elsewhere = claim(hardware="other", machine="NVIDIA H200", competitor_code="own",
                      reason="ordering holds")
    assert basis(elsewhere) == ("ordering holds, generated data, other hardware: NVIDIA H200, "
                                "competitor's code: own, 2 of 3 rows")
    assert basis(claim(hardware="paper")) == "generated data, the paper's hardware, 2 of 3 rows"
    untested = elsewhere | {"verdict": "not tested", "measured": None, "reason": "no rows yet"}
    assert basis(untested) == "no rows yet"


def test_claims_of_a_place_stand_with_published_and_measured_values(tmp_path):
    spec = FigureSpec("pasta/observation1", "Claims", {"kind": "claims", "place": ["Table I,"]})
    verdicts = [claim(), claim(id="P-2", place="Table II(a), r1"),
                claim(id="P-3", published={"range": [1, 2]}, verdict="not tested", measured=None,
                      reason="no rows yet")]
    spec.of = "pasta/fig4"
    verdicts[0]["tolerance"] = {"factor": 2}
    _, table = saved(tmp_path, spec, rows.sweep(), verdicts)
    assert [line["tolerance"] for line in table] == ["factor 2", ""]
    assert [line["claim"] for line in table] == ["P-1", "P-3"]
    assert (table[0]["published"], table[0]["measured"]) == ("0.5 flop/byte", "0.25")
    assert table[0]["on"] == "generated data, 2 of 3 rows"
    assert (table[1]["published"], table[1]["on"]) == ("1 to 2", "no rows yet")
    with pytest.raises(PlotError, match="no verdict"):
        save_artifact(read(tmp_path, rows.sweep()), spec, tmp_path / "none", [claim(place="x")])


def test_a_view_draws_the_rows_of_another_artifact_in_its_order(tmp_path):
    (tmp_path / "fig4.yaml").write_text(rows.SPEC.replace("[alpha, beta]", "[beta, alpha]"))
    (tmp_path / "share.yaml").write_text("schema: 1\nartifact: pasta/share\ntitle: Shares\n"
                                         "of: pasta/fig4\nfigure: {kind: table, facet: operation,"
                                         " y: roofline.share}\n")
    view = make_view(read(tmp_path, rows.sweep()), load_spec(tmp_path / "share.yaml"))
    assert view.xs == ["beta", "alpha"] and view.stem == "share"
    assert view.value_label == "share of the roofline (%)"
    found = view.cells[0].measured  # 10e6 flops in 5 ms are 2 GFLOPS of 20 GB/s / 12 bytes
    assert found.value == pytest.approx(100 * 2 / (20 / 12))
    assert found.low < found.value < found.high


def test_table_1_counts_fibers_and_blocks_from_the_rows(tmp_path):
    spec = FigureSpec("pasta/table1", "Intensities", {"kind": "table"},
                      {"case.dataset": ["alpha"]}, of="pasta/fig4")
    nonzeros, fibers = 7, (3, 5, 6)
    lines = [rows.row("ttv", mode=m, flops=14.0, moved=12.0 * nonzeros + 12 * f)
             for m, f in enumerate(fibers)]
    blocked = rows.row("mttkrp", mode=0, method="pasta.cpu.hicoo", flops=30.0, moved=60.0)
    blocked["executed"] = {"blocks": "4"}
    _, table = saved(tmp_path, spec, [rows.session(), *lines, blocked], [claim()])
    assert [(line["kernel"], line["M"]) for line in table] == [("TTV", "7"), ("MTTKRP", "7")]
    assert table[0]["M_F by mode"] == "3, 5, 6"
    assert table[0]["OI printed"] == "0.5"
    assert table[0]["OI, COO"] == "0.08974 to 0.1167"
    assert (table[1]["n_b"], table[1]["OI, HiCOO"]) == ("4", "0.5")


def test_table_3_sets_the_machine_beside_the_papers(tmp_path):
    spec = FigureSpec("pasta/table3-gpu", "Platforms", {"kind": "table"}, of="pasta/fig4")
    verdicts = [claim(id="P-C08-cache", place="Table III, DGX-1P",
                      published={"value": 3e6, "unit": "bytes"}),
                claim(id="P-C06-peak", place="Table III, Bluesky",
                      published={"at_most": 1000, "unit": "GFLOP/s"})]
    _, table = saved(tmp_path, spec, rows.sweep(), verdicts)
    by_line = {line[""]: line for line in table}
    assert by_line["last-level cache (MB)"]["DGX-1P"] == "3"
    assert by_line["peak single precision, theory (GFLOPS)"]["Bluesky"] == "1000"
    assert by_line["memory bandwidth, measured (GB/s)"]["Fixture CPU"] == "20"
    assert by_line["memory bandwidth, theory (GB/s)"]["Fixture CPU"] == "not told"
    assert by_line["cores, single-precision lanes of a GPU"]["Fixture CPU"] == "2"


def test_the_roofline_marks_the_intensities_of_the_kernels(tmp_path):
    spec = FigureSpec("pasta/roof", "Roofline", {"kind": "roofline", "mark": "operation"},
                      of="pasta/fig4")
    view = make_view(read(tmp_path, rows.sweep()), spec)
    figure = roofline.draw(view)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:3] == ["DRAM, Fixture CPU: 20 GB/s", "last-level cache, Fixture CPU: 100 GB/s",
                          "peak measured: 100 GFLOPS"]
    assert labels[3:] == ["tew: 0.0833 flop/byte", "ttv: 0.167 flop/byte"]
    marks = [line for line in figure.axes[0].lines if line.get_marker() in ("o", "s")]
    assert [line.get_ydata()[0] for line in marks] == [pytest.approx(20 / 12),
                                                       pytest.approx(20 / 6)]


def test_methods_of_other_intensity_are_marked_apart(tmp_path):
    lines = [rows.session(), rows.ceilings(), rows.row(), rows.row(method="pasta.cpu.hicoo"),
             rows.row("mttkrp"), rows.row("mttkrp", method="pasta.cpu.hicoo", moved=4e6)]
    spec = FigureSpec("pasta/roof", "Roofline", {"kind": "roofline", "mark": "operation"},
                      of="pasta/fig4")
    figure = roofline.draw(make_view(read(tmp_path, lines), spec))
    assert [text.get_text() for text in figure.legends[0].get_texts()][3:] == [
        "mttkrp, pasta.cpu.coo: 0.0833 flop/byte", "tew: 0.0833 flop/byte",
        "mttkrp, pasta.cpu.hicoo: 1 flop/byte"]


def test_table_2_sets_the_tensors_here_beside_the_printed_ones(tmp_path):
    spec = FigureSpec("pasta/table2", "Tensors", {"kind": "table"}, of="pasta/fig4")
    verdicts = [claim(id="P-C20", place="Table II(a), r1", states="alpha: 4 x 5 x 6, 7 nonzeros",
                      measured=7, published={"value": 7}, data="stand-in", verdict="fitted"),
                claim(id="P-C20-density", place="Table II(a), r1", states="alpha: density 6E-2",
                      measured=7 / 120, published={"value": 6e-2, "unit": "x"}, verdict="fitted")]
    _, table = saved(tmp_path, spec, [rows.row(dataset="fake", **{"kind": "stand-in"})], verdicts)
    assert table == [{"no.": "r1", "as printed": "alpha: 4 x 5 x 6, 7 nonzeros", "density": "0.06",
                      "data here": "stand-in", "lengths (where run)": "", "nonzeros": "7",
                      "density here": "0.05833", "verdict on nonzeros, density": "fitted"}]
    line = rows.row(dataset="fake", kind="stand-in")
    line["case"]["data"]["for"] = "alpha"
    _, table = saved(tmp_path, spec, [line], verdicts)
    assert table[0]["lengths (where run)"] == "4 x 5 x 6"


@pytest.mark.parametrize("operation, artifact, method, params, layout, lines", [
    ("mttkrp", "hlsto/fig3", "hlsto.cpu", {"format": "hls"},
     "D 00 0 0, 10010001, 1 2 3; S 001 11 11, 4",
     [("HLS", "dense tile", "00 0 0", "10010001", "1 2 3"),
      ("HLS", "sparse nonzero", "001 11 11", "", "4")]),
    ("contraction", "bcb_sptc/fig2", "bcb_sptc.cpu", {},
     "00 00 01 10100110 1 2 4 3; 11 00 11 10000000 8",
     [("00 00 01", "10100110", "1 2 4 3"), ("11 00 11", "10000000", "8")]),
    ("spmm", "tca_spmm/fig4", "tca_spmm.cpu", {},
     "block 0: 0 1 1 -; row 0: 8 nonzeros, 1 warps, 01",
     [("block 0", "0 1 1 -"), ("row 0", "8 nonzeros, 1 warps, 01")])])
def test_a_layout_is_a_line_per_part(tmp_path, operation, artifact, method, params, layout, lines):
    spec = FigureSpec(artifact, "A small tensor", {"kind": "table"})
    line = rows.row(operation, artifact=artifact, method=method, params=params)
    drawn = line | {"executed": {"layout": layout}}
    _, table = saved(tmp_path, spec, [rows.session(), drawn])
    assert [tuple(line.values()) for line in table] == lines
    with pytest.raises(PlotError, match="executed.layout"):
        saved(tmp_path, spec, [rows.session(), line])


def test_a_claim_about_a_platform_stands_beside_the_machine_of_its_rows(tmp_path):
    spec = FigureSpec("pasta/platform", "Platforms", {"kind": "claims", "place": "Table I,"})
    spec.of = "pasta/fig4"
    lines = rows.sweep()
    key = next(line["key"] for line in lines if line["kind"] == "row")
    machine = read(tmp_path, lines).rows["device"].iloc[0]
    untested = {"verdict": "not tested", "measured": None, "keys": [key], "machine": machine}
    _, table = saved(tmp_path, spec, lines, [
        claim(id="P-1", value="ceilings.copy_dram", **untested),
        claim(id="P-2", value="machine.cpu.cores", **untested),
        claim(id="P-3", value="machine.cpu.none_such", **untested),
        claim(id="P-4", value="stats.median", **untested)])
    cores = lines[0]["machine"]["cpu"]["cores"]
    assert [line["measured"] for line in table] == ["20", str(cores), "", ""]
