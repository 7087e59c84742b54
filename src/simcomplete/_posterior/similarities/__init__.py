"""The posterior model of similarities alone."""
