"""What the posterior models share."""
