"""What scikit-learn asks of an estimator: its own checks, and the same of lists of recordings."""

import pickle

import numpy as np
import pytest
from generic_examples import multiclass
from recording_cases import changes
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator

from structsvm import MetricLearner, MetricLearnerCV, StructuredSVM

# The checks give one matrix and one vector, which is one recording with its labels.
WEIGHTS = "a recording has one weight, and the check gives one to each of its rows"
ORDER = "rows are in order of time, and a label is a segment: both depend on the other rows"
WORDS = "the message is in the words of this library: it names the place and the offending value"
NO_MIXIN = "fit_transform(X, y=...) of the TransformerMixin takes one matrix"
ONE_RECORDING = "one matrix is one recording, of which cross-validation can hold nothing out"
N_CLUSTERS = "the check sets n_clusters to a number, and here it says how choices are judged"
VECTOR = "a vector is a sequence of samples that are numbers, and this problem has vectors"
ANYTHING = "samples are whatever the problem takes, so that the problem refuses or reads objects"


EXPECTED_TO_FAIL = {
    WEIGHTS: "sample_weight_equivalence_on_dense_data sample_weights_pandas_series "
    "sample_weights_not_an_array sample_weights_list sample_weights_shape "
    "sample_weights_not_overwritten all_zero_sample_weights_error",
    ORDER: "methods_sample_order_invariance methods_subset_invariance",
    WORDS: "n_features_in_after_fitting complex_data dtype_object fit2d_1sample",
    NO_MIXIN: "transformer_data_not_an_array",
}
EXPECTED_TO_FAIL_IN_CV = {
    **EXPECTED_TO_FAIL,
    ONE_RECORDING: "fit_score_takes_y transformer_general estimators_overwrite_params "
    "estimators_fit_returns_self readonly_memmap_input positive_only_tag_during_fit "
    "estimators_dtypes transformer_preserve_dtypes pipeline_consistency estimators_nan_inf "
    "estimators_pickle f_contiguous_array_estimator dict_unchanged fit_idempotent "
    "fit_check_is_fitted n_features_in",
    N_CLUSTERS: "dont_overwrite_parameters fit2d_1feature fit2d_predict1d",
}
EXPECTED_TO_FAIL_OF_VECTORS = {
    WORDS: "n_features_in_after_fitting complex_data all_zero_sample_weights_error",
    ANYTHING: "dtype_object",
    VECTOR: "fit1d",
}
NOT_RUN = "check_array_api_input"
"""Skips itself unless SCIPY_ARRAY_API was set before scipy was imported."""


def name_of(check):
    inner = check.func
    return inner.__name__ if hasattr(inner, "__name__") else inner.func.__name__


def checks(estimator, failing):
    """Each check as a case; those that fail here are expected to, for a stated reason."""
    reasons = {}
    for why, failing_names in failing.items():
        reasons |= {f"check_{name}": why for name in failing_names.split()}
    names: list[str] = []
    for given, check in estimator_checks_generator(estimator):
        names.append(name_of(check))
        if names[-1] != NOT_RUN:
            case = f"{type(estimator).__name__}-{names[-1]}-{names.count(names[-1])}"
            yield pytest.param(given, check, reasons.get(names[-1]), id=case)
    assert reasons.keys() <= set(names)


LEARNER = MetricLearner(lam=1.0)
SEARCH = MetricLearnerCV(lams=[1.0], candidates=["untrained", "diagonal"], cv=2)
SVM = StructuredSVM(multiclass.Multiclass(), lam=0.1)
CASES = [
    *checks(LEARNER, EXPECTED_TO_FAIL),
    *checks(SEARCH, EXPECTED_TO_FAIL_IN_CV),
    *checks(SVM, EXPECTED_TO_FAIL_OF_VECTORS),
]


@pytest.mark.filterwarnings("ignore:one labelled recording:structsvm.errors.DataWarning")
@pytest.mark.parametrize(("estimator", "check", "reason"), CASES)
def test_the_checks_of_scikit_learn_pass(estimator, check, reason):
    is_failed = False
    try:
        check(estimator)
    except Exception:
        if reason is None:
            raise
        is_failed = True
    if is_failed:  # here, because to write down where a check failed takes longer than the check
        pytest.xfail(reason)


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")  # four are few
@pytest.mark.parametrize("estimator", [LEARNER, SEARCH], ids=lambda e: type(e).__name__)
class TestWithListsOfRecordings:
    """What the checks hold with one matrix, held with several recordings."""

    Xs, ys = changes(4)

    @pytest.fixture
    def fitted(self, estimator):
        return clone(estimator).fit(self.Xs, self.ys)

    def test_tags_of_estimators_describe_their_input(self, estimator):
        tags = get_tags(estimator)
        assert tags.target_tags.required
        assert tags.input_tags.three_d_array
        assert not tags.input_tags.sparse
        assert not tags.input_tags.allow_nan
        assert tags.transformer_tags is not None

    def test_fit_and_predict_change_neither_inputs_nor_parameters(self, estimator):
        Xs = [X.copy() for X in self.Xs]
        ys = [np.array(y) for y in self.ys]
        for array in (*Xs, *ys):
            array.setflags(write=False)
        mine = clone(estimator)
        parameters = mine.get_params()
        assert mine.fit(Xs, ys) is mine
        assert mine.get_params() == parameters
        before = pickle.dumps(mine)
        mine.predict(Xs)
        mine.transform(Xs)
        mine.score(Xs, ys)
        assert pickle.dumps(mine) == before
        for given, after in zip((*self.Xs, *self.ys), (*Xs, *ys), strict=True):
            np.testing.assert_array_equal(given, after)

    def test_refitting_pickling_and_3d_arrays_give_the_same_predictions(self, fitted):
        expected = fitted.predict(self.Xs)
        again = clone(fitted).fit(self.Xs, self.ys).fit(self.Xs, self.ys)
        for other in (again, pickle.loads(pickle.dumps(fitted))):
            for found, before in zip(other.predict(np.stack(self.Xs)), expected, strict=True):
                np.testing.assert_array_equal(found, before)

    def test_estimators_refuse_another_number_of_features(self, fitted):
        assert fitted.n_features_in_ == 4
        with pytest.raises(ValueError, match="recording 0 has 1 feature, the model has 4"):
            fitted.predict([X[:, :1] for X in self.Xs])
