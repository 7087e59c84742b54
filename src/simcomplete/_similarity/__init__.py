"""Step 1: from samples with missing values to similarities over what they have in common."""
