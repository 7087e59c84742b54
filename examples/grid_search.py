"""
Choose parameters by grid search
================================

scikit-learn's ``GridSearchCV`` can choose the rank and the penalty of the paper's method, on your own data, where the
true similarities are unknown. Here they are known, which shows how good the choice was.
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
# ``hidden_value_scorer`` needs no true similarities. It hides some known values of the validation rows, and compares
# their similarities before and after hiding.
grid = {"rank": RANKS, "penalty": POWERS}
blind = GridSearchCV(SMCNN(), grid, scoring=hidden_value_scorer(), cv=3).fit(X)
print(f"chosen without the truth: {blind.best_params_}")

# %%
# ``relative_error_scorer`` gets the complete rows as ``y`` and measures the true error. Both searches choose the same
# setting. A small penalty with a large rank fits the noise in the similarities, so the error for new rows is large.
known = GridSearchCV(SMCNN(), grid, scoring=relative_error_scorer(), cv=3).fit(X, complete)
scores = known.cv_results_["mean_test_score"]
print(f"chosen with the truth: {known.best_params_}, error {-known.best_score_:.2f}")
print(f"error of the choice without it: {-scores[blind.best_index_]:.2f}")
for penalty in POWERS:
    own = known.cv_results_["param_penalty"] == penalty
    plt.plot(RANKS, -scores[own], "o-", label=f"penalty {penalty:g}")
plt.gca().set(xlabel="rank", ylabel="relative squared error", yscale="log")
plt.legend(loc=6, bbox_to_anchor=(1, 0.5))
plt.tight_layout()

# %%
# The paper uses gradient descent and also chooses its step. All rows are fitted and scored together. Steps of 0.01 and
# more do not converge here, because they exceed 1 / (4 lambda_max); such a run ends with a warning and a large error.
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
print(f"chosen for gradient descent: {descent.best_params_}, error {-descent.best_score_:.2f}")
print(f"how its last run ended: {descent.best_estimator_.completion_.status.code}")
