"""
Completed similarities as a precomputed kernel
==============================================

Support vector machines and kernel PCA need a positive semi-definite matrix. The matrix of similarities over common
pixels is not positive semi-definite; that of completed similarities is. Here half of the pixels of every digit are
missing.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import simcomplete as sc

digits, labels = load_digits(return_X_y=True)
X = sc.masks.apply(digits, sc.masks.random(digits, missing=0.5, random_state=0))
train, test = slice(0, 600), slice(600, 900)

# %%
# In a pipeline: training rows are completed by models of the other rows, new rows by a model of all.
machine = make_pipeline(sc.PosteriorKernel(effort="fast"), SVC(kernel="precomputed"))
machine.fit(X[train], labels[train])
print(f"accuracy of PosteriorKernel and SVC: {machine.score(X[test], labels[test]):.1%}")

# %%
# The paper's method gives a kernel, too. New rows are compared with the fitted ones without fitting again.
model = sc.SMCNN(rank=50).fit(X[train])
kernel, kernel_test = model.similarity(), model.similarity(X[test])
print(f"kernel {kernel.shape}, of the test rows {kernel_test.shape}")
by_smcnn = SVC(kernel="precomputed").fit(kernel, labels[train])
print(f"accuracy of SMCNN and SVC: {by_smcnn.score(kernel_test, labels[test]):.1%}")

# The factor is the same kernel in linear form.
linear = SVC(kernel="linear").fit(model.factor_, labels[train])
print(f"with the factor instead: {linear.score(model.transform(X[test]), labels[test]):.1%}")

# %%
# Two dimensions of the kernel of the training rows.
completer = machine[0]
embedding = KernelPCA(2, kernel="precomputed").fit_transform(completer.fit_transform(X[train]))
print(f"KernelPCA: {embedding.shape}")
figure, axis = plt.subplots(figsize=(6.4, 4))
points = axis.scatter(*embedding.T, c=labels[train], cmap="tab10", s=14)
axis.legend(*points.legend_elements(), title="digit", loc=6, bbox_to_anchor=(1, 0.5))
axis.set(xlabel="first component", ylabel="second component")
figure.tight_layout()
