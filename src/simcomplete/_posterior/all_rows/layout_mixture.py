"""How a stack of models beside a single one is saved, see `_result.layout`."""

from __future__ import annotations

from typing import Any

from simcomplete._posterior.all_rows.layout import REAL, ROWS_COMPLETION, SCALING, factors_layout, row_model_layout
from simcomplete._posterior.all_rows.members import FeatureUnits, OverFeatures, OverRows
from simcomplete._posterior.all_rows.mixture import RowsMixture
from simcomplete._posterior.all_rows.stack import Recipe, RowStack
from simcomplete._posterior.all_rows.tilt import Tilt
from simcomplete._result.layout import Maybe, Parts, Record, Several, need
from simcomplete._result.layout_values import Floats, Value
from simcomplete._result.pair_spread import PARTS, PairSpread

FEATURE_UNITS = Record(FeatureUnits, {name: Floats("seen") for name in ("mean", "deviation", "count", "low", "high")})
TILT = Record(Tilt, {"beta": REAL, "z": REAL, "raw": Value(bool)})
RECIPE = Record(
    Recipe,
    {
        **{"weights": Floats("weights"), "variances": Floats("variances")},
        **{"slope": REAL, "level": REAL, "pairs": REAL, "tilt": TILT},
    },
)


class _Member:
    """A model over rows or over features; its place is in the names of its sides, as each may have its own rank."""

    def write(self, value: Any, at: str, parts: Parts) -> Any:
        return self._layout(isinstance(value, OverRows), at).write(value, at, parts)

    def read(self, stored: Any, at: str, parts: Parts) -> Any:
        over_rows = isinstance(stored, dict) and stored.get("class") == OverRows.__name__
        return self._layout(over_rows, at).read(stored, at, parts)

    def _layout(self, over_rows: bool, at: str) -> Record:
        rank = f"rank of {at}"
        if over_rows:
            return Record(OverRows, {"model": row_model_layout(rank)})
        return Record(
            OverFeatures,
            {
                "units": Maybe(FEATURE_UNITS),
                "factors": factors_layout("stacked rows", rank),
                "scores": Floats("seen", f"columns of {at}"),
                "spread": Floats("seen", f"spread of {at}"),
                "moments": Floats("seen", f"squares of {at}"),
                "variance": REAL,
            },
            _over_features,
        )


def _over_features(**parts: Any) -> OverFeatures:
    r = parts["factors"].rank
    expected = {"scores": r + 1, "spread": r * (r + 1) // 2, "moments": (r + 1) * (r + 2) // 2}
    for name, columns in expected.items():
        need(parts[name].shape[1] == columns, name, f"has {parts[name].shape[1]} columns, and {columns} fit the rank")
    need(parts["factors"].ridge is not None, "ridge", "is missing")
    return OverFeatures(**parts)


def _stack(**parts: Any) -> RowStack:
    found, recipe = len(parts["members"]), parts["recipe"]
    need(found > 0 and isinstance(parts["members"][0], OverRows), "members", "do not begin with one over rows")
    need(len(recipe.weights) == found + 1, "weights", f"are {len(recipe.weights)}, of {found} members")
    need(len(recipe.variances) == 2 * found, "variances", f"are {len(recipe.variances)}, of {found} members")
    return RowStack(**parts)


ROW_STACK = Record(
    RowStack,
    {
        "members": Several(_Member()),
        "scaling": SCALING,
        "units": FEATURE_UNITS,
        "raw_deviation": Floats("seen"),
        "recipe": RECIPE,
    },
    _stack,
)
PAIR_SPREAD = Record(
    PairSpread,
    {
        **{"vectors": Floats("fitted", "d"), "variances": Floats("fitted", "d"), "loadings": Floats("d", "directions")},
        **{"weights": Floats(PARTS), "doubt": Floats("fitted")},
    },
)
ROWS_MIXTURE = Record(
    RowsMixture,
    {
        **ROWS_COMPLETION.fields,
        "stack": ROW_STACK,
        "weight": Value(float, low=0.0, high=1.0),
        "names": Several(Value(str)),
        "random": Several(REAL),
        "pairs": PAIR_SPREAD,
    },
)
