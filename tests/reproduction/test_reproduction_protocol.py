"""Protocols are data: complete, consistent with the registry and the docs, and expanded without surprises."""

from pathlib import Path

import pytest

from simcomplete import _registry as registry
from simcomplete import datasets
from simcomplete._compare.ledger import trial_key
from simcomplete._reproduction.labels.others import OTHERS
from simcomplete._reproduction.labels.trial import TASK_PARAMETERS
from simcomplete._reproduction.protocol import load_protocol, load_protocols, parse_protocol
from simcomplete._reproduction.reported import printed_numbers
from simcomplete._reproduction.trials import TRIAL_KEY, expand
from simcomplete.errors import FileFormatError, InputError

DEVIATIONS = (Path(__file__).parents[2] / "docs" / "deviations.md").read_text(encoding="utf-8")
ALL = load_protocols()


@pytest.mark.parametrize("protocol", ALL, ids=lambda p: p.name)
class TestEvery:
    def test_it_names_what_exists(self, protocol):
        assert set(protocol.methods) <= {*registry.REGISTRY, *OTHERS}
        assert set(protocol.sets) <= set(datasets.names())
        assert all(set(column.get("methods", [])) <= set(protocol.methods) for column in protocol.columns)

    def test_its_decisions_are_explained(self, protocol):
        assert protocol.decisions
        for name in protocol.decisions:
            assert f"| `{name}` |" in DEVIATIONS

    def test_parameters_are_those_of_the_methods(self, protocol):
        for cell in expand(protocol.quick()):
            given = {k: v for k, v in cell.trial["params"].items() if k not in ("rank", "penalty", "tune")}
            given = {k: v for k, v in given.items() if k not in TASK_PARAMETERS}
            if cell.trial["method"] not in OTHERS:
                registry.find(cell.trial["method"]).own(given)

    def test_cells_differ(self, protocol):
        cells = expand(protocol)
        places = {(*cell.at.values(), cell.trial["seed"], cell.trial["method"], cell.column) for cell in cells}
        assert len(places) == len(cells)
        assert all(tuple(cell.trial) == TRIAL_KEY for cell in cells)

    def test_quick_is_small_and_bundled(self, protocol):
        trials = {trial_key(cell.trial, TRIAL_KEY) for cell in expand(protocol.quick())}
        assert 1 < len(trials) <= 60
        assert {cell.trial["dataset"] for cell in expand(protocol.quick())} == {"digits"}

    def test_the_first_seed_comes_first(self, protocol):
        seeds = [cell.trial["seed"] for cell in expand(protocol)]
        assert seeds == sorted(seeds)
        cells = [(cell.trial["method"], cell.column) for cell in expand(protocol.first())]
        assert sum(len(protocol.seeds_of(*cell)) for cell in cells) == len(seeds)

    def test_limits_are_long_enough_to_converge(self, protocol):
        assert protocol.time_limit >= 120


def test_positions_are_the_papers_order():
    assert [protocol.position for protocol in ALL] == list(range(1, len(ALL) + 1))


def test_the_effectiveness_tables_have_all_methods():
    assert len(set(load_protocol("effectiveness-1000").methods) - {"overlap", "posterior"}) == 13
    for n in (1000, 2000, 3000):
        one = load_protocol(f"effectiveness-{n}")
        assert (one.candidates, one.methods) == ([n], load_protocol("effectiveness-1000").methods)


def test_tables_share_trials():
    rank = {trial_key(cell.trial, TRIAL_KEY) for cell in expand(load_protocol("rank")) if cell.column == "original"}
    effectiveness = {trial_key(cell.trial, TRIAL_KEY) for cell in expand(load_protocol("effectiveness-1000"))}
    assert rank <= effectiveness


def test_parameters_of_columns():
    cells = expand(load_protocol("effectiveness-1000").first(), ["dataset=mnist", "missing=0.8"])
    params = {(cell.trial["method"], cell.column): cell.trial["params"] for cell in cells}
    assert params["smcnn", "original"] == {"rank": 100, "penalty": 0.001}
    assert params["smcnn", "tuned"] == {"rank": 100, "penalty": 0.001, "tune": True}
    assert params["bpmf", "original"] == {"preset": "original"}  # its authors' rank, not the paper's
    assert params["mean", "original"] == params["mean", "tuned"] == {}


def test_a_rank_goes_to_those_that_take_one():
    cells = expand(load_protocol("time"), ["dataset=mnist", "missing=0.8", "rank=100"])
    ranks = {cell.trial["method"]: cell.trial["params"].get("rank") for cell in cells}
    assert (ranks["smcnn"], ranks["smcnmf"], ranks["bpmf"], ranks["dmc"]) == (100, 100, None, None)


def test_slow_methods_run_with_fewer_seeds():
    for size in (2000, 3000):
        one = load_protocol(f"effectiveness-{size}")
        seeds = {name: {c.trial["seed"] for c in expand(one, [f"method={name}"])} for name in ("facnnfn", "smcnn")}
        assert seeds == {"facnnfn": {0}, "smcnn": {0, 1, 2}}
        assert expand(one, ["method=nnfn", "dataset=googlenews"]) == expand(one, ["method=cmc"]) == []


def test_only_takes_numbers_as_they_are_written():
    found = [expand(load_protocol("rank"), [f"missing={text}"]) for text in ("0.8", ".80", "8e-1")]
    assert found[0] and found[0] == found[1] == found[2]
    assert {cell.at["missing"] for cell in found[0]} == {0.8}


def test_only():
    one = load_protocol("threshold")
    assert len(expand(one, ["dataset=mnist", "dataset=protein", "penalty=0.01", "seed=0", "column=original on S"])) == 6
    assert expand(one, ["dataset=mnist", "method=smcnn"]) == []
    for wrong in ("mnist", "colour=red"):
        with pytest.raises(InputError, match="is not NAME=VALUE"):
            expand(one, [wrong])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "not valid TOML"),
        ('title = "only"', "missing"),
        ('extends = "rank"\ncolour = "red"', "colour"),
        ('extends = "rank"\nlayout = "pie"', "pie"),
        ('extends = "rank"\nfewer_seeds = {zeal = 1}', "fewer_seeds has"),
        ('extends = "rank"\n[[without]]\nmethod = ["nnfn"]', "needs a reason"),
        ('extends = "rank"\n[[without]]\ncolour = ["red"]\nwhy = "it is"', "colour"),
        ('extends = "rank"\n[[without]]\nmethod = "nnfn"\nwhy = "slow"', "needs lists"),
        ('extends = "rank"\n[grid]\nrank = [1]', "needs missing"),
        ('extends = "rank"\n[grid]\nmissing = [0.5]\ncolour = [1]', "colour"),
    ],
)
def test_wrong_protocols_are_refused(text, message):
    with pytest.raises(FileFormatError, match=message):
        parse_protocol("mine", text)


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(InputError, match="did you mean 'ablation'"):
        load_protocol("ablatoin")


def test_printed_numbers_are_the_papers():
    at = {"dataset": "googlenews", "missing": 0.9}
    assert printed_numbers("rank", "smcnn", at) == {"rank": 79}
    assert printed_numbers("rank", "fmc", at) == {"rank": 1156}  # its column "SMC"
    assert printed_numbers("svt", "nnfn", {**at, "penalty": 0.01}) == {"error": 0.6497, "rank": 640}
    assert (
        printed_numbers("ablation", "mean", at)
        == printed_numbers("", "smcnn", at)
        == printed_numbers(None, "smcnn", at)
        == {}
    )
    listed = [
        printed_numbers(p.reported, c.trial["method"], c.at) for p in ALL if p.reported for c in expand(p.first())
    ]
    assert sum(map(bool, listed)) > 500
