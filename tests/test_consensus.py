"""The consensus of estimators: exact, named, and an estimator like others."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from structsvm import EquivalenceMatrix, MetricLearner, MetricLearnerCV
from structsvm.errors import DataError, SettingsError
from structsvm.partitions import Candidate, Rival
from structsvm.partitions.losses import partition_loss
from structsvm.rivals import BoundaryClassifier, Consensus, EqualSegments, FrameClassifier
from structsvm.rivals.consensus import nearest_segmentation

NAMES = np.array(["sit", "walk", "turn"])


def members() -> list[tuple[str, object]]:
    return [
        ("metric", MetricLearner(metric="diagonal")),
        ("frames", FrameClassifier("logistic")),
        ("edges", BoundaryClassifier("logistic", widths=(5,))),
    ]


@pytest.fixture(scope="module")
def data():
    """Five stretches of one of three states, which differ in their means."""
    rng = np.random.default_rng(0)
    states = [np.repeat(rng.permutation([0, 1, 2, 0, 1]), 16) for _ in range(6)]
    means = 4.0 * np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    return [means[y] + rng.standard_normal((80, 4)) for y in states], [NAMES[y] for y in states]


@pytest.fixture(scope="module")
def fitted(data):
    Xs, ys = data
    return Consensus(members()).fit(Xs[:5], ys[:5])


def losses(guess: list[int], ends: list[list[int]], weights: np.ndarray) -> float:
    to = EquivalenceMatrix.from_breakpoints
    return sum(w * partition_loss(to(guess), to(e)) for w, e in zip(weights, ends, strict=True))


@pytest.mark.parametrize("known", [False, True])
def test_no_segmentation_is_nearer(known: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(150):
        T = int(rng.integers(1, 9))
        weights = rng.uniform(0.3, 2.0, int(rng.integers(1, 4)))
        sizes = rng.integers(1, T + 1, weights.size)
        if known:
            sizes[:] = sizes[0]
        inner = [rng.choice(np.arange(1, T), K - 1, replace=False) for K in sizes]
        ends = [[*sorted(found.tolist()), T] for found in inner]
        found = nearest_segmentation(ends, weights, int(sizes[0]) if known else None)
        every = (
            [*changes, T]
            for K in ([sizes[0]] if known else range(1, T + 1))
            for changes in itertools.combinations(range(1, T), K - 1)
        )
        least = min(losses(guess, ends, weights) for guess in every)
        assert losses(found, ends, weights) == pytest.approx(least, abs=1e-9)


def test_what_two_of_three_see_is_kept() -> None:
    ends = [[30, 60, 100], [31, 100], [30, 61, 100]]
    assert nearest_segmentation(ends, np.ones(3)) == [30, 60, 100]
    assert nearest_segmentation(ends, np.array([1.0, 9.0, 1.0])) == [31, 100]


def test_recordings_of_different_lengths_have_none() -> None:
    with pytest.raises(DataError, match=r"of \[5, 6\] samples"):
        nearest_segmentation([[5], [6]], np.ones(2))


def test_it_segments_and_names(data, fitted) -> None:
    Xs, ys = data
    (ends,), (states,), (numbers,) = (
        ask(Xs[5:]) for ask in (fitted.predict_breakpoints, fitted.predict_states, fitted.predict)
    )
    each = [member.predict_breakpoints(Xs[5:])[0] for member in fitted.estimators_.values()]
    assert ends == nearest_segmentation(each, np.ones(3))
    assert numbers.max() + 1 == len(ends)
    assert set(states.tolist()) <= set(fitted.classes_.tolist()) == set(NAMES.tolist())
    assert all(len(set(part.tolist())) == 1 for part in np.split(states, ends[:-1]))
    assert (states == ys[5]).mean() > 0.8
    assert [len(ends) for ends in fitted.predict_breakpoints(Xs[4:], [3, 5])] == [
        3,
        5,
    ]


def test_it_is_an_estimator(data, fitted) -> None:
    Xs, _ = data
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict_breakpoints(Xs) == fitted.predict_breakpoints(Xs)
    assert clone(fitted).get_params()["estimators"][0][0] == "metric"
    assert not hasattr(clone(fitted), "estimators_")


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
def test_it_can_be_chosen(data) -> None:
    Xs, ys = data
    edges = BoundaryClassifier("logistic", widths=(5,))
    rival = Rival("both", Consensus([("metric", MetricLearner()), ("edges", edges)]))
    search = MetricLearnerCV(
        candidates=["untrained", "diagonal", Candidate("both", rival=rival)], cv=3
    )
    search.fit(Xs, ys)
    assert "both" in search.verdict_.contrasts
    assert len(search.partition_with("both", Xs)) == len(Xs)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimators": []}, "estimators must be a list"),
        ({"estimators": [("a", EqualSegments()), ("a", EqualSegments())]}, "different texts"),
        ({"estimators": [("a", NAMES)]}, "a has no fit and predict_breakpoints"),
        ({"estimators": [("a", EqualSegments())], "weights": [0.0]}, "1 positive numbers"),
        ({"estimators": [("a", EqualSegments())], "weights": "x"}, "1 positive numbers"),
    ],
)
def test_settings_it_cannot_have(data, settings, message) -> None:
    with pytest.raises(SettingsError, match=message):
        Consensus(**settings).fit(*data)


def test_errors_name_the_estimator(data) -> None:
    Xs, _ = data
    with pytest.raises(DataError) as raised:
        Consensus(members()).fit(Xs, [[80]] * len(Xs))
    assert "while fitting metric of a consensus" in raised.value.__notes__


def test_without_names_there_are_no_states(data) -> None:
    Xs, _ = data
    found = Consensus([("equal", EqualSegments())]).fit(Xs, [[40, 80]] * len(Xs))
    assert found.classes_ is None
    with pytest.raises(SettingsError, match="names states: add a FrameClassifier"):
        found.predict_states(Xs)
    assert found.predict_breakpoints([np.zeros((1, 4))]) == [[1]]
    with pytest.raises(DataError, match="takes a list of recordings"):
        found.predict_breakpoints({"a": Xs[0]})
