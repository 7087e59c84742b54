"""The model of complete candidates once more, one row at a time and as the formulas stand, for the tests beside it."""

from functools import cache

import numpy as np

from simcomplete._posterior.candidates.grid import best_lengths, learn
from simcomplete._posterior.shared.neighbours import smoothing
from simcomplete.metrics import recall_at

DELTAS = (0.1, 0.03, 0.3, 0.005, 0.6, 0.0005)


def unit(X):
    length = np.linalg.norm(X, axis=-1, keepdims=True)
    return X / np.where(length > 0, length, 1.0)


def nearest(U, q, o, most):
    """Positions, overlap cosines and energies of the unit rows nearest to q on its features o, best first."""
    energy = np.sum(U[:, o] ** 2, axis=1)
    cosines = U[:, o] @ q[o] / np.linalg.norm(q[o]) / np.sqrt(energy)
    cosines = np.round(cosines * 2**40) / 2**40  # with one feature all are 1 or -1: ties stay ties
    order = np.argsort(-cosines, kind="stable")[:most]
    return order, cosines[order], energy[order]


def shrunk(C, delta):
    return (1 - delta) * C + delta * np.diag(np.diag(C) / 2 + np.trace(C) / (2 * len(C)))


class Space:
    """Candidates in one space: their rows, mean, covariance, and the range of values."""

    def __init__(self, name, rows, every):
        self.name, self.rows, self.mean, self.C = name, rows, rows.mean(axis=0), np.cov(rows.T, bias=True)
        self.low, self.high = every.min(axis=0), every.max(axis=0)

    def scaled(self, q, o, cosines, energies):
        """The query in the units of the space: unit rows tell what energy it should have on its features."""
        if self.name == "raw":
            return q
        energy = np.sum(smoothing(cosines[None, :48], 10.0)[0] * energies[:48])
        return q / (np.linalg.norm(q[o]) / np.sqrt(energy))

    def complete(self, q, o, local, a, delta, clip=False):
        """The conditional mean around the global mean, moved by a of the way to a local one."""
        S, u = shrunk(self.C, delta), ~o
        prior = self.mean + a * local
        m = q.copy()
        m[u] = prior[u] + S[np.ix_(u, o)] @ np.linalg.solve(S[np.ix_(o, o)], (q - prior)[o])
        if clip:
            m[u] = np.clip(m, self.low, self.high)[u]
        return m

    def features(self, q, o, weights, rows, delta):
        """Four logarithms that tell how uncertain a row is."""
        u, trace, d, count = ~o, np.trace(self.C), len(q), o.sum()
        mean, second = weights @ rows, weights @ rows**2
        gap = (q - mean)[o]
        distance = gap @ np.linalg.solve(shrunk(self.C, delta)[np.ix_(o, o)], gap)
        return [
            np.log(max(np.sum((second - mean**2)[u]), 1e-12 * trace + 1e-14)),
            np.log(max(gap @ gap / count, 1e-9 * trace / d + 1e-28)),
            np.log(distance / count + 1e-3),
            np.log(max(np.diag(self.C)[u].sum(), 1e-12 * trace)),
        ]


class Simulated:
    """Held-out candidates without what queries lack, drawn in the same order as the model draws them."""

    def __init__(self, P, masks, rng, most=48):
        self.scale = np.median(np.linalg.norm(P, axis=1))
        self.raw, self.unit = P / self.scale, unit(P)
        n = len(P)
        distinct, place = np.unique(self.unit, axis=0, return_index=True, return_inverse=True)[1:]
        held = distinct[rng.choice(len(distinct), min(200, n // 4, len(distinct)), replace=False)]
        gone = np.array([any(self.unit[i] @ self.unit[h] > 1 - 1e-6 for h in held) for i in range(n)])
        self.rest = np.flatnonzero(~gone)
        self.shown = masks[rng.integers(len(masks), size=len(held))]
        ordered = sorted(self.rest, key=lambda i: place.ravel()[i])
        self.others = self.unit[[ordered[i] for i in rng.choice(len(ordered), min(500, len(ordered)), replace=False)]]
        self.held = held
        self.truth = self.unit[held] @ self.others.T
        self.queries = np.where(self.shown, self.raw[held], 0.0)
        self.spaces = {
            name: Space(name, rows[self.rest], rows) for name, rows in (("raw", self.raw), ("unit", self.unit))
        }
        self.most = min(most, n - gone.sum() - 1, n - 1)
        left = self.unit[self.rest]
        self.near = [nearest(left, q, o, self.most) for q, o in zip(self.queries, self.shown, strict=True)]
        self.local, self.scaled = cache(self._local), cache(self._scaled)

    def _local(self, space, i, k):
        """Weights of the neighbours of a held-out row, and the neighbours."""
        ids, cosines, _ = self.near[i]
        return smoothing(cosines[None, :48], k)[0], space.rows[ids[:48]]

    def _scaled(self, space):
        """The held-out rows in the units of a space."""
        near = [(cosines, energies) for _, cosines, energies in self.near]
        return [space.scaled(*row) for row in zip(self.queries, self.shown, *zip(*near, strict=True), strict=True)]

    def completions(self, space, k, a, delta, clip):
        found = []
        for i, (q, o) in enumerate(zip(self.scaled(space), self.shown, strict=True)):
            weights, rows = self.local(space, i, k)
            found.append(space.complete(q, o, weights @ rows - space.mean, a, delta, clip))
        return np.array(found)

    def features(self, space, k, delta):
        each = enumerate(zip(self.scaled(space), self.shown, strict=True))
        return np.array([space.features(q, o, *self.local(space, i, k), delta) for i, (q, o) in each])

    def delta(self, space):
        """The shrinkage with the least error over 64 rows, with neighbours or without."""
        errors = []
        for delta in DELTAS:
            for a in (0.0, 1.0):
                S = (unit(self.completions(space, 10.0, a, delta, clip=False)) @ self.others.T)[:64]
                T = self.truth[:64]
                errors.append((np.mean((T - best_lengths(S, T)[:, None] * S) ** 2), delta))
        return min(errors, key=lambda pair: pair[0])[1]

    def attempt(self, space, delta, k, a, clip):
        """One setting: its lengths, squared error, recall, and quantiles of errors over sqrt(1 - length^2)."""
        m = self.completions(space, k, a, delta, clip)
        S, size, features = unit(m) @ self.others.T, np.sum(m**2, axis=1), self.features(space, k, delta)
        lengths, error = learn(features, size, S, self.truth)
        length = lengths.of(features, size)
        gap = np.sqrt(np.maximum(1 - length**2, 1e-4))[:, None]
        ratios = np.abs(self.truth - length[:, None] * S) / gap
        quantiles = quantiles_for_other_rows(ratios)
        return {
            "setting": (space.name, delta, k, a, clip),
            "lengths": lengths,
            "error": error,
            "recall": recall_at(S, self.truth, k=10),
            "quantiles": quantiles,
        }

    def grid(self, effort):
        if effort == "fast":
            return [self.attempt(self.spaces["unit"], 0.1, 10.0, 1.0, clip) for clip in (False, True)]
        tries = [(k, a) for k in (10.0, 5.0, 20.0) for a in (1.0, 0.75, 0.5, 0.0) if a or k == 10.0]
        found = []
        for name in ("unit", "raw"):
            delta = self.delta(self.spaces[name])
            found += [self.attempt(self.spaces[name], delta, k, a, c) for k, a in tries for c in (False, True)]
        return found


def vectors(P, Q, choice):
    """Vectors of queries by a setting that was chosen, all candidates known, with their lengths."""
    name, delta, k, a, clip = choice["setting"]
    scale, U = np.median(np.linalg.norm(P, axis=1)), unit(P)
    rows = P / scale if name == "raw" else U
    space = Space(name, rows, rows)
    found, lengths = [], []
    for x in Q:
        o = ~np.isnan(x)
        q = np.where(o, x, 0.0) / scale
        if o.all():
            found.append(unit(x))
            lengths.append(1.0)
            continue
        ids, cosines, energies = nearest(U, q, o, min(48, len(P) - 1))
        weights, q = smoothing(cosines[None], k)[0], space.scaled(q, o, cosines, energies)
        m = space.complete(q, o, weights @ rows[ids] - space.mean, a, delta, clip)
        features = np.array([space.features(q, o, weights, rows[ids], delta)])
        lengths.append(choice["lengths"].of(features, np.array([m @ m]))[0])
        found.append(unit(m) * lengths[-1])
    return np.array(found), np.array(lengths)


def quantiles_for_other_rows(ratios):
    """Quantiles at q = 0, 0.001, ..., 1; of fewer than 50 rows they grow by 3.6 q (1 / sqrt(rows) - 1 / sqrt(50))."""
    grow = 3.6 * max(len(ratios) ** -0.5 - 50**-0.5, 0.0)
    return np.array([np.quantile(ratios, q) * (1 + grow * q) for q in np.arange(1001) / 1000])
