"""The paper's claims about methods and measures, one function each that checks it against the rows."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

from scipy.stats import spearmanr

from simcomplete._reproduction.protocol import load_protocol
from simcomplete._reproduction.report import trends
from simcomplete._reproduction.report.label_claims import classes_found_best
from simcomplete._reproduction.report.reasons import REASONS
from simcomplete._reproduction.report.results import Finding, ProtocolResults, format_range
from simcomplete._reproduction.reported import method_label, printed_numbers
from simcomplete._reproduction.rows import RowsByTrial
from simcomplete._reproduction.summary import TOLERANCE

# The measures of ours that a measure of the paper could mean.
READINGS = {
    "error": ("error", "error_off_candidates"),
    "recall_fifth": ("recall_fifth", "recall_all_rows"),
    "ndcg": ("ndcg", "ndcg_graded"),
}


def check_claims(rows: RowsByTrial) -> list[Finding]:
    """Check every claim against the rows."""
    return [replace(check(rows), why=REASONS.get(check.__name__, "")) for check in CHECKS]


def order_of_methods(rows: RowsByTrial) -> Finding:
    """Whether the methods of the ablation come in the paper's order."""
    results = ProtocolResults("ablation", rows, columns=["original"])
    scores = []
    for setting in results.settings():
        mine = results.where(column="original", **setting)
        both = [e for e in mine if "error" in e.mean and "error" in e.paper and not e.over]
        if len(both) >= 5:
            ours, theirs = [e.mean["error"] for e in both], [e.paper["error"] for e in both]
            scores.append(float(spearmanr(ours, theirs).statistic))
    numbers = f"Spearman correlation of the paper's errors with ours over methods: {format_range(scores)}."
    holds = fmean(scores) > 0.5 if scores else None
    return Finding("the ablation's methods come in the printed order of error", holds, numbers, results.command())


def ranks_below_bound(rows: RowsByTrial) -> Finding:
    """Whether the estimate's rank is 70 to 85 for r = 100."""
    results = ProtocolResults("rank", rows, ["smcnn", "smcnmf"])
    ranks = [e.mean["rank"] for m in ("smcnn", "smcnmf") for e in results.where(m) if "rank" in e.mean]
    numbers = f"The optimum of SMCNN and SMCNmF has rank {format_range(ranks, 0)} in {len(ranks)} settings."
    holds = max(ranks) <= 85 if ranks else None
    command = results.command("--only method=smcnn --only method=smcnmf")
    return Finding("with r = 100 the estimates have ranks of 70 to 85", holds, numbers, command)


def projection_above_one(rows: RowsByTrial) -> Finding:
    """Whether DMC is worse than S0 anywhere."""
    results = ProtocolResults("ablation", rows, ["dmc"])
    values = [e.mean["error"] for e in results.where("dmc", "tuned") if "error" in e.mean]
    literal = [e.mean["error"] for e in results.where("dmc", "original") if "error" in e.mean]
    theirs = [e.paper["error"] for e in results.where("dmc", "tuned") if "error" in e.paper]
    numbers = (
        f"The converged projection has an error of {format_range(values)}, its public form with 20 iterations "
        f"{format_range(literal)}; printed: up to {max(theirs):.3f}."
    )
    holds = max(values) > 1 if values else None
    return Finding("DMC can be worse than S0 (error above 1)", holds, numbers, results.command("--only method=dmc"))


def ahead_of_baselines(rows: RowsByTrial) -> Finding:
    """Whether SMCNN or SMCNmF have the smallest error."""
    names = [name for name in load_protocol("effectiveness-1000").methods if name not in ("overlap", "posterior")]
    results = ProtocolResults("effectiveness-1000", rows)
    firsts, ahead, settings = 0, dict.fromkeys(names, 0), 0
    for setting in results.settings():
        best = {e.method: e.mean["error"] for e in reversed(results.where(**setting)) if "error" in e.mean}
        for cell in results.where(**setting):
            if "error" in cell.mean:
                best[cell.method] = min(best[cell.method], cell.mean["error"])
        if "smcnn" not in best or len(best) < 4:
            continue
        settings += 1
        firsts += min(best[name] for name in names if name in best) in (best["smcnn"], best.get("smcnmf"))
        for name in names:
            ahead[name] += name in best and best[name] < min(best["smcnn"], best.get("smcnmf", best["smcnn"]))
    listed = ", ".join(f"{method_label(n)} {ahead[n]}" for n in sorted(names, key=lambda n: -ahead[n]) if ahead[n])
    numbers = (
        f"One of them is first in {firsts} of {settings} settings, each method with the better of its two columns. "
        f"Settings in which a method is ahead of both: {listed or 'none'}."
    )
    holds = firsts > settings / 2 if settings else None
    return Finding("SMCNN or SMCNmF have the smallest error of all", holds, numbers, results.command())


def literal_step(rows: RowsByTrial) -> Finding:
    """Whether descent with the printed step arrives."""
    results = ProtocolResults("literal-step", rows)
    exact, literal = results.get("error", "smcnn", "exact"), results.where("smcnn", "step 0.001")[0]
    ended = ", ".join(literal.statuses) or literal.reason
    numbers = (
        f"On MNIST at 0.8 it ended with the status: {ended}{' (stopped by its time limit)' if literal.over else ''}."
    )
    if "error" in literal.mean and exact is not None:
        numbers += f" Error {literal.mean['error']:.3f}; at the optimum {exact:.3f}."
    holds = set(literal.statuses) <= {"converged", "stalled", "optimal"} if literal.ran else None
    return Finding("descent with step 0.001 and 10,000 steps converges", holds, numbers, results.command())


def threshold_lowers_error(rows: RowsByTrial) -> Finding:
    """Whether NNFN's threshold changes rank and error as printed."""
    results = ProtocolResults("threshold", rows, columns=["original on S"])
    low, high = (_at_weight(results, weight) for weight in (1e-4, 1e-2))
    theirs = [
        printed_numbers("svt", "nnfn", {**cell.at, "penalty": weight})["rank"]
        for cell in results.where(penalty=1e-2)
        for weight in (1e-4, 1e-2)
    ]
    numbers = (
        f"On S the error is {format_range(low)} at 1e-4 and {format_range(high)} at 1e-2. "
        f"Printed ranks go from {max(theirs):.0f} down to {min(theirs):.0f}."
    )
    moved = [abs(a - b) for a, b in zip(low, high, strict=False)]
    holds = max(moved) > 0.05 if moved else None
    claim = "thresholds of 1e-4 to 1e-2 change NNFN's error by tenths"
    return Finding(claim, holds, numbers, results.command())


def readings(rows: RowsByTrial) -> Finding:
    """Whether one reading of the measures gives the printed numbers."""
    results = ProtocolResults("readings", rows)
    listed, gaps = [], []
    for theirs, ours in READINGS.items():
        for measure in ours:
            pairs = [
                (e.mean[measure], e.paper[theirs]) for e in results.cells if measure in e.mean and theirs in e.paper
            ]
            gap = fmean(abs(a - b) for a, b in pairs) if pairs else None
            if gap is not None:
                listed.append(f"{measure} {gap:.3f}")
                gaps.append(gap)
    numbers = f"Mean distance from the paper's numbers: {', '.join(listed)}."
    holds = min(gaps) < TOLERANCE if gaps else None
    claim = "one of the readings of error, recall or nDCG gives the printed numbers"
    return Finding(claim, holds, numbers, results.command())


def ours_is_better(rows: RowsByTrial) -> Finding:
    """How the posterior compares; no claim of the paper."""
    results = ProtocolResults("effectiveness-1000", rows)
    first = settings = 0
    values = []
    for setting in results.settings():
        mine = results.get("error", "posterior", **setting)
        others = [e.mean["error"] for e in results.where(**setting) if e.method != "posterior" and "error" in e.mean]
        if mine is not None and len(others) >= 3:
            settings, first = settings + 1, first + (mine < min(others))
            values.append(mine)
    numbers = f"Its error is {format_range(values)}; it is first in {first} of {settings} settings."
    holds = first == settings if settings else None
    return Finding("(ours) posterior has the smallest error of all methods run", holds, numbers, results.command())


def _at_weight(results: ProtocolResults, weight: float) -> list[float]:
    return [e.mean["error"] for e in results.where(column="original on S", penalty=weight) if "error" in e.mean]


CHECKS = (
    trends.better_than_start,
    trends.trend_in_missing,
    trends.trend_in_rank,
    trends.trend_in_weight,
    trends.two_penalties_agree,
    order_of_methods,
    ranks_below_bound,
    projection_above_one,
    ahead_of_baselines,
    trends.penalty_matters,
    literal_step,
    trends.steps_are_stable,
    threshold_lowers_error,
    readings,
    ours_is_better,
    classes_found_best,
)
