"""
Find pictures that are half covered
===================================

A square covers part of a picture. Which pictures of a collection are nearest to it? Usually, only the uncovered pixels
are compared. The expected similarity finds more of the true neighbours, and also fills in the covered part.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import simcomplete as sc

X = load_digits().data
P, truth = X[:1500], X[1500:1700]
seen = sc.masks.square(truth, missing=0.45, shape=(8, 8), random_state=0)
Q = sc.masks.apply(truth, seen)

done = sc.complete(P, Q, method="posterior")
overlap = sc.complete(P, Q, method="overlap")
exact = sc.complete(P, truth, method="overlap")

# %%
# The share of the true ten nearest, those of the complete pictures, that is found.
nearest = exact.search(k=10).ids
for name, result in (("uncovered pixels alone", overlap), ("posterior", done)):
    found = result.search(k=10).ids
    share = sc.index.recall(found, nearest)
    print(f"{name:<24} {share:.1%} of the ten nearest")

# %%
# The first six queries: what was given, what was filled in, the truth, and the nearest candidate by each.
filled = done.imputed()[len(P) :]
columns = ["given", "filled in", "truth", "nearest: uncovered", "nearest: posterior"]
figure, axes = plt.subplots(6, 5, figsize=(7, 8))
for i, row in enumerate(axes):
    neighbours = [P[result.search(k=1).ids[i, 0]] for result in (overlap, done)]
    pictures = [Q[i], filled[i], truth[i], *neighbours]
    for axis, picture, title in zip(row, pictures, columns, strict=True):
        axis.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        axis.set_facecolor("tab:blue")
        axis.set(xticks=[], yticks=[])
        if i == 0:
            axis.set_title(title, fontsize=9)
figure.tight_layout()
print(f"confidence of the first six: {done.confidence[:6].round(2)}")
print(f"mean error of a covered pixel: {np.abs(filled - truth)[~seen].mean():.2f} of 16")
print(f"a valid matrix of cosines: {done.validity.ok}")
