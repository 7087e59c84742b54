"""
Find the same record twice, with gaps in both
=============================================

Two records of the same object often have different fields filled in, so no exact comparison finds them.
``sc.duplicates`` finds pairs of records that are probably the same, and returns the probability for each pair.
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
print(f"{len(table)} rows, of which {int(table.notna().all(axis=1).sum())} are complete")
print(f"duplicates found by pandas: {int(table.duplicated().sum())}")

# %%
# Find the pairs that are the same record with a probability of at least 0.9.
found = sc.duplicates(table.to_numpy(), above=0.9)
true_pairs = {(int(a), len(records) + i) for i, a in enumerate(again)}
right = sum((int(a), int(b)) in true_pairs for a, b in found.pairs)
print(f"{len(found.pairs)} pairs found, {right} of the {len(true_pairs)} true pairs among them")
print(f"their smallest probability: {found.probability.min():.3f}")

# %%
# In the most probable pair, the values are equal wherever both are known. Some of its fields:
a, b = found.pairs[int(np.argmax(found.probability))]
print(table.iloc[[a, b], :8].T.round(3).to_string())

# %%
# The histogram shows the probabilities of all pairs above 0.01.
everything = sc.duplicates(table.to_numpy(), above=0.01)
truth = np.array([(int(a), int(b)) in true_pairs for a, b in everything.pairs], bool)
groups = [everything.probability[truth], everything.probability[~truth]]
figure, axis = plt.subplots(figsize=(6, 3.4))
axis.hist(groups, bins=20, stacked=True, label=["the same record", "different records"])
axis.set(xlabel="probability that both are the same record", ylabel="pairs of rows")
axis.legend()
figure.tight_layout()
