"""
Choose a method on your own data
================================

No method is the best on all data. ``sc.complete`` hides known values of your candidates, compares how well methods
recover the similarities, and uses the best. The table is in ``done.election``.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

import simcomplete as sc

data = {"digits": load_digits().data, "breast_cancer": StandardScaler().fit_transform(load_breast_cancer().data)}

# %%
# The relative squared error that each method leaves: 1 is as far from the truth as similarities over common features.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
for axis, (name, X) in zip(axes, data.items(), strict=True):
    P, Q = X[:400], X[400:500]
    Q = sc.masks.apply(Q, sc.masks.random(Q, missing=0.7, random_state=0))
    done = sc.complete(P, Q, random_state=0)
    print(f"{name}: {done.method} is taken")
    for row in done.election:
        print(f"  {row['method']:<10} error {row['error']:.3f}, recall@10 {row['recall']:.2f}  {row['note']}")
    colors = ["tab:orange" if row["note"] else "tab:blue" for row in done.election]
    axis.barh([row["method"] for row in done.election], [row["error"] for row in done.election], color=colors)
    axis.axvline(1, color="gray", linewidth=1)
    axis.set(title=name, xlabel="relative squared error")
figure.tight_layout()

# %%
# With ``objective="recall"``, methods are compared by the neighbours they find instead of the squared error.
by_recall = sc.complete(P, Q, objective="recall", random_state=0)
print(f"by recall: {by_recall.method}")
