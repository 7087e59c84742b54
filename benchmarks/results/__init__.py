"""How accurate the methods are, on real data: ``python -m benchmarks.results`` measures and writes docs/results.md."""
