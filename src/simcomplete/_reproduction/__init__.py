"""The paper's experiments: a protocol in TOML for each table and figure, a runner, and reports from stored rows."""
