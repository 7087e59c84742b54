"""Complete new queries with the candidates of a completion, if its method fitted a model of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simcomplete._caller import warn_caller
from simcomplete._result.unobserved import unobserved_message
from simcomplete.errors import InputError, InputWarning

if TYPE_CHECKING:
    from simcomplete._result.completion import Completion


class TakesQueries:
    """Methods of a completion for rows that were not part of it."""

    def query(self: Completion, Q: Any) -> Completion:  # type: ignore[misc]
        """Complete other queries with the same candidates, without calibrating again.

        Every row is completed separately, as by `PosteriorCompleter.transform`, with the calibration for the masks of
        the first queries. It also works after `save` and `load`.

        Parameters
        ----------
        Q : array or frame of shape (n_q, n_features)
            Rows with NaN where a value is missing. Columns of a frame are matched by name with those of the candidates.

        Returns
        -------
        Completion
            Of the candidates (all rows, where there were no separate queries) and the new queries. It has intervals if
            all candidates are complete.

        Examples
        --------
        >>> import numpy as np, simcomplete as sc
        >>> rng = np.random.default_rng(0)
        >>> P = rng.random((60, 5))
        >>> done = sc.complete(P, [[0.2, np.nan, 0.4, 0.1, np.nan]], method="posterior")
        >>> more = done.query([[0.9, 0.1, np.nan, 0.5, 0.5], [0.3, np.nan, 0.3, np.nan, 0.9]])
        >>> more.n_candidates, more.search(k=3).ids.shape
        (60, (2, 3))
        """
        fitted = self.model
        if not hasattr(fitted, "query"):
            raise InputError(
                f"this result of {self.method!r} has no model for new queries: only 'posterior' of samples has "
                "one, unless it was saved with candidates=False or by simcomplete 0.2; use complete(P, Q) with them"
            )
        done: Completion = fitted.query(self, Q)
        if done.unobserved is not None:
            warn_caller(unobserved_message(done.unobserved, done.labels, done.n_candidates), InputWarning)
        return done
