"""What the tests of the posterior models share."""

import pytest

from simcomplete._posterior.candidates import fitting


@pytest.fixture
def streaming(monkeypatch):
    """A function: from now on candidates are not kept in memory, however few they are."""

    def lower():
        for name in ("STREAM_ABOVE_VALUES", "STREAM_ABOVE_ON_ACCELERATOR", "STREAM_ABOVE_SEARCHED"):
            monkeypatch.setattr(fitting, name, 0)

    return lower
