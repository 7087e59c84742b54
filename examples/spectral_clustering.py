"""
Cluster rows that all have gaps
===============================

Spectral clustering needs the similarity of all pairs of rows. This example compares three ways to compute it for wines
with missing measurements: filling in means, comparing common features only, and completed similarities.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_wine
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score, pairwise
from sklearn.preprocessing import StandardScaler

import simcomplete as sc

X, label = load_wine(return_X_y=True)
rates = [0.1, 0.2, 0.4, 0.6]
names = ["mean, then cosine", "overlap cosine", "completed"]
scores = []


def clustered(S):
    """Return the agreement of the clusters with the kinds of wine."""
    affinity = np.clip((1 + S) / 2, 0, 1)
    model = SpectralClustering(3, affinity="precomputed", random_state=0)
    return adjusted_rand_score(label, model.fit_predict(affinity))


# %%
# Hide a share of the values of every row at random, five times, and measure how well the clusters agree with the true
# kinds of wine (adjusted Rand index, 1 is perfect).
print("adjusted Rand index, mean of five masks")
for rate in rates:
    found = []
    for seed in range(5):
        seen = sc.masks.random(X, missing=rate, random_state=seed)
        scaled = StandardScaler().fit_transform(sc.masks.apply(X, seen))
        by_mean = pairwise.cosine_similarity(SimpleImputer().fit_transform(scaled))
        matrices = by_mean, sc.overlap_similarity(scaled), sc.complete(scaled).similarity()
        found.append([clustered(S) for S in matrices])
    scores.append(np.mean(found, axis=0))
    latest = zip(names, scores[-1], strict=True)
    print(f"{rate:3.0%} missing:", ", ".join(f"{name} {score:.2f}" for name, score in latest))

# %%
# On average over five masks, clusters of completed similarities agree best with the true kinds at every rate.
figure, axis = plt.subplots(figsize=(6, 3.6))
for name, means in zip(names, np.transpose(scores), strict=True):
    axis.plot(rates, means, "o-", label=name)
axis.set(xlabel="share of values missing", ylabel="adjusted Rand index")
axis.legend()
figure.tight_layout()
