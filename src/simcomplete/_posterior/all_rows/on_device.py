"""Sums and completions of factor models, made on the device that the rows came from.

The E step is most of the work of a fit: one product for all rows, and many small systems of one size, which a GPU
solves together. Rows go there once for a fit, the model in every iteration; what comes back is as small as the model,
or as large as the rows that are completed. All else stays in NumPy.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from simcomplete._rows.xp import Array, like, on_accelerator

_device: ContextVar[Array | None] = ContextVar("device_of_rows", default=None)


@contextlib.contextmanager
def working_on_device_of(rows: Array | None) -> Iterator[None]:
    """Let models work where these rows are, if that is an accelerator; None and other arrays change nothing."""
    token = _device.set(rows if rows is not None and on_accelerator(rows) else None)
    try:
        yield
    finally:
        _device.reset(token)


def there(model: Any, rows: Any) -> tuple[Any, Any]:
    """A model and incomplete rows where the work is done: as they are, or on the device.

    Rows that were brought there are kept with the rows, because every iteration asks for them.
    """
    place = _device.get()
    if place is None:
        return model, rows
    if "_there" not in rows.__dict__:
        moved = type(rows)(like(rows.values, place), like(rows.observed, place), rows.pattern)
        object.__setattr__(rows, "_there", moved)
    own = {name: value for name, value in vars(model).items() if name in model.__dataclass_fields__}
    arrays = {name: like(value, place) for name, value in own.items() if hasattr(value, "shape")}
    return type(model)(**{**own, **arrays}), rows.__dict__["_there"]
