"""Correlation and covariance matrices: repaired, and estimated from samples with gaps.

Public calls, one module each:

- `nearest`: `nearest_correlation`; `covariance`: `nearest_covariance`; `shrink`: `shrink_to_valid`; `factors`:
  `factor_correlation`; `samples`: `correlation` and `covariance`.
- `repair`: `Repair`, what the first four return, with its certificate; `plot`: its heat maps. `estimate`: `Estimate`,
  what the last two return.

Input:

- `labels` (arrays and frames, and back), `given` (the matrix: symmetric, its diagonal, unknown entries), `constraints`
  (weights, entries to hold, bounds), `constrained` (the same for covariances), `variables` (samples).

Which engine solves what is decided in `solve`:

- `newton`: weights by row, a floor for eigenvalues, entries to hold. Its parts: `dual` (a point), `held` (the entries
  held), `direction` (a step), `refined` (the last step without a decomposition), `singular` (a block that is held and
  singular). `on_device`: the same on the device of a tensor.
- `bounded`: bounds, by entries held there; where many are active, from a rough solution by `splitting`.
- `splitting`: weights by element, unknown entries; `lagrangian` where it is slow. `weighted` is their problem.
- `tied`: variables with a correlation of 1 or -1 that is held are solved for once, by any of these.
- `ranked` and `factors`: a rank or factors, from several starts (`starts`).
- `contradiction`: proof that constraints cannot all be met. `bound`: how far from the nearest, where rounding hides it.
  `psd`: what all of them stand on.

How samples with gaps are estimated:

- `expected` (what a factor model expects of missing values), `moments` (from these to the matrix, and variances),
  `holdout` (how far estimates are off, learnt by hiding values), `pairwise` (pandas' way, to compare with).
"""
