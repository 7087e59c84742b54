"""Methods that fill missing values, then compare."""
