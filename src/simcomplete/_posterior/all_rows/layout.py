"""How a model of rows of which every one may be incomplete is saved, see `_result.layout`."""

from __future__ import annotations

from simcomplete._posterior.all_rows.calibrate import RowModel
from simcomplete._posterior.all_rows.em import Factors
from simcomplete._posterior.all_rows.local import Local
from simcomplete._posterior.all_rows.packing import Scaling
from simcomplete._posterior.all_rows.select import MODELS, SPACES, RowsCompletion, RowsSetting
from simcomplete._posterior.all_rows.split import CompleteRowsModel
from simcomplete._posterior.candidates.layout import CANDIDATE_MODEL
from simcomplete._result.layout import Maybe, Record
from simcomplete._result.layout_values import Flags, Floats, Plain, Value
from simcomplete._result.status import Status

REAL = Value(float)


def factors_layout(variables: str, rank: str) -> Record:
    """Of a factor model, by the names of its sides."""
    return Record(
        Factors,
        {
            "mean": Floats(variables),
            "loadings": Floats(variables, rank),
            "noise": Floats(variables),
            "spread": Maybe(Floats(variables, f"moments of {rank}")),
            "ridge": Maybe(Floats(rank)),
            "prior": REAL,
        },
    )


def row_model_layout(rank: str) -> Record:
    """Of a model over rows, by the name of its rank."""
    return Record(
        RowModel,
        {
            "factors": factors_layout("seen", rank),
            "scaling": SCALING,
            "local": Maybe(LOCAL),
            "strength": REAL,
            "power": REAL,
            "level": REAL,
        },
    )


SCALING = Record(Scaling, {"space": Value(str, SPACES), "largest": REAL, "energy": Floats("seen")})
LOCAL = Record(
    Local,
    {"values": Floats("landmarks", "seen"), "directions": Floats("landmarks", "seen"), "lengths": Floats("landmarks")},
)
SETTING = Record(RowsSetting, {"space": Value(str, SPACES), "model": Value(str, MODELS), "rank": Value(int, low=1)})
STATUS = Record(Status, {"code": Value(str), "message": Value(str), "ok": Value(bool)})
ROWS_COMPLETION = Record(
    RowsCompletion,
    {
        "U": Floats("fitted", "d"),
        "setting": SETTING,
        "model": row_model_layout("rank"),
        "seen": Flags("d"),
        "table": Plain((list,)),
        "expected_squared_error": Maybe(REAL),
        "quantiles": Maybe(Floats(1001)),
        "history": Plain((list,)),
        "status": STATUS,
    },
)
COMPLETE_ROWS_MODEL = Record(CompleteRowsModel, {"model": CANDIDATE_MODEL, "unit": Floats("fitted", "d")})
