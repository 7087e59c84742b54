"""Charts of a comparison in the colours of the page, with everything inside."""

import pytest
from matplotlib.colors import to_hex

from simcomplete._report import charts
from simcomplete._report.figures import DARK, LIGHT

ROWS = [
    {"method": name, "error": error, "error_spread": spread, "seconds": seconds}
    for name, error, spread, seconds in [("a", 0.3, 0.01, 0.001), ("b", 1.0, 0.0, 0.5), ("c", 2.2, 0.4, 3.0)]
]


@pytest.fixture
def figure(monkeypatch):
    """The figure that a chart would encode."""
    kept = []
    monkeypatch.setattr(charts, "encode", kept.append)
    return kept


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("which", ["major", "minor"])
def test_all_ticks_have_the_colour_of_the_text(figure, theme, which):
    charts.error_against_time(ROWS, theme)
    axes = figure[0].axes[0]
    figure[0].canvas.draw()
    labels = [label for axis in (axes.xaxis, axes.yaxis) for label in axis.get_ticklabels(which=which)]
    assert [label.get_text() for label in labels if label.get_text()]
    assert {to_hex(label.get_color()) for label in labels} == {theme.ink}
    assert not [label.get_text() for label in labels if "10" in label.get_text() and "^" in label.get_text()]


def test_lines_of_deviations_end_inside(figure):
    charts.bars(ROWS, "error", "error")
    assert figure[0].axes[0].get_xlim()[1] > 2.2 + 0.4
