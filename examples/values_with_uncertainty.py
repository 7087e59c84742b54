"""
Fill in missing values, with their uncertainty
==============================================

``PosteriorImputer`` is used like scikit-learn's imputers. It also returns a standard deviation for every filled-in
value, and random draws for multiple imputation, so that later steps can take the uncertainty into account.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.impute import KNNImputer, SimpleImputer

import simcomplete as sc

truth = load_breast_cancer(as_frame=True).data
missing = np.random.default_rng(0).random(truth.shape) < 0.4
X = truth.mask(missing)

imputer = sc.PosteriorImputer(random_state=0)
imputer.fit(X)
values, std = imputer.impute(X, return_std=True)

# %%
# Compare the errors with those of other imputers, in units of each feature's standard deviation. KNNImputer needs
# scaled features.
scale = truth.std().to_numpy()
center = truth.mean().to_numpy()
scaled = (X.to_numpy() - center) / scale
others = {"mean": SimpleImputer(), "nearest neighbours": KNNImputer()}
filled = {name: each.fit_transform(scaled) * scale + center for name, each in others.items()}
for name, found in {**filled, "posterior": values}.items():
    gap = ((np.asarray(found) - truth.to_numpy()) / scale)[missing]
    print(f"{name:<20} root mean square error {np.sqrt(np.mean(gap**2)):.3f}")

# %%
# Are the standard deviations right? About 90 percent of the errors should be smaller than 1.645 standard deviations.
values, std = np.asarray(values), np.asarray(std)
inside = np.abs(truth.to_numpy() - values)[missing] <= 1.645 * std[missing]
print(f"share of the true values inside their 90 % intervals: {inside.mean():.3f}")

# %%
# Multiple imputation: compute the mean radius from 20 filled-in tables, and pool the results by Rubin's rules. The
# standard error of the pooled mean then includes the uncertainty of the missing values.
draws = imputer.sample(X, n=20, random_state=0)
means = [np.asarray(draw)[:, 0].mean() for draw in draws]
variances = [np.asarray(draw)[:, 0].var() / len(truth) for draw in draws]
pooled = sc.pool(means, variances)
print(f"mean radius: {pooled.estimate:.2f}, standard error {pooled.variance**0.5:.2f}")
print(f"mean radius of the complete table: {truth.iloc[:, 0].mean():.2f}")

column = missing[:, 2]
show = np.flatnonzero(column)[:60]
figure, axis = plt.subplots(figsize=(6, 4))
axis.errorbar(truth.iloc[show, 2], values[show, 2], 1.645 * std[show, 2], fmt="o", alpha=0.6)
axis.axline((60, 60), slope=1, color="gray")
axis.set(xlabel="true mean perimeter", ylabel="filled in, with 90 % interval")
figure.tight_layout()
