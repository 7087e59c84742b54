"""The paper's claims, checked on rows in which they hold and on rows in which they do not."""

import pytest

from simcomplete._reproduction.protocol import load_protocol
from simcomplete._reproduction.report import claims, trends
from simcomplete._reproduction.report.results import ProtocolResults, common_seeds
from simcomplete._reproduction.rows import rows_by_trial
from simcomplete._reproduction.summary import summarise_cells


class TestClaims:
    """Rows in which a claim holds, and rows in which it does not."""

    def test_they_use_the_seeds_with_which_every_cell_was_run(self, made):
        two = load_protocol("readings")
        rows = rows_by_trial(made("readings", error=lambda c: c.trial["seed"]))
        assert common_seeds(two, rows) == [0, 1, 2, 3, 4]
        assert ProtocolResults("readings", rows).cells[0].mean["error"] == 2.0
        del rows[next(key for key, row in rows.items() if row["seed"] == 4)]
        assert common_seeds(two, rows) == [0, 1, 2, 3]
        assert {e.mean["error"] for e in ProtocolResults("readings", rows).cells} == {1.5}
        assert common_seeds(two, {}) == [0]

    def test_they_use_the_seeds_of_what_they_compare(self, made):
        rows = rows_by_trial(made("rank", rank=100))
        assert ProtocolResults("rank", rows).seeds == [0]  # NNFN runs with the first seed only
        assert ProtocolResults("rank", rows, ["nnfn"], ["original on S"]).seeds == [0, 1, 2, 3, 4]
        assert {cell.method for cell in ProtocolResults("rank", rows, ["smcnn"]).cells} == {"smcnn"}

    @pytest.mark.parametrize(("slope", "holds"), [(-1e-3, True), (1e-3, False)])
    def test_trend_in_rank(self, slope, holds, made):
        rows = made("sensitivity-rank", error=lambda c: 1 + slope * c.at["rank"])
        finding = trends.trend_in_rank(rows_by_trial(rows))
        assert finding.holds is holds
        assert f"in {15 * holds} of 15 settings" in finding.evidence

    @pytest.mark.parametrize(("large", "holds"), [("diverged", False), ("converged", True)])
    def test_steps(self, large, holds, made):
        rows = made("sensitivity-step", status=lambda c: large if c.at["step"] > 0.05 else "converged")
        finding = trends.steps_are_stable(rows_by_trial(rows))
        assert finding.holds is holds
        assert ("converged 7, diverged 15. The smallest step that diverged is 0.1." in finding.evidence) is not holds

    @pytest.mark.parametrize(("error", "holds"), [(0.9, False), (1.05, True)])
    def test_dmc_above_one(self, error, holds, made):
        rows = made("ablation", ["method=dmc"], error=error)
        assert claims.projection_above_one(rows_by_trial(rows)).holds is holds

    @pytest.mark.parametrize(("rank", "holds"), [(80, True), (100, False)])
    def test_ranks(self, rank, holds, made):
        finding = claims.ranks_below_bound(rows_by_trial(made("rank", ["method=smcnn"], rank=rank)))
        assert finding.holds is holds
        assert f"rank {rank} in 15 settings" in finding.evidence

    def test_the_printed_numbers_hold_for_themselves(self, made):
        """Rows made of the paper's own numbers: its order is found, and its readings."""
        entries = {(e.method, *e.at.values()): e.paper for e in summarise_cells(load_protocol("ablation"), {})}

        def own(measure):
            return lambda c: entries[c.trial["method"], *c.at.values()][measure]

        rows = made("ablation", error=own("error"), recall_fifth=own("recall_fifth"), ndcg=own("ndcg"))
        known = rows_by_trial(rows)
        assert claims.order_of_methods(known).numbers.endswith("over methods: 1.000.")
        for check in (claims.order_of_methods, claims.readings, trends.penalty_matters):
            assert check(known).holds
        assert trends.two_penalties_agree(known).holds
        assert claims.projection_above_one(known).holds
        assert trends.better_than_start(known).holds

    def test_first_place(self, made):
        worst = {"smcnn": 0.5, "smcnmf": 0.5, "posterior": 0.1}
        rows = made("effectiveness-1000", error=lambda c: worst.get(c.trial["method"], 0.6))
        known = rows_by_trial(rows)
        assert claims.ahead_of_baselines(known).holds
        assert claims.ours_is_better(known).holds
        worst["fmc"] = 0.05
        known = rows_by_trial(made("effectiveness-1000", error=lambda c: worst.get(c.trial["method"], 0.6)))
        assert "ahead of both: FMC 15." in claims.ahead_of_baselines(known).evidence
        assert not claims.ours_is_better(known).holds
