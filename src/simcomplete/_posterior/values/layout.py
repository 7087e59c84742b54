"""How a model of missing values is saved, see `_result.layout`."""

from __future__ import annotations

from simcomplete._posterior.all_rows.layout import COMPLETE_ROWS_MODEL, ROWS_COMPLETION
from simcomplete._posterior.all_rows.layout_mixture import ROWS_MIXTURE
from simcomplete._posterior.candidates.layout import CANDIDATE_MODEL, CANDIDATES, SPACES_OF_ROWS
from simcomplete._posterior.values.members import CandidateMembers, SingleMember
from simcomplete._posterior.values.model import StandardUnits, ValueModel
from simcomplete._result.layout import Either, Record
from simcomplete._result.layout_values import Floats, Value

POSTERIOR_MODEL = Either(lambda: (CANDIDATE_MODEL, ROWS_MIXTURE, ROWS_COMPLETION, COMPLETE_ROWS_MODEL))
UNITS = Record(StandardUnits, {"mean": Floats("d"), "deviation": Floats("d")})
SINGLE_MEMBER = Record(SingleMember, {"model": POSTERIOR_MODEL, "count": Value(int, (1, 2))})
CANDIDATE_MEMBERS = Record(CandidateMembers, {"candidates": CANDIDATES, "spaces": SPACES_OF_ROWS})
VALUE_MODEL = Record(
    ValueModel,
    {
        "units": UNITS,
        "members": Either(lambda: (SINGLE_MEMBER, CANDIDATE_MEMBERS)),
        "weights": Floats("members"),
        "level": Floats("d"),
        "rows": Floats("kept", "d"),
    },
)
