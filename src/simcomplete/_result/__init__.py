"""The `Completion` that every method returns, and its parts."""
