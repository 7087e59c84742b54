"""scikit-learn's own checks, for every estimator and every method."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import simcomplete as sc
from simcomplete.estimators import SMCNN, NearestCorrelation, PosteriorCompleter, SimilarityCompleter, SMCNmF

# Few iterations are enough for the contract; what the methods reach is tested elsewhere.
SHORT = {
    "gr": {"max_iter": 2},
    "kfmc": {"max_iter": 1, "inner": 3, "atoms": 5},
    "bpmf": {"max_iter": 4, "burn_in": 1},
    "fgsr": {"max_iter": 3},
    "nnfn": {"max_iter": 3},
    "facnnfn": {"max_iter": 3},
    "cmc": {"max_iter": 2},
    "posterior": {"effort": "fast"},
}


@parametrize_with_checks(
    [
        SMCNN(),
        SMCNN(metric="pearson", positive=True),
        SMCNmF(),
        NearestCorrelation(),
        SimilarityCompleter(method="auto", params={"effort": "fast"}),
        SimilarityCompleter(method="smc_f", params={"variant": "paper"}),
        PosteriorCompleter(effort="fast"),
        *(SimilarityCompleter(method=method.name, params=SHORT.get(method.name)) for method in sc.methods()),
    ]
)
@pytest.mark.filterwarnings("ignore::simcomplete.errors.NotConvergedWarning")
@pytest.mark.filterwarnings("ignore::simcomplete.errors.InputWarning")  # some checks use values about 100
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", sc.methods(), ids=lambda method: method.name)
def test_transform_is_there_where_the_method_has_an_out_of_sample_form(method):
    assert hasattr(SimilarityCompleter(method=method.name), "transform") == method.out_of_sample
    assert method.out_of_sample == (method.name in ("smcnn", "smcnmf", "smc_nr", "smc_f", "posterior"))
