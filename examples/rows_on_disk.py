"""
A million rows on a laptop
==========================

Candidates need not fit into memory: pass the path of their file, and the rows are read block by block. This example has
20,000 rows so that it runs in seconds. With ``ROWS = 1_000_000``, the blocks are no larger, at most 100 MB. Only the
check of the result at the end, which compares all rows, needs more memory.
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
# The rows are mixtures of two digits each, and are written to a file block by block.
rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(ROWS, 64))
for start in range(0, ROWS, 5000):
    a, b = digits[rng.integers(0, 1500, (2, min(5000, ROWS - start)))]
    rows[start : start + 5000] = 0.7 * a + 0.3 * b
rows.flush()
truth = digits[1500:1600]
Q = sc.masks.apply(truth, sc.masks.random(truth, missing=0.6, random_state=0))
print(f"size of the file: {path.stat().st_size / 1e6:.1f} MB")

# %%
# The file is read twice: to fit the model, and to search. To see how good the neighbours are, their true similarities
# are compared with those of the true nearest.
done = sc.complete(str(path), Q, method="posterior", effort="fast", memory="100 MB")
found = done.search(k=10)
print(f"shape of the neighbours' ids: {found.ids.shape}")


def unit(X):
    """Return rows of length 1."""
    return X / np.linalg.norm(X, axis=1, keepdims=True)


every = unit(truth) @ unit(np.asarray(rows)).T
true_similarity = np.take_along_axis(every, found.ids, axis=1)
print(f"mean true similarity of the ten rows found: {true_similarity.mean():.3f}")
print(f"mean of the true ten nearest: {np.sort(every, axis=1)[:, -10:].mean():.3f}")
print(f"mean of all rows: {every.mean():.3f}")
figure, axis = plt.subplots(figsize=(6, 3.4))
axis.scatter(found.scores.ravel(), true_similarity.ravel(), s=6, alpha=0.5)
axis.set(xlabel="expected similarity", ylabel="true similarity")
figure.tight_layout()
del rows, done
folder.cleanup()
