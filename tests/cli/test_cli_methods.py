"""`simcomplete methods`: the registry as a table and as JSON."""

from __future__ import annotations

import simcomplete as sc


def test_json_has_every_field(as_json):
    listed = as_json("methods")
    assert [row["name"] for row in listed] == [method.name for method in sc.methods()]
    assert set(sc.methods()[0].row()) <= set(listed[0])


def test_table(run):
    lines = run("methods").stdout.splitlines()
    assert len(lines) == 1 + len(sc.methods())
    assert lines[1].split()[0] == sc.methods()[0].name
