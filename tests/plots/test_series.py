"""No row is lost between the row file and what is drawn, whatever spec and rows: figures of
ablations, and random specs over random rows.
"""
import random
import re
from collections import Counter

import pytest
import rows

from retensor import style
from retensor.errors import PlotError
from retensor.figures import KINDS, drawer, lines
from retensor.figures.view import make_view
from retensor.results import load_results
from retensor.spec import FigureSpec

PASTA = {"update": "atomic", "threads": 2}
FLYCOO = {"order": "arrival", "indices": "plain", "ids": "record", "remap": True, "align": 4,
          "kappa": 0, "partition": "least_loaded", "threads": 2}
CHANGES = ({}, {"order": "row"}, {"indices": "packed"}, {"ids": "stream"}, {"remap": False},
           {"align": 16}, {"kappa": 8})


def arranged(tmp_path, lines, **figure):
    """The view of a figure as its kind arranged it, and the figure."""
    results = load_results([rows.write(tmp_path / "rows.jsonl", lines)])
    spec = FigureSpec("pasta/fig4", "A fixture", figure)
    view, module = make_view(results, spec), drawer(spec)
    if hasattr(module, "arrange"):
        module.arrange(view)
    with style.applied():
        return view, module.draw(view) if hasattr(module, "draw") else None


def ablation():
    """Seven forms of a method, each with one parameter changed, beside another method."""
    other = [rows.row("mttkrp_all", dataset, "pasta.cpu.coo", params=PASTA, seconds=[0.004] * 3)
             for dataset in ("alpha", "beta")]
    return other + [
        rows.row("mttkrp_all", dataset, "flycoo.cpu", params={**FLYCOO, **change},
                 seconds=[0.001 * (place + 1)] * 3)
        for dataset in ("alpha", "beta") for place, change in enumerate(CHANGES)]


def test_a_base_that_names_a_variant_too_is_an_error_that_names_it(tmp_path):
    lines = [line for line in ablation() if line["case"]["method"] == "flycoo.cpu"]
    to = {"method": "flycoo.cpu", **{f"params.{name}": FLYCOO[name] for name in FLYCOO
                                     if name != "align"}}
    with pytest.raises(PlotError, match="`to` also names flycoo.cpu, align=16, with which"):
        arranged(tmp_path, lines, kind="speedups", to=to)
    view, _ = arranged(tmp_path, lines, kind="speedups",
                       to={**to, "params.align": FLYCOO["align"]})
    assert "flycoo.cpu, align=16" in view.series


def test_speedups_of_an_ablation_have_a_series_for_each_change(tmp_path):
    view, figure = arranged(tmp_path, ablation(), kind="speedups",
                            to={"method": "pasta.cpu.coo", "params.update": "atomic"})
    assert view.series == ["flycoo.cpu", "flycoo.cpu, align=16", "flycoo.cpu, ids=stream",
                           "flycoo.cpu, indices=packed", "flycoo.cpu, kappa=8",
                           "flycoo.cpu, order=row", "flycoo.cpu, remap=false"]
    alpha = {cell.series: cell.measured.value for cell in view.cells if cell.x == "alpha"}
    assert alpha["flycoo.cpu"] == pytest.approx(4)
    assert alpha["flycoo.cpu, kappa=8"] == pytest.approx(4 / 7)
    assert len(alpha) == 7


def test_profile_of_an_ablation_has_a_curve_for_each_change(tmp_path):
    view, _ = arranged(tmp_path, ablation(), kind="performance-profile")
    assert len(view.series) == 8
    assert all(None not in ratios.values() for ratios in view.ratios["real"].values())


def test_an_ablation_is_compared_with_the_form_that_changes_nothing(tmp_path):
    view, _ = arranged(tmp_path, ablation()[2:], kind="speedups", to="flycoo.cpu")
    alpha = {cell.series: cell.measured.value for cell in view.cells if cell.x == "alpha"}
    assert len(alpha) == 6 and "flycoo.cpu" not in alpha
    assert alpha["flycoo.cpu, order=row"] == pytest.approx(1 / 2)


def test_a_series_that_a_drawing_drops_is_an_error(tmp_path, monkeypatch):
    whole = lines._line
    monkeypatch.setattr(lines, "_line", lambda figure, axes, cells, index, numeric:
                        whole(figure, axes, cells, index, numeric) if index else [])
    drawn = [rows.row(rank=rank, method=method) for rank in (8, 16)
             for method in ("pasta.cpu.coo", "pasta.cpu.hicoo")]
    with pytest.raises(PlotError, match="the figure lost.*pasta.cpu.coo"):
        arranged(tmp_path, drawn, kind="lines", x="rank", y="time")


def test_settings_that_read_alike_are_told_apart(tmp_path):
    forms = [rows.row(params={"inner": value}) for value in (1, "1", None, "none", "")]
    view, _ = arranged(tmp_path, forms, kind="table")
    assert len(view.series) == len(view.cells) == 5


METHODS = {"pasta.cpu.coo": {"update": ("atomic", "owner"), "threads": (1, 2)},
           "flycoo.cpu": {"order": ("arrival", "row"), "remap": (True, False), "align": (4, 16),
                          "ids": ("record", "stream"), "threads": (1, 2)},
           "blco.cuda": {}}
FIELDS = ("dataset", "rank", "mode", "method", "params.threads", "params.remap", "device",
          "operation", "data.kind")


def random_rows(chance):
    """Rows of a sweep as a user may have them: crossed or ablated, with gaps and failures."""
    crossed, lines = chance.random() < 0.3, []
    devices = chance.choice((("Fixture CPU",), ("Fixture CPU", "Other CPU")))
    modes = chance.choice(((None,), (0, 1, 2)))
    variants = chance.choice(((None,), (None, "base", "skew")))
    for method in chance.sample(sorted(METHODS), chance.randint(1, 3)):
        usual = {name: values[0] for name, values in METHODS[method].items()}
        changes = [{}, *({name: value} for name, values in METHODS[method].items()
                         for value in values[1:])]
        if crossed and len(changes) > 2:
            changes += [{**changes[1], **change} for change in changes[2:]]
        for change in changes:
            for dataset in ("alpha", "beta"):
                for variant in variants:
                    for mode in modes:
                        for rank in chance.choice(((16,), (8, 16))):
                            lines += _some(chance, method, {**usual, **change}, dataset, variant,
                                           mode, rank, devices)
    return lines or random_rows(chance)


def _some(chance, method, params, dataset, variant, mode, rank, devices):
    kind = "stand-in" if variant else "real" if dataset == "alpha" else "generated"
    name = dataset + ("-like" if variant else "") + ("@skew" if variant == "skew" else "")
    data = {"kind": kind, "sha256": "cd" * 32, "dims": [4, 5, 6], "nnz": 7}
    if variant:
        data |= {"for": dataset, "variant": variant}
    for device in devices:
        for launch in range(chance.choice((1, 1, 2))):
            if chance.random() < 0.9:
                status = chance.choice(("ok",) * 9 + ("oom",))
                yield rows.row("ttv", name, method, mode, status=status, params=params, rank=rank,
                               device=device, launch=launch, data=data,
                               seconds=[chance.uniform(0.001, 0.01) for _ in range(3)])


def random_figure(chance):
    kind = chance.choice(sorted(set(KINDS) - {"claims"}))
    figure = {"kind": kind}
    if kind in ("speedups", "performance-profile"):
        if kind == "speedups":
            figure["to"] = chance.choice((
                "flycoo.cpu", "pasta.cpu.coo", {"method": "pasta.cpu.coo", "update": "atomic"},
                {"method": "flycoo.cpu", "params.order": "arrival", "remap": True, "align": 4,
                 "ids": "record", "threads": 1}))
    else:
        figure["x"] = chance.choice(("intensity",) if kind in ("scatter", "roofline") else FIELDS)
        figure["hue"] = chance.choice(FIELDS)
        figure["y"] = chance.choice(("time", "gflops", "work.bytes"))
    if chance.random() < 0.5:
        figure["facet"] = chance.choice(FIELDS)
    for axis in ("xscale", "yscale"):
        if chance.random() < 0.3 and kind in ("grouped-bars", "lines"):
            figure[axis] = "log"
    return figure


# What a figure of random rows may be refused for: `to` names no row, or several at once.
REFUSED = "that `to` names|names several rows|no row has the field"


@pytest.mark.parametrize("seed", range(30))
def test_every_row_is_in_exactly_one_cell_of_what_was_drawn(tmp_path, seed):
    chance = random.Random(seed)
    lines, figure = random_rows(chance), random_figure(chance)
    try:
        view, _ = arranged(tmp_path, lines, **figure)
    except PlotError as error:
        assert re.search(REFUSED, str(error)), (figure, error)
        return
    places = Counter(member for cell in view.cells for member in cell.members)
    places.update(view.against)
    places.update(view.left_out)
    assert places == Counter(view.rows.index), figure
    drawn = {(cell.facet, cell.x, cell.series) for cell in view.cells}
    assert len(drawn) == len(view.cells), figure
    assert {cell.series for cell in view.cells} <= set(view.series), figure
    assert {cell.x for cell in view.cells} <= set(view.xs), figure
    assert {cell.facet for cell in view.cells} <= set(view.facets), figure
    assert not view.left_out or any("no row to compare with" in note for note in view.notes)


def test_a_name_of_a_method_that_no_row_has_is_refused_with_the_nearest(tmp_path):
    lines = [rows.row() | {"executed": {"threshold": "3", "blocks": "8"}}]
    with pytest.raises(PlotError, match="executed.treshold'; nearest: executed.threshold"):
        arranged(tmp_path, lines, kind="lines", x="rank", y="executed.treshold")


def test_rows_that_do_not_record_the_hue_are_named_by_what_the_figure_says(tmp_path):
    lines = [rows.row("tew", method=f"pasta.cpu.{name}") | {"executed": executed}
             for name, executed in (("coo", {}), ("hicoo", {"sums": "f16"}))]

    def series(**figure):
        view, _ = arranged(tmp_path, lines, kind="grouped-bars", hue="executed.sums", **figure)
        return view.series
    assert series() == ["sums=f16", "sums=none"]
    assert series(absent="f32") == ["sums=f16", "sums=f32"]


def test_values_of_the_hue_are_called_what_the_figure_says(tmp_path):
    lines = [rows.row("tew", params={"memory": memory, "threads": 2}) for memory in (0.0, 0.0625)]
    view, _ = arranged(tmp_path, lines, kind="grouped-bars", hue="params.memory",
                       names={"0": "the whole result"})
    assert view.series == ["memory=0.0625", "the whole result"]
