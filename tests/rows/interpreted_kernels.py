"""Kernels for GPUs in Triton's interpreter, on the CPU: run by test_gpu_kernels.py with TRITON_INTERPRET=1."""

import itertools

import numpy as np
import torch

import simcomplete as sc
from simcomplete._rows import gpu_kernels
from simcomplete._similarity import products

TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def table(rng, n, m, gap, dtype=torch.float64):
    """Rows of m values that lie in rows of m + gap."""
    return torch.from_numpy(rng.standard_normal((n, m + gap))).to(dtype)


def by_shape(rng):
    """Both kernels beside NumPy; what lies between rows is left alone."""
    started = gpu_kernels.compiled()
    sizes = itertools.product((1, 20), (1, 16, 17, 100), (0, 7), (0, 3), TYPES, (True, False))
    for n, d, n_q, gap, dtype, reflects in sizes:
        X, H = table(rng, n, d, gap, dtype)[:, :d], table(rng, n, d + n_q, gap)
        lengths, u = torch.from_numpy(1 + rng.random((n, 1))), torch.from_numpy(rng.standard_normal(d + n_q))
        known = H.numpy().copy()
        u /= u.norm()
        direction = u if reflects else None
        products._divide(X.double().numpy(), known[:, : d + n_q], lengths.numpy(), u.numpy() if reflects else None)
        started["divide"](X, H[:, : d + n_q], lengths, direction)
        np.testing.assert_allclose(H.numpy(), known, rtol=0, atol=1e-14)
        out, squares = table(rng, n, d, gap), table(rng, n, d, 0)
        between = out[:, d:].clone()
        started["square"](X, out[:, :d], squares)
        assert torch.equal(out[:, d:], between)
        assert torch.equal(out[:, :d], X.double())
        assert torch.equal(squares, X.double() ** 2)


def whole(rng):
    """A completion that takes these kernels for every block, beside that of NumPy."""
    P = rng.random((50, 21)).astype(np.float32)
    Q = np.where(rng.random((6, 21)) < 0.5, np.nan, rng.random((6, 21))).astype(np.float32)
    gpu_kernels._suits = lambda tensor, X: isinstance(tensor, torch.Tensor)  # of the CPU, too
    known = sc.complete(P, Q, method="smcnn", rank=9, route="structured", verify=True)
    done = sc.complete(
        torch.from_numpy(P), torch.from_numpy(Q), method="smcnn", rank=9, route="structured", verify=True
    )
    np.testing.assert_allclose(done.similarity().numpy(), known.similarity(), atol=1e-6)  # float32
    assert done.certificate.residual < 1e-10
    assert {key[0] for key in gpu_kernels._proven} == {"divide", "square"}
    assert not gpu_kernels._failed


if __name__ == "__main__":
    by_shape(np.random.default_rng(0))
    whole(np.random.default_rng(1))
    print("as NumPy")
