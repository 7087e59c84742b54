"""Solvers of the spectral problem: exact, gradient descent, L-BFGS."""
