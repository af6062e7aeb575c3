"""Predictions have the container of the input, and names match recordings with labels."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from cases import refused
from sklearn.base import clone

from structsvm import (
    DataError,
    EquivalenceMatrix,
    MetricLearner,
    MetricLearnerCV,
    PartialLabels,
    evaluate,
    load,
    margin_rates,
    save,
)
from structsvm.features import StateScores
from structsvm.io import Recording
from structsvm.learner.preparing import encode

pytestmark = pytest.mark.filterwarnings(
    "ignore::structsvm.errors.VerdictWarning", "ignore:the model was learned from"
)
METHODS = ("predict", "predict_partitions", "predict_segments", "transform")
PLAIN = MetricLearner(metric="diagonal")
SEARCH = MetricLearnerCV(lams=(0.1,), candidates=("untrained", "diagonal"), cv=2, random_state=0)


def states(n, seed):
    """Three states in some order, each with a mean of its own."""
    rng = np.random.default_rng(seed)
    lengths = [rng.permutation([10, 13, 17]) for _ in range(n)]
    ys = [np.repeat(rng.permutation(3), length) for length in lengths]
    return [3.0 * np.eye(3)[y] + rng.normal(size=(40, 3)) for y in ys], ys


def named(names, values):
    return dict(zip(names, values, strict=True))


XS, YS = states(6, 0)
NEW, TRUE = states(3, 1)
BY_NAME = named((3, 5, 4), NEW)
LABELS = {5: TRUE[1], 4: TRUE[2], 3: TRUE[0]}
FRAMES = [pd.DataFrame(X, columns=list("abc")) for X in XS]
RECORDINGS = [Recording(f"r{i}", XS[i], YS[i], ("a", "b", "c")) for i in range(6)]


@pytest.fixture(scope="module")
def learner():
    return clone(PLAIN).fit(FRAMES, YS)


@pytest.fixture(scope="module")
def search():
    return clone(SEARCH).fit(XS, YS)


def same(one, other):
    if isinstance(one, EquivalenceMatrix):
        return one.breakpoints == other.breakpoints
    return np.array_equal(one, other)


def price(*data, **how):
    return clone(PLAIN).fit(*data, **how).metric_.price


# ---- forms


class Held:
    """An array of another library, which numpy can read."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values


@pytest.mark.parametrize("method", METHODS)
def test_predictions_have_the_container_of_the_input(learner, method):
    ask = getattr(learner, method)
    listed = ask(XS)
    assert isinstance(listed, list)
    for one in (XS[0], FRAMES[0], RECORDINGS[0], Held(XS[0]), XS[0].astype(object)):
        assert same(ask(one), listed[0])
    by_name = ask(named("abcdef", FRAMES))
    assert list(by_name) == list("abcdef")
    for found in (by_name.values(), ask(RECORDINGS), ask(iter(XS))):
        assert all(same(a, b) for a, b in zip(found, listed, strict=True))


def test_recordings_and_names_bring_labels_and_features(learner):
    by_name = named("fdbcae", FRAMES), dict(sorted(named("fdbcae", YS).items()))
    assert learner.metric_.price == price(RECORDINGS) == price(*by_name)
    assert learner.metric_.price == price({r.name: r for r in RECORDINGS})
    turned = [r.in_order_of(r.features[::-1], "us") for r in RECORDINGS]
    assert learner.predict_breakpoints(turned) == learner.predict_breakpoints(RECORDINGS)
    tables = [pa.table(named("abc", X.T)) for X in XS]
    assert clone(PLAIN).fit(tables, YS).feature_names_in_.tolist() == ["a", "b", "c"]


def test_fit_predict_and_fit_transform_keep_the_container(learner):
    for method in ("predict", "transform"):
        found = getattr(clone(learner), f"fit_{method}")(XS, YS)
        assert all(map(np.array_equal, found, getattr(learner, method)(XS)))
    assert clone(learner).fit_predict(dict(enumerate(RECORDINGS)))[3].shape == (40,)


def test_iterators_are_accepted_for_all_arguments(learner):
    """Labels are looked at twice, and so are samples by whoever compares what finds segments."""
    once = clone(PLAIN).fit(
        iter(XS), iter(YS), sample_weight=iter([1.0] * 6), groups=iter("abcdef")
    )
    assert once.metric_.price == learner.metric_.price
    assert once.score(iter(XS), iter(YS)) == learner.score(XS, YS)
    search = clone(SEARCH).fit(iter(XS), iter(YS))
    for model in (search, search.best_estimator_.baselines_["untrained"]):
        assert all(map(np.array_equal, model.predict(iter(XS)), model.predict(XS)))
    seen = [evaluate(learner, f(XS), f(YS), baselines={"too": once}).scores for f in (list, iter)]
    assert seen[0] == seen[1]


test_input_that_cannot_be_learned_from_is_refused = refused(
    DataError,
    lambda Xs, ys: clone(PLAIN).fit(Xs, ys),
    ([RECORDINGS[0], Recording("bare", XS[0], None, ("a", "b", "c"))], None, "no labels: bare"),
    ([RECORDINGS[0], XS[1]], YS[:2], "recordings and other things are mixed"),
    ({"a": XS[0], "b": XS[1]}, {"a": YS[0]}, "'b' is only in one of them"),
    (sp.csr_matrix(XS[0]), YS[:1], r"sparse matrix: give X.toarray\(\)"),
)


def test_features_of_other_or_repeated_names_are_refused(learner):
    with pytest.raises(DataError, match="other has other features than the model"):
        learner.predict(Recording("other", XS[0], YS[0], ("x", "y", "z")))


TWICE = ["a", "a", "b"]
CONTAINERS = {
    "frames": lambda X: pd.DataFrame(X, columns=TWICE),
    "recordings": lambda X: Recording("one", X, None, tuple(TWICE)),
    "frames in time": lambda X: pd.DataFrame(
        X, columns=TWICE, index=pd.date_range("2024-03-01", periods=len(X), freq="s")
    ),
    "tables of arrow": lambda X: pa.table(list(X.T), names=TWICE),
}


@pytest.mark.parametrize("holder", CONTAINERS.values(), ids=CONTAINERS)
def test_two_features_of_one_name_are_refused_at_every_door(learner, holder):
    """Those of frames ended in an error of pandas, those of recordings were learned from."""
    said = "features need different names, repeated: 'a'"
    for Xs, ys in (([holder(X) for X in XS], YS), (holder(XS[0]), YS[0])):
        for one in (PLAIN, SEARCH):
            with pytest.raises(DataError, match=said):
                clone(one).fit(Xs, ys)
        for asked in (learner.predict, lambda xs, ys=ys: evaluate(learner, xs, ys)):
            with pytest.raises(DataError, match=said):
                asked(Xs)
    with pytest.raises(DataError, match=said):
        clone(PLAIN).fit(XS, YS, feature_names=TWICE)


# ---- names of samples


@pytest.mark.parametrize("kind", ["learner", "search"])
def test_score_takes_mappings_by_name(kind, request):
    one = request.getfixturevalue(kind)
    assert one.score(BY_NAME, LABELS) == one.score(NEW, TRUE)
    weighted = one.score(NEW, TRUE, sample_weight=[3, 0, 1])
    assert one.score(BY_NAME, LABELS, sample_weight={5: 0, 4: 1, 3: 3}) == weighted
    best = getattr(one, "best_estimator_", one)
    assert encode(best, BY_NAME, LABELS) == encode(best, NEW, TRUE)
    with pytest.raises(DataError, match="'stranger' is only in one of them"):
        one.score(BY_NAME, {**LABELS, "stranger": TRUE[0]})


def test_known_labels_may_be_given_for_one_recording_by_name(learner):
    known = np.repeat([-1, 0, 1], [38, 1, 1])
    found = learner.predict_segments(BY_NAME, known={5: known})
    assert found == named(BY_NAME, learner.predict_segments(NEW, known=[None, known, None]))
    assert found[5][-1]["start"] == 39
    with pytest.raises(DataError, match="instances and what is known are given by different names"):
        learner.predict(BY_NAME, known={"d": PartialLabels(n_clusters=2)})


# ---- groups


def folds(Xs, ys, groups):
    return clone(SEARCH).set_params(cv=3).fit(Xs, ys, groups=groups).fold_.tolist()


@pytest.mark.parametrize("unknown", [None, np.nan, pd.NA, ""], ids=["None", "NaN", "NA", "blank"])
def test_recordings_without_a_group_are_each_their_own_group(unknown):
    groups = [unknown, "bob", "cyd", unknown, "bob", "cyd"]
    if unknown is np.nan:
        groups = [unknown, 1.0, 2.0, unknown, 1.0, 2.0]
    message = r"the group of recording 0 is missing \(2 in all\): give one for each"
    with pytest.raises(DataError, match=message):
        folds(XS, YS, groups)
    with pytest.raises(DataError, match=message):
        StateScores("logistic").fit_transform(XS, YS, groups)


test_malformed_groups_are_refused = refused(
    DataError,
    lambda groups: folds(XS, YS, groups),
    ([1, "1", 2, 2, 3, 3], "groups do not compare .*: give text or numbers"),
    (set(range(6)), "groups is a set"),
    ("aabbcc", "groups is 'aabbcc', a text"),
    (np.ma.array([1, 1, 2, 2, 3, 3], mask=[1, 0, 0, 0, 0, 0]), "groups: .* masked"),
    ([1, 2, 3], r"6 recordings but groups of shape \(3,\)"),
)


# ---- what was found out of other data is forgotten


def test_rates_of_margins_do_not_outlive_the_recordings_they_were_measured_on(tmp_path):
    learner = clone(PLAIN).fit(XS, YS)
    learner.margin_rates_ = margin_rates(learner, XS, YS, cv=2)
    learner.columns_ = {"label": "state"}
    save(learner, tmp_path / "before")
    assert "rate" in learner.predict_segments(XS)[0][0]
    for one in (learner, load(tmp_path / "before")):
        one.fit(*states(6, 1))
        assert "rate" not in one.predict_segments(XS)[0][0]
        assert not hasattr(one, "columns_")
