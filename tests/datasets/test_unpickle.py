"""The machine that reads batches gives what pickle gives, and nothing that a file could do harm with."""

from __future__ import annotations

import collections
import fractions
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from simcomplete.datasets._formats.unpickle import unpickle
from simcomplete.errors import FileFormatError

PATH = Path("batch")
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.binary() | st.integers(), inner)
    ),
    max_leaves=20,
)


@given(VALUES, st.integers(2, 5))
def test_plain_values_as_pickle_gives_them(value, protocol):
    assert unpickle(pickle.dumps(value, protocol), PATH) == value


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("dtype", ["u1", "<i4", ">i4", "f8", ">f2", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays(protocol, dtype, order):
    array = np.asarray([[1, 0, 3], [4, 5, 0]], dtype=dtype, order=order)
    found = unpickle(pickle.dumps({"a": array, "b": [1, "x"]}, protocol), PATH)
    assert_array_equal(found["a"], array)
    assert found["a"].dtype == array.dtype
    assert found["b"] == [1, "x"]
    assert_array_equal(unpickle(pickle.dumps(array, protocol), PATH), array)


def test_texts_of_python_2():
    assert unpickle(b"\x80\x02}q\x01(U\x04dataq\x02U\x03\x00\xff\x80q\x03u.", PATH) == {b"data": b"\x00\xff\x80"}


def test_an_array_as_the_original_batches_have_it():
    """Written by Python 2 and an old NumPy: every text is a string of bytes."""
    data = (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nq\x01cnumpy\nndarray\nq\x02K\x00\x85U\x01b\x87Rq\x03"
        b"(K\x01K\x02K\x03\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        b"\x89T\x06\x00\x00\x00\x00\x01\n\x80\xfe\xfftb."
    )
    assert_array_equal(unpickle(data, PATH), np.array([[0, 1, 10], [128, 254, 255]], np.uint8))


class Evil:
    def __reduce__(self):
        return (Path.write_text, (Path("harm"), "done"))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Evil(), "pathlib|getattr"),
        (print, "builtin.*print"),
        (eval, "builtin.*eval"),
        (collections.OrderedDict(), "collections.OrderedDict"),
        (fractions.Fraction(1, 2), "fractions.Fraction"),
        ({1, 2}, "EMPTY_SET|set"),
        (np.array([None]), "'O8'"),
        (np.array(["x"]), "'U1'"),
        (np.zeros(2, [("a", "u1")]), "'V1'"),
        (np.float64(1), "scalar"),
        ({(1, 2): 3}, "dict key of type tuple"),
    ],
)
@pytest.mark.parametrize("protocol", [2, 5])
def test_everything_else_is_named_and_refused(value, words, protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileFormatError, match=words):
        unpickle(pickle.dumps([value], protocol), PATH)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "data",
    [
        b"cposix\nsystem\n(S'echo harm'\ntR.",  # a call
        b"(S'echo harm'\niposix\nsystem\n.",  # the same through INST
        b"\x80\x02cnumpy\nndarray\n)\x81.",  # an object made by its class
        b"\x80\x02Pname\n.",  # a persistent id
        b"\x80\x02\x82\x01.",  # the extension registry
        b"\x80\x02cnumpy\nndarray\n(K\x05tR.",  # an array of any size without content
        b"\x80\x02K\x01}b.",  # state for a number
        b"\x80\x02.",  # nothing on the stack
        b"\x80\x02K\x01K\x02.",  # two values
        b"\x80\x02h\x05.",  # a value never stored
        b"\x80\x02(.",  # a mark
        b"\x80\x02\x85.",  # a tuple of nothing
        b"\x80\x02cnumpy\nndarray\n.",  # a function
        b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7f.",  # bytes of any length
        b"not a pickle",
        b"",
    ],
)
def test_hostile_and_broken(data):
    with pytest.raises(FileFormatError):
        unpickle(data, PATH)


def test_a_name_in_memory_of_four_billion_costs_nothing():
    assert unpickle(b"\x80\x02K\x07r\xff\xff\xff\xff.", PATH) == 7  # pickle would make a table of that length


def test_a_tower_of_tuples_does_not_overflow_the_stack():
    tower = b"\x80\x02)" + b"\x85" * 10**5
    assert isinstance(unpickle(tower + b".", PATH), tuple)
    with pytest.raises(FileFormatError, match="dict key"):
        unpickle(b"\x80\x02}" + tower[2:] + b"K\x01s.", PATH)
    with pytest.raises(FileFormatError, match="belongs"):
        unpickle(b"\x80\x04" + tower[2:] + b"\x8c\x01x\x93.", PATH)


def test_a_text_copied_over_and_over():
    text = b"X\x00\x00\x01\x00" + b"x" * 2**16
    call = b"c_codecs\nencode\nh\x00X\x06\x00\x00\x00latin1\x86R"
    assert unpickle(b"\x80\x02(" + text + b"q\x00" + call + b"l.", PATH)[1] == b"x" * 2**16
    with pytest.raises(FileFormatError, match="more copies"):
        unpickle(b"\x80\x02(" + text + b"q\x00" + call * 100 + b"l.", PATH)


@given(st.binary(max_size=60))
def test_no_bytes_whatever_do_more_than_raise_our_error(data):
    try:
        unpickle(data, PATH)
    except FileFormatError as error:
        assert "batch" in str(error)


@given(st.data())
def test_a_changed_byte_does_no_more_either(data):
    pickled = bytearray(pickle.dumps({"data": np.ones((2, 3), np.uint8), "labels": [1, 2]}, 2))
    pickled[data.draw(st.integers(0, len(pickled) - 1))] = data.draw(st.integers(0, 255))
    try:
        unpickle(bytes(pickled), PATH)
    except FileFormatError as error:
        assert "batch" in str(error)
