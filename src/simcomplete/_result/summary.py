"""A summary of a completion that is quick to compute: plain values for JSON, and a table for notebooks.

For a large result, rank and checks are left out or derived from its form; `done.rank` and `done.validity` compute them
from all rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from simcomplete._result.html import html_table
from simcomplete._result.plain import plain
from simcomplete._result.validity import checks_by_form, validation_work
from simcomplete.errors import MemoryLimitError

if TYPE_CHECKING:
    from simcomplete._result.completion import Completion

CHEAP_WORK = 1e10  # multiplications, which take about a second
CHEAP_VALUES = 2**25  # values to read, a quarter of a gibibyte


def summary(done: Completion) -> dict[str, Any]:
    """A summary of the result, as plain values for JSON.

    This is always quick: for a large result, `rank` and evidence that is not yet counted are None, and `validity` has
    only the checks that follow from its form.
    """
    is_known = not callable(done.evidence_source) or "evidence" in vars(done)
    work = done.n_candidates * done.n_queries * int(done.matrix.array.shape[1])
    evidence = done.evidence if is_known or is_cheap(done, work) else None
    return {
        "method": done.method,
        "params": plain(done.params),
        "n_candidates": done.n_candidates,
        "n_queries": done.n_queries,
        "rank": cheap_rank(done),
        "rank_at_most": min(done.matrix.array.shape),
        "status": done.status.as_dict(),
        "certificate": None if done.certificate is None else plain(done.certificate.as_dict()),
        "evidence": None if evidence is None else evidence.as_dict(),
        "choice": plain(done.choice),
        "validity": plain({name: vars(check) for name, check in cheap_checks(done).items()}),
    }


def is_cheap(done: Completion, work: int) -> bool:
    """Return whether so many multiplications over all rows are quick."""
    return work <= CHEAP_WORK and math.prod(done.matrix.array.shape) <= CHEAP_VALUES


def cheap_rank(done: Completion) -> int | None:
    """Return the rank if it is known or quick to compute, else None."""
    if "rank" not in vars(done) and not is_cheap(done, done.matrix.rank_work):
        return None
    try:
        return done.rank
    except MemoryLimitError:
        return None


def cheap_checks(done: Completion) -> dict[str, Any]:
    """Return all five checks of validity if known or quick to compute, else those that follow from the form."""
    if "validity" not in vars(done) and not is_cheap(done, validation_work(done.matrix, done.exact)):
        return checks_by_form(done.matrix, done.exact)
    try:
        return vars(done.validity)
    except MemoryLimitError:
        return checks_by_form(done.matrix, done.exact)


def rank_in_words(done: Completion) -> str:
    """Return the rank, or a bound on it, as text."""
    rank = cheap_rank(done)
    return f"<={min(done.matrix.array.shape)}" if rank is None else str(rank)


def completion_html(done: Completion) -> str:
    """Return a small HTML table for notebooks."""
    checks = cheap_checks(done)
    failed = [name.replace("_", " ") for name, check in checks.items() if not check.ok]
    valid = f"{len(checks) - len(failed)} of {len(checks)} checks hold" + (f"; not: {', '.join(failed)}" * bool(failed))
    lines = {
        "method": done.method + (", chosen by auto" if done.params.get("chosen_by") == "auto" else ""),
        "candidates": done.n_candidates,
        "queries": done.n_queries,
        "rows with nothing observed": None if done.unobserved is None else len(done.unobserved),
        "rank": rank_in_words(done),
        "status": done.status,
        "validity": valid,
    }
    return html_table("Completion", [line for line in lines.items() if line[1] is not None])
