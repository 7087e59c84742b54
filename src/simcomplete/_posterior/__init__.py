"""Step 2, ours: the expectation of a query's direction given what was observed of it."""
