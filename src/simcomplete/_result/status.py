"""How a run ended: what happened, why, what to try."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Status:
    """How a run ended.

    Attributes
    ----------
    code : str
        One word for programs, such as "optimal", "computed" or "diverged".
    message : str
        What happened and what to try.
    ok : bool
        Whether the result is what was asked for.

    Examples
    --------
    >>> print(Status("optimal", "the global optimum, by one eigendecomposition"))
    optimal: the global optimum, by one eigendecomposition
    """

    code: str
    message: str
    ok: bool = True

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)


COMPUTED = Status("computed", "computed directly")  # status of methods without iterations
