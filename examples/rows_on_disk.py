"""
A million rows on a laptop
==========================

Candidates need not fit into memory: a path is enough, and the rows are read block by block. Executed here with 20,000
rows; ``ROWS = 1_000_000`` takes about a minute on two cores and the same memory.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import simcomplete as sc

ROWS = 20_000
digits = load_digits().data
rng = np.random.default_rng(0)
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "candidates.npy"

# %%
# Mixtures of two digits each, written block by block to a file.
rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(ROWS, 64))
for start in range(0, ROWS, 5000):
    a, b = digits[rng.integers(0, 1500, (2, min(5000, ROWS - start)))]
    rows[start : start + 5000] = 0.7 * a + 0.3 * b
rows.flush()
truth = digits[1500:1600]
Q = sc.masks.apply(truth, sc.masks.random(truth, missing=0.6, random_state=0))
print(f"{path.stat().st_size / 1e6:.1f} MB on disk")

# %%
# Two passes over the file: one for the moments and the neighbours, one for the search.
done = sc.complete(str(path), Q, method="posterior", effort="fast", memory="100 MB")
found = done.search(k=10)
print(f"factor of shape {done.factor.shape}, neighbours {found.ids.shape}")


def unit(X):
    """Return rows of length 1."""
    return X / np.linalg.norm(X, axis=1, keepdims=True)


true_similarity = np.take_along_axis(unit(truth) @ unit(np.asarray(rows)).T, found.ids, axis=1)
print(f"true similarity of what was found: {true_similarity.mean():.3f}")
print(f"largest similarities that there are: {np.sort(unit(truth) @ unit(rows).T, axis=1)[:, -10:].mean():.3f}")
print(f"any row, for comparison: {(unit(truth) @ unit(rows[:1000]).T).mean():.3f}")
plt.figure(figsize=(6, 3.4))
plt.scatter(found.scores.ravel(), true_similarity.ravel(), s=6, alpha=0.5)
plt.xlabel("expected similarity")
plt.ylabel("true similarity")
del rows, done
folder.cleanup()
