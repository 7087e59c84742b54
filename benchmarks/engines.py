"""Search with queries that lack most of their values: FAISS, hnswlib and plain SQL, each with four kinds of query.

    python -m benchmarks.engines [mnist.npz]

1,500 digits are searched, or 3,000 rows of a file. hnswlib is skipped where it is not installed.
"""

import importlib
import sys
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.impute import KNNImputer

import simcomplete as sc
from simcomplete.estimators import PosteriorCompleter
from simcomplete.index import recall

K = 10


def unit(X):
    """Rows of length 1: their inner products are cosines."""
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1.0)


def by_faiss(faiss, P, queries):
    index = faiss.IndexFlatIP(P.shape[1])
    index.add(P.astype(np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all that FAISS says about NaN
        return index.search(queries.astype(np.float32), K)[1]


def by_hnswlib(hnswlib, P, queries):
    index = hnswlib.Index(space="ip", dim=P.shape[1])
    index.init_index(max_elements=len(P), random_seed=0)
    index.add_items(P)
    index.set_ef(200)
    return index.knn_query(queries, k=K)[0].astype(np.int64)


def by_sql(sqlite, P, queries):
    """One column per feature; the database sorts by the product with the query. It takes NaN for NULL."""
    columns = [f"f{j}" for j in range(P.shape[1])]
    product = " + ".join(f"{name} * ?" for name in columns)
    with sqlite.connect(":memory:") as base:
        base.execute(f"CREATE TABLE item (id INTEGER PRIMARY KEY, {', '.join(f'{name} REAL' for name in columns)})")
        marks = ", ".join("?" * (len(columns) + 1))
        base.executemany(f"INSERT INTO item VALUES ({marks})", ((i, *row) for i, row in enumerate(P.tolist())))
        ask = f"SELECT id FROM item ORDER BY {product} DESC, id LIMIT {K}"
        return np.array([[i for (i,) in base.execute(ask, row)] for row in queries.tolist()])


def first_answer(ids):
    return f"ids {ids[0, :4].tolist()}..., the same for every query" if (ids == ids[0]).all() else "ids that vary"


given = np.load(sys.argv[1])["X"].astype(np.float64) if len(sys.argv) > 1 else load_digits().data
n = 3000 if len(sys.argv) > 1 else 1500
X = given[np.random.default_rng(0).permutation(len(given))]
P, truth = X[:n], X[n : n + 200]
Q = sc.masks.apply(truth, sc.masks.random(truth, missing=0.7))
nearest = np.argsort(-unit(truth) @ unit(P).T, axis=1, kind="stable")[:, :K]  # had nothing been missing

# Fitted once. A row with NaN becomes a complete vector whose products with the candidates are the best estimates of
# their cosines; that vector is all an index needs.
model = PosteriorCompleter().fit(P)
kinds = {
    "NaN as it is": Q,
    "filled with zeros": unit(np.nan_to_num(Q)),
    "filled with means": unit(np.where(np.isnan(Q), P.mean(axis=0), Q)),
    "model.transform(Q)": model.transform(Q),
}

print(f"share of the true {K} nearest found among {len(P)} rows, 70 percent of every query missing")
for store, package, run in (
    ("FAISS", "faiss", by_faiss),
    ("hnswlib", "hnswlib", by_hnswlib),
    ("SQLite", "sqlite3", by_sql),
):
    try:
        module = importlib.import_module(package)
    except ImportError:
        print(f"{store}: skipped, the package is not installed")
        continue
    print(store)
    for name, queries in kinds.items():
        ids = run(module, model.candidates_, queries)
        said = f"   {first_answer(ids)}" if np.isnan(queries).any() else ""
        print(f"  {name:<20} {recall(ids, nearest):6.1%}{said}")

print("all rows compared in NumPy")
overlap = np.argsort(-np.asarray(sc.overlap_similarity(P, Q)), axis=1, kind="stable")[:, :K]
imputed = unit(KNNImputer().fit(P).transform(Q)) @ unit(P).T
for name, ids in (
    ("cosine over common features", overlap),
    ("KNNImputer", np.argsort(-imputed, axis=1, kind="stable")[:, :K]),
):
    print(f"  {name:<28} {recall(ids, nearest):6.1%}")
