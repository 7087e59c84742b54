"""Pictures of results: what is on them, how much of a large result, and that matplotlib is asked for late."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._result import plots
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete.errors import InputError, MissingExtraError

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def done():
    rng = np.random.default_rng(0)
    P = rng.random((60, 6))
    Q = np.where(rng.random((8, 6)) < 0.4, np.nan, rng.random((8, 6)))
    Q[:, 0], Q[2] = 0.5, np.nan
    return sc.complete(P, Q, method="posterior", progress=False)


def test_widths_are_drawn_from_nothing_on(done):
    assert done.plot_intervals().get_ylim()[0] == 0.0


@pytest.mark.parametrize(
    ("S", "limits", "colours"),
    [
        ([[0.27, 0.5]], (0.2, 1.0), "viridis"),  # from the tenth below the least up to 1, whatever there is
        ([[-0.1, 0.5]], (-1.0, 1.0), "RdBu_r"),  # around 0
        ([[-2.5, 0.5]], (-2.5, 2.5), "RdBu_r"),
        ([[0.5, 3.0]], (0.5, 3.0), "viridis"),
    ],
)
def test_colours_of_similarities(S, limits, colours):
    S = np.array(S)
    dense = np.block([[np.eye(1), S], [S.T, np.eye(2)]])
    done = sc.complete_similarity(np.eye(3), method="overlap")
    ax = replace(done, matrix=SymmetricMatrix(dense=dense)).plot_similarity([0], [1, 2])
    (image,) = ax.get_images()
    np.testing.assert_allclose(image.get_clim(), limits)
    assert image.get_cmap().name == colours


def test_similarities(done):
    ax = done.plot()
    (image,) = ax.get_images()
    np.testing.assert_array_equal(image.get_array(), done.similarity("queries", "candidates"))
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "candidate")
    assert [text.get_text() for text in ax.get_yticklabels()] == [str(i) for i in range(8)]
    assert "8 x 60" in ax.get_title()
    ax.figure.canvas.draw()
    assert ax.figure.axes[1].get_ylabel() == "similarity (cosine)"


def test_labels_and_rows_of_both_kinds(done):
    named = replace(done, labels=[f"name that is much too long to read {i} $x$" for i in range(68)])
    ax = named.plot_similarity([0, 67], [1, 2])
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels == ["name that is much too...", "name that is much too..."]
    assert ax.get_ylabel() == "row: candidates, then queries"
    short = replace(done, labels=["$a$"] * 68).plot_similarity([0, 1])
    short.figure.canvas.draw()  # a dollar is a dollar
    assert short.get_yticklabels()[0].get_text() == r"\$a\$"


def test_names_of_few_columns_are_turned(done):
    for columns, turned in ((range(8), 90), (range(60), 0)):
        ax = done.plot_similarity("queries", list(columns))
        assert ax.get_xticklabels()[0].get_rotation() == turned


def test_signs_decide_the_colours(done):
    mixed = sc.complete(np.array([[1.0, 0.5], [-1.0, 0.3], [0.2, -1.0]]), method="overlap")
    low, high = mixed.plot_similarity().get_images()[0].get_clim()
    assert low == -high
    assert 0 <= done.plot().get_images()[0].get_clim()[0] <= done.similarity("queries", "candidates").min()


def test_a_sample_of_many_rows():
    rng = np.random.default_rng(1)
    done = sc.complete(rng.random((1000, 4)), method="zero", progress=False)
    ax = done.plot()
    assert ax.get_images()[0].get_array().shape == (400, 400)
    assert "400 of 1000 x 400 of 1000" in ax.get_title()
    number = ax.xaxis.get_major_formatter()
    assert [number(place, 0) for place in (0, 399, 400)] == ["0", "999", ""]


def test_the_sample_is_numbered_within_its_group(done, monkeypatch):
    monkeypatch.setattr(plots, "MOST_NAMED", 3)
    ax = done.plot()
    assert ax.yaxis.get_major_formatter()(7, 0) == "7"
    assert ax.xaxis.get_major_formatter()(59, 0) == "59"


def test_spectrum(done):
    ax = done.plot_spectrum()
    (line,) = ax.get_lines()
    values = np.linalg.eigvalsh(np.asarray(done.factor) @ np.asarray(done.factor).T)[::-1][:6]
    np.testing.assert_allclose(line.get_ydata(), values)
    assert "rank 6" in ax.get_title()
    assert ax.get_yscale() == "log"


def test_spectrum_of_a_dense_matrix_with_negative_eigenvalues(monkeypatch):
    S0 = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    done = sc.complete_similarity(S0, method="overlap")
    ax = replace(done, matrix=replace(done.matrix, factor=None, signs=None, diagonal=None, dense=S0)).plot_spectrum()
    positive, negative = ax.get_lines()
    np.testing.assert_allclose(np.sort(positive.get_ydata()), np.linalg.eigvalsh(S0)[1:])
    np.testing.assert_allclose(negative.get_ydata(), -np.linalg.eigvalsh(S0)[:1])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["positive", "negative, in magnitude"]


def test_neighbours(done):
    ax = done.plot_neighbours(k=4)
    ids, scores = done.search(4, 60)
    assert [text.get_text() for text in ax.get_yticklabels()] == [str(i) for i in ids[0]]
    np.testing.assert_allclose(ax.containers[0][0].get_xdata(), scores[0])
    assert "query 0" in ax.get_title()
    assert "90% intervals" in ax.get_xlabel()
    assert ax.yaxis_inverted()
    ax = sc.complete(np.eye(5) + 1, method="overlap").plot_neighbours(2, 3)
    assert "nearest candidates of row 2" in ax.get_title()
    assert not ax.containers


def test_rows_without_neighbours_and_several_rows(done):
    assert "query 1" in done.plot_neighbours(("queries", 1)).get_title()
    for row, why in ((("queries", 2), "nothing is observed of this one"), ("queries", "8 are named")):
        with pytest.raises(InputError, match=f"must be one row that has neighbours, and {why}"):
            done.plot_neighbours(row)


def test_intervals(done):
    ax = done.plot_intervals(level=0.8)
    (line,) = ax.get_lines()
    low, high = done.interval(0.8)
    rest = np.delete(np.arange(8), 2)  # nothing is observed of it
    order = rest[np.argsort(done.confidence[rest], kind="stable")]
    np.testing.assert_allclose(line.get_xdata(), done.confidence[order])
    np.testing.assert_allclose(line.get_ydata(), np.median(high - low, axis=1)[order])
    assert "80%" in ax.get_ylabel()
    with pytest.raises(InputError, match="their similarities exact"):
        done.plot_intervals("candidates")
    with pytest.raises(InputError, match="has no intervals"):
        sc.complete(np.eye(4), method="overlap").plot_intervals()


@pytest.mark.parametrize("name", ["plot", "plot_similarity", "plot_spectrum", "plot_neighbours", "plot_intervals"])
def test_axes_are_taken_and_matplotlib_may_be_missing(done, name, monkeypatch):
    ax = plt.figure().subplots()
    assert getattr(done, name)(ax=ax) is ax
    assert ax.get_title()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"needs the package 'matplotlib'.*simcomplete\[plots\]"):
        getattr(done, name)()
