"""From a checked problem to the nearest correlation matrix: which engine, and the proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete._correlation.bounded import bounded
from simcomplete._correlation.constraints import Constraints, contradiction
from simcomplete._correlation.contradiction import proved_violation
from simcomplete._correlation.dual import Dual
from simcomplete._correlation.given import Given
from simcomplete._correlation.held import Held
from simcomplete._correlation.lagrangian import Weighted, augmented
from simcomplete._correlation.newton import newton
from simcomplete._correlation.psd import positive_ones, psd_gram, psd_part, with_diagonal
from simcomplete._correlation.repair import Proof
from simcomplete._correlation.singular import with_singular_block
from simcomplete._method.iterate import Limits
from simcomplete._result.status import Status
from simcomplete._types import Matrix, Vector

BY_ELEMENT = 1e-8  # how exact an augmented Lagrangian is asked to be; Newton's method on the dual comes further


@dataclass(frozen=True)
class Solved:
    """A nearest matrix, its proof, how it ended, and multipliers to start a similar problem from."""

    X: Matrix
    proof: Proof
    status: Status
    n_iter: int
    dual: Vector | None


def solve_nearest(given: Given, told: Constraints, tol: float, limits: Limits, start: Vector | None) -> Solved:
    """Solve by Newton's method on the dual, or where weights or bounds are by element, by an augmented Lagrangian."""
    if told.elements is None and given.known.all():
        if not told.bounded:
            return by_newton(given, told, tol, limits, start)
        done = by_active_set(given, told, tol, limits)
        if done is not None:
            return done
    return by_element(given, told, tol, limits)


def by_newton(given: Given, told: Constraints, tol: float, limits: Limits, start: Vector | None) -> Solved:
    """Row weights, a floor, entries held: of W^1/2 (A - a I) W^1/2 with diagonal W (1 - a)."""
    A, a, n = np.where(told.held, told.values, given.values), told.floor, given.n
    root, size = row_scale(told, n)
    b = root**2 * (1 - a)
    G = (A - a * np.eye(n)) * size
    held = told.held if told.held.any() else None
    special = None if told.block is None else with_singular_block(G, b, told.block, tol, limits)
    y, run = special[:2] if special is not None else _dual(G, b, tol, limits, held, start)
    if run.status.code == "infeasible":
        C = proved_violation(Held.of(np.where(np.eye(n) > 0, np.diag(b), G), held), run.state.y)[1]
        raise contradiction(C * size, told, given.source.labels)
    X = with_diagonal(y, b) / size
    X[told.held] = told.values[told.held]
    X[np.diag_indices(n)] = 1.0
    top = 1.0 if told.rows is None else float(told.rows.max()) ** 2
    objective = float(np.sum(np.square((X - given.values) * size))) * top
    moved = float(np.sum(np.square((A - given.values) * size)))  # what held values differ from the matrix by
    lower = run.best_facts["lower_bound"] + moved if special is None else special[2]
    return _ended(
        given.values * np.sqrt(top), X, objective, lower * top, run, None if special is not None else run.best.y
    )


def by_active_set(given: Given, told: Constraints, tol: float, limits: Limits) -> Solved | None:
    """Bounds without weights by element; None where the active set did not settle."""
    a, n = told.floor, given.n
    root, size = row_scale(told, n)
    b = root**2 * (1 - a)
    low, high = told.low * size, told.high * size
    found = bounded((given.values - a * np.eye(n)) * size, b, told.held, low, high, tol, limits)
    if found is None:
        return None
    X = np.clip(with_diagonal(found[0], b) / size, told.low, told.high)
    X[np.diag_indices(n)] = 1.0
    top = 1.0 if told.rows is None else float(told.rows.max()) ** 2
    objective = float(np.sum(np.square((X - given.values) * size))) * top
    run = found[1]
    return _ended(given.values * np.sqrt(top), X, objective, run.best_facts["lower_bound"] * top, run, None)


def row_scale(told: Constraints, n: int) -> tuple[Vector, Matrix]:
    """Roots of row weights, the largest 1, and their products."""
    root = np.ones(n) if told.rows is None else np.sqrt(told.rows / told.rows.max())
    return root, np.outer(root, root)


def by_element(given: Given, told: Constraints, tol: float, limits: Limits) -> Solved:
    """Weights by element, unknown entries and bounds, from the solution without them."""
    n, a = given.n, told.floor
    H = told.elements if told.elements is not None else np.ones((n, n))
    if told.rows is not None:
        H = np.sqrt(np.outer(told.rows, told.rows))
    H = np.where(given.known, H, 0.0)
    np.fill_diagonal(H, 0.0)
    top = float(H.max()) or 1.0
    h2 = np.square(H / top)
    plain, run = _dual(given.values - a * np.eye(n), np.full(n, 1 - a), 1e-4, limits, None, None)
    best: Dual = run.best
    down = ~positive_ones(best.w)
    Z = psd_gram(best.U[:, down] * np.sqrt(np.maximum(-best.w[down], 0.0))) * float(h2.mean())
    # Bounds are met exactly at the end, which costs eigenvalues as much as they were missed by.
    inside = a + 10 * BY_ELEMENT if a > 0 else a
    problem = Weighted(given.values, h2, told.low, told.high, inside)
    point, ended = augmented(
        problem, with_diagonal(plain, np.full(n, 1 - a)) + a * np.eye(n), Z, max(tol, BY_ELEMENT), limits
    )
    if ended.status.code == "infeasible":
        raise contradiction(point.Z, told, given.source.labels)
    X = with_diagonal(psd_part(point.X - inside * np.eye(n))[0], np.full(n, 1 - inside)) + inside * np.eye(n)
    X = np.clip(X, told.low, told.high)
    X[np.diag_indices(n)] = 1.0
    lower = Weighted(given.values, h2, told.low, told.high, a).bound(point.Z)
    return _ended(given.values * top, X, 2 * problem.objective(X) * top**2, 2 * lower * top**2, ended, None)


def _dual(G: Matrix, b: Vector, tol: float, limits: Limits, held: Any, start: Vector | None) -> tuple[Matrix, Any]:
    expected = len(b) + (0 if held is None else int(np.sum(np.triu(held | held.T, 1))))
    usable = start is not None and len(start) == expected
    return newton(G, b, tol, limits, held=held, start=start if usable else None)


def _ended(given: Matrix, X: Matrix, objective: float, lower: float, run: Any, dual: Vector | None) -> Solved:
    proof = Proof.of(objective, lower, "dual", given)
    within = f"the squared distance is within {proof.relative_gap:.0e} of the smallest possible"
    code = "optimal" if run.status.ok else run.status.code
    return Solved(X, proof, Status(code, f"{run.status.message}; {within}", run.status.ok), run.n_iter, dual)
