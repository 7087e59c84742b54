"""The posterior model of rows that may all be incomplete."""
