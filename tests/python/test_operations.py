"""Every operation against NumPy's einsum on random tensors, by every method that runs here."""
import shutil

import numpy as np
import pytest
from conftest import random_case

import retensor

LETTERS = "abcdefgh"
ON_HOST = [name for name in retensor.methods() if ".cuda" not in name]


def host_methods(operation):
    return [name for name in retensor.methods(operation) if name in ON_HOST]


def close(found, expected, method=""):
    """Emulated tensor cores round operands to half precision, or less."""
    exact = method.startswith(("pasta", "flycoo"))
    scale = max(np.abs(expected).max(), 1)
    assert np.asarray(found).shape == expected.shape
    assert np.abs(found - expected).max() <= (1e-5 if exact else 2e-2) * scale


def refused(run, method):
    """Runs; where the method does not take the problem, its reason must say more than its name."""
    try:
        return run()
    except retensor.InputError as error:
        assert str(error).startswith(f"{method}: ") and len(str(error)) > len(method) + 10
        return None


def mttkrp_of(case, mode):
    letters = LETTERS[:case.dense.ndim]
    others = [m for m in range(case.dense.ndim) if m != mode]
    inputs = ",".join([letters] + [letters[m] + "z" for m in others])
    return np.einsum(f"{inputs}->{letters[mode]}z", case.dense, *(case.factors[m] for m in others))


@pytest.mark.parametrize("method", host_methods("mttkrp"))
@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_mttkrp(method, order):
    case = random_case(order, order)
    for mode in range(order):
        found = refused(lambda: retensor.mttkrp(case.dense, case.factors, mode, method), method)
        if found is not None:
            close(found, mttkrp_of(case, mode), method)


@pytest.mark.parametrize("method", host_methods("mttkrp_all"))
def test_mttkrp_of_all_modes(method):
    case = random_case(7, 3)
    found = retensor.mttkrp(case.dense, case.factors, method=method)
    for mode, one in enumerate(found):
        close(one, mttkrp_of(case, mode), method)


@pytest.mark.parametrize("method", host_methods("ttv"))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ttv(method, dtype):
    case = random_case(11, 4, dtype=dtype)
    for mode, factor in enumerate(case.factors):
        found = retensor.ttv(case.dense, factor[:, 0], mode, method)
        assert found.dtype == dtype
        close(found.to_numpy(), np.tensordot(case.dense, factor[:, 0], (mode, 0)), method)


@pytest.mark.parametrize("method", host_methods("ttm"))
def test_ttm(method):
    case = random_case(12, 3)
    for mode, factor in enumerate(case.factors):
        expected = np.moveaxis(np.tensordot(case.dense, factor, (mode, 0)), -1, mode)
        close(retensor.ttm(case.dense, factor, mode, method).to_numpy(), expected, method)


@pytest.mark.parametrize("method", host_methods("ttm_chain"))
@pytest.mark.parametrize("order", [3, 4])
def test_ttm_chain(method, order):
    case = random_case(13, order)
    lowest = case.rng.uniform(-1, 1, (case.dense.shape[0], 3)).astype(np.float32)
    factors = [lowest, *case.factors[1:]]
    letters, ranks = LETTERS[:order], LETTERS[:order].upper()
    for mode in range(order):
        others = [m for m in range(order) if m != mode]
        inputs = ",".join([letters] + [letters[m] + ranks[m] for m in others])
        output = letters[mode] + "".join(ranks[m] for m in others)
        expected = np.einsum(f"{inputs}->{output}", case.dense, *(factors[m] for m in others))
        found = refused(lambda: retensor.ttm_chain(case.dense, factors, mode, method), method)
        if found is not None:
            close(found, expected, method)


@pytest.mark.parametrize("method", host_methods("contract"))
@pytest.mark.parametrize("einsum", ["abk,kcd->abcd", "abk,kcd->dcba", "akl,lkb->ab"])
def test_contract(method, einsum):
    rng = np.random.default_rng(14)
    lengths = dict(zip("abcdkl", (4, 5, 6, 3, 7, 8)))
    operands = [np.where(rng.random(shape) < 0.6, 0, rng.uniform(-1, 1, shape)).astype(np.float32)
                for shape in ([lengths[c] for c in part] for part in einsum[:7].split(","))]
    expected = np.einsum(einsum, *operands)
    found = refused(lambda: retensor.contract(einsum, *operands, method=method), method)
    if found is not None:
        close(found.to_numpy(), expected, method)


@pytest.mark.parametrize("method", host_methods("spmm"))
def test_spmm(method):
    case = random_case(15, 2, rank=16)
    found = refused(lambda: retensor.spmm(case.dense, case.factors[1], method), method)
    if found is not None:
        close(found, case.dense @ case.factors[1], method)


def fit_of(model, x):
    return 1 - np.linalg.norm(model.to_numpy() - x) / np.linalg.norm(x)


@pytest.mark.parametrize("method", host_methods("cp"))
def test_cp_finds_a_planted_model(method):
    rng = np.random.default_rng(16)
    factors = [rng.uniform(0.5, 1, (n, 2)).astype(np.float32) for n in (6, 7, 8)]
    x = np.einsum("az,bz,cz->abc", *factors)
    model = refused(lambda: retensor.cp(x, 2, method, sweeps=60, tolerance=1e-9, start="signs"),
                    method)
    if model is not None:
        assert model.executed["method"] == method
        assert model.fit[-1] > 0.97 and len(model.fit) <= 60
        assert abs(model.true_fit - fit_of(model, x)) < 1e-5
        # The fit is 1 - sqrt(q). Sums in half precision put q wrong by 1e-3, twice their rounding.
        within = 1e-3 ** 0.5 if method.endswith(".half") else 5e-3
        assert abs(model.fit[-1] - fit_of(model, x)) < within


@pytest.mark.parametrize("method", host_methods("tucker"))
def test_tucker_finds_a_planted_core(method):
    rng = np.random.default_rng(17)
    factors = [rng.uniform(-1, 1, (n, 2)).astype(np.float32) for n in (6, 7, 8)]
    x = np.einsum("ABC,aA,bB,cC->abc", rng.uniform(-1, 1, (2, 2, 2)), *factors).astype(np.float32)
    model = refused(lambda: retensor.tucker(x, [2, 2, 2], method), method)
    if model is not None:
        assert model.core.shape == (2, 2, 2) and model.fit[-1] > 0.97
        # The fit is found from the norm of the core, which sums in half precision lessen.
        within = 3e-2 if method.endswith(".half") else 5e-3
        assert abs(model.fit[-1] - fit_of(model, x)) < within


def test_a_decomposition_starts_from_given_factors():
    case = random_case(18, 3, rank=2)
    model = retensor.cp(case.dense, initial=case.factors, sweeps=1)
    other = retensor.cp(case.dense, 2, sweeps=1, seed=5)
    assert len(model.fit) == 1 and model.fit[0] != other.fit[0]
    update = mttkrp_of(case, 0) @ np.linalg.pinv(
        (case.factors[1].T @ case.factors[1]) * (case.factors[2].T @ case.factors[2]))
    norms = np.linalg.norm(update, axis=0)
    close(model.factors[0], update / norms)


def test_factors_and_ranks_may_be_arrays():
    cube = np.arange(27.0).reshape(3, 3, 3)
    assert retensor.cp(cube, initial=np.ones((3, 3, 1)), sweeps=1).factors[0].shape == (3, 1)
    assert retensor.tucker(cube, np.array([2, 1, 2]), sweeps=1).core.shape == (2, 1, 2)


def test_the_best_of_several_starts_is_kept():
    case = random_case(23, 3)
    each = [retensor.cp(case.dense, 2, seed=seed, sweeps=5).fit[-1] for seed in (4, 5, 6)]
    assert retensor.cp(case.dense, 2, seed=4, starts=3, sweeps=5).fit[-1] == max(each) > min(each)
    each = [retensor.tucker(case.dense, [2, 2, 1], seed=seed, sweeps=1).fit[-1]
            for seed in (4, 5, 6)]
    best = retensor.tucker(case.dense, [2, 2, 1], seed=4, starts=3, sweeps=1)
    assert best.fit[-1] == pytest.approx(max(each), abs=1e-6) and max(each) > min(each) + 1e-4


@pytest.mark.parametrize("start", [None, "uniform", "normal", "nvecs"])
def test_a_non_negative_model_has_no_negative_entry(start):
    case = random_case(24, 4)
    dense = np.abs(case.dense)
    model = retensor.cp(dense, 3, start=start, constraint="nonnegative", sweeps=50)
    assert min(factor.min() for factor in model.factors) >= 0
    assert model.fit[-1] == pytest.approx(fit_of(model, dense), abs=1e-4) and model.fit[-1] > 0.1
    free = retensor.cp(case.dense, 3, start="nvecs", sweeps=50)
    assert min(factor.min() for factor in free.factors) < 0


def test_progress_is_told_after_each_sweep():
    told = []
    model = retensor.cp(random_case(25, 3).dense, 2, sweeps=4, tolerance=0,
                        progress=lambda sweep, fit: told.append((sweep, fit)))
    assert told == list(enumerate(model.fit, start=1))


def test_what_progress_raises_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        retensor.cp(random_case(25, 3).dense, 2, sweeps=4, progress=lambda sweep, fit: 1 / 0)


def test_blanks_in_an_einsum_mean_nothing():
    dense = random_case(27, 3).dense
    close(retensor.contract("abk, cdk -> abcd", dense, dense).to_numpy(),
          np.einsum("abk,cdk->abcd", dense, dense), "pasta")


def test_a_decomposition_that_is_cut_short_goes_on(tmp_path):
    dense = random_case(26, 3).dense
    checkpoint = tmp_path / "state"

    def cut(sweep, _):
        if sweep == 25:  # the state after 20 sweeps is on disk
            shutil.copy(checkpoint, tmp_path / "kept")

    model = retensor.cp(dense, 2, sweeps=30, tolerance=0, checkpoint=checkpoint, progress=cut)
    assert len(model.fit) == 30 and not checkpoint.exists()
    shutil.move(tmp_path / "kept", checkpoint)
    sweeps = []
    again = retensor.cp(dense, 2, sweeps=30, tolerance=0, checkpoint=checkpoint,
                        progress=lambda sweep, _: sweeps.append(sweep))
    assert sweeps == list(range(21, 31))
    assert np.array_equal(again.fit, model.fit)
    assert all(map(np.array_equal, again.factors, model.factors))


def test_components_are_drawn():
    model = retensor.cp(random_case(27, 3).dense, 14, sweeps=2)
    figure = model.plot(modes=["users", "items", "days"])
    assert len(figure.axes) == 3 * 12  # the most that are drawn
    assert figure.axes[0].get_title() == f"users, {len(model.factors[0])} indices"
    assert "the 12 of the largest weights" in figure._suptitle.get_text()


def test_the_largest_entries_of_components_are_told_by_name():
    people, days = np.array([9, 0, -4, 1]), np.array([0.5, 0, 3])
    other = (np.array([0, 20, 0, 0]), np.array([0, 1, 0]))
    x = (np.einsum("a,b,c->abc", people, days, [1, 1])
         + np.einsum("a,b,c->abc", *other, [1, -1])).astype(np.float32)
    model = retensor.cp(x, 2, start="nvecs", sweeps=100, tolerance=1e-9)
    top = model.top(2, names=[["ann", "bob", "eve", "joe"], None, None])
    assert len(top) == 2 * 3 * 2 and top["weight"].is_monotonic_decreasing
    first, second = (top[top["component"] == component] for component in
                     top["component"].unique())
    assert list(first[first["mode"] == 0]["name"]) == ["ann", "eve"]
    assert list(first[first["mode"] == 1]["index"]) == [2, 0]
    assert second[second["mode"] == 0]["name"].iloc[0] == "bob"


@pytest.mark.parametrize("method", host_methods("tucker"))
def test_tucker_takes_any_rank_for_each_mode(method):
    """A tensor with a core of just these ranks is found whole."""
    rng = np.random.default_rng(17)
    ranks, lengths = (3, 1, 2, 4), (5, 4, 6, 7)
    x = np.einsum("abcd,ia,jb,kc,ld->ijkl", rng.normal(size=ranks),
                  *(rng.normal(size=shape) for shape in zip(lengths, ranks))).astype(np.float32)
    model = refused(lambda: retensor.tucker(x, list(ranks), method), method)
    if model is not None:
        assert model.core.shape == ranks
        assert fit_of(model, x) > (0.95 if method.endswith(".half") else 0.999)


def test_a_tucker_decomposition_starts_at_singular_vectors():
    case = random_case(28, 3)
    near, far = (retensor.tucker(case.dense, [2, 2, 2], start=start, sweeps=1)
                 for start in ("nvecs", "normal"))
    assert near.fit[0] > far.fit[0]


def test_parameters_reach_the_method():
    case = random_case(19, 3)
    model = retensor.cp(case.dense, 2, "pasta.cpu.coo", update="owner", threads=1)
    assert model.executed["threads"] == "1"
    with pytest.raises(retensor.InputError, match="updte.*update"):
        retensor.mttkrp(case.dense, case.factors, 0, "pasta.cpu.coo", updte="owner")
    with pytest.raises(retensor.InputError, match="parameter threads: found"):
        retensor.mttkrp(case.dense, case.factors, 0, "pasta.cpu.coo", threads=[1])


def test_a_method_is_chosen_that_does_not_round():
    case = random_case(20, 3)
    close(retensor.mttkrp(case.dense, case.factors, 1), mttkrp_of(case, 1), "pasta")


@pytest.mark.parametrize("call, words", [
    (lambda c: retensor.mttkrp(c.dense, c.factors[:2], 0), "found 2 dense operands, expected 3"),
    (lambda c: retensor.mttkrp(c.dense, c.factors, 0, "pasta.cpu.cooo"), "pasta.cpu.coo"),
    (lambda c: retensor.mttkrp(c.dense, c.factors, 3), "found mode 3, expected 0 to 2"),
    (lambda c: retensor.ttv(c.dense, c.factors[0][1:, 0], 0), "expected .* x 1"),
    (lambda c: retensor.ttm(c.dense, c.factors[0][0], 0), "order 1, expected a matrix"),
    (lambda c: retensor.contract("abk,kcd", c.dense, c.dense), "abk,kcd"),
    (lambda c: retensor.spmm(c.dense, c.factors[1]), "order 3, expected 2"),
    (lambda c: retensor.cp(c.dense), "expected a rank or initial factors"),
    (lambda c: retensor.cp(c.dense * 0, 2), "cpd: the tensor has no nonzeros"),
    (lambda c: retensor.cp(c.dense * 0, initial=c.factors), "cpd: the tensor has no nonzeros"),
    (lambda c: retensor.tucker(c.dense * 0, [2, 2, 2]), "tucker: the tensor has no nonzeros"),
    (lambda c: retensor.cp(c.dense, 2, sweeps=0), "max_sweeps 0, expected at least 1"),
    (lambda c: retensor.cp(c.dense, 2, starts=0), "found 0 starts"),
    (lambda c: retensor.tucker(c.dense, [2, 2, 2], starts=0), "tucker: found 0 starts"),
    (lambda c: retensor.cp(c.dense, 2, start="ones"), "found start 'ones'"),
    (lambda c: retensor.cp(c.dense, 2, constraint="l1"), "found constraint 'l1'"),
    (lambda c: retensor.cp(c.dense, initial=[-abs(f) for f in c.factors],
                           constraint="nonnegative"), "expected no negative number"),
    (lambda c: retensor.cp(c.dense, initial=c.factors, checkpoint="state"), "beside first factors"),
    (lambda c: retensor.cp(c.dense, 2, "cpd.cpu.als", constraint="nonnegative"),
     "whose MTTKRP is used"),
    (lambda c: retensor.cp(c.dense, 2, "cpd.cpu.als", start="spread"), "found start spread"),
    (lambda c: retensor.tucker(c.dense, [2, 2, 2], start="signs"), "expected normal or nvecs"),
    (lambda c: retensor.tucker(c.dense, [2, 2]), "found 2 ranks"),
    (lambda c: retensor.tucker(c.dense, 2), "found ranks 2, expected one for each mode"),
    (lambda c: retensor.tucker(c.dense, [2, -2, 2]), "found -2, expected one of 64 bits"),
    (lambda c: retensor.tucker(c.dense[0, 0], [1], method="auto"), "order 1"),
    (lambda c: retensor.cp(c.dense[0, 0], rank=1), "cp: found a tensor of order 1, expected 2"),
    (lambda c: retensor.mttkrp(c.dense, c.factors, 2**40), "mode: found 1099511627776"),
    (lambda c: retensor.mttkrp(c.dense, c.factors, 1.5), "mode: found 1.5, expected a whole"),
    (lambda c: retensor.mttkrp(c.dense, c.factors, 0, method=3), "method: found 3, expected"),
    (lambda c: retensor.mttkrp(c.dense, [f[:, 0] for f in c.factors], 0), "order 1, expected a m"),
    (lambda c: retensor.mttkrp(c.dense, [c.factors[0], None, c.factors[2]], 0), "order 0"),
    (lambda c: retensor.mttkrp(c.dense, [f * 1j for f in c.factors], 0), "type complex64"),
    (lambda c: retensor.cp(c.dense, -1), "rank: found -1, expected one of 64 bits, 0 or more"),
    (lambda c: retensor.cp(c.dense, 2.5), "rank: found 2.5, expected a whole number"),
    (lambda c: retensor.cp(c.dense, 2, seed=-1), "seed: found -1"),
    (lambda c: retensor.cp(c.dense, 2, tolerance=float("nan")), "tolerance nan, expected 0"),
    (lambda c: retensor.cp(c.dense, 2, progress=3), "progress: found 3, expected a function"),
    (lambda c: retensor.cp(c.dense, 2, initial=c.factors), "rank 2 beside initial factors of 4"),
    (lambda c: retensor.cp(c.dense, 2, start="spread", constraint="nonnegative"),
     "found start spread for a non-negative model"),
    (lambda c: retensor.cp(c.dense, initial=c.factors, starts=2), "initial factors are the same"),
    (lambda c: retensor.cp(c.dense, 2, start="nvecs", starts=2), "nvecs are the same every time"),
    (lambda c: retensor.tucker(c.dense, [2, 2, 2], start="nvecs", starts=2), "found 2 starts"),
    (lambda c: retensor.cp(c.dense, initial=c.factors, start="normal"), "start beside first"),
    (lambda c: retensor.contract("abc,bd->acd", c.dense, np.eye(c.dense.shape[1]) * 1e300),
     "1e.300, expected one that float32 holds"),
    (lambda c: retensor.cp(c.dense, 2).top(2, [None]), "names: found 1, expected 3"),
    (lambda c: retensor.cp(c.dense, 2).top(2, [["a"], None, None]), "names of mode 0: found 1"),
    (lambda c: retensor.cp(c.dense, 2).plot(["a"]), "modes: found 1, expected 3"),
    (lambda c: retensor.methods("mtkrp"), "found operation 'mtkrp'"),
])
def test_bad_input_is_refused_in_words(call, words):
    with pytest.raises(retensor.InputError, match=words):
        call(random_case(21, 3))


def test_a_problem_that_no_method_takes_is_refused_with_every_reason():
    reasons = r"no method takes .*; tca_spmm\.cpu: .*single precision"
    with pytest.raises(retensor.InputError, match=reasons):
        retensor.spmm(np.eye(4), np.ones((4, 3)))


def test_a_gpu_method_says_why_it_cannot_run():
    case = random_case(22, 3)
    try:
        found = retensor.mttkrp(case.dense, case.factors, 0, "parti.cuda")
    except retensor.DeviceError as error:
        assert "CUDA" in str(error) or "device" in str(error)
    else:
        close(found, mttkrp_of(case, 0))
