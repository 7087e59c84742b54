"""Rows: what users bring, opened, checked and read in blocks, wherever it lies."""
