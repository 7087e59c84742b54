"""The missing values behind a completion, where its method models them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simcomplete._result.rows import positions_of
from simcomplete._rows.budget import require
from simcomplete.errors import InputError

if TYPE_CHECKING:
    from simcomplete._result.completion import Completion


class WithValues:
    """What a completion can tell of the values that were missing."""

    def imputed(self: Completion, rows: Any = None, *, return_std: bool = False) -> Any:  # type: ignore[misc]
        """Return the rows with expected values in the place of missing ones.

        The values are those of `simcomplete.PosteriorImputer` fitted to the same rows, whatever the units of the
        features; of method "shrunk" those of a model for ratings. They are learnt when they are asked for, which takes
        about as long as the completion. What ``biases=`` took out is in them again.

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
            Only where it was asked for.

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
                f"this result of {self.method!r} holds no missing values: only 'posterior' of samples has them, unless "
                "it was saved with candidates=False, and 'shrunk' until it is saved; use "
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
