"""Methods that make a similarity matrix positive semi-definite."""
