"""The demonstration, and HTML pages and figures of its results and of comparisons."""
