"""
Search a FAISS index with queries that have gaps
================================================

Vector indexes do not support NaN. ``model.transform`` turns a row with missing values into a vector whose inner
products with the stored rows are expected cosines. It works with FAISS, a database, or any index for inner products.
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
# The index holds the complete rows, divided by their lengths. Nothing in it depends on the queries.
model = sc.PosteriorCompleter().fit(P)
index = faiss.IndexFlatIP(P.shape[1])
index.add(model.candidates_.astype(np.float32))

# %%
# The same index, searched with different vectors. The true nearest are those of the complete queries.
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
# ``attach`` keeps a model and an index together: ids, payloads, rows that are added or removed, and scores in float64.
held = model.attach(sc.stores.FaissStore())
print(held.search(Q[:2], k=3).ids)
figure, axis = plt.subplots(figsize=(6, 3))
axis.barh(list(found), list(found.values()))
axis.set(xlabel="share of the true ten nearest")
figure.tight_layout()
