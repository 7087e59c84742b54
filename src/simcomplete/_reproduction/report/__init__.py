"""The pages, tables and figures of the reproduction."""
