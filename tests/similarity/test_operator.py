"""The candidate-query form never holds S0, and yet is S0."""

import pickle

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._rows.budget import working_memory
from simcomplete._rows.table import HeldRows
from simcomplete._rows.xp import to_numpy
from simcomplete._similarity.candidate_pass import KeptSimilarities, Reader
from simcomplete._similarity.candidate_query import CandidateQuerySimilarity
from simcomplete._similarity.measure import Measure
from simcomplete._similarity.operator import DenseSimilarity
from simcomplete._similarity.overlap import overlap_matrix
from simcomplete._similarity.products import prepare_rows

MEASURES = [
    Measure(),
    Measure("pearson"),
    Measure(min_overlap=15),
    Measure(epsilon=1e-6),
    Measure(positive=True),
    Measure("pearson", positive=True, min_overlap=10),
]


@pytest.fixture
def rows(small):
    P, Q, _ = small
    P, Q = P.copy(), Q.copy()
    P[5] = 0  # a candidate that is zero
    P[7] = 3.0  # and one that is constant
    Q[2] = np.nan  # a query with nothing observed
    Q[4][~np.isnan(Q[4])] = 0
    Q[6] = Q[8]
    return P, Q


@pytest.fixture(params=MEASURES, ids=str)
def pair(request, rows):
    P, Q = rows
    structured = CandidateQuerySimilarity(HeldRows(P), HeldRows(Q), request.param)
    S, evidence = overlap_matrix(HeldRows(np.vstack([P, Q])), request.param)
    return structured, S, evidence


def test_dense_is_the_overlap_matrix(pair):
    structured, S, _ = pair
    np.testing.assert_allclose(structured.dense(), S, atol=1e-12)


def test_products(pair):
    structured, S, _ = pair
    V = np.random.default_rng(0).standard_normal((structured.n, 3))
    np.testing.assert_allclose(structured.matmul(V), S @ V, atol=1e-11)


def test_norm(pair):
    structured, S, _ = pair
    assert structured.squared_norm() == pytest.approx(np.sum(S**2), rel=1e-12)


def test_evidence(pair):
    structured, _, evidence = pair
    structured.gram()
    assert structured.evidence.known == evidence
    fresh = CandidateQuerySimilarity(structured.candidates.source, structured.queries, structured.measure)
    assert fresh.evidence.known is None
    assert fresh.evidence() == evidence  # counted when asked, without the similarities


def test_blocks_make_no_difference(rows, monkeypatch):
    P, Q = rows
    S = sc.complete(P, Q, method="overlap").similarity()
    monkeypatch.setattr("simcomplete._rows.budget.row_blocks.__defaults__", (5000,))
    structured = CandidateQuerySimilarity(HeldRows(P), HeldRows(Q), Measure())
    np.testing.assert_allclose(structured.dense() + np.diag(np.diag(S) - np.diag(structured.dense())), S, atol=1e-13)
    V = np.random.default_rng(0).standard_normal((structured.n, 3))
    np.testing.assert_allclose(structured.matmul(V), structured.dense() @ V, atol=1e-11)


@pytest.mark.parametrize(("memory", "reads"), [(None, 1), (5000, 4)], ids=["room", "little room"])
def test_small_candidates_are_read_once_for_all_products(rows, memory, reads):
    P, Q = rows
    starts = []
    with working_memory(memory):
        structured = CandidateQuerySimilarity(HeldRows(P), HeldRows(Q), Measure())
        reader = structured.reader

        def counted(block, start):
            starts.append(start)
            return reader(block, start)

        structured.reader = counted
        V = np.random.default_rng(0).standard_normal((structured.n, 3))
        products = [structured.matmul(V), structured.matmul(V)]
    assert starts.count(0) == reads
    for product in products:
        np.testing.assert_allclose(product, structured.dense() @ V, atol=1e-11)


def test_single_precision_is_multiplied_in_double():
    S = np.random.default_rng(0).standard_normal((50, 50)).astype(np.float32)
    S = S + S.T
    V = np.random.default_rng(1).standard_normal((50, 4))
    np.testing.assert_array_equal(DenseSimilarity(S).matmul(V).dtype, np.float64)
    np.testing.assert_allclose(DenseSimilarity(S).matmul(V), S.astype(float) @ V, atol=1e-12)
    assert DenseSimilarity(S).squared_norm() == pytest.approx(np.sum(S.astype(float) ** 2))


def test_what_is_kept_of_a_block_gives_the_same_rows(library, small):
    P, Q, _ = small
    reader = Reader(prepare_rows(library.array(Q), Measure()), Measure(), KeptSimilarities(20))
    block = library.array(P[:20])
    read = reader(block, 0)
    assert reader(block, 0).supported is not None  # only the pass that says so keeps anything
    first = reader(block, 0, keep=True)
    np.testing.assert_array_equal(to_numpy(read.H), to_numpy(first.H))
    again = reader(block, 0)
    np.testing.assert_array_equal(to_numpy(first.H), to_numpy(again.H))
    assert again.supported is None
    other = reader(library.array(P[20:30]), 20)  # one that was never read is read
    assert other.supported is not None
    np.testing.assert_array_equal(to_numpy(reader(block).H), to_numpy(first.H))
    sent = pickle.loads(pickle.dumps(Reader(prepare_rows(Q, Measure()), Measure(), KeptSimilarities(1))))
    assert sent.kept is None  # elsewhere are other rows
