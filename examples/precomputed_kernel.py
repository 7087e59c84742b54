"""
Completed similarities as a precomputed kernel
==============================================

Support vector machines and kernel PCA need a positive semi-definite kernel matrix. Similarities over common pixels do
not give one, but completed similarities do. In this example, half of the pixels of every digit are missing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import simcomplete as sc

digits, labels = load_digits(return_X_y=True)
X = sc.masks.apply(digits, sc.masks.random(digits, missing=0.5, random_state=0))
train, test = slice(0, 600), slice(600, 900)

# %%
# ``PosteriorKernel`` is a step of a scikit-learn pipeline. Training rows are completed by models of the other training
# rows, and test rows by a model of all training rows.
machine = make_pipeline(sc.PosteriorKernel(effort="fast"), SVC(kernel="precomputed"))
machine.fit(X[train], labels[train])
print(f"accuracy with PosteriorKernel: {machine.score(X[test], labels[test]):.1%}")

# %%
# The paper's method ``SMCNN`` gives a kernel as well, and compares new rows with the fitted ones without fitting again.
model = sc.SMCNN(rank=50).fit(X[train])
kernel, kernel_test = model.similarity(), model.similarity(X[test])
print(f"shape of the kernel: {kernel.shape}, of that of the test rows: {kernel_test.shape}")
by_smcnn = SVC(kernel="precomputed").fit(kernel, labels[train])
print(f"accuracy with SMCNN: {by_smcnn.score(kernel_test, labels[test]):.1%}")

# Products of the rows of the factor are the same kernel, so a linear kernel gives the same.
linear = SVC(kernel="linear").fit(model.factor_, labels[train])
print(f"accuracy with the factor: {linear.score(model.transform(X[test]), labels[test]):.1%}")

# %%
# Kernel PCA draws the training rows in two dimensions. The completed kernel has no negative eigenvalue, except for
# rounding. The matrix of similarities over common pixels has.
completed = machine[0].fit_transform(X[train])
print(f"smallest eigenvalue, completed: {np.linalg.eigvalsh(completed)[0]:.2g}")
overlap = sc.overlap_similarity(X[train])
print(f"smallest eigenvalue, common pixels: {np.linalg.eigvalsh(overlap)[0]:.2g}")
embedding = KernelPCA(2, kernel="precomputed").fit_transform(completed)
figure, axis = plt.subplots(figsize=(6.4, 4))
points = axis.scatter(*embedding.T, c=labels[train], cmap="tab10", s=14)
axis.legend(*points.legend_elements(), title="digit", loc=6, bbox_to_anchor=(1, 0.5))
axis.set(xlabel="first component", ylabel="second component")
figure.tight_layout()
