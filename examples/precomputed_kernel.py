"""Completed similarities as a precomputed kernel: classify, embed and cluster digits with half of their pixels gone.

python examples/precomputed_kernel.py
"""

from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.metrics import adjusted_rand_score
from sklearn.svm import SVC

import simcomplete as sc
from simcomplete.estimators import SMCNN

digits, labels = load_digits(return_X_y=True)
X = sc.masks.apply(digits, sc.masks.random(digits, missing=0.5))
train, test = slice(0, 600), slice(600, 900)

# The similarities of the fitted rows are a kernel: symmetric and positive semi-definite, which the raw similarities
# over common features are not. New rows are compared with the fitted ones without fitting again.
model = SMCNN(rank=50).fit(X[train])
kernel, kernel_test = model.similarity(), model.similarity(X[test])
print(f"kernel {kernel.shape}, of the test rows {kernel_test.shape}")

machine = SVC(kernel="precomputed").fit(kernel, labels[train])
print(f"SVC: {machine.score(kernel_test, labels[test]):.0%} of the test rows right")

# The factor is the same kernel in linear form, which fits into a pipeline.
linear = SVC(kernel="linear").fit(model.factor_, labels[train])
print(f"the same from the factor: {linear.score(model.transform(X[test]), labels[test]):.0%}")

embedding = KernelPCA(2, kernel="precomputed").fit(kernel).transform(kernel_test)
print(f"KernelPCA: {embedding.shape}, spread {embedding.std(axis=0).round(2)}")

# An affinity must not be negative: positive=True maps scores to (0, 1], clip=True keeps the completed ones there.
affinity = SMCNN(rank=20, positive=True).fit(X[train]).similarity(clip=True)
clusters = SpectralClustering(10, affinity="precomputed", random_state=0).fit_predict(affinity)
print(f"SpectralClustering: adjusted Rand index {adjusted_rand_score(labels[train], clusters):.2f}")
