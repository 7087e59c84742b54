"""`simcomplete serve`: a fitted model answers queries with gaps over HTTP."""
