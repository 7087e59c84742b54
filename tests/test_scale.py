"""Many rows: memory is that of a block, the digits are those of a dense solver, the certificate needs no factor."""

import json
import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._rows.validate import as_rows
from simcomplete._similarity.candidate_query import CandidateQuerySimilarity
from simcomplete._similarity.measure import Measure
from simcomplete._similarity.operator import DenseSimilarity
from simcomplete._spectral.certify import certify
from simcomplete._spectral.certify_passes import certify_passes
from simcomplete._spectral.eigen.routes import largest_eigenpairs
from simcomplete._spectral.penalties import NoPenalty, Nuclear, NuclearMinusFrobenius, SpectralProblem, SquaredFrobenius

PENALTIES = [Nuclear(), NuclearMinusFrobenius(), NoPenalty(), SquaredFrobenius()]


class Made:
    """Rows that exist only while they are looked at: non-negative, with a strong common direction."""

    def __init__(self, n, d, dtype=np.float32):
        self.shape, self.dtype, self.longest = (n, d), np.dtype(dtype), 0
        self.pace = 1 + np.random.default_rng(0).random(d)

    def __getitem__(self, rows):
        self.longest = max(self.longest, rows.stop - rows.start)
        return (5 + np.sin(np.outer(np.arange(rows.start, rows.stop), self.pace))).astype(self.dtype)


@pytest.fixture(scope="module")
def queries():
    rng = np.random.default_rng(2)
    return np.where(rng.random((10, 32)) < 0.7, np.nan, 5 + rng.random((10, 32))).astype(np.float32)


@pytest.mark.parametrize("verify", [False, True])
def test_peak_memory_is_that_of_a_block(queries, tmp_path, verify):
    rows = Made(200_000, 32)  # 26 MB, 51 in float64; the factor takes 8 MB
    tracemalloc.start()
    try:
        done = sc.complete(rows, queries, method="smcnn", rank=10, memory="1 MB", out=tmp_path / "V.npy", verify=verify)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows.longest < 1100  # 1 MB of 8 bytes for each of 2 * 32 + 5 n_q numbers
    assert peak < 4e6
    assert done.factor.shape == (200_010, 10)


def test_peak_memory_with_the_factor_in_memory(queries):
    tracemalloc.start()
    try:
        sc.complete(Made(200_000, 32), queries, method="smcnmf", rank=10, memory="1 MB")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 8e6 < peak < 8e6 + 4e6  # 200 010 * 10 * 4 bytes, once


def test_search_keeps_to_blocks(queries, tmp_path):
    done = sc.complete(Made(100_000, 32), queries, method="smcnn", rank=10, memory="1 MB", out=tmp_path / "V.npy")
    V = np.load(tmp_path / "V.npy")
    tracemalloc.start()
    try:
        found = done.search(k=3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    scores = V[100_000:] @ V[:100_000].T
    assert np.array_equal(found.ids, np.argsort(-scores, axis=1, kind="stable")[:, :3])
    assert peak < 100e6  # a block, by default, whatever n is


@pytest.fixture
def common(hide):
    """The largest eigenvalue is some 1e6 times the smallest kept: 1200 + 30 rows of 60 features."""

    def make(dtype):
        rng = np.random.default_rng(3)
        turn = np.linalg.qr(rng.standard_normal((60, 60)))[0]
        X = (1 + rng.random((1230, 1))) * (1 + 0.02 * rng.standard_normal((1230, 60)) @ turn / np.arange(1, 61) ** 0.7)
        X = X.astype(dtype)
        return X[:1200], hide(X[1200:], 0.6).astype(dtype)

    return make


@pytest.mark.parametrize("method", ["smcnn", "smcnmf"])
@pytest.mark.parametrize(("dtype", "most"), [(np.float64, 1e-6), (np.float32, 1e-4)])
@pytest.mark.filterwarnings("ignore:all rows are nearly equal")
def test_small_eigenvalues_survive_a_strong_common_direction(common, method, dtype, most):
    P, Q = common(dtype)
    done = sc.complete(P, Q, method=method, rank=40, route="structured", verify=True)
    dense = sc.complete(P, Q, method=method, rank=40, route="partial", verify=False)
    assert done.certificate.scale**0.5 > 1e5 * done.certificate.smallest_kept
    assert done.certificate.residual < most
    assert np.abs(done.similarity() - dense.similarity()).max() < (1e-8 if dtype == np.float64 else 1e-5)


@pytest.fixture(scope="module")
def operator(imagelike):
    P, Q = imagelike
    return CandidateQuerySimilarity(as_rows(P), as_rows(Q), Measure())


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e4])  # the last leaves one vector, or none
def test_two_passes_say_what_the_whole_factor_says(operator, penalty, weight):
    problem = SpectralProblem(operator, penalty, weight, rank=20)
    spectrum = largest_eigenpairs(operator, 20, "structured")
    short = certify_passes(problem, spectrum.reduced, spectrum.w)
    whole = certify(problem, problem.factor(spectrum), spectrum.w)
    assert short.objective == pytest.approx(whole.objective, rel=1e-9, abs=1e-9 * problem.scale)
    assert (short.rank, short.verified, short.optimal) == (whole.rank, True, whole.optimal)
    assert short.lower_bound == whole.lower_bound
    assert short.residual < 1e-6
    if short.rank < 20:
        # The largest outside is the first that was shrunk away, found from below in a few products.
        assert 0.9 < short.largest_outside / spectrum.w[short.rank] < 1 + 1e-9


def test_two_passes_find_wrong_vectors_out(operator):
    problem = SpectralProblem(operator, Nuclear(), 1e-3, rank=20)
    spectrum = largest_eigenpairs(operator, 20, "structured")
    noise = 1e-3 * np.random.default_rng(0).standard_normal(spectrum.reduced.lift.shape)
    wrong = replace(spectrum.reduced, lift=spectrum.reduced.lift + noise)
    assert not certify_passes(problem, wrong, spectrum.w).optimal
    assert certify_passes(problem, wrong, spectrum.w).residual > 1e-2


def test_two_passes_find_wrong_values_out(operator):
    problem = SpectralProblem(operator, Nuclear(), 1e-3, rank=20)
    spectrum = largest_eigenpairs(operator, 20, "structured")
    assert not certify_passes(problem, spectrum.reduced, spectrum.w * (1 + 1e-3)).optimal


def test_two_passes_find_missing_vectors_out(operator):
    """All are eigenvectors, the largest is not among them: only the small problem can tell."""
    problem = SpectralProblem(operator, Nuclear(), 1e-3, rank=19)
    spectrum = largest_eigenpairs(operator, 20, "structured")
    some = spectrum.reduced
    some = replace(some, lift=some.lift[:, 1:], below=some.below[:, 1:], Y=some.Y[:, 1:])
    found = certify_passes(problem, some, spectrum.w[1:])
    assert found.residual < 1e-6
    assert found.largest_outside == pytest.approx(spectrum.w[0], rel=1e-6)
    assert not found.optimal


def test_certificates_at_scale_are_asked_for(imagelike, monkeypatch):
    monkeypatch.setattr("simcomplete._spectral.complete.VERIFY_LIMIT", 500)
    assert not sc.complete(*imagelike, method="smcnn", rank=5).certificate.verified
    asked = sc.complete(*imagelike, method="smcnn", rank=5, verify=True)
    assert asked.certificate.verified
    assert asked.certificate.optimal


def test_large_matrices_are_only_multiplied_with(digits, monkeypatch):
    monkeypatch.setattr(DenseSimilarity, "dense", lambda self: pytest.fail("a copy of the matrix was made"))
    S0 = sc.overlap_similarity(np.vstack([digits, digits[:300] + 1.0]).astype(np.float32))
    assert S0.dtype == np.float32
    tracemalloc.start()
    try:
        done = sc.complete_similarity(S0, method="smcnn", rank=20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert done.params["route"] == "iterative"
    assert done.certificate.optimal
    w = np.linalg.eigvalsh(S0.astype(np.float64))[::-1][:20]
    assert np.allclose(np.sort(np.sum(done.factor**2, axis=0))[::-1], w - 5e-4, rtol=1e-5)
    assert peak < S0.size * 8 * 3.2  # blocks of a matrix this small are the matrix


def test_the_page_about_scale_runs(imagelike, tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parent.parent / "docs" / "scaling.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    np.save("candidates.npy", imagelike[0])
    np.save("queries.npy", imagelike[1])
    exec(page.split("```python\n")[1].split("```")[0], {})
    assert capsys.readouterr().out.startswith("(40, 10) ")
    assert np.load("factor.npy").shape == (940, 50)


# Candidates of 82 MB in a .zarr, under a limit of half of that, through the command line.
LIMITED = """
import runpy, sys
import scipy.linalg, sklearn, zarr, simcomplete._cli.app

def peak():
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))

with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak so far is forgotten
before = peak()
try:
    runpy.run_module("simcomplete", run_name="__main__", alter_sys=True)
except SystemExit as end:
    assert not end.code, end.code
print("peak", peak() - before, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory):
    zarr = pytest.importorskip("zarr")
    room, rng = tmp_path_factory.mktemp("limited"), np.random.default_rng(0)
    P = zarr.create_array(
        str(room / "candidates.zarr"), shape=(160_000, 64), dtype="f8", chunks=(4000, 64), compressors=None
    )
    for start in range(0, 160_000, 4000):
        P[start : start + 4000] = rng.random((4000, 64))
    np.save(room / "queries.npy", np.where(rng.random((5, 64)) < 0.5, np.nan, rng.random((5, 64))))
    return room


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory is told by Linux")
@pytest.mark.parametrize(("method", "own"), [("smcnn", ["--rank", "4"]), ("posterior", ["--param", "effort=fast"])])
def test_the_command_line_keeps_to_a_limit_below_the_candidates(on_disk, method, own):
    limit = 41_000_000
    environment = {**os.environ, "SIMCOMPLETE_MEMORY": str(limit), "OPENBLAS_NUM_THREADS": "1"}
    complete = ["complete", "candidates.zarr", "queries.npy", "-o", method, "--method", method, *own, "--json"]
    answers = []
    for command in (complete, ["search", method, "-k", "3", "--json"]):
        run = subprocess.run(
            [sys.executable, "-c", LIMITED, *command], cwd=on_disk, env=environment, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        # Of 82 MB of candidates. Blocks, and pages that the allocator keeps; posterior has neighbours of two kinds.
        assert int(run.stderr.split("peak")[1]) < 1.7 * limit
        answers.append(json.loads(run.stdout))
    summary, found = answers
    assert summary["n_candidates"] == 160_000
    assert summary["validity"]["psd"]["ok"]
    done = sc.load(on_disk / method)
    expected = done.search(3).ids
    assert [[hit["row"] for hit in query["nearest"]] for query in found["queries"]] == expected.tolist()
