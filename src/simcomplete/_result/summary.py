"""What can be said of a completion without long work: plain values for JSON, and a table for notebooks.

Rank and checks of a large result are left out, or taken from its form: whoever wants them asks for `done.rank` and
`done.validity`, which go over all rows.
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

CHEAP_WORK = 1e10  # multiplications, about a second
CHEAP_VALUES = 2**25  # values to look at, a quarter of a gibibyte


def summary(done: Completion) -> dict[str, Any]:
    """A summary of the result, as plain values for JSON.

    Nothing here takes long: for a large result, `rank` and evidence that is not counted yet are None, and `validity`
    has only the checks that follow from its form.
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
    """Whether something that takes so many multiplications over all rows is done quickly."""
    return work <= CHEAP_WORK and math.prod(done.matrix.array.shape) <= CHEAP_VALUES


def cheap_rank(done: Completion) -> int | None:
    """The rank, where it is known or quickly found."""
    if "rank" not in vars(done) and not is_cheap(done, done.matrix.rank_work):
        return None
    try:
        return done.rank
    except MemoryLimitError:
        return None


def cheap_checks(done: Completion) -> dict[str, Any]:
    """All five checks of validity where they are known or quickly made, else those that the form answers."""
    if "validity" not in vars(done) and not is_cheap(done, validation_work(done.matrix, done.exact)):
        return checks_by_form(done.matrix, done.exact)
    try:
        return vars(done.validity)
    except MemoryLimitError:
        return checks_by_form(done.matrix, done.exact)


def rank_in_words(done: Completion) -> str:
    """The rank, or the most that it can be."""
    rank = cheap_rank(done)
    return f"<={min(done.matrix.array.shape)}" if rank is None else str(rank)


def completion_html(done: Completion) -> str:
    """A small table for notebooks."""
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
