"""CMC: the public program with its own permutations, the blocks, and what it says about itself."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._baselines.psd import cmc
from simcomplete._correlation.newton import newton


def complete(S0, **given):
    return sc.complete_similarity(S0, method="cmc", **given)


@pytest.mark.parametrize("outer", [1, 3])
def test_outer_iterations_are_those_of_the_public_program(golden, outer):
    data = golden("cmc")
    done = complete(data["S0"], permutations=data["perms"], max_iter=outer)
    np.testing.assert_allclose(done.similarity(), data[f"ref_outer{outer}"], atol=1e-10)
    assert done.params["permutations"] == "given"
    assert len(done.history) == outer + 1


def test_the_result_is_not_positive_semi_definite_and_says_so(golden):
    data = golden("cmc")
    done = complete(data["S0"], permutations=data["perms"], max_iter=3)
    assert done.status.ok
    assert "smallest eigenvalue is -1.59: not positive semi-definite; project=True" in done.status.message
    assert done.validity.psd.value == pytest.approx(-1.59, abs=0.01)


def test_a_final_projection_makes_it_so(golden):
    data = golden("cmc")
    plain, done = (complete(data["S0"], permutations=data["perms"], max_iter=3, project=p) for p in (False, True))
    assert done.validity.ok
    assert "made it positive semi-definite" in done.status.message
    nearest = newton(plain.similarity(), np.diag(data["S0"]).copy())[0]
    np.testing.assert_allclose(done.similarity(), nearest, atol=1e-8)


def test_a_final_projection_lowers_the_error(small):
    """The truth is in the convex set that is projected onto."""
    P, Q, truth = small
    S0, S_true = sc.overlap_similarity(np.vstack([P, Q])), sc.overlap_similarity(np.vstack([P, truth]))
    plain, done = (sc.complete(P, Q, method="cmc", max_iter=5, project=p).similarity() for p in (False, True))
    error = sc.metrics.relative_squared_error
    assert error(done, S0, S_true) < error(plain, S0, S_true)


def test_every_row_is_in_two_blocks():
    order = np.random.default_rng(0).permutation(2 * 23)
    blocks = cmc.blocks_of(order, 23, 5)
    assert [len(part) for part in np.array_split(order, 5)] == [10, 9, 9, 9, 9]
    counts = np.bincount(np.concatenate(blocks), minlength=23)
    assert ((counts == 2) | (counts == 1)).all()  # once where both copies fell into one block
    assert counts.sum() > 23
    one_based = cmc.blocks_of(order + 1, 23, 5)
    assert sorted(np.unique(np.concatenate(one_based))) == list(range(23))


def test_one_block_of_everything_is_dmc(golden):
    """And stays so in a second sweep: less its increment, the block is S0 again."""
    S0 = golden("dmc")["S0"]
    for sweeps in (1, 2):
        S = cmc.sweep(S0, np.ones(50), [np.arange(50)], sweeps=sweeps, inner=20)
        np.testing.assert_allclose(S, golden("dmc")["ref_it20"], atol=1e-10)


def test_the_seed_decides(small):
    P, Q, _ = small
    given = {"method": "cmc", "max_iter": 3}
    a, b, c = (sc.complete(P, Q, random_state=seed, **given).similarity() for seed in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert np.abs(a - c).max() > 1e-4


def test_it_lowers_the_error(small):
    P, Q, truth = small
    S0, S_true = sc.overlap_similarity(np.vstack([P, Q])), sc.overlap_similarity(np.vstack([P, truth]))
    S = sc.complete(P, Q, method="cmc").similarity()
    assert sc.metrics.relative_squared_error(S, S0, S_true) < 0.6


def test_few_rows_make_few_blocks():
    S0 = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    done = complete(S0, max_iter=4)
    assert done.params["blocks"] == 3
    assert np.isfinite(done.similarity()).all()
    assert complete(np.eye(1)).similarity() == [[1.0]]
    assert "came out positive semi-definite" in complete(np.eye(4), max_iter=2).status.message


def test_other_diagonals_scale(golden):
    data = golden("cmc")
    given = {"permutations": data["perms"], "max_iter": 2}
    S = complete(4 * data["S0"], **given).similarity()
    np.testing.assert_allclose(S, 4 * complete(data["S0"], **given).similarity(), atol=1e-9)
    for project in (False, True):
        assert (complete(np.zeros((4, 4)), max_iter=2, project=project).similarity() == 0).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"blocks": 0}, "blocks=0 must be a whole number"),
        ({"inner": True}, "inner=True must be a whole number"),
        ({"sweeps": 1.5}, r"sweeps=1\.5 must be a whole number"),
        ({"permutations": [[1, 2, 3]]}, r"permutations has shape \(1, 3\) of int64; it must be whole numbers of shape"),
        ({"permutations": np.arange(6)[None], "max_iter": 2}, r"of shape \(2, 6\): max_iter times twice the rows"),
    ],
)
def test_what_cannot_be_done_is_refused(given, message):
    with pytest.raises(sc.errors.InputError, match=message):
        complete(np.eye(3), **given)
