"""
Find pictures that are half covered
===================================

A square covers part of a picture. Which pictures of a collection are most similar to it? The usual answer compares only
the pixels that are not covered. ``posterior`` estimates the similarity over all pixels, finds more of the true
neighbours, and can also fill in the covered part.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import simcomplete as sc

X = load_digits().data
P, truth = X[:1500], X[1500:1700]
seen = sc.masks.square(truth, missing=0.45, shape=(8, 8), random_state=0)
Q = sc.masks.apply(truth, seen)
print(f"{len(P)} complete pictures, {len(Q)} with {(~seen).mean():.0%} of their pixels covered")

done = sc.complete(P, Q, method="posterior")
overlap = sc.complete(P, Q, method="overlap")
exact = sc.complete(P, truth, method="overlap")

# %%
# The true ten nearest are those of the complete pictures. How many of them are found?
nearest = exact.search(k=10).ids
for name, result in (("visible pixels only", overlap), ("posterior", done)):
    found = result.search(k=10).ids
    share = sc.index.recall(found, nearest)
    print(f"{name:<20} {share:.1%} of the true ten nearest")

# %%
# The first six queries: each picture as given, as filled in, and complete, and the nearest candidate by each method.
filled = done.imputed()[len(P) :]
columns = ["given", "filled in", "complete", "nearest by\npixels", "nearest by\nposterior"]
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
error = np.abs(filled - truth)[~seen].mean()
print(f"mean absolute error of a covered pixel: {error:.2f}, on a scale from 0 to 16")
print(f"the result is a valid matrix of cosines: {done.validity.ok}")
