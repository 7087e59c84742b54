"""The paper's tables and figures as data: a protocol in TOML each, one expander, one runner."""
