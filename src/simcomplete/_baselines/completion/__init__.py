"""Matrix completion methods of the literature."""
