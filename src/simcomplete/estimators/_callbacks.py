"""The seam to scikit-learn's callbacks: the only file that knows whether the installed version has them.

A fit is one task; every iteration of an iterative method is a subtask of it. `ProgressBar` and the other callbacks of
`sklearn.callback` are set with ``estimator.set_callbacks(...)``. Before scikit-learn 1.9 there is nothing to set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from simcomplete._method.spec import Method

__all__ = ["CallbackSupport", "FitTask", "with_callbacks"]

Fit = TypeVar("Fit", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing to support."""

    def _with_callbacks(method: Any) -> Any:
        return method


def with_callbacks(fit: Fit) -> Fit:
    """Close the callbacks of a fit however it ends."""
    decorated: Fit = _with_callbacks(fit)
    return decorated


class FitTask:
    """The fit of an estimator, as callbacks see it.

    Parameters
    ----------
    estimator : estimator
        What is being fitted.
    data : dict
        What it is fitted to: `X` and `y`.
    method : Method or None
        What does the work; None where that is yet to be chosen.
    own : dict
        Its parameters, where they are not its defaults.
    """

    def __init__(self, estimator: Any, data: dict[str, Any], method: Method | None, own: dict[str, Any]) -> None:
        self.estimator = estimator
        self.data = data
        params = {**({} if method is None else method.parameters.defaults), **own}
        self.iterates = "callback" in params and params.get("solver") != "exact"
        most = params.get("max_iter")
        # How many subtasks there may still be: none for a direct solution, None when that is not known.
        self.left: int | None = (most if isinstance(most, int) and most > 0 else None) if self.iterates else 0
        begin = getattr(estimator, "_init_callback_context", None)
        self.context = None if begin is None else begin(max_subtasks=self.left)
        self.iteration: Any = None
        if self.context is not None:
            self.context.call_on_fit_task_begin(estimator=estimator, **data)
            self._next()

    def watched(self, own: dict[str, Any]) -> dict[str, Any]:
        """The method's parameters, with a callback that reports every iteration here and to the user's own."""
        if not self.iterates or self.context is None:
            return own
        users = own.get("callback")

        def callback(iteration: int, facts: dict[str, float]) -> bool:
            asked = users is not None and bool(users(iteration, facts))
            return self.step() or asked

        return {**own, "callback": callback}

    def step(self) -> bool:
        """End one iteration and begin the next; tell whether a callback asks to stop."""
        if self.iteration is None:
            return False
        stop = bool(self.iteration.call_on_fit_task_end(estimator=self.estimator, **self.data))
        self._next()
        return stop

    def end(self) -> None:
        """End the fit, and the iteration that was begun and never made."""
        if self.iteration is not None:
            self.iteration.call_on_fit_task_end(estimator=self.estimator)
        if self.context is not None:
            # The estimator is whole by now: a shallow copy of it is what callbacks may score.
            self.context.call_on_fit_task_end(estimator=self.estimator, **self.data, reconstruction_attributes={})

    def _next(self) -> None:
        self.iteration = None
        if self.context is None or self.left == 0:
            return
        self.left = None if self.left is None else self.left - 1
        self.iteration = self.context.subcontext(task_name="iteration")
        self.iteration.call_on_fit_task_begin(estimator=self.estimator, **self.data)
