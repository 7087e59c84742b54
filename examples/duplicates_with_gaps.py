"""
Find the same record twice, with gaps in both
=============================================

Two records of the same object often have different fields filled in. ``sc.duplicates`` finds such pairs without an
exact join, and returns the probability that two records are the same.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

import simcomplete as sc

rng = np.random.default_rng(0)
records = load_breast_cancer(as_frame=True).data
again = rng.choice(len(records), 30, replace=False)  # thirty records were entered twice
table = pd.concat([records, records.iloc[again]], ignore_index=True)
table = table.mask(rng.random(table.shape) < 0.3)  # 30 percent of all fields are empty
print(f"{len(table)} rows, complete rows: {int(table.notna().all(axis=1).sum())}")
print(f"exact duplicates by pandas: {int(table.duplicated().sum())}")

# %%
# Pairs that are the same with a probability of at least 0.9.
found = sc.duplicates(table.to_numpy(), above=0.9)
true_pairs = {(int(a), len(records) + i) for i, a in enumerate(again)}
right = sum((int(a), int(b)) in true_pairs for a, b in found.pairs)
print(f"found {len(found.pairs)} pairs, {right} of the {len(true_pairs)} true ones")
print(f"smallest probability among them: {found.probability.min():.3f}")

# %%
# The most probable pair: the values are equal where both are known.
a, b = found.pairs[int(np.argmax(found.probability))]
print(table.iloc[[a, b], :6].T.round(3).to_string())

everything = sc.duplicates(table.to_numpy(), above=0.01)
truth = np.array([(int(a), int(b)) in true_pairs for a, b in everything.pairs], bool)
groups = [everything.probability[truth], everything.probability[~truth]]
figure, axis = plt.subplots(figsize=(6, 3.4))
axis.hist(groups, bins=20, stacked=True, label=["the same record", "different records"])
axis.set(xlabel="probability that both are the same record", ylabel="pairs of rows")
axis.legend()
figure.tight_layout()
