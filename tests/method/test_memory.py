"""Every method takes the memory it states, and is refused beforehand where that is more than is allowed.

`python tests/method/test_memory.py` renews the table in docs/scaling.md.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._method.spec import Sizes

sys.path.insert(0, str(Path(__file__).parent))
from measure_memory import measure

WITHIN = 1.3
PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"
BEGIN, END = "<!-- memory: tests/method/test_memory.py -->\n", "<!-- end of memory -->\n"
NAMES = [method.name for method in sc.methods()]
ROWS, GIVEN, PAIRS = "rows", "candidates", "similarities"
SMALL = {"max_iter": 1, "inner": 2, "atoms": 20}


def case(method, form, *shape, **more):
    """One measurement: candidates (or complete rows), queries, features."""
    return {"method": method, "form": form, "shape": shape, **more}


CASES = [
    case("overlap", GIVEN, 700, 100, 100),
    case("overlap", GIVEN, 3000, 100, 100),
    case("overlap", ROWS, 0, 600, 100),
    case("overlap", ROWS, 0, 600, 100, block="1 MiB"),
    case("shrunk", GIVEN, 700, 100, 100),
    case("shrunk", ROWS, 0, 600, 100),
    case("shrunk", ROWS, 0, 600, 100, shrinkage=10.0),
    case("zero", GIVEN, 900, 100, 300),
    case("zero", ROWS, 0, 800, 300),
    case("mean", GIVEN, 900, 100, 300),
    case("mean", ROWS, 0, 800, 300),
    case("lr", GIVEN, 1900, 100, 200),
    case("lr", GIVEN, 300, 30, 700),
    case("lr", GIVEN, 900, 50, 200, variant="sample"),
    case("lr", ROWS, 900, 50, 200),
    case("gr", GIVEN, 900, 100, 300, max_iter=1),
    case("gr", ROWS, 0, 300, 600, max_iter=1),
    case("kfmc", GIVEN, 900, 100, 100, **SMALL),
    case("kfmc", GIVEN, 200, 30, 700, **SMALL),
    case("kfmc", ROWS, 0, 500, 100, **SMALL),
    case("kfmc", GIVEN, 200, 100, 700, max_iter=2, variant="offline", atoms=20),
    case("bpmf", GIVEN, 900, 100, 100, max_iter=2, burn_in=0),
    case("bpmf", ROWS, 0, 700, 100, max_iter=2, burn_in=0),
    case("bpmf", PAIRS, 600, 100, 60, max_iter=3, burn_in=0),
    case("fgsr", GIVEN, 900, 100, 300, max_iter=3),
    case("fgsr", ROWS, 0, 300, 600, max_iter=3),
    case("fgsr", PAIRS, 800, 100, 60, max_iter=3, rank=20),
    case("fgsr", PAIRS, 600, 100, 60, max_iter=3),
    case("fgsr", GIVEN, 600, 100, 60, max_iter=3, mode="S"),
    case("fgsr", PAIRS, 600, 100, 60, max_iter=3, accelerate=False),
    case("fgsr", GIVEN, 900, 100, 300, max_iter=3, variant="admm"),
    case("fgsr", GIVEN, 900, 100, 300, max_iter=3, variant="p"),
    case("fgsr", PAIRS, 600, 100, 60, max_iter=3, variant="p"),
    case("nnfn", GIVEN, 900, 100, 300, max_iter=3),
    case("nnfn", ROWS, 0, 300, 600, max_iter=3),
    case("nnfn", PAIRS, 800, 100, 60),
    case("facnnfn", GIVEN, 900, 100, 300, max_iter=9),
    case("facnnfn", ROWS, 0, 300, 600, max_iter=9),
    case("facnnfn", PAIRS, 700, 100, 60, max_iter=9, rank=10),
    case("facnnfn", PAIRS, 600, 100, 60, max_iter=9),
    case("facnnfn", PAIRS, 600, 100, 60, max_iter=9, solver="descent"),
    case("dmc", GIVEN, 400, 100, 60),
    case("dmc", ROWS, 0, 400, 60),
    case("dmc", PAIRS, 400, 100, 60),
    case("dmc", PAIRS, 400, 100, 60, variant="dykstra", max_iter=3),
    case("dmc", PAIRS, 400, 100, 60, variant="reference", max_iter=3),
    case("dmc", PAIRS, 300, 50, 600, variant="fixed", max_iter=12),
    case("cmc", GIVEN, 400, 100, 60, max_iter=1),
    case("cmc", ROWS, 0, 400, 60, max_iter=1),
    case("cmc", PAIRS, 400, 100, 60, max_iter=1),
    case("fmc", GIVEN, 2900, 100, 100),
    case("fmc", GIVEN, 300, 60, 700),
    case("fmc", ROWS, 600, 100, 100),
    case("fmc", PAIRS, 600, 100, 100),
    case("fmc", PAIRS, 500, 400, 100),
    case("fmc", GIVEN, 700, 100, 100, variant="onmc-b"),
    case("fmc", PAIRS, 400, 300, 100, variant="onmc-b"),
    *(case(name, GIVEN, 2900, 100, 100) for name in ("smcnn", "smcnmf", "smc_nr", "smc_f")),
    *(case(name, ROWS, 0, 600, 100) for name in ("smcnn", "smcnmf", "smc_nr", "smc_f")),
    *(case(name, PAIRS, 600, 100, 60) for name in ("smcnn", "smcnmf", "smc_nr", "smc_f")),
    case("smcnn", GIVEN, 300, 60, 700),
    case("smcnn", GIVEN, 2900, 100, 60, route="iterative"),
    case("smcnn", ROWS, 0, 600, 100, block="1 MiB"),
    case("smcnn", PAIRS, 600, 100, 60, rank=300),
    case("smcnn", PAIRS, 2000, 100, 60, rank=40),
    case("smcnn", GIVEN, 20_000, 100, 60, block="1 MiB"),
    case("smcnn", PAIRS, 600, 100, 60, solver="descent", max_iter=3),
    case("smcnn", PAIRS, 600, 100, 60, solver="lbfgs", max_iter=9),
    case("smc_gd", GIVEN, 2900, 100, 60),
    case("smc_gd", ROWS, 0, 600, 60),
    case("smc_gd", PAIRS, 800, 100, 60),
    case("smc_gd", PAIRS, 800, 100, 60, variant="paper", max_iter=3),
    case("mc_on", GIVEN, 1900, 100, 60),
    case("mc_on", ROWS, 0, 600, 60),
    case("mc_on", PAIRS, 600, 100, 60),
    case("mc_on", PAIRS, 600, 100, 60, variant="paper", max_iter=3),
    case("mc_on", PAIRS, 600, 100, 60, psd=False),
    case("mc_fon", GIVEN, 700, 100, 60),
    case("mc_fon", GIVEN, 2900, 100, 60),
    case("mc_fon", GIVEN, 2900, 100, 60, variant="paper", max_iter=3),
    case("mc_fon", ROWS, 0, 600, 60),
    case("mc_fon", PAIRS, 700, 100, 60),
    case("mc_fon", PAIRS, 700, 100, 60, variant="paper", max_iter=3),
    case("posterior", GIVEN, 900, 100, 100, effort="fast"),
    case("posterior", GIVEN, 3000, 100, 100, effort="fast"),
    case("posterior", GIVEN, 900, 100, 300, effort="fast"),
    case("posterior", GIVEN, 50_000, 100, 100, effort="fast"),
    case("posterior", GIVEN, 900, 100, 100),
    case("posterior", ROWS, 600, 100, 100, effort="fast"),
    case("posterior", ROWS, 0, 700, 40, effort="fast"),
    case("posterior", PAIRS, 600, 100, 60),
    case("posterior", PAIRS, 500, 400, 60, effort="fast"),
]


def named(one):
    """A name that a failure can be found by."""
    more = [f"{name}={value}" for name, value in one.items() if name not in ("method", "form", "shape")]
    return "-".join([one["method"], one["form"], "x".join(map(str, one["shape"])), *more])


@pytest.fixture(scope="module")
def peaks():
    """Bytes measured and bytes stated, of all cases in one process of its own."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the peak of the resident set can be reset on Linux only")
    return dict(zip(map(named, CASES), measure(CASES), strict=True))


@pytest.mark.parametrize("name", [named(one) for one in CASES])
def test_the_peak_is_what_the_method_states(name, peaks):
    measured, stated = peaks[name]
    assert stated / WITHIN < measured < stated * WITHIN


def test_every_method_is_measured_in_every_form_that_it_takes():
    measured = {(one["method"], one["form"]) for one in CASES}
    wanted = {(name, GIVEN) for name in NAMES} | {
        (method.name, form)
        for method in sc.methods()
        for form in (ROWS, PAIRS)
        if form == ROWS or method.acts_on != "samples"
    }
    assert wanted - measured == {("overlap", PAIRS)}  # which gives back what was given


def problem():
    rng = np.random.default_rng(0)
    P, Q = rng.random((300, 20)), rng.random((30, 20))
    Q[rng.random(Q.shape) < 0.5] = np.nan
    return P, Q


@pytest.mark.parametrize("method", NAMES)
def test_what_does_not_fit_is_refused_before_it_runs(method, monkeypatch):
    P, Q = problem()
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1000")
    told = rf"method '{method}', for 300 candidates and 30 queries of 20 features, needs .* and 1000 B are free; "
    with pytest.raises(sc.errors.MemoryLimitError, match=told + "complete fewer rows, or use .* SIMCOMPLETE_MEMORY"):
        sc.complete(P, Q, method=method)


@pytest.mark.parametrize(
    ("method", "others"), [("posterior", "'fmc' or 'smcnn'"), ("dmc", "'fmc' or 'smcnn' or 'posterior'")]
)
def test_the_method_that_needs_too_much_is_not_what_to_use_instead(monkeypatch, method, others):
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1000")
    with pytest.raises(sc.errors.MemoryLimitError, match=f"use method={others}, which hold no n x n matrix"):
        sc.complete(*problem(), method=method, progress=False)


@pytest.mark.parametrize("method", ["fgsr", "facnnfn", "nnfn", "posterior", "fmc", "mc_on", "dmc", "bpmf"])
def test_room_for_one_more_matrix_is_not_enough_for_what_takes_several(method, monkeypatch):
    S0 = sc.overlap_similarity(np.concatenate(problem()))
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", str(S0.nbytes))
    with pytest.raises(sc.errors.MemoryLimitError, match="for a matrix of 330 x 330, needs"):
        sc.complete_similarity(S0, candidates=300, method=method)


def test_rows_alone_are_told_another_way_round(monkeypatch):
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "100 KB")
    with pytest.raises(sc.errors.MemoryLimitError, match=r"for 30 rows of 20 features.*complete rows as candidates"):
        sc.complete(problem()[1], method="posterior")


def test_the_limit_can_be_given_in_words_and_nonsense_is_refused(monkeypatch):
    P, Q = problem()
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1 GiB")
    assert sc.complete(P, Q, method="mean").method == "mean"
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "plenty")
    with pytest.raises(sc.errors.InputError, match="SIMCOMPLETE_MEMORY='plenty' is not an amount of memory"):
        sc.complete(P, Q, method="mean")


def test_auto_leaves_out_what_does_not_fit_and_says_so(monkeypatch):
    P, Q = problem()
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1.5 MB")
    done = sc.complete(P, Q, elect=("mean", "dmc", "facnnfn"))
    notes = {row["method"]: row["note"] for row in done.election}
    assert done.method == "mean"
    assert notes["mean"] == "chosen"
    assert notes["dmc"] == "not tried: needs 7.5 MiB, 1.4 MiB are free"
    assert notes["facnnfn"].startswith("not tried: needs ")


def test_a_factor_that_goes_to_a_file_needs_no_memory(tmp_path, monkeypatch):
    P, Q = np.random.default_rng(0).random((20_500, 8)), np.full((1, 8), 0.5)
    Q[0, 3:] = np.nan
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1 MB")  # 20,501 rows of rank 8 are 1.3 MB
    with pytest.raises(sc.errors.MemoryLimitError, match="out= for a large factor"):
        sc.complete(P, Q, method="smcnn", rank=8)
    done = sc.complete(P, Q, method="smcnn", rank=8, out=tmp_path / "factor.npy")
    assert done.factor.shape == (20_501, 8)


def table():
    """The table of docs/scaling.md, from the registry."""
    sizes = (
        Sizes(20_000, 100, 500, 100, GIVEN, rank_given=False),
        Sizes(0, 5_000, 500, 100, ROWS, rank_given=False),
        Sizes(4_900, 100, 0, 100, PAIRS, rank_given=False),
    )
    lines = ["| method | candidates and queries | rows | matrix |", "|---|---|---|---|"]
    for method in sc.methods():
        cells = []
        for s in sizes:
            takes = s.form == GIVEN or (
                method.acts_on != "samples" if s.form == PAIRS else method.name not in ("lr", "fmc")
            )
            times = method.peak_bytes(s, method.own({})) / (8 * s.n * (s.d or s.n))
            cells.append(f"{times:.1f}" if takes else "")
        lines.append(f"| {method.name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def test_the_table_in_the_documentation_is_that_of_the_registry():
    text = PAGE.read_text(encoding="utf-8")
    assert text[text.index(BEGIN) + len(BEGIN) : text.index(END)].strip() == table().strip()


if __name__ == "__main__":
    old = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        old[: old.index(BEGIN) + len(BEGIN)] + "\n" + table() + "\n" + old[old.index(END) :], encoding="utf-8"
    )
