"""Ratings: rows of which only a few values are known, their biases, neighbours and factors."""
