"""The paper's claims about trends: in the missing ratio, the rank and the weight, and between its two penalties."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from simcomplete._reproduction.report.results import Finding, ProtocolResults, format_largest, format_range
from simcomplete._reproduction.reported import printed_numbers
from simcomplete._reproduction.rows import RowsByTrial

# A rise of the error along a curve that is smaller than this does not count.
MIN_RISE = 1e-3


def better_than_start(rows: RowsByTrial) -> Finding:
    """Whether SMCNN is nearer to the truth than S0."""
    both = [ProtocolResults(name, rows, ["smcnn"]) for name in ("ablation", "smcnn-smcnmf")]
    values = [e.mean["error"] for results in both for e in results.where("smcnn", "original") if "error" in e.mean]
    numbers = f"SMCNN has an error of {format_range(values)} in {len(values)} settings; 1 is that of S0."
    holds = max(values) < 1 if values else None
    command = " && ".join(results.command("--only method=smcnn") for results in both)
    return Finding("SMCNN is always nearer to the truth than S0", holds, numbers, command)


def trend_in_missing(rows: RowsByTrial) -> Finding:
    """Whether the relative error falls with the missing ratio."""
    series = ProtocolResults("ablation", rows, ["smcnn"]).series("error", "missing", method="smcnn", column="original")
    command = "simcomplete paper run ablation --only method=smcnn"
    return _falls("the relative error of SMCNN falls as more is missing", series, "from 0.7 to 0.9", command)


def trend_in_rank(rows: RowsByTrial) -> Finding:
    """Whether the error falls with the rank."""
    results = ProtocolResults("sensitivity-rank", rows)
    series = results.series("error", "rank", method="smcnn")
    return _falls("the error of SMCNN falls with the rank", series, "from rank 50 to 200", results.command())


def trend_in_weight(rows: RowsByTrial) -> Finding:
    """Whether the error rises again from a weight of 0.1 on."""
    results = ProtocolResults("sensitivity-weight", rows)
    series = results.series("error", "penalty", method="smcnn")
    up = sum(values[-1] > values[-3] + MIN_RISE for values in series)
    gaps = [values[-1] - values[0] for values in series]
    numbers = (
        f"Between weights 0.1 and 10 it rises in {up} of {len(series)} settings; "
        f"from 1e-4 to 10 it changes by {format_range(gaps)}."
    )
    holds = up > len(series) / 2 if series else None
    return Finding("the error of SMCNN rises again for weights from 0.1 to 10", holds, numbers, results.command())


def steps_are_stable(rows: RowsByTrial) -> Finding:
    """Whether descent is stable for the paper's steps."""
    results = ProtocolResults("sensitivity-step", rows)
    ran = [e for e in results.cells if e.statuses]
    ended = {word: sum(word in e.statuses for e in ran) for e in ran for word in e.statuses}
    listed = ", ".join(f"{word.replace('_', ' ')} {count}" for word, count in sorted(ended.items()))
    least = min((e.at["step"] for e in ran if "diverged" in e.statuses), default=None)
    numbers = f"Of {len(ran)} runs: {listed}." + (
        "" if least is None else f" The smallest step that diverged is {least:g}."
    )
    holds = not {"diverged", "oscillating"} & set(ended) if ran else None
    return Finding("descent is stable for steps from 0.001 to 10", holds, numbers, results.command())


def two_penalties_agree(rows: RowsByTrial) -> Finding:
    """Whether SMCNN and SMCNmF differ as little as printed."""
    results = ProtocolResults("ablation", rows, ["smcnn", "smcnmf"])
    gaps = _gaps(results, "smcnn", "smcnmf")
    theirs = [abs(gap) for gap in _printed_gaps(results, "smcnn", "smcnmf")]
    numbers = f"Largest difference of error: {format_largest(gaps)}; printed: {max(theirs):.3f}."
    holds = max(gaps) <= max(theirs) if gaps else None
    return Finding("SMCNN and SMCNmF are nearly the same", holds, numbers, results.command())


def penalty_matters(rows: RowsByTrial) -> Finding:
    """Whether the nuclear norm gains as much over no penalty as printed."""
    results = ProtocolResults("ablation", rows, ["smcnn", "smc_nr"])
    gaps, theirs = _gaps(results, "smcnn", "smc_nr"), _printed_gaps(results, "smc_nr", "smcnn")
    numbers = (
        f"Largest difference of error between the two optima: {format_largest(gaps)}; printed: {format_range(theirs)}."
    )
    holds = max(gaps) >= min(theirs) if gaps else None
    return Finding("SMCNN is well ahead of SMC_NR, which has no penalty", holds, numbers, results.command())


def _gaps(results: ProtocolResults, one: str, other: str) -> list[float]:
    settings = results.settings()
    pairs = [(results.get("error", one, **at), results.get("error", other, **at)) for at in settings]
    return [abs(a - b) for a, b in pairs if a is not None and b is not None]


def _printed_gaps(results: ProtocolResults, one: str, other: str) -> list[float]:
    """Return the first method's printed error minus the other's, where both were printed."""
    settings = results.settings()
    pairs = [(printed_numbers("ablation", one, at), printed_numbers("ablation", other, at)) for at in settings]
    return [a["error"] - b["error"] for a, b in pairs if a and b]


def _falls(claim: str, series: Sequence[Sequence[float]], along: str, command: str) -> Finding:
    down = sum(all(b <= a + MIN_RISE for a, b in pairwise(values)) for values in series)
    gaps = [values[-1] - values[0] for values in series]
    numbers = f"It never rises {along} in {down} of {len(series)} settings, and changes by {format_range(gaps)}."
    return Finding(claim, down > len(series) / 2 if series else None, numbers, command)
