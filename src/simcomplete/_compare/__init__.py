"""Comparisons of methods on complete data with hidden values, and the file of their rows."""
