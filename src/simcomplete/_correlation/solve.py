"""From a checked problem to the nearest correlation matrix: which engine, and the proof."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simcomplete._correlation.bound import FURTHEST, PROVED, is_accurate, row_tol, sharper
from simcomplete._correlation.bounded import Bounded
from simcomplete._correlation.constraints import Constraints, contradiction
from simcomplete._correlation.contradiction import proved_violation
from simcomplete._correlation.given import Given
from simcomplete._correlation.held import Held
from simcomplete._correlation.lagrangian import augmented
from simcomplete._correlation.newton import newton
from simcomplete._correlation.psd import is_positive_definite, psd_part, with_diagonal
from simcomplete._correlation.repair import Proof
from simcomplete._correlation.singular import face_of_block, with_singular_block
from simcomplete._correlation.splitting import on_face, solve_by_splitting
from simcomplete._correlation.tied import Ties, entry_weights, nearly_tied
from simcomplete._correlation.weighted import Weighted
from simcomplete._method.iterate import Limits
from simcomplete._result.status import Status
from simcomplete._types import Matrix, Vector
from simcomplete.errors import InputError

ROUNDING = 1e-12  # no entry is asked to be more exact, whatever the weight of its row
SLOW = 1e-6  # from 1, that an entry may be held for multipliers to be huge
NOTHING = 1e-12  # a gap so small, next to the largest weight, is an optimum, as any run ends
BY_ELEMENT = 1e-8  # how exact an augmented Lagrangian is asked to be; Newton's method on the dual comes further
MISSED = 1e-7  # by which an entry may miss its bound at the end of a run, and is put there
SHARE, LEAST = 1e-3, 1e-5  # a gap of more, as a share and of the smallest weight, is no optimum of weights by element
DIFFERENT = 1e4  # row weights that differ by more may be why rounding shows
MOST_OUTER = 100  # multipliers of an augmented Lagrangian: some tens are enough where it converges


@dataclass(frozen=True)
class Solved:
    """A nearest matrix, its proof, how it ended, and multipliers to start a similar problem from."""

    X: Matrix
    proof: Proof
    status: Status
    n_iter: int
    dual: Vector | None
    notes: tuple[str, ...] = ()


def solve_nearest(given: Given, conditions: Constraints, tol: float, limits: Limits, start: Vector | None) -> Solved:
    """Solve by Newton's method on the dual, or where weights or bounds are by element, by splitting."""
    if is_valid(given, conditions):
        none = None if conditions.held.any() else np.zeros(given.n)
        status = Status("optimal", "the matrix is valid as it is")
        return Solved(given.values.copy(), Proof(0.0, 0.0, "the matrix itself"), status, 0, none)
    exact = nearly_tied(given, conditions)
    if exact is not None:
        with contextlib.suppress(InputError):  # with the limits in their place others contradict: as given, then
            return replace(solve_nearest(given, exact[0], tol, limits, None), notes=(exact[1],))
    ties = Ties.of(conditions.low, conditions.high) if conditions.held.any() or conditions.bounded else None
    if ties is not None:
        return by_fewer(given, conditions, ties, tol, limits)
    if conditions.elements is None and given.known.all():
        if not conditions.bounded:
            return by_newton(given, conditions, tol, limits, start)
        found = by_active_set(given, conditions, tol, limits)
        if found is not None:
            return found
    return by_element(given, conditions, tol, limits)


def is_valid(given: Given, conditions: Constraints) -> bool:
    """Whether the matrix meets all that is asked for; one that is singular is left to be found so."""
    A = given.values
    if not given.known.all() or (conditions.low > A).any() or (conditions.high < A).any():
        return False
    return is_positive_definite(A - conditions.floor * np.eye(given.n))


def by_fewer(given: Given, conditions: Constraints, ties: Ties, tol: float, limits: Limits) -> Solved:
    """Entries held at 1 or -1: with one variable in the place of those that they tie."""
    fewer, wanted = ties.merged(given, conditions)
    try:
        done = solve_nearest(fewer, wanted, tol, limits, None)
    except InputError as error:
        raise InputError(f"{error} (of variables tied by 1 or -1, the first one is named)") from error
    X = ties.spread(done.X)
    if done.status.ok:
        X = np.clip(X, conditions.low, conditions.high)
    h, A = entry_weights(given, conditions), given.values
    apart = float(np.sum(h * np.square(A - ties.spread(fewer.values))))  # which no matrix can be nearer by
    lower = done.proof.lower_bound + apart
    objective = float(np.sum(h * np.square(X - A)))
    proof = Proof.of(objective, lower, done.proof.kind, A * np.sqrt(h.max()))
    return replace(done, X=X, proof=proof, dual=None)


def by_newton(given: Given, conditions: Constraints, tol: float, limits: Limits, start: Vector | None) -> Solved:
    """Row weights, a floor, entries held: of W^1/2 (A - a I) W^1/2 with diagonal W (1 - a)."""
    n, held = given.n, conditions.held if conditions.held.any() else None
    A = given.values if held is None else np.where(held, conditions.values, given.values)
    root, size = row_scale(conditions, n)
    b = root**2 * (1 - conditions.floor)
    G = A * size
    G[np.diag_indices(n)] = b
    # Entries are met exactly at the end, and cost eigenvalues as much as they were missed by.
    within = row_tol(tol, b) if held is None else tol_of_entries(tol, size)
    special = None if conditions.block is None else with_singular_block(G, b, conditions.block, within, limits)
    y, run = special[:2] if special is not None else _dual(G, b, within, limits, held, start)
    if run.status.code == "infeasible":
        C = proved_violation(Held.of(G, held), run.state.y)[1]
        raise contradiction(C * size, conditions, given.source.labels)
    X = with_entries(with_diagonal(y, b) / size, 1.0)
    met = held is None or nearly_meets(X, conditions)
    if held is not None and run.status.ok and met:  # else a valid matrix comes first: meeting them costs eigenvalues
        X[held] = conditions.values[held]
    top = 1.0 if conditions.rows is None else float(conditions.rows.max()) ** 2
    objective = float(np.sum(np.square((X - given.values) * size)))
    lower = run.best_facts["lower_bound"] if special is None else special[2]
    if held is not None and special is None:  # what held values differ from the matrix by
        lower += float(np.sum(np.square((A - given.values) * size)))
    compared = with_entries(given.values * size, b.min())
    if special is None and run.status.ok and Proof.moves(objective, compared):
        lower = sharper(lower, objective, with_entries(X * size, b), G, run.best.y, Held.of(G, held))
    dual = None if special is not None else run.best.y
    done = concluded(compared * np.sqrt(top), X, objective * top, lower * top, run, dual)
    if not met:
        done = unproved(done, float(b.max() / b.min()))
    elif special is None:  # of a singular block the bound is the usual one
        done = shown_nearest(done, tol, b, top)
    return slow_next_to_one(done, conditions)


def with_entries(M: Matrix, b: Any) -> Matrix:
    """M, which is written to, with b on the diagonal."""
    np.fill_diagonal(M, b)
    return M


def nearly_meets(X: Matrix, conditions: Constraints) -> bool:
    """Whether entries are so near to their bounds that meeting these exactly costs no eigenvalues that matter."""
    return bool((conditions.low - MISSED <= X).all() and (conditions.high + MISSED >= X).all())


def shown_nearest(done: Solved, tol: float, b: Vector, top: float) -> Solved:
    """A run that ended as it was asked to, but whose bound does not show that its matrix is the nearest, did not."""
    least = float(b.min())
    if tol > FURTHEST or is_accurate(done.proof.gap / top, done.proof.objective / top, least):
        return done
    return unproved(done, float(b.max()) / least)


def unproved(done: Solved, factor: float) -> Solved:
    """A run that was to have ended well, with what to do; `factor` is how much weights or variances differ by."""
    if not done.status.ok:
        return done
    message = f"{done.status.message}; rounding prevents a better proof"
    if factor > DIFFERENT:
        message += (
            f", because row weights or variances differ by a factor of {factor:.0e}: give weights that differ by less, "
            "or for covariances through='correlation'"
        )
    return replace(done, status=Status("stalled", message, ok=False))


def slow_next_to_one(done: Solved, conditions: Constraints) -> Solved:
    """What to do about entries held next to 1 or -1, if they are why a run made all its iterations."""
    next_to = conditions.held & (np.abs(conditions.values) > 1 - conditions.floor - SLOW)
    if done.status.ok or not next_to.any():
        return done
    advice = f"entries fixed within {SLOW:g} of 1 or -1 make this slow: give 1 or -1 itself there, or less"
    return replace(done, status=replace(done.status, message=f"{done.status.message}; {advice}"))


def by_active_set(given: Given, conditions: Constraints, tol: float, limits: Limits) -> Solved | None:
    """Bounds without weights by element; None where the active set did not settle."""
    n, (root, size) = given.n, row_scale(conditions, given.n)

    def problem(a: float, tol: float) -> Bounded:
        G, low, high = (given.values - a * np.eye(n)) * size, conditions.low * size, conditions.high * size
        return Bounded(G, root**2 * (1 - a), conditions.held, low, high, tol, limits)

    exact = used = problem(conditions.floor, tol_of_entries(tol, size))  # bounds are met exactly at the end, as above
    found = exact.from_empty_set()
    if found is None:
        used = problem(inner_floor(conditions), tol_of_entries(BY_ELEMENT, size))
        found = used.from_splitting()
    if found is None:
        return None
    X, run = found
    X = with_diagonal(X, used.b) / size
    if run.status.ok:  # else a valid matrix comes first, as above
        X = np.clip(X, conditions.low, conditions.high)
    X[np.diag_indices(n)] = 1.0
    top = 1.0 if conditions.rows is None else float(conditions.rows.max()) ** 2
    objective = float(np.sum(np.square((X - given.values) * size))) * top
    lower = 2 * exact.weighted.bound(run.best.negative()) * top
    return concluded(given.values * np.sqrt(top), X, objective, lower, run, None)


def tol_of_entries(tol: float, size: Matrix | float) -> float:
    """What entries may miss their values by, times row weights, so that without these they miss them by tol at most."""
    tol = min(tol, BY_ELEMENT)
    return max(tol * float(np.min(size)), min(tol, ROUNDING))


def inner_floor(conditions: Constraints) -> float:
    """A floor a little above the one asked for: meeting bounds exactly at the end costs eigenvalues."""
    floor, k = conditions.floor, conditions.block
    inside = floor + 10 * BY_ELEMENT if floor > 0 else 0.0
    # A block that has the floor itself allows nothing above.
    return inside if k is None or float(np.linalg.eigvalsh(conditions.values[:k, :k])[0]) > inside else floor


def row_scale(conditions: Constraints, n: int) -> tuple[Vector, Matrix | float]:
    """Roots of row weights, the largest 1, and their products; 1 where there are none."""
    if conditions.rows is None:
        return np.ones(n), 1.0
    root = np.sqrt(conditions.rows / conditions.rows.max())
    return root, np.outer(root, root)


def by_element(given: Given, conditions: Constraints, tol: float, limits: Limits) -> Solved:
    """Weights by element, unknown entries and bounds, from the solution without them; row weights scale the matrix."""
    n, (root, size) = given.n, row_scale(conditions, given.n)
    H = np.where(given.known, 1.0 if conditions.elements is None else conditions.elements, 0.0)
    np.fill_diagonal(H, 0.0)
    top = float(H.max()) or 1.0
    h2 = np.square(H / top)
    top *= 1.0 if conditions.rows is None else float(conditions.rows.max())
    exact = not (conditions.bounded or conditions.held.any())  # then X is valid however the run ends
    tol = max(tol, BY_ELEMENT) if exact else tol_of_entries(BY_ELEMENT, size)

    def problem(a: float) -> Weighted:
        off, b = ~np.eye(n, dtype=bool), np.diag(root**2 * (1 - a))
        low, high = (np.where(off, bound * size, b) for bound in (conditions.low, conditions.high))
        return Weighted((given.values - a * np.eye(n)) * size, h2, low, high, 0.0)

    inner, wanted, k = problem(inner_floor(conditions)), problem(conditions.floor), conditions.block
    if k is not None:
        face = face_of_block(inner.low[:k, :k], n)
        inner, wanted = replace(inner, face=face), replace(wanted, face=face)
    ended: Any
    X, Z, ended = solve_by_splitting(inner, inner.A, np.zeros((n, n)), tol, limits)
    proofs = [Z]  # every one is a proof, and the best is taken
    if ended.status.code == "max_iter":  # weights of very different size are slow to split
        point, ended = augmented(inner, X, Z, tol, replace(limits, max_iter=min(limits.max_iter, MOST_OUTER)))
        X, Z = point.X, point.Z
        proofs += [Z] if point.proof is None else [Z, point.proof]
    if ended.status.code == "infeasible":
        raise contradiction(Z * size, conditions, given.source.labels)
    X = psd_part(X)[0] if inner.face is None else on_face(X, inner.face)
    X = with_entries(with_diagonal(X, np.diag(inner.low)) / size, 1.0)
    met = exact or nearly_meets(X, conditions)
    if ended.status.ok and met:  # else a valid matrix comes first, as above
        X = np.clip(X, conditions.low, conditions.high)
    objective = float(np.sum(h2 * np.square((X - given.values) * size))) * top**2
    lower = 2 * max(wanted.bound(Z) for Z in proofs) * top**2
    done = concluded(given.values * top, X, objective, lower, ended, None)
    if exact and not done.status.ok and done.proof.gap <= max(PROVED * done.proof.objective, NOTHING * top**2):
        done = replace(done, status=replace(done.status, code="optimal", ok=True))
    counted = (h2 * np.square(size))[(h2 > 0) & ~np.eye(n, dtype=bool)]
    least = float(counted.min(initial=1.0))
    if met and (objective - lower) / top**2 <= max(SHARE * objective / top**2, LEAST * least):
        return done
    return unproved(done, max(1 / np.sqrt(least), float(root.max() / root.min()) ** 2))


def _dual(G: Matrix, b: Vector, tol: float, limits: Limits, held: Any, start: Vector | None) -> tuple[Matrix, Any]:
    expected = len(b) + (0 if held is None else int(np.sum(np.triu(held | held.T, 1))))
    usable = start is not None and len(start) == expected
    return newton(G, b, tol, limits, held=held, start=start if usable else None)


def concluded(given: Matrix, X: Matrix, objective: float, lower: float, run: Any, dual: Vector | None) -> Solved:
    """What a run comes to."""
    proof = Proof.of(objective, lower, "dual", given)
    within = f"the squared distance is within {proof.relative_gap:.0e} of the smallest possible"
    if not run.status.ok and lower > objective:  # fixed entries or bounds are missed, which makes it smaller
        within = "the result does not meet all fixed entries and bounds, and is nearer than any that does"
    code = "optimal" if run.status.ok else run.status.code
    return Solved(X, proof, Status(code, f"{run.status.message}; {within}", run.status.ok), run.n_iter, dual)
