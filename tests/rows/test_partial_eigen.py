"""Some eigenpairs: as all of them have it, also where LAPACK gives up."""

import numpy as np
import pytest
import scipy.linalg

from simcomplete._baselines.completion.modes import leading
from simcomplete._rows.partial_eigen import eigenpairs_of


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("ends", [{"index": (2, 4)}, {"index": (5, 5)}, {"value": (0.0, np.inf)}, {"value": (9, 10)}])
def test_as_all_eigenpairs(monkeypatch, fails, ends):
    A = np.random.default_rng(0).standard_normal((6, 6))
    S = A + A.T
    w, U = np.linalg.eigh(S)
    if fails:
        monkeypatch.setattr(scipy.linalg, "eigh", gives_up)
    found, vectors = eigenpairs_of(S, **ends)
    first, last = ends["index"] if "index" in ends else (int(np.sum(w <= ends["value"][0])), 5)
    np.testing.assert_allclose(found, w[first : last + 1], atol=1e-12)
    np.testing.assert_allclose(np.abs(vectors), np.abs(U[:, first : last + 1]), atol=1e-10)


def test_leading_singular_values(monkeypatch):
    Z = np.random.default_rng(1).standard_normal((7, 4))
    expected = leading(Z, 2)[1]
    monkeypatch.setattr("simcomplete._baselines.completion.modes.eigh", gives_up)
    np.testing.assert_allclose(leading(Z, 2)[1], expected, atol=1e-12)


def gives_up(*args, **named):
    raise np.linalg.LinAlgError("Internal Error.")
