"""Choosing settings and methods by hiding values that are known."""
