"""
Fill in missing values, with their uncertainty
==============================================

``PosteriorImputer`` works like scikit-learn's imputers. It also returns a standard deviation for every value, and
random draws for multiple imputation, so that later steps can account for the uncertainty.
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
# Errors in units of the standard deviation of each feature, beside other imputers. KNNImputer needs scaled features.
scale = truth.std().to_numpy()
center = truth.mean().to_numpy()
scaled = (X.to_numpy() - center) / scale
others = {"mean": SimpleImputer(), "nearest neighbours": KNNImputer()}
filled = {name: each.fit_transform(scaled) * scale + center for name, each in others.items()}
for name, found in {**filled, "posterior": values}.items():
    gap = ((np.asarray(found) - truth.to_numpy()) / scale)[missing]
    print(f"{name:<20} root mean square error {np.sqrt(np.mean(gap**2)):.3f}")

# %%
# Are the standard deviations right? Nine errors in ten should be within 1.645 of them.
values, std = np.asarray(values), np.asarray(std)
inside = np.abs(truth.to_numpy() - values)[missing] <= 1.645 * std[missing]
print(f"inside the 90 % interval: {inside.mean():.3f}")

# %%
# A mean over multiple imputations, pooled by Rubin's rules: its error includes that of the missing values.
draws = imputer.sample(X, n=20, random_state=0)
means = [np.asarray(draw)[:, 0].mean() for draw in draws]
variances = [np.asarray(draw)[:, 0].var() / len(truth) for draw in draws]
pooled = sc.pool(means, variances)
print(f"mean radius {pooled.estimate:.2f}, the truth {truth.iloc[:, 0].mean():.2f}")

column = missing[:, 2]
show = np.flatnonzero(column)[:60]
figure, axis = plt.subplots(figsize=(6, 4))
axis.errorbar(truth.iloc[show, 2], values[show, 2], 1.645 * std[show, 2], fmt="o", alpha=0.6)
axis.axline((60, 60), slope=1, color="gray")
axis.set(xlabel="true mean perimeter", ylabel="filled in, with 90 % interval")
figure.tight_layout()
