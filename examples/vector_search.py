"""
Search a FAISS index with queries that have gaps
================================================

Vector indexes cannot search with NaN. ``model.transform`` turns a row with missing values into a complete vector, whose
inner products with the stored rows are the expected cosines. Any index for inner products can search with it.
"""

import faiss
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.impute import KNNImputer

import simcomplete as sc

X = np.random.default_rng(0).permutation(load_digits().data)
P, truth = X[:1500], X[1500:1700]
Q = sc.masks.apply(truth, sc.masks.random(truth, missing=0.7, random_state=0))


def unit(X):
    """Return rows of length 1: their inner products are cosines."""
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


# %%
# The index contains the complete rows, divided by their lengths. It does not depend on the queries.
model = sc.PosteriorCompleter().fit(P)
index = faiss.IndexFlatIP(P.shape[1])
index.add(model.candidates_.astype(np.float32))

# %%
# Search it with different vectors. How many of the true ten nearest, those of the complete queries, are found?
nearest = index.search(unit(truth).astype(np.float32), 10)[1]
kinds = {
    "NaN unchanged": Q,
    "filled with zeros": unit(np.nan_to_num(Q)),
    "filled with means": unit(np.where(np.isnan(Q), P.mean(axis=0), Q)),
    "KNNImputer": unit(KNNImputer().fit(P).transform(Q)),
    "model.transform(Q)": model.transform(Q),
}
found = {}
for name, vectors in kinds.items():
    ids = index.search(vectors.astype(np.float32), 10)[1]
    found[name] = sc.index.recall(ids, nearest)
    print(f"  {name:<20} {found[name]:6.1%} of the true ten nearest")
share = sc.index.recall(model.search(Q, 10).ids, nearest)
print(f"  {'model.search(Q)':<20} {share:6.1%}, without an index")

# %%
# ``model.attach`` writes the candidates to a store and keeps both in step when rows are added or removed. Its search
# completes the queries itself.
held = model.attach(sc.stores.FaissStore())
print(f"the three nearest to the first query: {held.search(Q[:1], k=3).ids[0]}")
figure, axis = plt.subplots(figsize=(6, 3))
axis.barh(list(found), list(found.values()))
axis.set(xlabel="share of the true ten nearest")
figure.tight_layout()
