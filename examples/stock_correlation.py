"""
Repair a correlation matrix of stocks
=====================================

If each correlation is computed over the days on which both stocks have prices, the matrix may have negative
eigenvalues, and optimisers and Cholesky factorisations fail. ``sc.nearest_correlation`` finds the nearest valid matrix,
with a certificate. If the prices are available, the estimate of ``sc.correlation`` is closer to the truth.
"""

import matplotlib.pyplot as plt
import numpy as np
from skfolio.datasets import load_sp500_dataset

import simcomplete as sc

returns = load_sp500_dataset().pct_change().iloc[-60:]  # 60 days, 20 stocks
truth = returns.corr()
gaps = returns.mask(np.random.default_rng(0).random(returns.shape) < 0.5)
pairwise = gaps.corr()
print(f"smallest eigenvalue of the matrix of pandas: {np.linalg.eigvalsh(pairwise)[0]:.4f}")

# %%
# Find the nearest valid matrix. A positive ``min_eigenvalue`` ensures that it has a Cholesky factor. ``repair.moved``
# lists the entries, largest change first.
repair = sc.nearest_correlation(pairwise, min_eigenvalue=1e-4)
print(f"smallest eigenvalue after the repair: {np.linalg.eigvalsh(repair.matrix)[0]:.4f}")
print(f"distance of the two matrices: {repair.distance:.3f}")
print(f"shape of the Cholesky factor: {repair.cholesky().shape}")
for move in repair.moved[:3]:
    print(f"{move.row} and {move.column}: {move.before:.2f} becomes {move.after:.2f}")

# %%
# An estimate from the returns themselves is valid as well. Compare the errors of the three matrices.
estimate = sc.correlation(gaps)


def error(matrix):
    """Root mean square error of the correlations of different stocks."""
    off = ~np.eye(len(truth), dtype=bool)
    return np.sqrt(np.mean((np.asarray(matrix) - truth.to_numpy())[off] ** 2))


matrices = {"truth": truth, "pandas' corr()": pairwise}
matrices |= {"repaired": repair.matrix, "sc.correlation": estimate.matrix}
figure, axes = plt.subplots(1, 4, figsize=(10, 3), layout="constrained")
for axis, (name, matrix) in zip(axes, matrices.items(), strict=True):
    image = axis.imshow(np.asarray(matrix), cmap="RdBu_r", vmin=-1, vmax=1)
    axis.set(title=f"{name}\nerror {error(matrix):.3f}", xticks=[], yticks=[])
    print(f"{name:<16} error {error(matrix):.4f}")
bar = figure.colorbar(image, ax=axes, shrink=0.8)
