"""Similarities and neighbours as frames of pandas, polars or pyarrow, which are imported only when needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.html import html_table, three_digits
from simcomplete._result.intervals import FINE, TIED, IntervalModel, RankedErrors, check_level, moved
from simcomplete._result.rows import positions_of
from simcomplete._result.search import Neighbours
from simcomplete._result.text import text_table
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import InputError, optional

if TYPE_CHECKING:
    from simcomplete._result.completion import Completion

SHOWN_QUERIES = 10  # in a notebook
ROW = "row"  # name of the column of row labels in frames without an index


def to_frame(done: Completion, rows: Any = None, cols: Any = None, **views: bool) -> Any:
    """Return completed similarities, or a block of them, as a frame of the kind that the samples came in.

    Parameters
    ----------
    rows, cols : {"candidates", "queries"}, positions, labels or pair, optional
        Which rows and columns, as in `similarity`; all when left out.
    **views : bool
        `unit_diagonal`, `keep_candidates` or `clip`, as in `similarity`.

    Returns
    -------
    frame
        Of pandas, polars or pyarrow; of pandas if the samples were not a frame. In pandas the index and the columns are
        the labels, or positions in the result where rows have no labels. The others have no index: their first column,
        "row", has the labels.

    Examples
    --------
    >>> import pandas as pd, simcomplete as sc
    >>> X = pd.DataFrame([[1, 0], [0, 1], [1, None]], index=["anna", "ben", "cleo"])
    >>> done = sc.complete(X, method="overlap")
    >>> done.to_frame("cleo")
          anna  ben  cleo
    cleo   1.0  0.0   1.0
    """
    return MATRIX_FRAMES[kind_of_frame(done.frame)](done, rows, cols, views)


def to_pandas(done: Completion, rows: Any = None, cols: Any = None, **views: bool) -> Any:
    """Return completed similarities as a pandas frame, for samples of any type; parameters as in `to_frame`."""
    return _pandas_matrix(done, rows, cols, views)


def to_polars(done: Completion, rows: Any = None, cols: Any = None, **views: bool) -> Any:
    """Return completed similarities as a polars frame, for samples of any type; parameters as in `to_frame`."""
    return _polars_matrix(done, rows, cols, views)


def kind_of_frame(frame: str | None) -> str:
    """Return the kind of frame to make: that of the input, or pandas."""
    return "pandas" if frame is None else frame


@dataclass(frozen=True)
class Searched:
    """What a search was for, to write its result with labels and intervals."""

    rows: NDArray[np.int64] | None = None
    n_candidates: int = 0
    first_query: int = 0
    labels: list[str] | None = None
    frame: str | None = None
    interval_model: IntervalModel | None = None
    numbers: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # further columns, of the shape of the ids
    positions: NDArray[np.int64] | None = None  # ids of the candidates, if they are not positions

    def names(self, positions: NDArray[np.int64]) -> list[Any]:
        """Return labels of rows by position; without labels, their numbers among the candidates or queries."""
        if self.labels is not None:
            return [self.labels[row] for row in positions.tolist()]
        numbers: list[Any] = np.where(positions < self.n_candidates, positions, positions - self.first_query).tolist()
        return numbers


class SearchResult(Neighbours):
    """Neighbours: a pair ``ids, scores = done.search()`` that prints as a table and can be written as a frame."""

    searched: Searched = Searched()

    def __new__(cls, ids: NDArray[np.int64], scores: NDArray[np.floating], searched: Searched) -> SearchResult:
        """Make the pair, and remember what was searched for."""
        found = super().__new__(cls, ids, scores)
        found.searched = searched
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return SearchResult, (self.ids, self.scores, self.searched)

    @property
    def positions(self) -> NDArray[np.int64]:
        """Positions of the neighbours in the result; -1 where there is none."""
        return self.ids if self.searched.positions is None else self.searched.positions

    def named(self, ids: NDArray[Any]) -> SearchResult:
        """Return the same with ids in place of positions."""
        return SearchResult(ids, self.scores, replace(self.searched, positions=self.positions))

    def with_numbers(self, **numbers: NDArray[Any]) -> SearchResult:
        """Return the same with further numbers about every neighbour."""
        return SearchResult(self.ids, self.scores, replace(self.searched, numbers={**self.numbers, **numbers}))

    @property
    def numbers(self) -> Mapping[str, NDArray[Any]]:
        """What the search was asked for besides scores, by name, of the shape of `ids`."""
        return self.searched.numbers

    @property
    def probability(self) -> NDArray[np.float64] | None:
        """P(true similarity > above), of the shape of `ids`; None if `above` was not given."""
        return self.numbers.get("probability")

    def columns(self, level: float = 0.9) -> dict[str, Any]:
        """The columns of the frame, by name."""
        about = self.searched
        rows = np.arange(len(self.positions)) if about.rows is None else about.rows
        which, place = np.nonzero(self.positions >= 0)  # rows about which nothing is known have no neighbours
        ids, scores = self.positions[which, place], self.scores[which, place]
        table: dict[str, Any] = {
            "query": about.names(rows[which]),
            "rank": place + 1,
            "candidate": about.names(ids) if about.positions is None else self.ids[which, place].tolist(),
            "score": scores,
        }
        if about.interval_model is not None:
            table["low"], table["high"] = (end[which, place] for end in self.bounds(about.interval_model, level))
        return {**table, **{name: of[which, place] for name, of in self.numbers.items()}}

    def bounds(self, model: IntervalModel, level: float = 0.9) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return intervals of all neighbours, by the rank of each among the complete ones."""
        level = check_level(level)
        kind, spread, n = self.placed(model)
        z = model.table(np.array([(1 - level) / 2, (1 + level) / 2]), n)
        return moved(self.scores, spread * z[kind, 0]), moved(self.scores, spread * z[kind, 1])

    def placed(self, model: IntervalModel) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
        """Return the row of the error table of each neighbour, its spread, and the number of complete rows."""
        about = self.searched
        rows, first = np.arange(len(self.positions)) if about.rows is None else about.rows, about.first_query
        n = about.n_candidates if first else int(np.sum(model.spread == 0))
        order = np.argsort(-self.scores, axis=1, kind="stable")  # a balanced search has another order
        complete = np.take_along_axis(model.exact(self.positions, first) & (self.positions >= 0), order, axis=1)
        falling = np.take_along_axis(self.scores, order, axis=1)
        before: NDArray[np.int64] = np.cumsum(complete, axis=1) - complete
        tied = np.diff(falling.round(TIED), axis=1, prepend=np.inf) == 0  # equal estimates have the rank of the first
        place = np.empty_like(before)
        np.put_along_axis(place, order, np.maximum.accumulate(np.where(tied, 0, before), axis=1), axis=1)
        complete = model.exact(self.positions, first) & (self.positions >= 0)
        kind = np.searchsorted(RankedErrors.edges(max(n, 1)), place, side="right")
        kind = np.where(complete & ~model.exact(rows, first)[:, None], kind, FINE)
        return kind, model.spread_of(rows, self.positions, first), max(n, 1)

    def _repr_html_(self) -> str:
        return html_table(*self._first_rows())

    def __str__(self) -> str:
        return text_table(*self._first_rows())

    def _first_rows(self) -> tuple[str, list[list[Any]], list[str]]:
        """A caption, lines and names of columns: of the first queries, so that they fit a screen."""
        n, k = self.positions.shape
        first, about = slice(SHOWN_QUERIES), self.searched
        some = replace(
            about,
            rows=(np.arange(n) if about.rows is None else about.rows)[first],
            numbers={name: of[first] for name, of in about.numbers.items()},
            positions=None if about.positions is None else about.positions[first],
        )
        shown = SearchResult(self.ids[first], self.scores[first], some).columns()
        lines = list(zip(*(list(of) for of in shown.values()), strict=True))
        caption = f"Neighbours: {k} of each of {n} rows" + (
            f", the first {SHOWN_QUERIES} shown" if n > SHOWN_QUERIES else ""
        )
        return caption, [[three_digits(cell) for cell in line] for line in lines], list(shown)

    def to_frame(self, level: float = 0.9) -> Any:
        """Return one line for every neighbour, in a frame of the kind that the samples came in.

        Parameters
        ----------
        level : float
            Share of the true similarities that should lie between `low` and `high`.

        Returns
        -------
        frame
            Columns `query`, `rank` (from 1), `candidate`, `score`; also `low` and `high` where the result has
            intervals, and what the search was asked for: `probability`, `std`, `quantile`, `top_probability`. Rows are
            named by their labels; where there are none, by their number among the queries or the candidates. Rows of
            which nothing is known have no neighbours, and no line.

        Examples
        --------
        >>> import pandas as pd, simcomplete as sc
        >>> X = pd.DataFrame([[1, 0], [0, 1], [1, None]], index=["anna", "ben", "cleo"])
        >>> sc.complete(X, method="overlap").search(1, "cleo").to_frame()
          query  rank candidate  score
        0  cleo     1      anna    1.0
        """
        return COLUMN_FRAMES[kind_of_frame(self.searched.frame)](self.columns(level))

    def to_pandas(self, level: float = 0.9) -> Any:
        """Return the same as a pandas frame, for samples of any type."""
        return _pandas_columns(self.columns(level))

    def to_polars(self, level: float = 0.9) -> Any:
        """Return the same as a polars frame, for samples of any type."""
        return _polars_columns(self.columns(level))


def _block(
    done: Completion, rows: Any, cols: Any, views: Mapping[str, bool]
) -> tuple[NDArray[Any], list[Any], list[Any]]:
    """Return a block of similarities, and the names of its rows and columns."""
    row_names, col_names = (
        positions_of(done._resolve(which, name)) for which, name in ((rows, "rows"), (cols, "cols"))
    )
    names = [
        [done.labels[i] for i in where.tolist()] if done.labels is not None else where.tolist()
        for where in (row_names, col_names)
    ]
    return to_numpy(done.similarity(rows, cols, **views)), names[0], names[1]


def _pandas_matrix(done: Completion, rows: Any, cols: Any, views: Mapping[str, bool]) -> Any:
    pandas = optional("pandas", extra="frames", purpose="to_pandas()")
    block, index, columns = _block(done, rows, cols, views)
    return pandas.DataFrame(block, index=index, columns=columns)


def _polars_matrix(done: Completion, rows: Any, cols: Any, views: Mapping[str, bool]) -> Any:
    polars = optional("polars", extra="frames", purpose="to_polars()")
    return polars.DataFrame(_matrix_columns(done, rows, cols, views))


def _arrow_matrix(done: Completion, rows: Any, cols: Any, views: Mapping[str, bool]) -> Any:
    arrow = optional("pyarrow", extra="cli", purpose="a pyarrow table")
    return arrow.table(_matrix_columns(done, rows, cols, views))


def _matrix_columns(done: Completion, rows: Any, cols: Any, views: Mapping[str, bool]) -> dict[str, Any]:
    """Return the columns of a frame without an index: the row labels, then the columns of the matrix."""
    block, index, columns = _block(done, rows, cols, views)
    names = [str(name) for name in columns]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(
            f"a polars or pyarrow frame cannot have two columns of the same name, and {twice[0]!r} is the label of "
            f"several rows ({len(twice)} labels are); ask for a block, such as to_frame('queries', 'candidates'), or "
            "use to_pandas()"
        )
    first = ROW
    while first in names:
        first += "_"
    return {first: index, **{name: np.ascontiguousarray(block[:, j]) for j, name in enumerate(names)}}


def _pandas_columns(table: Mapping[str, Any]) -> Any:
    return optional("pandas", extra="frames", purpose="to_pandas()").DataFrame(dict(table))


def _polars_columns(table: Mapping[str, Any]) -> Any:
    return optional("polars", extra="frames", purpose="to_polars()").DataFrame(dict(table))


def _arrow_columns(table: Mapping[str, Any]) -> Any:
    return optional("pyarrow", extra="cli", purpose="a pyarrow table").table(dict(table))


MATRIX_FRAMES: dict[str, Callable[..., Any]] = {
    "pandas": _pandas_matrix,
    "polars": _polars_matrix,
    "pyarrow": _arrow_matrix,
}
COLUMN_FRAMES: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "pandas": _pandas_columns,
    "polars": _polars_columns,
    "pyarrow": _arrow_columns,
}
