"""The members of the stack, fitted: the single model's setting, others over rows, and two over features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simcomplete._method.iterate import Limits
from simcomplete._posterior.all_rows.calibrate import RowModel
from simcomplete._posterior.all_rows.em import Factors, fit
from simcomplete._posterior.all_rows.members import FeatureUnits, OverFeatures, OverRows, RowMember
from simcomplete._posterior.all_rows.packing import IncompleteRows, Scaling
from simcomplete._posterior.all_rows.select import ENDED_EARLY, RowsSetting
from simcomplete._result.status import Status
from simcomplete._types import Matrix

RANK_SHARE, SMALLEST_RANK, LARGEST_RANK = 0.25, 5, 40  # of the known values of a row or a feature


class MemberFits:
    """Fits the members: the single model's setting, others over rows, and two over features."""

    def __init__(self, limits: Limits, setting: RowsSetting, rank: int) -> None:
        self.limits = limits
        self.cut: Status | None = None
        self.rank = rank
        # A second model with a noise per feature in the same space says the same again.
        more = [RowsSetting(space, "fa", rank) for space in ("unit", "raw") if setting[:2] != (space, "fa")]
        self.settings = [setting, *more]
        self.names = ("single", *(one.space for one in more), "dual", "std")

    def fit(self, X: Matrix, most: int, starts: list[RowMember] | None) -> list[RowMember]:
        """Fit every member to rows; from earlier fits on, all but the first."""
        limits = replace(self.limits, max_iter=most)
        members: list[RowMember] = []
        for k, setting in enumerate(self.settings):
            if starts is not None and k == 0:
                members.append(starts[0])
                continue
            scaling = Scaling.of(X, setting.space)
            rows = IncompleteRows.of(X / scaling.sizes(X)[:, None])
            start = None if starts is None else starts[k].model.factors  # type: ignore[attr-defined]
            members.append(OverRows(RowModel(self._fit(rows, setting.rank, setting.model, limits, start), scaling)))
        size = Scaling.of(X, "unit").sizes(X)
        Y = X / size[:, None]
        for units in (None, FeatureUnits.of(Y)):
            before = None if starts is None else starts[len(members)].factors  # type: ignore[attr-defined]
            rows = OverFeatures.rows(Y, units)
            members.append(OverFeatures.of(rows, units, self._fit(rows, self.rank, "fa", limits, before)))
        return members

    def _fit(self, rows: IncompleteRows, rank: int, model: str, limits: Limits, start: Factors | None) -> Factors:
        if self.cut is not None:
            limits = replace(limits, max_iter=1)
        found, run = fit(rows, rank, pooled=model == "ppca", limits=limits, start=start)
        if run.status.code in ENDED_EARLY:
            self.cut = Status(run.status.code, f"{run.status.message}; this is the best so far", ok=False)
        return found


def auto_rank(X: Matrix) -> int:
    """A rank for rows: a quarter of the known values of a row or a feature, whichever has fewer; 5 to 40."""
    known, (n, d) = float((~np.isnan(X)).sum()), X.shape
    rank = int(np.clip(RANK_SHARE * known / max(n, d), SMALLEST_RANK, LARGEST_RANK))
    return int(max(1, min(rank, (min(n, d) - 1) // 2)))
