"""Arrays, frames and names of other kinds give the same answer in the same form, or a reason."""

import enum

import numpy as np
import pyarrow as pa
import pytest

from structsvm import MetricLearner, MetricLearnerCV, evaluate
from structsvm.errors import DataError
from structsvm.features import StateScores

pytestmark = pytest.mark.filterwarnings(
    "ignore::structsvm.errors.VerdictWarning", "ignore:the model was learned from 4 of these"
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    ys = [np.repeat(rng.permutation(3), [12, 15, 13]) for _ in range(4)]
    return [np.eye(3)[y] @ np.diag([3, 4, 5]) + rng.normal(size=(40, 3)) for y in ys], ys


class Held:
    """An array of another library, which numpy can read."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values


@pytest.mark.parametrize("kind", [Held, lambda X: X.astype(object)], ids=["foreign", "objects"])
def test_one_array_of_any_kind_has_one_answer(data, kind):
    Xs, ys = data
    learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    one = kind(Xs[0])
    np.testing.assert_array_equal(learner.predict(one), learner.predict(Xs[0]))
    assert learner.predict_breakpoints(one) == learner.predict_breakpoints(Xs[0])
    np.testing.assert_array_equal(learner.transform(one), learner.transform(Xs[0]))


def test_what_can_be_gone_through_only_once(data):
    """Labels are looked at twice, and so are samples by whoever compares what finds segments."""
    Xs, ys = data
    learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    again = MetricLearner(metric="diagonal")
    again.fit(iter(Xs), iter(ys), sample_weight=iter([1.0] * 4), groups=iter("abcd"))
    assert again.metric_.price == learner.metric_.price
    assert again.score(iter(Xs), iter(ys)) == learner.score(Xs, ys)
    candidates = ("untrained", "diagonal")
    search = MetricLearnerCV(lams=(0.1,), candidates=candidates, cv=2, random_state=0)
    search.fit(iter(Xs), iter(ys))
    for model in (search, search.best_estimator_.baselines_["untrained"]):
        found = zip(model.predict(iter(Xs)), model.predict(Xs), strict=True)
        assert all(np.array_equal(one, other) for one, other in found)
    seen = [
        evaluate(learner, form(Xs), form(ys), baselines={"untrained too": again}).scores
        for form in (list, iter)
    ]
    assert seen[0] == seen[1]


def test_a_table_of_arrow_has_the_names_of_its_columns(data):
    """Its attribute of this name holds the values."""
    Xs, ys = data
    tables = [pa.table(dict(zip("abc", X.T, strict=True))) for X in Xs]
    learner = MetricLearner(metric="diagonal").fit(tables, ys)
    assert learner.feature_names_in_.tolist() == ["a", "b", "c"]
    assert np.array_equal(learner.predict(tables[0]), learner.predict(tables)[0])


class Posture(enum.Enum):
    """Members of an enumeration do not compare."""

    LYING, SITTING, STANDING = range(3)


def test_names_of_states_that_do_not_compare_are_refused(data):
    Xs, ys = data
    names = [[Posture(k) for k in y] for y in ys]
    MetricLearner(metric="diagonal").fit(Xs, names)  # where they change is all it asks
    with pytest.raises(DataError, match=r"StateScores .* do not compare .*: give text or numbers"):
        MetricLearner(metric="diagonal", features=StateScores("logistic")).fit(Xs, names)
