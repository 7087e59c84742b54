"""What is typed becomes what the library takes."""

from __future__ import annotations

import doctest

from simcomplete._cli import arguments


def test_examples():
    assert doctest.testmod(arguments).failed == 0
