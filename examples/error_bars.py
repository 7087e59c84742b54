"""
Error bars that hold
====================

``done.interval(0.9)`` should contain 90 percent of the true similarities, both over all pairs and among the candidates
that are predicted to be nearest. In this example the true similarities are known, so the coverage can be measured.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import simcomplete as sc

X = np.random.default_rng(0).permutation(load_digits().data)
P, truth = X[:1200], X[1200:1700]
Q = sc.masks.apply(truth, sc.masks.random(truth, missing=0.7, random_state=0))

done = sc.complete(P, Q, method="posterior")
exact = sc.complete(P, truth, method="overlap").similarity("queries", "candidates")
estimate = done.similarity("queries", "candidates")
top = np.argsort(-estimate, axis=1)[:, :10]

# %%
# For each level, print the share of true similarities that lie inside their intervals.
levels = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
everywhere, nearest = [], []
for level in levels:
    low, high = done.interval(level)
    inside = (low <= exact) & (exact <= high)
    everywhere.append(inside.mean())
    nearest.append(np.take_along_axis(inside, top, axis=1).mean())
    share = f"{everywhere[-1]:.3f} of all pairs, {nearest[-1]:.3f} of the ten nearest"
    print(f"level {level:.2f}: {share}")

# %%
# Left: the coverage against the level. Right: the ten candidates that are predicted to be nearest to one query, with
# their intervals and true similarities.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
left.plot([0.45, 1], [0.45, 1], color="gray", linewidth=1)
left.plot(levels, everywhere, "o-", label="all pairs")
left.plot(levels, nearest, "s-", label="ten nearest, as predicted")
left.set(xlabel="level", ylabel="coverage")
left.legend()
low, high = done.interval(0.9)
row, order = 0, top[0]
ends = low[row, order], high[row, order]
right.vlines(range(1, 11), *ends, linewidth=5, alpha=0.4, label="90 % interval")
right.plot(range(1, 11), estimate[row, order], "o", label="estimate")
right.plot(range(1, 11), exact[row, order], "kx", label="truth")
right.set(xlabel="rank", ylabel="similarity", ylim=(0.8, 1))
right.legend(loc="lower center", ncols=3, fontsize="small")
figure.tight_layout()
