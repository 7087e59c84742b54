"""
Error bars that hold
====================

``done.interval(0.9)`` should contain 90 percent of the true similarities, over all pairs and among the predicted
nearest candidates. Here the truth is known, so the coverage can be measured.
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
# How often intervals of each level contain the truth.
levels = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
everywhere, nearest = [], []
for level in levels:
    low, high = done.interval(level)
    inside = (low <= exact) & (exact <= high)
    everywhere.append(inside.mean())
    nearest.append(np.take_along_axis(inside, top, axis=1).mean())
    print(f"level {level:.2f}: all {everywhere[-1]:.3f}, ten nearest {nearest[-1]:.3f}")

# %%
# Left: the shares above. Right: the ten predicted nearest of one query, with their intervals and the true similarities.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
left.plot([0.45, 1], [0.45, 1], color="gray", linewidth=1)
left.plot(levels, everywhere, "o-", label="all pairs")
left.plot(levels, nearest, "s-", label="predicted ten nearest")
left.set(xlabel="level", ylabel="coverage")
left.legend()
low, high = done.interval(0.9)
row, order = 0, top[0]
ends = low[row, order], high[row, order]
right.vlines(range(10), *ends, linewidth=5, alpha=0.4, label="90 % interval")
right.plot(range(10), estimate[row, order], "o", label="estimate")
right.plot(range(10), exact[row, order], "kx", label="truth")
right.set(xlabel="rank", ylabel="similarity")
right.legend()
figure.tight_layout()
