"""Tables of rows: opening, checking, and reading them in blocks, in memory or not."""
