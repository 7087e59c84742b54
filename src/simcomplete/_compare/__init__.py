"""Experiments on methods: hide values of complete data, complete, and measure against what was hidden."""
