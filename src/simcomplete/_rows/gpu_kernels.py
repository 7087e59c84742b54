"""Kernels in Triton for rows of torch tensors on a GPU: cast and square, or cast, divide and reflect, in one.

torch brings Triton along on most systems that have a GPU. A kernel is compiled when it is first used, for which Triton
needs a C compiler. Wherever that fails, or a kernel does not give what the plain steps give, the plain steps are done
from then on: `ran` returns False.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import array_api_compat

from simcomplete._caller import warn_caller
from simcomplete._rows.xp import Array

WIDEST = 4096  # columns of a row that one block of threads holds
TYPES = ("float64", "float32", "float16", "bfloat16")  # of rows; results are float64
SAMPLE = 8  # rows on which a kernel is compared with the plain steps before its first use
CLOSE = 1e-12  # of the largest value: sums are in another order there

Step = Callable[..., None]  # takes rows X, the table they are written to, and what else the kernel takes
_proven: set[tuple[Any, ...]] = set()
_failed: list[str] = []
tl: Any = None  # Triton's language; Triton looks for it among the names of the module


def ran(name: str, plain: Step, X: Array, out: Array, *others: Array | None) -> bool:
    """Run the kernel of that name, and return whether it ran; if not, nothing is written.

    Parameters
    ----------
    name : {"square", "divide"}
        The kernel.
    plain : callable
        What it does, step by step, with the same arguments. The first time, both are run on a few rows.
    X, out : arrays of shape (n, d), (n, m)
        Rows, and what they are written to.
    *others : arrays, or None
        The other arguments. Those with `n` rows belong to the rows.

    Examples
    --------
    >>> import numpy as np
    >>> ran("square", print, np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 3)))  # not on a GPU
    False
    """
    tensors = [X, out, *(other for other in others if other is not None)]
    if _failed or not all(_suits(tensor, X) for tensor in tensors):
        return False
    if not _has_columns(X, out) or (kernels := compiled()) is None:
        return False
    kernel = kernels[name]
    key = (name, X.device, X.dtype, X.shape[1], X.stride(0), out.shape[1], out.stride(0), others[-1] is None)
    try:
        with sys.modules["torch"].cuda.device_of(out):  # Triton works on the current device, which may be another
            if key not in _proven:
                _prove(kernel, plain, X, out, *others)
                _proven.add(key)
            kernel(X, out, *others)
    except Exception as problem:  # no C compiler, a GPU that Triton does not know, a full disk: there are many
        _failed.append(name)
        warn_caller(
            f"a kernel for the GPU cannot be used, and slower steps with the same result are taken instead ({problem})",
            RuntimeWarning,
        )
        return False
    return True


def values_held(m: int) -> int:
    """How many values a block of threads holds for a row of m.

    Examples
    --------
    >>> values_held(5), values_held(1000)
    (16, 1024)
    """
    return max(16, 1 << (m - 1).bit_length())


def _suits(tensor: Array, X: Array) -> bool:
    """Return whether this is a torch tensor on the GPU of X that needs no gradient."""
    found = array_api_compat.is_torch_array(tensor) and tensor.is_cuda and tensor.device == X.device
    return bool(found and not tensor.requires_grad)


def _has_columns(X: Array, out: Array) -> bool:
    """Return whether there are rows, of a type and width that the kernels know, whose values lie side by side."""
    types = str(X.dtype).removeprefix("torch.") in TYPES and str(out.dtype) == "torch.float64"
    sizes = 0 not in (*X.shape, *out.shape) and int(out.shape[1]) <= WIDEST
    return types and sizes and X.stride(1) == 1 and out.stride(1) == 1


def _prove(kernel: Step, plain: Step, X: Array, *arguments: Array | None) -> None:
    """Raise an error unless the kernel writes what the plain steps write, for the first rows."""
    n = int(X.shape[0])

    def some() -> list[Array | None]:
        return [a if a is None or int(a.shape[0]) != n or a.ndim == 1 else a[:SAMPLE, :].clone() for a in arguments]

    known, made = some(), some()
    plain(X[:SAMPLE, :], *known)
    kernel(X[:SAMPLE, :], *made)
    for a, b in zip(known, made, strict=True):
        if a is not None and b is not None:
            near = (a - b).abs() <= CLOSE * a.abs().amax(dim=-1, keepdim=True)
            if not bool((near | (a == b) | (a.isnan() & b.isnan())).all()):  # squares may be infinite
                raise ArithmeticError("its result differs")


@functools.cache
def compiled() -> dict[str, Step] | None:
    """Return the kernels, with how they are started, or None without Triton."""
    global tl
    try:
        import triton
        import triton.language
    except Exception:  # not there, or not for this system
        return None
    tl = triton.language

    @triton.jit  # type: ignore
    def divide(X, H, lengths, u, d, m, x_row, h_row, reflects: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore
        row = tl.program_id(0).to(tl.int64)  # times a stride beyond 32 bits
        column = tl.arange(0, BLOCK)
        h = tl.load(X + row * x_row + column, mask=column < d, other=0.0).to(tl.float64) / tl.load(lengths + row)
        written = d
        if reflects:
            h += tl.load(H + row * h_row + column, mask=(column >= d) & (column < m), other=0.0)
            direction = tl.load(u + column, mask=column < m, other=0.0)
            h -= 2 * tl.sum(h * direction, axis=0) * direction
            written = m
        tl.store(H + row * h_row + column, h, mask=column < written)

    @triton.jit  # type: ignore
    def square(X, out, squares, d, x_row, out_row, squares_row, BLOCK: tl.constexpr):  # type: ignore
        row = tl.program_id(0).to(tl.int64)
        column = tl.arange(0, BLOCK)
        x = tl.load(X + row * x_row + column, mask=column < d, other=0.0).to(tl.float64)
        tl.store(out + row * out_row + column, x, mask=column < d)
        tl.store(squares + row * squares_row + column, x * x, mask=column < d)

    def start_divide(X: Array, H: Array, lengths: Array, reflector: Array | None) -> None:
        (n, d), m = X.shape, int(H.shape[1])
        lengths = lengths.contiguous()
        u = lengths if reflector is None else reflector.contiguous()  # the first is not looked at
        shape = (d, m, X.stride(0), H.stride(0), reflector is not None, values_held(m))
        divide[(n,)](X, H, lengths, u, *shape, num_warps=_warps(m))

    def start_square(X: Array, out: Array, squares: Array) -> None:
        n, d = X.shape
        square[(n,)](X, out, squares, d, *(a.stride(0) for a in (X, out, squares)), values_held(d), num_warps=_warps(d))

    return {"divide": start_divide, "square": start_square}


def _warps(m: int) -> int:
    """Groups of 32 threads for a row: about eight values for each thread, so that they stay in its registers."""
    return min(16, max(1, values_held(m) // 256))
