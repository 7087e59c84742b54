"""The problems that methods solve, the specification of a method, and the iteration loop that all methods share."""
