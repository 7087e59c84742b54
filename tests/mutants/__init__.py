"""Small wrong changes to the numerical core, and which of them the tests notice: `make mutants`."""
