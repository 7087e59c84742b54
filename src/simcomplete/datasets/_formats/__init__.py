"""One file per format.

Each has a `read(path, options)` that makes a `Table` and never trusts the file: what a header promises is
held against the bytes that are there before anything of that size is made.
"""
