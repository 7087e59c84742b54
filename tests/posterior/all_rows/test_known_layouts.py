"""Saved stacks whose parts do not fit each other are refused by name."""

from types import SimpleNamespace

import numpy as np
import pytest

from simcomplete._posterior.all_rows.layout_mixture import _over_features, _stack
from simcomplete._posterior.all_rows.members import OverFeatures, OverRows
from simcomplete._posterior.all_rows.stack import Recipe, RowStack
from simcomplete.errors import FileFormatError

FIRST = OverRows(None)


def parts(members, weights, variances):
    recipe = Recipe(np.zeros(weights), np.zeros(variances))
    return {"members": members, "scaling": None, "units": None, "raw_deviation": None, "recipe": recipe}


def over(r=2, *, ridge=True, **columns):
    factors = SimpleNamespace(rank=r, ridge=np.ones(r) if ridge else None)
    shapes = {"scores": r + 1, "spread": r * (r + 1) // 2, "moments": (r + 1) * (r + 2) // 2, **columns}
    return {"units": None, "factors": factors, "variance": 1.0, **{k: np.zeros((4, n)) for k, n in shapes.items()}}


def test_a_stack_that_fits():
    assert isinstance(_stack(**parts([FIRST, "other"], 3, 4)), RowStack)
    assert isinstance(_over_features(**over()), OverFeatures)


@pytest.mark.parametrize(
    ("members", "weights", "variances", "word"),
    [
        ([], 1, 0, "do not begin"),
        (["other", FIRST], 3, 4, "do not begin"),
        ([FIRST], 3, 2, "weights are 3, of 1"),
        ([FIRST], 2, 3, "variances are 3, of 1"),
    ],
)
def test_stacks_that_do_not_fit(members, weights, variances, word):
    with pytest.raises(FileFormatError, match=word):
        _stack(**parts(members, weights, variances))


@pytest.mark.parametrize("name", ["scores", "spread", "moments"])
def test_members_over_features_that_do_not_fit(name):
    with pytest.raises(FileFormatError, match=f"{name} has 9 columns"):
        _over_features(**over(**{name: 9}))
    with pytest.raises(FileFormatError, match="ridge is missing"):
        _over_features(**over(ridge=False))
