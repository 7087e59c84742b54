"""Correlation and covariance matrices made valid: the nearest one, with weights, entries held, bounds, a rank."""
