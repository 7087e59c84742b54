"""Rows of one table that are the same, where each may have gaps."""
