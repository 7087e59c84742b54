"""Data and missing patterns that search is measured on: candidates, queries that are complete, and what is hidden."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

import simcomplete as sc

SEEDS = (10, 11, 12)
MASKS = ("independent", "equal", "mixed", "square")  # see `hidden`
MIXED = (0.3, 0.95)  # rates of missing values, drawn for every row
SQUARE = 0.5  # part of an image that is hidden at least
IMAGES = ("digits", "usps", "mnist", "olivetti", "cifar10_gray")  # as wide as high
FRESH = 500  # queries that are no copies, at most


@dataclass(frozen=True)
class Cell:
    """Rows of one kind and how values of queries get lost."""

    name: str
    X: np.ndarray
    n: int  # candidates
    n_q: int  # copies
    mask: str
    missing: float = 0.8

    def __str__(self) -> str:
        rate = {"mixed": "{:g} to {:g}".format(*MIXED), "square": f"{SQUARE:g}"}.get(self.mask, f"{self.missing:g}")
        return f"{self.name}, {self.mask} {rate}"

    def parts(self, seed):
        """Candidates, other rows, and what is random."""
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(self.X))[: self.n + FRESH]
        return self.X[rows[: self.n]], self.X[rows[self.n :]], rng

    def hidden(self, whole, rng):
        """Rows with values missing, one left at least.

        Each value by itself ("independent"), the same number in all rows ("equal"), a rate for each row ("mixed"), or
        a square in the image ("square").
        """
        n, d = whole.shape
        if self.mask == "square":
            side = int(np.sqrt(d))
            seen = sc.masks.square(whole, missing=SQUARE, shape=(side, side), random_state=rng)
        elif self.mask == "independent":
            seen = rng.random(whole.shape) >= self.missing
        else:
            rate = rng.uniform(*MIXED, size=n) if self.mask == "mixed" else np.full(n, self.missing)
            kept = np.maximum(np.rint((1 - rate) * d), 1)
            seen = np.argsort(np.argsort(rng.random(whole.shape), axis=1), axis=1) < kept[:, None]
        seen[~seen.any(axis=1), 0] = True
        return np.where(seen, whole, np.nan)


def data(files=()):
    """Tables of scikit-learn, and further ones from .npz files given as NAME=FILE: rows, candidates, copies."""
    cancer, wine = load_breast_cancer().data, load_wine().data
    found = {
        "digits": (load_digits().data, 800, 200),
        "breast_cancer": (cancer / cancer.std(axis=0), 427, 142),
        "wine": (wine / wine.std(axis=0), 133, 45),
    }
    for word in files:
        name, _, file = word.partition("=")
        with np.load(file, allow_pickle=False) as archive:
            X = np.asarray(archive["X"], dtype=np.float64)
        X = X[~np.isnan(X).any(axis=1)]
        n = min(800, 3 * len(X) // 4)
        found[name] = (X, n, min(200, len(X) - n))
    return found


def asked_cells(parser: argparse.ArgumentParser):
    """Read the command line; return the cells asked for, and all that was asked."""
    parser.add_argument("files", nargs="*", metavar="NAME=FILE.npz", help="further tables, arrays X")
    parser.add_argument("--effort", default="fast", help="of posterior (fast)")
    parser.add_argument("--data", nargs="+", default=["digits", "breast_cancer"], help="(digits breast_cancer)")
    parser.add_argument("--masks", nargs="+", choices=MASKS, default=["independent"], help="(independent)")
    parser.add_argument("--missing", nargs="+", type=float, default=[0.8], help="rates, of the first two masks (0.8)")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS), help="(10 11 12)")
    asked = parser.parse_args()
    tables = data(asked.files)
    names = [*asked.data, *(word.partition("=")[0] for word in asked.files)]
    return [
        Cell(name, *tables[name], mask, missing)
        for name in dict.fromkeys(names)
        for mask in asked.masks
        if mask != "square" or name in IMAGES
        for missing in (asked.missing if mask in MASKS[:2] else asked.missing[:1])
    ], asked
