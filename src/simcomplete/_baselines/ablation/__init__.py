"""The paper's ablations."""
