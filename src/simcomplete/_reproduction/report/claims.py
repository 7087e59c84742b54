"""What the paper says, one function each: the rows decide whether it holds."""

from __future__ import annotations

from statistics import fmean

from scipy.stats import spearmanr

from simcomplete._reproduction.protocol import load
from simcomplete._reproduction.report import trends
from simcomplete._reproduction.report.contents import Book, Finding, span
from simcomplete._reproduction.reported import method_label, printed
from simcomplete._reproduction.runner import Rows
from simcomplete._reproduction.summary import NEAR

# Our measures that could be meant by the paper's.
READINGS = {
    "error": ("error", "error_off_candidates"),
    "recall_fifth": ("recall_fifth", "recall_all_rows"),
    "ndcg": ("ndcg", "ndcg_graded"),
}


def findings(rows: Rows) -> list[Finding]:
    """Check every claim against the rows there are."""
    return [check(rows) for check in CHECKS]


def order_of_methods(rows: Rows) -> Finding:
    """Whether the methods of the ablation come in the paper's order."""
    book = Book("ablation", rows)
    scores = []
    for place in book.places():
        mine = book.where(column="original", **place)
        both = [e for e in mine if "error" in e.mean and "error" in e.paper and not e.over]
        if len(both) >= 5:
            ours, theirs = [e.mean["error"] for e in both], [e.paper["error"] for e in both]
            scores.append(float(spearmanr(ours, theirs).statistic))
    found = f"Spearman correlation of the paper's errors with ours over methods: {span(scores)}."
    holds = fmean(scores) > 0.5 if scores else None
    return Finding("the ablation's methods come in the printed order of error", holds, found, book.command())


def ranks_below_bound(rows: Rows) -> Finding:
    """Whether the estimate's rank is 70 to 85 for r = 100."""
    book = Book("rank", rows)
    ranks = [e.mean["rank"] for m in ("smcnn", "smcnmf") for e in book.where(m) if "rank" in e.mean]
    found = f"The optimum of SMCNN and SMCNmF has rank {span(ranks, 0)} in {len(ranks)} settings."
    holds = max(ranks) <= 85 if ranks else None
    command = book.command("--only method=smcnn --only method=smcnmf")
    return Finding("with r = 100 the estimates have ranks of 70 to 85", holds, found, command)


def projection_above_one(rows: Rows) -> Finding:
    """Whether DMC is worse than S0 anywhere."""
    book = Book("ablation", rows)
    values = [e.mean["error"] for e in book.where("dmc", "tuned") if "error" in e.mean]
    literal = [e.mean["error"] for e in book.where("dmc", "original") if "error" in e.mean]
    theirs = [e.paper["error"] for e in book.where("dmc", "tuned") if "error" in e.paper]
    found = (
        f"The converged projection has an error of {span(values)}, its public form with 20 iterations "
        f"{span(literal)}; printed: up to {max(theirs):.3f}. A projection onto a convex set that holds the truth "
        "cannot exceed 1."
    )
    holds = max(values) > 1 if values else None
    return Finding("DMC can be worse than S0 (error above 1)", holds, found, book.command("--only method=dmc"))


def ahead_of_baselines(rows: Rows) -> Finding:
    """Whether SMCNN or SMCNmF have the smallest error."""
    names = [name for name in load("effectiveness-1000").methods if name not in ("overlap", "posterior")]
    book = Book("effectiveness-1000", rows)
    firsts, ahead, settings = 0, dict.fromkeys(names, 0), 0
    for place in book.places():
        best = {e.method: e.mean["error"] for e in reversed(book.where(**place)) if "error" in e.mean}
        for entry in book.where(**place):
            if "error" in entry.mean:
                best[entry.method] = min(best[entry.method], entry.mean["error"])
        if "smcnn" not in best or len(best) < 4:
            continue
        settings += 1
        firsts += min(best[name] for name in names if name in best) in (best["smcnn"], best.get("smcnmf"))
        for name in names:
            ahead[name] += name in best and best[name] < min(best["smcnn"], best.get("smcnmf", best["smcnn"]))
    told = ", ".join(f"{method_label(n)} {ahead[n]}" for n in sorted(names, key=lambda n: -ahead[n]) if ahead[n])
    found = (
        f"One of them is first in {firsts} of {settings} settings, each method with the better of its two columns. "
        f"Settings in which a method is ahead of both: {told or 'none'}."
    )
    holds = firsts > settings / 2 if settings else None
    return Finding("SMCNN or SMCNmF have the smallest error of all", holds, found, book.command())


def literal_step(rows: Rows) -> Finding:
    """Whether descent with the printed step arrives."""
    book = Book("literal-step", rows)
    exact, literal = book.get("error", "smcnn", "exact"), book.where("smcnn", "step 0.001")[0]
    ended = ", ".join(literal.statuses) or literal.reason
    found = (
        f"On MNIST at 0.8 it ended with the status: {ended}{' (stopped by its time limit)' if literal.over else ''}."
    )
    if "error" in literal.mean and exact is not None:
        found += f" Error {literal.mean['error']:.3f}; at the optimum {exact:.3f}."
    holds = set(literal.statuses) <= {"converged", "stalled", "optimal"} if literal.ran else None
    return Finding("descent with step 0.001 and 10,000 steps converges", holds, found, book.command())


def threshold_lowers_error(rows: Rows) -> Finding:
    """Whether NNFN's threshold changes rank and error as printed."""
    book = Book("threshold", rows)
    low, high = (_at_weight(book, weight) for weight in (1e-4, 1e-2))
    theirs = [
        printed("svt", "nnfn", {**e.at, "penalty": w})["rank"] for e in book.where(penalty=1e-2) for w in (1e-4, 1e-2)
    ]
    found = (
        f"On S the error is {span(low)} at 1e-4 and {span(high)} at 1e-2. "
        f"Printed ranks go from {max(theirs):.0f} down to {min(theirs):.0f}."
    )
    moved = [abs(a - b) for a, b in zip(low, high, strict=False)]
    holds = max(moved) > 0.05 if moved else None
    claim = "thresholds of 1e-4 to 1e-2 change NNFN's error by tenths"
    return Finding(claim, holds, found, book.command())


def readings(rows: Rows) -> Finding:
    """Whether any reading of the measures gives the printed numbers."""
    book = Book("readings", rows)
    told, best = [], []
    for theirs, ours in READINGS.items():
        for measure in ours:
            pairs = [
                (e.mean[measure], e.paper[theirs]) for e in book.entries if measure in e.mean and theirs in e.paper
            ]
            gap = fmean(abs(a - b) for a, b in pairs) if pairs else None
            if gap is not None:
                told.append(f"{measure} {gap:.3f}")
                best.append(gap)
    found = f"Mean distance from the paper's numbers: {', '.join(told)}."
    holds = min(best) < NEAR if best else None
    claim = "one of the readings of error, recall or nDCG gives the printed numbers"
    return Finding(claim, holds, found, book.command())


def ours_is_better(rows: Rows) -> Finding:
    """How the posterior compares; no claim of the paper."""
    book = Book("effectiveness-1000", rows)
    first = settings = 0
    values = []
    for place in book.places():
        mine = book.get("error", "posterior", **place)
        others = [e.mean["error"] for e in book.where(**place) if e.method != "posterior" and "error" in e.mean]
        if mine is not None and len(others) >= 3:
            settings, first = settings + 1, first + (mine < min(others))
            values.append(mine)
    found = f"Its error is {span(values)}; it is first in {first} of {settings} settings."
    holds = first == settings if settings else None
    return Finding("(ours) posterior has the smallest error of all methods run", holds, found, book.command())


def _at_weight(book: Book, weight: float) -> list[float]:
    return [e.mean["error"] for e in book.where(column="original on S", penalty=weight) if "error" in e.mean]


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
)
