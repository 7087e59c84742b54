"""The largest eigenpairs of S0, by several routes that agree."""
