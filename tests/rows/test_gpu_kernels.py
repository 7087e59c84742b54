"""Kernels for GPUs: they compute what the plain steps do, and are left alone wherever they cannot be used."""

import importlib.util
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from simcomplete._rows import gpu_kernels
from simcomplete._similarity import products

pytestmark = pytest.mark.array_library


@pytest.fixture
def torch(request):
    if not request.config.getoption("--require-torch"):
        pytest.importorskip("torch")
    return importlib.import_module("torch")


@pytest.fixture
def started(torch, monkeypatch):
    """Stand-ins for the kernels, which take tensors of the CPU for those of a GPU; which of them were started."""
    calls = []

    def divide(X, H, *others):
        calls.append(("divide", len(X)))
        products._divide(X, H, *others)

    def square(X, out, squares):
        calls.append(("square", len(X)))
        products._square(X, out, squares)

    monkeypatch.setattr(gpu_kernels, "_proven", set())
    monkeypatch.setattr(gpu_kernels, "_failed", [])
    monkeypatch.setattr(gpu_kernels, "_suits", lambda tensor, X: isinstance(tensor, torch.Tensor))
    stand_ins = {"divide": divide, "square": square}
    monkeypatch.setattr(gpu_kernels, "compiled", lambda: stand_ins)
    return calls, stand_ins


def problem(torch, n=20, d=6, n_q=3):
    rng = np.random.default_rng(0)
    X, H = rng.random((n, d)).astype(np.float32), rng.random((n, d + n_q))
    lengths, u = 1 + rng.random((n, 1)), rng.standard_normal(d + n_q)
    known = np.hstack([X / lengths, H[:, d:]])
    known -= 2 * np.outer(known @ u, u)
    return [torch.from_numpy(a) for a in (H, X, lengths, u)], known


def divided(torch):
    given, known = problem(torch)
    products.divide_and_reflect(*given)
    np.testing.assert_allclose(given[0].numpy(), known, atol=1e-13)


def squared(torch):
    X = torch.arange(12, dtype=torch.float16).reshape(4, 3)
    out = torch.empty((4, 3), dtype=torch.float64)
    squares = products.cast_and_square(X, out)
    assert torch.equal(out, X.double())
    assert torch.equal(squares, X.double() ** 2)


def test_a_kernel_is_compared_once_and_then_used(torch, started):
    calls, _ = started
    for _ in range(2):
        divided(torch)
        squared(torch)
    assert calls == [("divide", 8), ("divide", 20), ("square", 4), ("square", 4), ("divide", 20), ("square", 4)]


def broken(X, out, *others):
    raise RuntimeError("Failed to find C compiler")


def wrong(X, out, *others):
    out[:, 0] = np.nan


@pytest.mark.parametrize(("kernel", "why"), [(broken, "C compiler"), (wrong, "differs")])
def test_after_a_failure_the_plain_steps_are_done_for_good(torch, started, kernel, why):
    started[1].update(divide=kernel, square=kernel)
    with pytest.warns(RuntimeWarning, match=why):
        divided(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        divided(torch)
        squared(torch)
    assert started[0] == []


def test_a_wrong_sum_is_noticed(torch, started):
    def without_reflection(X, H, lengths, reflector):
        products._divide(X, H, lengths, None)

    started[1].update(divide=without_reflection)
    with pytest.warns(RuntimeWarning, match="differs"):
        divided(torch)


def test_squares_beyond_the_range_of_numbers_are_no_failure(torch, started):
    X = torch.tensor([[1e200, 1.0], [2.0, 0.0]], dtype=torch.float64)
    assert torch.isinf(products.cast_and_square(X, torch.empty_like(X))[0, 0])
    assert [name for name, _ in started[0]] == ["square", "square"]


def test_without_triton_the_plain_steps_are_done(torch, started, monkeypatch):
    monkeypatch.setattr(gpu_kernels, "compiled", lambda: None)
    divided(torch)
    squared(torch)


def test_without_triton_there_are_no_kernels(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    assert gpu_kernels.compiled.__wrapped__() is None


@pytest.mark.parametrize("change", ["transposed", "whole numbers", "wide", "no rows", "float32 results"])
def test_other_rows_are_left_to_the_plain_steps(torch, started, change):
    (H, X, lengths, u), known = problem(torch)
    wide = gpu_kernels.WIDEST + 1
    X, H, lengths, u = {
        "transposed": lambda: (X.T.contiguous().T, H, lengths, u),
        "whole numbers": lambda: ((X * 100).to(torch.int64), H, lengths, u),
        "wide": lambda: (X, torch.zeros((20, wide), dtype=H.dtype), lengths, torch.zeros(wide, dtype=H.dtype)),
        "no rows": lambda: (X[:0], H[:0], lengths[:0], u),
        "float32 results": lambda: (X, H.float(), lengths, u.float()),
    }[change]()
    products.divide_and_reflect(H, X, lengths, u)
    assert started[0] == []
    if change == "transposed":
        np.testing.assert_allclose(H.numpy(), known, atol=1e-13)


def test_what_suits_a_kernel(torch):
    """Tensors of a GPU without gradients: none here."""
    X = torch.ones((2, 2))
    assert not gpu_kernels._suits(X, X)
    assert not gpu_kernels._suits(X.numpy(), X)

    class OnGPU:
        is_cuda, requires_grad, device = True, False, "cuda:0"

    def kind(**about):
        return type("Other", (OnGPU,), about)()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu_kernels.array_api_compat, "is_torch_array", lambda x: True)
        assert gpu_kernels._suits(kind(), kind())
        assert not gpu_kernels._suits(kind(device="cuda:1"), kind())
        assert not gpu_kernels._suits(kind(requires_grad=True), kind())
        assert not gpu_kernels._suits(kind(is_cuda=False), kind())


def test_rows_with_gradients_are_divided(torch):
    (H, X, lengths, u), known = problem(torch)
    H = H.clone()
    products.divide_and_reflect(H, X.requires_grad_(), lengths, u)
    np.testing.assert_allclose(H.detach().numpy(), known, atol=1e-13)


def test_in_the_interpreter_of_triton(torch):
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed; it has an interpreter, which needs no GPU")
    script = Path(__file__).with_name("interpreted_kernels.py")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip().endswith("as NumPy"), done.stderr
