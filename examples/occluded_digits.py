"""
Find pictures of which half is covered
======================================

A square covers part of a picture. Which pictures of a collection are nearest to it? Comparing the uncovered pixels
alone is the usual answer; the expected similarity finds more of the true neighbours, and fills in the covered part on
the way.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import simcomplete as sc

X = load_digits().data
P, truth = X[:1500], X[1500:1700]
hidden = sc.masks.square(truth, missing=0.45, shape=(8, 8), random_state=0)
Q = sc.masks.apply(truth, hidden)

done = sc.complete(P, Q, method="posterior")
overlap = sc.complete(P, Q, method="overlap")
exact = sc.complete(P, truth, method="overlap")

# %%
# How many of the true ten nearest (by the uncovered images) are found?
nearest = exact.search(k=10).ids
for name, result in (("uncovered pixels alone", overlap), ("posterior", done)):
    found = result.search(k=10).ids
    share = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found, nearest, strict=True)])
    print(f"{name:<24} {share:.1%} of the ten nearest")

# %%
# The first six queries: what was given, what was filled in, the truth, and the nearest candidate by each.
filled = done.imputed()[len(P) :]
columns = ["given", "filled in", "truth", "nearest: uncovered", "nearest: posterior"]
figure, axes = plt.subplots(6, 5, figsize=(7, 8))
for i, row in enumerate(axes):
    pictures = [Q[i], filled[i], truth[i], P[overlap.search(k=1).ids[i, 0]], P[done.search(k=1).ids[i, 0]]]
    for axis, picture, title in zip(row, pictures, columns, strict=True):
        axis.imshow(np.ma.masked_invalid(picture.reshape(8, 8)), cmap="gray_r", vmin=0, vmax=16)
        axis.set_facecolor("tab:blue")
        axis.set(xticks=[], yticks=[])
        if i == 0:
            axis.set_title(title, fontsize=9)
figure.tight_layout()
print(f"confidence of the first six: {done.confidence[:6].round(2)}")
print(f"mean error of a covered pixel: {np.abs(filled - truth)[np.isnan(Q)].mean():.2f} of 16")
print(done.validity)
