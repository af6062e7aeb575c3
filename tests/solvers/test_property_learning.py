"""Learning on cases drawn by hypothesis: a certified metric or our error, with invariances.

Invariances are those of the certified optimum, which does not depend on the order of recordings and
features, their unit and level, copies or weights, labels or breakpoints.
"""

import warnings
from itertools import chain

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import examples, matrices, segmentations

from structsvm import Clustering, MetricLearner, StructSVMError, evaluate
from structsvm.solvers import CuttingPlane, Stopping

TIGHT = CuttingPlane(Stopping(tol=1e-6, max_iter=200))
LOOSE = 2e-5
"""How far two optima may be apart that are known to within 1e-6 of what can be gained."""


@st.composite
def recordings(draw, most=3, length=12, features=3):
    """A few short recordings with their labels, a change in one of them at least."""
    P = draw(st.integers(1, features))
    made = []
    for _ in range(draw(st.integers(1, most))):
        T = draw(st.integers(2, length))
        made.append((draw(matrices(T, P)), draw(segmentations(T))))
    return [X for X, _ in made], [y for _, y in made]


@st.composite
def usual(draw, n=3):
    """Recordings as they come: noise and jumps, none of them degenerate."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    P = draw(st.integers(1, 3))
    Xs = []
    ys = []
    for _ in range(n):
        T = int(rng.integers(8, 20))
        y = np.cumsum(rng.random(T) < 0.25)
        y[-1] = y[-2] + 1
        Xs.append(rng.normal(size=(T, P)) + 2 * rng.normal(size=(y.max() + 1, P))[y])
        ys.append(y)
    return Xs, ys


def learned(Xs, ys, **settings):
    """A learner, or None where it says why not."""
    fit = {name: settings.pop(name) for name in ("sample_weight",) if name in settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return MetricLearner(**settings).fit(Xs, ys, **fit)
        except StructSVMError:
            return None


def optimum(Xs, ys, **settings):
    """The certified interval of the objective."""
    learner = learned(Xs, ys, solver=TIGHT, **settings)
    assume(learner is not None)
    return learner.solution_.lower, learner.solution_.upper


def assert_same(one, other):
    """Both intervals hold the same optimum."""
    slack = LOOSE * (1 + abs(one[1]))
    assert one[0] <= other[1] + slack
    assert other[0] <= one[1] + slack


@examples(20)
@given(
    recordings(),
    st.sampled_from(["full", "diagonal"]),
    st.sampled_from([None, "recording", "training"]),
)
def test_a_fit_is_certified_and_finite_or_refused(data, metric, standardize):
    Xs, ys = data
    learner = learned(Xs, ys, metric=metric, standardize=standardize)
    if learner is None:
        return
    solution = learner.solution_
    assert np.isfinite([solution.lower, solution.upper]).all()
    assert solution.lower <= solution.upper
    ridge = 0.05 / 2  # of the price that stands for no learning
    assert solution.upper <= (solution.null + ridge) * (1 + 1e-9)
    B = learner.get_mahalanobis_matrix()
    assert np.isfinite(B).all()
    assert np.linalg.eigvalsh(B).min() >= -1e-9 * max(1.0, np.abs(B).max())
    assert learner.metric_.price > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as of a feature that one recording does not vary
        predicted = learner.predict(Xs)
        scores = evaluate(learner, Xs, ys).scores
    for y, found in zip(ys, predicted, strict=True):
        assert found.shape == y.shape
        assert set(np.diff(found)) <= {0, 1}
    assert all(
        v is None or np.isfinite(v)
        for v in chain.from_iterable(row.values() for row in scores.values())
    )


@examples(10)
@given(st.data())
def test_a_table_is_clustered_or_refused(data):
    T = data.draw(st.integers(2, 12))
    X = data.draw(matrices(T, st.integers(1, 3)))
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=T, max_size=T)))
    learner = learned([X], [y], problem=Clustering(), solver=CuttingPlane(Stopping(max_iter=10)))
    if learner is None:
        return
    assert learner.solution_.lower <= learner.solution_.upper
    assert np.isfinite(learner.get_mahalanobis_matrix()).all()
    (found,) = learner.predict([X], n_clusters=2)
    assert np.unique(found).size == 2


@examples(5)
@given(usual(), st.data(), st.sampled_from(["full", "diagonal"]))
def test_neither_the_order_of_recordings_nor_that_of_features_matters(data, draws, metric):
    Xs, ys = data
    here = optimum(Xs, ys, metric=metric)
    order = draws.draw(st.permutations(range(len(Xs))))
    assert_same(here, optimum([Xs[i] for i in order], [ys[i] for i in order], metric=metric))
    columns = np.array(draws.draw(st.permutations(range(Xs[0].shape[1]))))
    assert_same(here, optimum([X[:, columns] for X in Xs], ys, metric=metric))


@examples(5)
@given(
    usual(),
    st.sampled_from([1e-6, 1e-2, 1e3, 1e7]),
    st.sampled_from([0.0, 5.0, -1e4]),
    st.sampled_from([None, "recording", "training"]),
)
def test_unit_and_level_of_features_do_not_matter(data, unit, level, standardize):
    """One unit for all features without scaling, as the untrained metric has it."""
    Xs, ys = data
    settings = {"metric": "diagonal", "standardize": standardize}
    moved = [unit * (X + level) for X in Xs]
    assert_same(optimum(Xs, ys, **settings), optimum(moved, ys, **settings))


@examples(5)
@given(usual(), st.sampled_from(["full", "diagonal"]))
def test_recordings_played_backwards_teach_the_same(data, metric):
    Xs, ys = data
    back = [X[::-1].copy() for X in Xs], [y[::-1].copy() for y in ys]
    assert_same(optimum(Xs, ys, metric=metric), optimum(*back, metric=metric))


@examples(5)
@given(usual(), st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any))
def test_a_weight_stands_for_copies(data, counts):
    Xs, ys = data
    copies = np.repeat(np.arange(3), counts).tolist()
    many = optimum([Xs[i] for i in copies], [ys[i] for i in copies], metric="diagonal")
    weighted = optimum(Xs, ys, metric="diagonal", sample_weight=[float(c) for c in counts])
    assert_same(many, weighted)


@examples(8)
@given(usual(), st.data())
def test_a_prediction_does_not_depend_on_what_else_is_predicted(data, draws):
    Xs, ys = data
    learner = learned(Xs, ys, metric="diagonal")
    assume(learner is not None)
    alone = [learner.predict([X])[0] for X in Xs]
    for one, other in zip(alone, learner.predict(Xs), strict=True):
        np.testing.assert_array_equal(one, other)
    K = draws.draw(st.integers(1, 8))
    for labels in learner.predict(Xs, n_clusters=K):
        assert labels.max() == K - 1


@examples(12)
@given(st.data())
def test_labels_in_part_are_learned_from_or_refused(data):
    Xs, ys = data.draw(recordings(length=10))
    blanks = [
        np.array(data.draw(st.lists(st.booleans(), min_size=len(y), max_size=len(y)))) for y in ys
    ]
    partial = [np.where(blank, -1, y) for y, blank in zip(ys, blanks, strict=True)]
    learner = learned(Xs, partial, metric="diagonal", solver=CuttingPlane(Stopping(max_iter=20)))
    if learner is None:
        return
    assert np.isfinite(learner.get_mahalanobis_matrix()).all()
    assert learner.solution_.lower <= learner.solution_.upper
