"""What scikit-learn asks of an estimator: its own checks, and the same of lists of recordings."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator

from structsvm import MetricLearner, MetricLearnerCV
from structsvm.datasets import relevant_changes

# The checks give one matrix and one vector, which is one recording with its labels.
WEIGHTS = "a recording has one weight, and the check gives one to each of its rows"
ORDER = "rows are in order of time, and a label is a segment: both depend on the other rows"
WORDS = "the message is in the words of recordings: it names the recording and the offending value"
NO_MIXIN = "fit_transform(X, y=...) of the TransformerMixin takes one matrix"
ONE_RECORDING = "one matrix is one recording, of which cross-validation can hold nothing out"
N_CLUSTERS = "the check sets n_clusters to a number, and here it says how choices are judged"

EXPECTED_TO_FAIL = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weights_pandas_series": WEIGHTS,
    "check_sample_weights_not_an_array": WEIGHTS,
    "check_sample_weights_list": WEIGHTS,
    "check_sample_weights_shape": WEIGHTS,
    "check_sample_weights_not_overwritten": WEIGHTS,
    "check_all_zero_sample_weights_error": WEIGHTS,
    "check_methods_sample_order_invariance": ORDER,
    "check_methods_subset_invariance": ORDER,
    "check_n_features_in_after_fitting": WORDS,
    "check_complex_data": WORDS,
    "check_dtype_object": WORDS,
    "check_fit2d_1sample": WORDS,
    "check_transformer_data_not_an_array": NO_MIXIN,
}
EXPECTED_TO_FAIL_IN_CV = {
    **EXPECTED_TO_FAIL,
    "check_fit_score_takes_y": ONE_RECORDING,
    "check_transformer_general": ONE_RECORDING,
    "check_estimators_overwrite_params": ONE_RECORDING,
    "check_estimators_fit_returns_self": ONE_RECORDING,
    "check_readonly_memmap_input": ONE_RECORDING,
    "check_positive_only_tag_during_fit": ONE_RECORDING,
    "check_estimators_dtypes": ONE_RECORDING,
    "check_transformer_preserve_dtypes": ONE_RECORDING,
    "check_pipeline_consistency": ONE_RECORDING,
    "check_estimators_nan_inf": ONE_RECORDING,
    "check_estimators_pickle": ONE_RECORDING,
    "check_f_contiguous_array_estimator": ONE_RECORDING,
    "check_dict_unchanged": ONE_RECORDING,
    "check_fit_idempotent": ONE_RECORDING,
    "check_fit_check_is_fitted": ONE_RECORDING,
    "check_n_features_in": ONE_RECORDING,
    "check_dont_overwrite_parameters": N_CLUSTERS,
    "check_fit2d_1feature": N_CLUSTERS,
    "check_fit2d_predict1d": N_CLUSTERS,
}
# This one skips itself unless SCIPY_ARRAY_API was set before scipy was imported; the tags of the
# estimators do not declare support of other kinds of arrays.
NOT_RUN = {"check_array_api_input"}


def learner():
    return MetricLearner(lam=1.0)


def searching():
    return MetricLearnerCV(lams=[1.0], candidates=["untrained", "diagonal"], cv=2)


def recordings(n):
    found = relevant_changes(n, n_samples=200, n_features=4, n_relevant=2, random_state=0)
    return [recording.X for recording in found], [recording.y for recording in found]


def name_of(check):
    inner = check.func
    return inner.__name__ if hasattr(inner, "__name__") else inner.func.__name__


def checks():
    for estimator, expected in (
        (learner(), EXPECTED_TO_FAIL),
        (searching(), EXPECTED_TO_FAIL_IN_CV),
    ):
        kind = type(estimator).__name__
        count: dict[str, int] = {}
        for given, check in estimator_checks_generator(estimator):
            name = name_of(check)
            if name in NOT_RUN:
                continue
            count[name] = count.get(name, 0) + 1
            reason = expected.get(name)
            yield pytest.param(
                given,
                check,
                id=f"{kind}-{name}" + (f"-{count[name]}" if count[name] > 1 else ""),
                marks=[] if reason is None else pytest.mark.xfail(reason=reason),
            )


@pytest.mark.filterwarnings("ignore:one labelled recording:structsvm.errors.DataWarning")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_the_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


def test_no_check_is_expected_to_fail_that_is_not_there():
    there = {name_of(check) for _, check in estimator_checks_generator(learner())}
    assert EXPECTED_TO_FAIL_IN_CV.keys() | NOT_RUN <= there


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")  # four are few
@pytest.mark.parametrize("estimator", [learner(), searching()], ids=lambda e: type(e).__name__)
class TestWithListsOfRecordings:
    """What the checks hold with one matrix, held with several recordings."""

    Xs, ys = recordings(4)

    @pytest.fixture
    def fitted(self, estimator):
        return clone(estimator).fit(self.Xs, self.ys)

    def test_tags_say_what_it_learns_from(self, estimator):
        tags = get_tags(estimator)
        assert tags.target_tags.required
        assert tags.input_tags.three_d_array
        assert not tags.input_tags.sparse
        assert not tags.input_tags.allow_nan
        assert tags.transformer_tags is not None

    def test_inputs_are_left_as_they_were(self, estimator):
        Xs = [X.copy() for X in self.Xs]
        ys = [np.array(y) for y in self.ys]
        for array in (*Xs, *ys):
            array.setflags(write=False)
        fitted = clone(estimator).fit(Xs, ys)
        fitted.predict(Xs)
        fitted.transform(Xs)
        fitted.score(Xs, ys)
        for before, after in zip((*self.Xs, *self.ys), (*Xs, *ys), strict=True):
            np.testing.assert_array_equal(before, after)

    def test_fitting_leaves_parameters_as_they_were(self, estimator):
        mine = clone(estimator)
        before = mine.get_params()
        mine.fit(self.Xs, self.ys)
        assert mine.get_params() == before

    def test_fit_returns_itself(self, estimator):
        mine = clone(estimator)
        assert mine.fit(self.Xs, self.ys) is mine

    def test_fitting_again_gives_the_same(self, fitted):
        first = fitted.transform(self.Xs)
        fitted.fit(self.Xs, self.ys)
        for again, before in zip(fitted.transform(self.Xs), first, strict=True):
            np.testing.assert_array_equal(again, before)

    def test_predicting_changes_nothing_of_it(self, fitted):
        before = pickle.dumps(fitted)
        fitted.predict(self.Xs)
        fitted.transform(self.Xs)
        fitted.score(self.Xs, self.ys)
        assert pickle.dumps(fitted) == before

    def test_it_survives_pickling(self, fitted):
        other = pickle.loads(pickle.dumps(fitted))
        for mine, its in zip(fitted.predict(self.Xs), other.predict(self.Xs), strict=True):
            np.testing.assert_array_equal(mine, its)

    def test_a_clone_is_not_fitted(self, fitted):
        fresh = clone(fitted)
        for ask in (fresh.predict, fresh.transform):
            with pytest.raises(NotFittedError):
                ask(self.Xs)
        with pytest.raises(NotFittedError):
            fresh.score(self.Xs, self.ys)

    def test_it_counts_features_and_refuses_others(self, fitted):
        P = self.Xs[0].shape[1]
        assert fitted.n_features_in_ == P
        with pytest.raises(ValueError, match=f"recording 0 has 1 feature, the model has {P}"):
            fitted.predict([X[:, :1] for X in self.Xs])

    def test_three_dimensions_are_a_list(self, fitted):
        answers = fitted.predict(np.stack(self.Xs))
        for mine, its in zip(answers, fitted.predict(self.Xs), strict=True):
            np.testing.assert_array_equal(mine, its)

    def test_missing_values_are_refused(self, fitted):
        for value in (np.nan, np.inf):
            Xs = [X.copy() for X in self.Xs]
            Xs[1][3, 0] = value
            for ask in (fitted.predict, fitted.transform, lambda X: fitted.fit(X, self.ys)):
                with pytest.raises(ValueError, match=r"recording 1 has (nan|inf) in row 3, "):
                    ask(Xs)


class Matrix:
    """An array of another library, such as a tensor: numpy can read it."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


@pytest.mark.parametrize(
    "kind", [Matrix, lambda X: X.astype(object)], ids=["another library", "objects"]
)
def test_a_matrix_of_any_kind_is_one_recording(kind):
    Xs, ys = recordings(2)
    fitted = learner().fit(Xs, ys)
    np.testing.assert_array_equal(fitted.predict(kind(Xs[0])), fitted.predict(Xs[0]))
