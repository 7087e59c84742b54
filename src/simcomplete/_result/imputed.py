"""Imputed values and restricted similarities of a completion, if its method models values."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.intervals import check_level, required
from simcomplete._result.rows import positions_of
from simcomplete._rows.budget import require
from simcomplete.errors import InputError

if TYPE_CHECKING:
    from simcomplete._result.completion import Completion


class WithValues:
    """Methods of a completion that concern missing values."""

    def imputed(self: Completion, rows: Any = None, *, return_std: bool = False) -> Any:  # type: ignore[misc]
        """Return the rows with missing values replaced by their expected values.

        The values are those of `simcomplete.PosteriorImputer` fitted to the same rows, whatever the units of the
        features; of method "shrunk" those of a model for ratings. They are computed by the first call, which takes
        about as long as the completion. What ``biases=`` subtracted is added again.

        Parameters
        ----------
        rows : {"candidates", "queries"}, positions, labels or pair, optional
            Which rows; all, in the order of the result, when left out.
        return_std : bool
            Also return the standard deviation of every value, 0 where it was observed.

        Returns
        -------
        values : array of shape (rows, d)
            Observed values as they were given, bit for bit; NaN for a feature that no row has.
        std : array of shape (rows, d)
            Only with `return_std`.

        Examples
        --------
        >>> import numpy as np, simcomplete as sc
        >>> rng = np.random.default_rng(0)
        >>> P = (rng.random((100, 1)) - 0.5) * np.arange(1.0, 5.0)
        >>> done = sc.complete(P, [[0.5, np.nan, 1.5, 2.0]], method="posterior", center="mean")
        >>> done.imputed("queries").round(1)
        array([[0.5, 1. , 1.5, 2. ]])
        """
        fitted = self.model
        if not hasattr(fitted, "imputed"):
            raise InputError(
                f"this result of {self.method!r} has no model of missing values: only results of 'posterior' for "
                "samples have one, unless saved with candidates=False, and of 'shrunk' until they are saved; use "
                "complete(..., method='posterior'), or PosteriorImputer to fill in a table"
            )
        wanted = positions_of(self._resolve(rows, "rows"))
        place = np.arange(self.n)[wanted]
        require(
            8 * 6 * len(place) * fitted.d,
            f"the {len(place)} x {fitted.d} values of the rows",
            "ask for fewer of them, such as imputed('queries')",
        )
        values, std = fitted.imputed(place)
        return (values, std) if return_std else values

    def restricted(  # type: ignore[misc]
        self: Completion,
        features: Any = None,
        rows: Any = None,
        cols: Any = None,
        *,
        level: float | None = None,
        mechanism: str | None = None,
    ) -> Any:
        """Return similarities over some of the features.

        `similarity` is over all features; this compares rows over fewer of them. Every pair may have other features, so
        the result as a matrix need not be positive semi-definite.

        Parameters
        ----------
        features : names, positions, or array of bool of shape (d,) or (n, d), optional
            The features to compare, for all rows (names of columns, positions, booleans) or for each row of the result
            (booleans of shape (n, d)); a pair is compared over the features of both rows. When left out, the observed
            features of each row: then it is the overlap similarity.
        rows, cols : {"candidates", "queries"}, positions, labels or pair, optional
            As in `similarity`; all when left out.
        level : float, optional
            Also return intervals that should hold this share of the true similarities.
        mechanism : {"auto", "random"}, optional
            Why values are missing among the features that count: "auto" is as found by the completion, perhaps because
            of their size; "random" is at random. By default "random" if `features` differ between rows, else "auto".

        Returns
        -------
        similarity : array of shape (rows, cols)
            0 for a pair without a feature that counts.
        low, high : array of shape (rows, cols)
            Only where a level is given; -1 and 1 for a pair without a feature that counts.

        Examples
        --------
        >>> import numpy as np, simcomplete as sc
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 12))
        >>> X[rng.random(X.shape) < 0.3] = np.nan
        >>> done = sc.complete(X, method="posterior")
        >>> bool(np.allclose(done.restricted(), sc.overlap_similarity(X)))
        True
        >>> similarity, low, high = done.restricted([0, 3, 5], rows=[0], cols=[1, 2], level=0.9)
        >>> similarity.shape
        (1, 2)
        """
        fitted = self.model
        if not hasattr(fitted, "restricted"):
            raise InputError(
                f"this result of {self.method!r} cannot be restricted to features: only those of 'posterior' for "
                "samples can, unless saved with candidates=False; use complete(..., method='posterior')"
            )
        if self.params.get("metric", "cosine") != "cosine":
            raise InputError("restricted() is for metric='cosine': correlations subtract the mean of all features")
        count = None if features is None else _selected_features(features, fitted.columns, self.n, fitted.d)
        picked, among = (
            np.arange(self.n)[positions_of(self._resolve(which, name))]
            for which, name in ((rows, "rows"), (cols, "cols"))
        )
        each = 2 + (self.interval_model.numbers_per_pair if self.interval_model is not None else 6)
        require(
            8 * (each * len(picked) * len(among) + 5 * (len(picked) + len(among)) * fitted.d),
            f"{len(picked)} x {len(among)} similarities over some features",
            "ask for fewer rows= and cols=",
        )
        if mechanism not in (None, "auto", "random"):
            raise InputError(f"mechanism={mechanism!r} is neither 'auto' nor 'random'")
        usual = "random" if count is not None and count.ndim == 2 else "auto"
        found = fitted.restricted(picked, among, count, mechanism or usual)
        if level is None:
            return found.similarity
        quantiles = required(self.interval_model, self.method).quantiles
        z = float(np.interp(check_level(level), np.linspace(0, 1, len(quantiles)), quantiles))
        half = found.spread * max(z, 1e-300)
        return found.similarity, np.clip(found.similarity - half, -1, 1), np.clip(found.similarity + half, -1, 1)


def _selected_features(features: Any, names: list[Any] | None, n: int, d: int) -> NDArray[np.bool_]:
    """Which features are selected, as booleans of shape (d,) or (n, d)."""
    given = np.asarray([features] if isinstance(features, (str, int, np.integer)) else features)
    if given.dtype == bool and given.shape in ((d,), (n, d)):
        return given
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iuUO":
        raise InputError(
            f"features has shape {given.shape} and type {given.dtype}; give names or positions, or give booleans of "
            f"shape ({d},), or of shape ({n}, {d}) for each row its own"
        )
    place = {name: position for position, name in enumerate(names or [])}
    selected = np.zeros(d, dtype=bool)
    for feature in given.tolist():
        position = feature if isinstance(feature, int) else place.get(feature)
        if position is None or not -d <= position < d:
            known = f"the features are {reprlib.repr(names)}" if names else "the features of the samples have no names"
            raise InputError(f"features has {feature!r}; {known}, and positions go from 0 to {d - 1}")
        selected[position] = True
    return selected
