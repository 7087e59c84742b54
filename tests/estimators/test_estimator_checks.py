"""scikit-learn's own checks, for every estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from simcomplete.estimators import SMCNN, SimilarityCompleter, SMCNmF


@parametrize_with_checks(
    [
        SMCNN(),
        SMCNN(metric="pearson", positive=True),
        SMCNmF(),
        SimilarityCompleter(),
        SimilarityCompleter(method="smc_nr", rank=3),
        SimilarityCompleter(method="smc_f", params={"variant": "paper"}),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
