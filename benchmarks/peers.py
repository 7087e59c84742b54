"""Imputers of other packages, each as one function: candidates and queries in, queries filled in."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  makes IterativeImputer importable
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

import simcomplete as sc
from simcomplete._types import Matrix

Impute = Callable[[Matrix, Matrix], Matrix]  # candidates, queries with NaN -> queries without


@dataclass(frozen=True)
class Imputer:
    """One way to fill in queries: whose it is, up to how many features it is bearable, and how it is called."""

    name: str
    package: str
    features: int
    impute: Impute


def by_candidates(make: Callable[[], Any]) -> Impute:
    """Fit an imputer on the candidates, fill in the queries."""

    def impute(P: Matrix, Q: Matrix) -> Matrix:
        model = make()
        model.fit(P)
        return np.asarray(model.transform(Q))

    return impute


def by_all_rows(fill: Callable[[Matrix], Any]) -> Impute:
    """Fit on all rows, queries among them, and fill in these."""
    return lambda P, Q: np.asarray(fill(np.vstack([P, Q])))[len(P) :]


def varying(impute: Impute) -> Impute:
    """Leave features without variance to their mean, for imputers that refuse them."""

    def solve(P: Matrix, Q: Matrix) -> Matrix:
        filled = np.where(np.isnan(Q), P.mean(axis=0), Q)
        some = np.ptp(P, axis=0) > 0
        filled[:, some] = impute(P[:, some], Q[:, some])
        return filled

    return solve


def foreign(module: str, name: str, **params: Any) -> Callable[[], Any]:
    """Make an imputer of a package that need not be there."""
    return lambda: getattr(importlib.import_module(module), name)(**params)


def soft(name: str) -> Impute:
    """Fill in all rows by a method of fancyimpute."""
    return by_all_rows(lambda X: foreign("fancyimpute", name, verbose=False)().fit_transform(X))


def copula(module: str, name: str, **params: Any) -> Impute:
    """Fill in all rows by a Gaussian copula; the ratio makes every feature continuous: as ordinal it refuses pixels."""
    make = foreign(f"gcimpute.{module}", name, min_ord_ratio=2.0, **params)
    return varying(by_all_rows(lambda X: make().fit_transform(X)))


def miceforest(X: Matrix) -> Any:
    """Fill in by chained equations with gradient-boosted trees, three rounds."""
    import miceforest as package  # need not be there
    import pandas as pd

    kernel = package.ImputationKernel(pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])]), random_state=0)
    kernel.mice(3)
    return kernel.complete_data()


def imported(package: str) -> str:
    """Import a package, so that this is not timed, and return its version; ImportError where it is not there."""
    importlib.import_module({"scikit-learn": "sklearn"}.get(package, package))
    return sc.__version__ if package == "simcomplete" else importlib.metadata.version(package)


IMPUTERS = (
    Imputer("SimpleImputer, mean", "scikit-learn", 10_000, by_candidates(SimpleImputer)),
    Imputer("KNNImputer, of all rows", "scikit-learn", 10_000, by_all_rows(KNNImputer().fit_transform)),
    Imputer("KNNImputer, of candidates", "scikit-learn", 10_000, by_candidates(KNNImputer)),
    Imputer("IterativeImputer", "scikit-learn", 100, by_all_rows(IterativeImputer(random_state=0).fit_transform)),
    # Two steps of its EM: at 784 features each takes most of a minute.
    Imputer("GaussianCopula, 2 steps", "gcimpute", 1000, copula("gaussian_copula", "GaussianCopula", max_iter=2)),
    Imputer(
        "LowRankGaussianCopula, rank 30",
        "gcimpute",
        100,
        copula("low_rank_gaussian_copula", "LowRankGaussianCopula", rank=30),
    ),
    Imputer("trees, chained", "miceforest", 100, varying(by_all_rows(miceforest))),
    Imputer("SoftImpute", "fancyimpute", 1000, soft("SoftImpute")),
    Imputer("IterativeSVD", "fancyimpute", 1000, soft("IterativeSVD")),
)
