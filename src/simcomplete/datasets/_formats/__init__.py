"""Readers, one module per format.

A reader takes a path and options and returns a `Table`. It does not trust the file: the size that a header claims is
compared with the bytes of the file before memory of that size is allocated.
"""
