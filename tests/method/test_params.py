"""Parameters as data: every constraint at its boundary, and messages that say what is needed."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._method.params import Arrays, Flag, Function, Nothing, Number, Parameters, Whole, Words, parameter
from simcomplete._method.spec import SHARED
from simcomplete.errors import InputError


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        (Whole(1), [1, 7, np.int64(3)], [0, -1, 1.0, True, np.True_, "1", None]),
        (Whole(0, 3), [0, 3], [-1, 4]),
        (Number(), [0, 0.0, 2, np.float32(1.5)], [-1e-300, np.nan, np.inf, "0", True, None, [1.0], 10**400]),
        (Number(above=True), [1e-300, 3], [0, 0.0, -1]),
        (Number(0.0, 1.0), [0, 1, 0.5], [1.0000001, -1e-9]),
        (Words("a", "b"), ["a", "b"], ["c", 1, None, ["a"]]),
        (Words(0, 1), [0, 1], [2, True, 0.0, "0"]),
        (Flag(), [True, False, np.True_], [0, 1, "yes", None]),
        (Function(), [print, lambda: 0], [3, "print", None]),
        (Arrays("an array"), [[1.0], np.ones((2, 2)), (1, 2)], [1.0, "text", None]),
        (Nothing(), [None], [0, False, ""]),
    ],
    ids=lambda value: "" if isinstance(value, list) else str(value),
)
def test_constraints(constraint, good, bad):
    assert all(constraint.holds(value) for value in good)
    assert not any(constraint.holds(value) for value in bad)


@pytest.mark.parametrize(
    ("made", "value", "message"),
    [
        (parameter("k", 1, Whole(1), meaning=""), 0, "k=0 must be a whole number of at least 1"),
        (parameter("k", None, Whole(1, 9), meaning=""), 10, "k=10 must be a whole number from 1 to 9"),
        (parameter("t", 0.1, Number(), meaning=""), -1, "t=-1 is not a number at least 0; give one"),
        (parameter("v", "a", Words("a", "b", "c"), meaning=""), "d", "v='d' is unknown; use 'a', 'b' or 'c'"),
        (
            parameter("s", "a", Words("a"), Number(), meaning=""),
            "d",
            "s='d' is unknown; use 'a' or a number at least 0",
        ),
        (parameter("c", None, Function("a function"), meaning=""), 3, "c=3 cannot be called; give a function"),
        (parameter("f", True, Flag(), meaning=""), 1, "f=1 must be True or False"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_messages_say_what_was_given_and_what_is_needed(made, value, message):
    with pytest.raises(InputError) as error:
        made.checked(value)
    assert str(error.value) == message


def test_none_is_accepted_where_it_is_the_default():
    assert parameter("k", None, Whole(1), meaning="").checked(None) is None
    with pytest.raises(InputError):
        parameter("k", 1, Whole(1), meaning="").checked(None)


def test_parameters_are_visible():
    shown = repr(sc.methods()["posterior"].parameters)
    assert shown.splitlines()[0].split() == ["name", "type", "default", "meaning"]
    assert "'full', 'fast' or 'best'" in shown
    assert repr(Parameters()) == "no parameters of its own"


@pytest.mark.parametrize("method", sc.methods(), ids=lambda method: method.name)
def test_every_method_is_fully_specified(method):
    defaults = method.parameters.defaults
    assert method.own({}) == method.parameters.checked(defaults) == defaults  # every default is acceptable
    method.own({"preset": "original"})
    for setting in method.grid:
        assert set(setting) <= {*method.parameters, *method.shared}
        method.parameters.checked(setting)
    assert all(parameter.meaning for parameter in method.parameters.values())
    assert method.shared <= set(SHARED)


@pytest.mark.parametrize("method", sc.methods(), ids=lambda method: method.name)
def test_a_shared_parameter_that_is_not_used_is_refused(method):
    P, Q = np.eye(4), np.array([[1.0, np.nan, 0.5, 0.2]])
    other = {"rank": 2, "penalty": 0.5, "metric": "pearson", "min_overlap": 2, "epsilon": 0.1, "positive": True}
    for name in set(SHARED) - method.shared:
        with pytest.raises(InputError, match=f"method '{method.name}' does not use {name}; leave it out"):
            sc.complete(P, Q, method=method.name, **{name: other[name]})


def test_only_what_was_used_is_recorded(small):
    P, Q, _ = small
    posterior = sc.complete(P, Q, method="posterior", effort="fast").params
    assert not {"rank", "penalty", "min_overlap", "epsilon"} & set(posterior)
    assert {"rank", "penalty", "min_overlap"} <= set(sc.complete(P, Q, method="smcnn", rank=3).params)
    assert "min_overlap" not in sc.complete(P, Q, method="lr").params
