"""The methods the paper compares with, one per file."""
