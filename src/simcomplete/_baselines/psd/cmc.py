"""`cmc`: DMC on small overlapping blocks in turn, drawn again at random each time (Li 2020).

    for each outer iteration: cut two copies of all rows, shuffled, into blocks C_1 .. C_y;
    twice over the blocks: B = S[C_i, C_i] - I_i,  S[C_i, C_i] = DMC(B),  I_i = S[C_i, C_i] - B

Each block costs (2n/y)^3 instead of n^3. Only blocks are made positive semi-definite: **the whole matrix is not**, and
since the increments I_i start again each time it is no projection of S0 either. DMC here is the public iteration.

============ ================================================================================================
blocks       y, number of blocks of rows; fewer when there are not rows enough
sweeps       how often the blocks are visited in each outer iteration
inner        most iterations of DMC on a block
project      end with the nearest positive semi-definite matrix of that diagonal
permutations array (max_iter, 2n) of the numbers 1..2n (or 0..2n-1), instead of random ones; a number modulo n is a row
max_iter     outer iterations
time_limit   seconds for the iterations
callback     ``callback(iteration, facts)`` after every one; something true ends the run
============ ================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._baselines.iteration import limits
from simcomplete._baselines.psd.alternating import Calibrated, calibrate, onto
from simcomplete._correlation.newton import newton
from simcomplete._correlation.psd import target_diagonal, with_diagonal
from simcomplete._method.iterate import Limits, Run, iterate
from simcomplete._method.memory import with_pairs
from simcomplete._method.params import ITERATION, Arrays, Flag, Parameters, Whole, max_iter, parameter
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings, as_recorded
from simcomplete._method.spec import Method, Sizes
from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._types import Matrix, Positions, Vector
from simcomplete.errors import InputError

TOL = 1e-6  # of the iteration on a block, as in the public program


@dataclass(frozen=True)
class Outer:
    """The matrix after some outer iterations, and how much the last one changed it as a share of |S0|_F."""

    S: Matrix
    made: int = 0
    change: float = 1.0


def blocks_of(permutation: Positions, n: int, blocks: int) -> list[Positions]:
    """Cut 2n numbers into blocks of rows, sorted and each row once.

    Examples
    --------
    >>> [block.tolist() for block in blocks_of(np.array([1, 6, 4, 3, 2, 5]), n=3, blocks=2)]
    [[0, 1], [0, 2]]
    """
    return [np.unique(part) for part in np.array_split(permutation % n, blocks)]


def sweep(S0: Matrix, b: Vector, blocks: Sequence[Positions], sweeps: int = 2, inner: int = 15) -> Matrix:
    """One outer iteration: all blocks calibrated in turn, `sweeps` times, with Dykstra's increments."""
    S = S0.copy()
    increments: list[Matrix | float] = [0.0] * len(blocks)
    for _ in range(sweeps):
        for i, rows in enumerate(blocks):
            part = np.ix_(rows, rows)
            before = S[part] - increments[i]
            S[part] = calibrated(before, b[rows], inner)
            increments[i] = S[part] - before
    return S


def calibrated(B: Matrix, b: Vector, inner: int) -> Matrix:
    """A block after at most `inner` steps of the public DMC."""
    project = onto(b, clip=True)
    here = Calibrated(B)
    for _ in range(inner):
        here = calibrate(here, project)
        if here.change <= TOL:
            break
    return B if here.X is None else here.X


def calibrate_by_blocks(
    S0: Matrix, b: Vector, draw: Callable[[int], list[Positions]], limits: Limits, sweeps: int = 2, inner: int = 15
) -> Run[Outer]:
    """Make outer iterations; `draw` gives the blocks of one."""

    size = float(np.linalg.norm(S0)) or 1.0

    def step(here: Outer) -> Outer:
        S = sweep(here.S, b, draw(here.made), sweeps, inner)
        return Outer(S, here.made + 1, float(np.linalg.norm(S - here.S)) / size)

    return iterate(Outer(S0), step, measure=lambda here: {"change": here.change}, limits=limits)


def projected(S: Matrix, b: Vector) -> Matrix:
    """The nearest positive semi-definite matrix with diagonal b: nearer to the truth than S, too, whatever S is."""
    alive = np.ix_(b > 0, b > 0)
    nearest = np.zeros_like(S)
    if (b > 0).any():
        nearest[alive] = with_diagonal(newton(S[alive], b[b > 0])[0], b[b > 0])
    return nearest


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Wire CMC, and say whether the result is positive semi-definite."""
    n, within = problem.n, limits(settings, params, "cmc")
    S0 = problem.similarities
    b = target_diagonal(S0)
    size = float(b.max()) or 1.0
    y = min(params["blocks"], n)  # at least two numbers a block
    given = None if params["permutations"] is None else _permutations(params["permutations"], n, within.max_iter)

    def draw(made: int) -> list[Positions]:
        return blocks_of(settings.rng.permutation(2 * n) if given is None else given[made], n, y)

    ended = calibrate_by_blocks(S0 / size, b / size, draw, within, params["sweeps"], params["inner"])
    S = ended.state.S
    lowest = float(np.linalg.eigvalsh(S)[0]) * size
    if params["project"]:
        S = projected(S, b / size)
        what = f"its smallest eigenvalue was {lowest:.3g}; project=True made it positive semi-definite"
    elif lowest < -1e-10 * n * size:
        what = f"its smallest eigenvalue is {lowest:.3g}: not positive semi-definite; project=True makes it so"
    else:
        what = "it came out positive semi-definite, which only its blocks are meant to be"
    status = Status(ended.status.code, f"{ended.status.message}; {what}", ended.status.ok)
    used = {**as_recorded(params), "blocks": y}
    return problem.result("cmc", used, SymmetricMatrix(dense=S * size), status=status, history=ended.history)


def _permutations(given: Any, n: int, most: int) -> NDArray[np.int64]:
    order = np.asarray(given)
    if order.ndim != 2 or order.shape[1] != 2 * n or len(order) < most or order.dtype.kind not in "iu":
        need = f"whole numbers of shape ({most}, {2 * n}): max_iter times twice the rows"
        raise InputError(f"permutations has shape {order.shape} of {order.dtype}; it must be {need}")
    return order.astype(np.int64)


def _work(sizes: Sizes, params: Mapping[str, Any]) -> float:
    """A block of 2n/y rows is decomposed in every inner iteration."""
    visits = params["max_iter"] * params["sweeps"] * params["inner"] * params["blocks"]
    return float(10.0 * visits * (2 * sizes.n / params["blocks"]) ** 3)


METHODS = (
    Method(
        name="cmc",
        family="psd",
        acts_on="similarities",
        regularizer="none",
        solver="cyclic projections of blocks",
        psd=False,
        low_rank=False,
        keeps_candidates=False,
        random=True,
        reference="Li, ACML 2020",
        parameters=Parameters(
            parameter("blocks", 10, Whole(1), meaning="number of blocks of rows"),
            parameter("sweeps", 2, Whole(1), meaning="how often the blocks are visited in each outer iteration"),
            parameter("inner", 15, Whole(1), meaning="most iterations of DMC on a block"),
            parameter("project", False, Flag(), meaning="end with the nearest positive semi-definite matrix"),
            parameter(
                "permutations",
                None,
                Arrays("whole numbers of shape (max_iter, 2n)"),
                meaning="blocks, instead of random ones",
            ),
            max_iter(20, "outer iterations"),
            *ITERATION,
        ),
        grid=({"blocks": 10}, {"blocks": 5}, {"blocks": 20}, {"blocks": 10, "max_iter": 5}),
        work=_work,
        factor=False,
        memory=lambda s, params: with_pairs(s, (9.0 if params["project"] else 4.0) * s.n**2),
        run=run,
    ),
)
