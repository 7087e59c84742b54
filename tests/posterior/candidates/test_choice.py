"""Which of several settings is taken: by error, or by recall and then by error."""

from types import SimpleNamespace

from simcomplete._posterior.candidates.grid import best


def tried(*pairs):
    return [SimpleNamespace(recall=recall, error=error) for recall, error in pairs]


def test_the_smallest_error():
    settings = tried((0.9, 0.3), (0.1, 0.2), (0.5, 0.25))
    assert best(settings, "error") is settings[1]


def test_the_largest_recall_and_of_those_the_smallest_error():
    settings = tried((0.5, 0.1), (0.9, 0.3), (0.9, 0.2), (0.9, 0.4))
    assert best(settings, "recall") is settings[2]


def test_the_first_of_equals():
    settings = tried((0.9, 0.2), (0.9, 0.2))
    assert best(settings, "recall") is best(settings, "error") is settings[0]
