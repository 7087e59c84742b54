"""
Choose a method on your own data
================================

No method is the best on all data. ``sc.complete`` hides known values of your candidates, compares how well methods
recover the similarities, and uses the best. The table is in ``done.election``.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import scale

import simcomplete as sc

data = {"digits": load_digits().data, "breast_cancer": scale(load_breast_cancer().data)}

# %%
# The relative squared error of each method: 1 is as far from the truth as similarities over common features.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
for axis, (name, X) in zip(axes, data.items(), strict=True):
    P, Q = X[:400], X[400:500]
    Q = sc.masks.apply(Q, sc.masks.random(Q, missing=0.7, random_state=0))
    done = sc.complete(P, Q, random_state=0)
    print(f"{name}: {done.method} is used")
    for row in done.election:
        measured = f"error {row['error']:.3f}, recall@10 {row['recall']:.2f}"
        print(f"  {row['method']:<10} {measured}  {row['note']}")
        color = "tab:orange" if row["note"] else "tab:blue"
        axis.barh(row["method"], row["error"], color=color)
    axis.axvline(1, color="gray", linewidth=1)
    axis.set(title=name, xlabel="relative squared error")
figure.tight_layout()

# %%
# With ``objective="recall"``, methods are compared by the neighbours they find instead of the squared error.
by_recall = sc.complete(P, Q, objective="recall", random_state=0)
print(f"by recall: {by_recall.method}")
