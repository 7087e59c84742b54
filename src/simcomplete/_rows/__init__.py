"""Rows in any form: opened, checked and read in blocks, wherever they are stored."""
