"""What every method returns, and what one can ask of it."""
