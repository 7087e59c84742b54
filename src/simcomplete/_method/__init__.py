"""What a method is given, what a method is, and the one iteration loop."""
