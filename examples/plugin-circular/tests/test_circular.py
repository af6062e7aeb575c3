"""The oracle and the problem keep their contracts, and metrics are learned around the circle."""

import numpy as np
import pytest
from structsvm_circular import Circular, CircularOracle

from structsvm import MetricLearner, evaluate
from structsvm.errors import DataError, OracleError
from structsvm.oracles import all_partitions
from structsvm.partitions import Constraint, Instance, TraceObjective, plugins
from structsvm.testing import check_oracle, check_problem


def around_the_corner(seed, n=4, T=36):
    """Return sequences whose first feature tells the segments, one of which holds both ends."""
    rng = np.random.default_rng(seed)
    ys = []
    Xs = []
    for _ in range(n):
        first, second = np.sort(rng.choice(np.arange(4, T - 4), 2, replace=False))
        y = np.zeros(T, dtype=int)
        y[first:second] = 1
        ys.append(y)
        Xs.append(np.column_stack([2.0 * y, np.zeros(T)]) + rng.normal(size=(T, 2)) * [0.3, 2.0])
    return Xs, ys


def arcs(T):
    """Yield every partition of a circle into arcs, found without the oracle: by its changes."""
    for labels in all_partitions(T):
        changes = np.count_nonzero(labels != np.roll(labels, 1))
        n = labels.max() + 1
        if n == 1 or changes == n:
            yield labels


def test_the_oracle_keeps_its_contract():
    check_oracle(CircularOracle(), family=arcs)


def test_the_problem_keeps_its_contract():
    check_problem(Circular(), *around_the_corner(seed=0, n=2, T=14))


def test_their_names_lead_here():
    assert plugins.problem_class("circular") is Circular
    assert plugins.plugin_class(plugins.ORACLES, "circular") is CircularOracle


@pytest.mark.parametrize("K", [None, 3])
def test_a_turn_of_the_circle_turns_the_answer(K):
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(20, 2))
    oracle = CircularOracle()
    constraint = Constraint(n_clusters=K)
    answer = oracle.maximize(TraceObjective(Z, shift=-2.0), constraint)
    turned = oracle.maximize(TraceObjective(np.roll(Z, 7, axis=0), shift=-2.0), constraint)
    assert turned.value == pytest.approx(answer.value)
    assert turned.y == type(answer.y).from_labels(np.roll(answer.y.labels, 7))


def test_boundaries_are_refused():
    with pytest.raises(OracleError, match="does not take boundaries"):
        CircularOracle().maximize(TraceObjective(np.ones((4, 1))), Constraint(forced=(2,)))


def test_labels_join_around_the_corner():
    def encoded(labels, T):
        return Circular().encode(labels, Instance(np.zeros((T, 1))))

    assert encoded(["a", "a", "b", "a"], 4).labels.tolist() == [0, 0, 1, 0]
    assert encoded(["a", "b", "b", "c"], 4).labels.tolist() == [0, 1, 1, 2]
    assert encoded([5, 5, 5], 3).n_clusters == 1
    with pytest.raises(DataError, match=r"labels of shape \(3,\) for 4 samples"):
        encoded([0, 1, 1], 4)


def test_learning_beats_the_untrained_metric_on_new_sequences():
    learner = MetricLearner(Circular(), metric="diagonal").fit(*around_the_corner(seed=0))
    Xs, ys = around_the_corner(seed=1)
    scores = evaluate(learner, Xs, ys).scores
    assert scores["learned"]["loss"] < scores["untrained"]["loss"]
    assert all(labels[0] == labels[-1] for labels in learner.predict(Xs, n_clusters=2))
