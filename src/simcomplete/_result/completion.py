"""Completion: what every method returns, whichever it was.

Factor first, blocks on request, dense only when asked for and only when it fits.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete import index as vectors
from simcomplete._result import storage, views
from simcomplete._result.certificate import Certificate
from simcomplete._result.intervals import Bars
from simcomplete._result.matrix import Selection, SymmetricMatrix
from simcomplete._result.parts import summary, to_parts
from simcomplete._result.rows import select
from simcomplete._result.search import Neighbours, nearest, scope
from simcomplete._result.status import Status
from simcomplete._result.validity import Validity, validate
from simcomplete._rows.table import as_table
from simcomplete._rows.xp import Array, namespace, to_numpy
from simcomplete._similarity.evidence import Uncounted
from simcomplete._similarity.exact import CandidateBlock, CandidateRows
from simcomplete._similarity.measure import Evidence
from simcomplete.errors import InputError

REPR_WORK = 1e10  # products; a rank that takes more is not computed for the sake of a line


@dataclass(frozen=True, eq=False)
class Completion:
    """Completed similarities: candidates first, then queries, in input order.

    ``S = F diag(signs) F^T + diag(diagonal)``, or a dense matrix where a method has no factor (then `factor` is
    None). Everything below works for both.

    Attributes
    ----------
    matrix : SymmetricMatrix
        The similarities in their smallest form.
    n_candidates : int
        How many leading rows are candidates.
    together : bool
        True when there were no queries: every row is then candidate and query at once.
    method, params : str, dict
        What made it, with every parameter as used.
    status : Status
        How the run ended, as advice.
    history : list of dict
        One entry per recorded iteration; empty for direct solutions.
    certificate : Certificate or None
        Proof of optimality, for methods that have one.
    labels : list of str or None
        Row labels, where a frame had some.
    order : array of int or None
        Original position of every row, where candidates had to be moved to the front.
    choice, election : dict or None
        What an automatic method chose, and the table it chose from.

    Examples
    --------
    >>> import numpy as np, simcomplete as sc
    >>> P = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> Q = np.array([[2.0, np.nan]])
    >>> done = sc.complete(P, Q, method="smcnn", rank=2)
    >>> done
    Completion(method='smcnn', candidates=3, queries=1, rank=2, status='optimal')
    >>> done.similarity("queries", "candidates").round(1)
    array([[1. , 0.1, 0.9]])
    >>> done.search(k=1).ids
    array([[0]])
    """

    matrix: SymmetricMatrix
    n_candidates: int
    method: str
    together: bool = False
    params: dict[str, Any] = field(default_factory=dict)
    status: Status = field(default_factory=lambda: Status("computed", "computed directly"))
    history: list[dict[str, float]] = field(default_factory=list)
    certificate: Certificate | None = None
    counted: Evidence | Uncounted | None = field(default=None, repr=False)
    labels: list[str] | None = None
    order: NDArray[np.int64] | None = None
    choice: dict[str, Any] | None = None
    election: list[dict[str, Any]] | None = None
    exact: CandidateRows | CandidateBlock | None = field(default=None, repr=False)
    bars: Bars | None = field(default=None, repr=False)

    @property
    def factor(self) -> Array | None:
        """F, of shape (n, r), or None when the result is dense; a dask or zarr array where it was asked for as one."""
        return None if self.matrix.factor is None else as_table(self.matrix.factor).array_like

    @property
    def signs(self) -> Array | None:
        """Signs of the factor's columns, or None for all +1."""
        return self.matrix.signs

    @property
    def diagonal(self) -> Array | None:
        """What is added to the diagonal of the factor's product, or None."""
        return self.matrix.diagonal

    @cached_property
    def evidence(self) -> Evidence | None:
        """How many pairs, and which rows, had nothing to compare; None for a given matrix."""
        return self.counted() if isinstance(self.counted, Uncounted) else self.counted

    @property
    def n(self) -> int:
        """Candidates and queries together."""
        return self.matrix.n

    @property
    def n_queries(self) -> int:
        """How many queries; all rows when there were no separate ones."""
        return self.n if self.together else self.n - self.n_candidates

    @cached_property
    def rank(self) -> int:
        """Numerical rank: eigenvalues above n * eps * the largest. The added diagonal is not counted."""
        S = self.matrix
        xp = namespace(S.array)
        if S.factor is not None and S.bounds is None and int(S.factor.shape[1]) <= S.n:
            w, eps = S.factor_eigenvalues(), float(np.finfo(np.float64).eps)
        else:
            whole = replace(S, diagonal=None).block(slice(0, S.n), slice(0, S.n))
            w, eps = xp.linalg.eigvalsh(xp.astype(whole, xp.float64)), float(xp.finfo(whole.dtype).eps)
        size = np.abs(to_numpy(w))
        return int(np.sum(size > S.n * eps * size.max()))

    @cached_property
    def validity(self) -> Validity:
        """Whether the matrix is valid in each of five meanings, each with its number."""
        return validate(self.matrix, self.exact)

    def similarity(
        self,
        rows: Any = None,
        cols: Any = None,
        *,
        unit_diagonal: bool = False,
        keep_candidates: bool = False,
        clip: bool = False,
    ) -> Array:
        """Return completed similarities, or a block of them.

        Parameters
        ----------
        rows, cols : {"candidates", "queries"}, slice, int or array, optional
            Which rows and columns; all when left out. The whole matrix is refused when it would not fit.
        unit_diagonal, keep_candidates, clip : bool
            As in `view`.

        Returns
        -------
        array of shape (rows, cols)
        """
        view = self.view(unit_diagonal=unit_diagonal, keep_candidates=keep_candidates, clip=clip)
        return view.matrix.block(self._select(rows, "rows"), self._select(cols, "cols"))

    def search(self, k: int = 10, rows: Any = None, *, index: Any = None, progress: bool | None = None) -> Neighbours:
        """Find the `k` most similar candidates of every query.

        Parameters
        ----------
        k : int
            How many; more than there are candidates gives all of them.
        rows : {"candidates", "queries"}, slice, int or array, optional
            Rows to search for; the queries when left out. A row is never its own neighbour.
        index : {"faiss", "faiss-ivf", "faiss-hnsw"} or VectorIndex, optional
            Search through FAISS: exact, by lists or by a graph; or through what `index.over` built, for many calls.
        progress : bool, optional
            None shows progress on a terminal, False never.

        Returns
        -------
        Neighbours
            `ids`, int64 (rows, k): positions among the candidates, best first, ties by lower id; `scores` beside.
        """
        wanted = np.arange(self.n)[self._select("queries" if rows is None else rows, "rows")]
        k, among = scope(k, wanted, self.n_candidates)
        find = nearest if index is None else partial(vectors.nearest, index=index)
        return find(self.matrix, wanted, slice(0, self.n_candidates), k, exclude_self=among, progress=progress)

    def export_index(self, path: str | Path, kind: vectors.Kind = "flat", *, overwrite: bool = False) -> dict[str, Any]:
        """Write the candidates as a FAISS file, and beside it a note that says how queries are put to it.

        Parameters
        ----------
        path, overwrite : path, bool
            The file to make, and whether to replace one; see `simcomplete.index.export` for the note, returned too.
        kind : {"flat", "ivf", "hnsw"}
            As in `simcomplete.index.build`.
        """
        built = vectors.over(self.matrix, slice(0, self.n_candidates), kind)
        return vectors.export(built, path, signs=self.signs, overwrite=overwrite)

    def interval(self, level: float = 0.9, rows: Any = None, cols: Any = None) -> tuple[Array, Array]:
        """Return error bars of the similarities of queries with candidates, or of all rows with all.

        They come from simulated queries: honest when values are missing at random or by occlusion, too narrow when
        whether a value is missing depends on the value.

        Parameters
        ----------
        level : float
            Share of the true similarities that should lie inside.
        rows, cols : optional
            Which queries (counted from the first query) and which candidates; all when left out.

        Returns
        -------
        low, high : array of shape (n_q, n_p)
            Clipped to [-1, 1].
        """
        bars = self._bars()
        asked = np.atleast_1d(np.arange(self.n_queries)[slice(None) if rows is None else rows])
        among = np.atleast_1d(np.arange(self.n_candidates)[slice(None) if cols is None else cols])
        middle = to_numpy(self.similarity(asked + self.n - self.n_queries, "candidates" if cols is None else among))
        width = bars.half_width(level, asked, among if self.together else None).astype(middle.dtype)
        return np.clip(middle - width, -1.0, 1.0), np.clip(middle + width, -1.0, 1.0)

    @property
    def confidence(self) -> NDArray[np.float64]:
        """One number per query, from 0 (nothing is known of it) to 1 (everything is)."""
        return self._bars().confidence

    def _bars(self) -> Bars:
        if self.bars is None:
            raise InputError(
                f"this {self.method!r} result has no error bars; method='posterior' has, from 40 candidates on"
            )
        return self.bars

    def view(self, *, unit_diagonal: bool = False, keep_candidates: bool = False, clip: bool = False) -> Completion:
        """Read the same result differently; its `validity` tells what that costs.

        Parameters
        ----------
        unit_diagonal : bool
            Rescale rows and columns to a diagonal of 1.
        keep_candidates : bool
            Put the exact candidate block back.
        clip : bool
            Clip entries to [-1, 1] (to [0, 1] where scores were mapped to (0, 1]).
        """
        if not (unit_diagonal or keep_candidates or clip):
            return self
        S = views.unit_diagonal(self.matrix) if unit_diagonal else self.matrix
        S = views.keep_candidates(S, self.exact) if keep_candidates else S
        S = views.clip(S, 0.0 if self.params.get("positive") else -1.0) if clip else S
        asked = {"unit_diagonal": unit_diagonal, "keep_candidates": keep_candidates, "clip": clip}
        return replace(self, matrix=S, params={**self.params, **{k: True for k, v in asked.items() if v}})

    def summary(self) -> dict[str, Any]:
        """Everything small about the result, as plain values for JSON."""
        return summary(self)

    def save(self, path: str | Path, *, overwrite: bool = False, candidates: bool = True) -> None:
        """Write everything to a folder of `.npy` and JSON, whole or not at all; `sc.load` reads it.

        Parameters
        ----------
        path : path
            The folder to make.
        overwrite : bool
            Replace a completion saved there before.
        candidates : bool
            Also keep what the exact candidate block is made of; `keep_candidates` views and the fifth validity
            check need it after loading.
        """
        arrays, facts = to_parts(self)
        if candidates and self.exact is not None:
            arrays["candidates"], facts["exact"] = self.exact.parts()
        storage.write_folder(Path(path), arrays, facts, overwrite=overwrite)

    def __repr__(self) -> str:
        width = min(self.matrix.array.shape)
        cheap = "rank" in self.__dict__ or self.n * width**2 < REPR_WORK
        return (
            f"Completion(method={self.method!r}, candidates={self.n_candidates}, queries={self.n_queries}, "
            f"rank={self.rank if cheap else f'<={width}'}, status={self.status.code!r})"
        )

    def _select(self, rows: Any, name: str) -> Selection:
        return select(rows, name, self.n, self.n_candidates, self.together)
