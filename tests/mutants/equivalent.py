"""Mutants that no test can notice, each with the reason; they are not made and do not count.

An entry names the file, a piece of the line that the change begins in, what is replaced, and by what (empty: by
anything). A test checks that every entry still matches a mutant, so that none outlives its line.
"""

from __future__ import annotations

from typing import NamedTuple

from .changes import Mutant


class Equivalent(NamedTuple):
    """One mutant, or all of one expression, and why it changes nothing that can be observed."""

    file: str
    line: str
    old: str
    new: str
    why: str


def matches(entry: Equivalent, mutant: Mutant) -> bool:
    """Whether the entry is about that mutant."""
    if not mutant.path.as_posix().endswith(f"simcomplete/{entry.file}"):
        return False
    text = mutant.path.read_text(encoding="utf-8")
    line = text.splitlines()[mutant.line(text) - 1]
    return entry.line in line and entry.old == mutant.old and entry.new in ("", mutant.new)


GRID = "_posterior/candidates/grid.py"
CERTIFY = "_spectral/certify.py"
STEPS = "_spectral/solvers/steps.py"
OBJECTIVE = "_spectral/penalties.py"
ROUTES = "_spectral/eigen/routes.py"
REDUCED = "_spectral/eigen/reduced.py"
KRYLOV = "_spectral/eigen/krylov.py"
VALIDITY = "_result/validity.py"

EQUIVALENT = [
    Equivalent(GRID, "b = np.sum(S * T", "1.0", "", "only divides where the quotient is not used"),
    Equivalent(GRID, "FEW = 2", "2", "(3)", "there are 2 settings, or 20"),
    *(
        Equivalent(
            "_posterior/candidates/ranked_errors.py", "minlength=len(edges) + 1", old, "", "an empty last bucket goes"
        )
        for old in ("len(edges) + 1", "1")
    ),
    *(
        Equivalent(
            "_posterior/all_rows/members.py", "FactorProblem.of(rows", old, "", "the variance is that of the rows"
        )
        for old in ("False", "True")
    ),
    Equivalent(CERTIFY, "seed: int = 0", "0", "", "any seed will do"),
    Equivalent(CERTIFY, "numerical_rank(np.linalg", "(gram + gram.T) / 2", "", "a rank has no scale"),
    Equivalent(CERTIFY, "numerical_rank(np.linalg", "2", "", "a rank has no scale"),
    Equivalent(CERTIFY, "return V[:, :0], SV[:, :0]", "0", "", "products with no direction are not looked at"),
    Equivalent(CERTIFY, "safe = np.where(length > 0", "1.0", "", "divides the zeros of an empty column"),
    Equivalent(CERTIFY, "for _ in range(2)", "2", "", "a third projection removes nothing more"),
    Equivalent(CERTIFY, "block = min(EXTRA", "n - int(U.shape[1])", "", "more vectors than dimensions come out as 0"),
    Equivalent(STEPS, "seed: int = 0", "0", "", "any seed will do"),
    Equivalent("_spectral/solvers/descent.py", "if bound > 0 else 1.0", "1.0", "", "the start is 0, and stays there"),
    Equivalent(KRYLOV, "seed: int = 0", "0", "", "any seed will do"),
    Equivalent(ROUTES, "seed: int = 0", "0", "", "any seed will do"),
    Equivalent("_spectral/certify_passes.py", "seed: int = 0", "0", "", "any seed will do"),
    Equivalent("_spectral/certify_passes.py", "if rank < int(reduced.small.shape", "0", "", "the matrix is square"),
    Equivalent("_spectral/solvers/exact.py", "seed: int = 0", "0", "", "any seed will do"),
    Equivalent(
        KRYLOV,
        "Q = Q * old + _random",
        "Q * old + _random(rng, int(W.shape[0]), len(gone), W) * fresh",
        "",
        "normal numbers with the other sign are normal numbers",
    ),
    Equivalent("_spectral/extend.py", "1 / np.where(kept, w, 1.0)", "1.0", "", "the quotient is not used"),
    Equivalent("_spectral/eigen/reduced.py", "n = int(S.shape[0])", "0", "", "the matrix is square"),
    Equivalent(VALIDITY, "row_blocks(int(dense.shape[0])", "0", "", "the matrix is square"),
    Equivalent(ROUTES, "U = U * like(orientation", "U * like(orientation(U), U)", "", "signs are 1 or -1"),
    Equivalent(REDUCED, "lift * signs", "lift * signs", "", "signs are 1 or -1"),
    Equivalent(REDUCED, "bottom * signs", "bottom * signs", "", "signs are 1 or -1"),
    Equivalent(
        KRYLOV,
        "# those that were there stay as they were",
        "Q = Q * like(np.where(np.diag(to_numpy(signs)) < 0, -1.0, 1.0), Q)",
        "pass",
        "LAPACK gives its own directions the same signs again; other libraries need not",
    ),
    Equivalent("_posterior/incomplete_rows.py", "with expect(3 if effort", "3", "", "how long a bar is drawn at first"),
    Equivalent("_posterior/method.py", 'if effort == "best" else 0', "0", "", "one byte of an estimate"),
    Equivalent("_posterior/centred.py", "FEW_DIGITS, STAYS =", "2.0", "(-2.0)", "both powers are even"),
    Equivalent("_posterior/similarities/wiener.py", 'n_q, "counts", 1.0)', "1.0", "", "counts are given here"),
    Equivalent("_posterior/extend.py", "model = ValueModel.fit(", "0", "", "any seed will do"),
    Equivalent("_posterior/extend.py", "rng, some, first = np.random.default_rng(0)", "0", "", "any seed will do"),
    Equivalent("_posterior/same_rows/near_pairs.py", "np.where(top > 0, top, 1.0)", "1.0", "", "divides rows of zeros"),
    Equivalent("_posterior/same_rows/find.py", "many = np.flatnonzero", "1", "", "a row there once has no later one"),
    Equivalent(
        "_posterior/same_rows/learning.py",
        "q = np.where(table.observed[rows]",
        "0.0",
        "",
        "what is missing is not used",
    ),
    *(
        Equivalent("_posterior/same_rows/learning.py", "if again + 1 < ROUNDS", old, new, "nothing is learnt after it")
        for old, new in (("again + 1", "(again - 1)"), ("1", "(0)"))
    ),
    Equivalent(
        "_posterior/candidates/likely_sources.py", "size > 1e-100, size, 1.0", "1.0", "", "divides rows of zeros"
    ),
    Equivalent(
        "_posterior/candidates/covariance.py",
        "if 2 * len(o) <= len(self.C)",
        "2 * len(o)",
        "",
        "which of two products of the same result is taken",
    ),
    Equivalent(
        "_posterior/candidates/covariance.py",
        "if 2 * len(o) <= len(self.C)",
        "2 * len(o) <= len(self.C)",
        "",
        "which of two products of the same result is taken",
    ),
    Equivalent(
        "_posterior/candidates/covariance.py",
        "if 2 * len(o) <= len(self.C)",
        "2",
        "",
        "which of two products of the same result is taken",
    ),
    *(
        Equivalent(
            "_posterior/all_rows/combine.py",
            "inverse = np.linalg.inv(X.T @ X + 1e-9",
            old,
            "",
            "against a singular matrix",
        )
        for old in ("1e-9 * len(t)", "1e-9 * len(t) * np.eye(2)")
    ),
    Equivalent(
        "_posterior/candidates/model.py", "progress: bool | None = False", "False", "", "whether a bar is drawn"
    ),
    Equivalent(
        "_result/pairs.py",
        "if ranked and row_exact.any()",
        "ranked and row_exact.any()",
        "",
        "estimates at edges that are not asked for: without ranks all kinds of pairs have one table",
    ),
    Equivalent("_result/matrix.py", "def root(rows: Array, _: int = 0)", "0", "", "the argument is not used"),
    Equivalent("_result/plots.py", "axes = _axes(ax, (6.4", "6.4", "", "how a figure looks"),
    Equivalent("_result/frames.py", "n_candidates: int = 0", "0", "", "without queries the numbers are the same"),
    Equivalent("_result/top.py", "LEVELS_HELD = 2**24", "24", "", "from when on memory is saved"),
    Equivalent(VALIDITY, "psd.ok and S.bounds is None", "S.bounds is None", "", "PSD: largest on the diagonal"),
    Equivalent(VALIDITY, "deficit = xp.where(own < 0.75", "0.75", "(1.5)", "unit rows lack only what rounding took"),
    Equivalent(VALIDITY, "r = int(F.shape[1])", "1", "", "how many rows are looked at together"),
    Equivalent(VALIDITY, "side = max(1, min(isqrt", "32", "", "how many rows are looked at together"),
    Equivalent(OBJECTIVE, "s = np.maximum(s, 0.0)", "s = np.maximum(s, 0.0)", "", "takes out rounding alone"),
]
# Householder's decomposition, which is next, does not ask for the length of a column: every change of this line.
EQUIVALENT += [
    Equivalent(
        STEPS, "W = W / max(float(xp.max(xp.abs(W))), 1e-300)", old, new, "columns of any length give the same basis"
    )
    for old, new in (
        ("W = W / max(float(xp.max(xp.abs(W))), 1e-300)", ""),
        ("W / max(float(xp.max(xp.abs(W))), 1e-300)", ""),
        ("xp.max", ""),
        ("max", ""),
        ("1e-300", ""),
    )
]
