"""
Choose parameters by grid search
================================

Choose the rank, weight and step of the paper's method by grid search, with ground truth as in the paper, and without.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

import simcomplete as sc
from simcomplete.estimators import SMCNN
from simcomplete.scorers import hidden_value_scorer, relative_error_scorer

RANKS, POWERS = [50, 100, 200], [1e-3, 1e-2, 1e-1, 1.0, 10.0]  # the grid of the paper
complete = load_digits().data[:300]
X = sc.masks.apply(complete, sc.masks.random(complete, missing=0.7))

# %%
# Without ground truth, on your own data: some known values of the validation rows are hidden, and their similarities
# with the fitted rows are compared with those before hiding. The exact solver needs no step.
grid = {"rank": RANKS, "penalty": POWERS}
blind = GridSearchCV(SMCNN(), grid, scoring=hidden_value_scorer(), cv=3).fit(X)
print(f"without truth: {blind.best_params_}, relative error {-blind.best_score_:.2f}")

# %%
# With ground truth as y, the same grid: how good was that choice?
known = GridSearchCV(SMCNN(), grid, scoring=relative_error_scorer(), cv=3).fit(X, complete)
scores = known.cv_results_["mean_test_score"]
print(f"with truth:    {known.best_params_}, relative error {-known.best_score_:.2f}")
for penalty in POWERS:
    own = known.cv_results_["param_penalty"] == penalty
    plt.plot(RANKS, -scores[own], "o-", label=f"penalty {penalty:g}")
plt.xlabel("rank")
plt.yscale("log")
plt.ylabel("relative squared error")
plt.legend()
print(f"               the choice made without it: {-scores[blind.best_index_]:.2f}")

# %%
# The paper's protocol: gradient descent, its step on the grid too, and one split in which all rows are fitted and
# scored together. Steps of 0.01 and more do not converge here (the limit is 1 / (4 lambda_max)): such a run ends
# with a warning and a poor score.
rows = np.arange(len(X))
descent = GridSearchCV(
    SMCNN(solver="descent", max_iter=40),
    {**grid, "step": POWERS},
    scoring=relative_error_scorer(),
    cv=[(rows, rows)],
)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", sc.errors.NotConvergedWarning)
    descent.fit(X, complete)
print(f"by descent:    {descent.best_params_}, relative error {-descent.best_score_:.2f}")
print(f"               status: {descent.best_estimator_.completion_.status.code}")
