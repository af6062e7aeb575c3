"""The structured SVM without partitions: classes and chains against independent solutions."""

import itertools
import sys
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from structsvm.problem import RegularizedRisk
from structsvm.regularizers import SquaredNorm
from structsvm.solvers import CuttingPlane, Stopping

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "generic_svm"))

import chain
import multiclass
from slack_rescaling import SlackRescaled


def program(problem, xs, ys, labellings, weights, rescale_slack=False):
    """The optimum by one quadratic program over all labellings, written from the definition."""
    w = cp.Variable(problem.weight_space().dim)
    slacks = cp.Variable(len(xs), nonneg=True)
    constraints = []
    for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
        others = labellings(x)
        away = np.array([problem.joint_feature(x, o) - problem.joint_feature(x, y) for o in others])
        losses = np.array([problem.loss(y, o) for o in others])
        scores = away @ w
        scores = cp.multiply(losses, 1 + scores) if rescale_slack else losses + scores
        constraints.append(slacks[i] >= scores)
    objective = cp.Minimize(0.5 * cp.sum_squares(w) + np.asarray(weights) @ slacks)
    return cp.Problem(objective, constraints).solve(solver="CLARABEL")


@pytest.fixture(scope="module")
def digits():
    data = load_digits()
    return data.data[:400] / 16.0, data.target[:400]


@pytest.fixture
def blobs(rng):
    """Three overlapping classes in the plane, with a constant feature."""
    y = np.arange(18) % 3
    X = np.column_stack([np.eye(3)[y][:, :2] + 0.7 * rng.normal(size=(18, 2)), np.ones(18)])
    return X, y.tolist()


def every_labelling(T, n_states):
    labellings = [np.array(y) for y in itertools.product(range(n_states), repeat=T)]
    return lambda _: labellings


# ---- classes


def test_digits_as_crammer_and_singer_by_liblinear(digits):
    X, y = digits
    C = 0.05
    peer = LinearSVC(
        multi_class="crammer_singer",
        C=C,
        fit_intercept=False,
        tol=1e-6,
        max_iter=100_000,
        random_state=0,
    ).fit(X, y)
    margins = X @ peer.coef_.T
    hinge = (margins + 1 - np.eye(10)[y]).max(axis=1) - margins[np.arange(len(y)), y]
    best = 0.5 * np.sum(peer.coef_**2) + C * hinge.sum()
    problem = multiclass.Multiclass(10, 64)
    solution = multiclass.train(problem, X, y.tolist(), C=C, tol=1e-5)
    assert solution.status.converged
    assert solution.lower <= best + 1e-9
    assert best == pytest.approx(solution.upper, rel=1e-4)
    agree = np.mean([problem.predict(solution.w, x) for x in X] == peer.predict(X))
    assert agree > 0.99


@pytest.mark.parametrize("rescale_slack", [False, True])
@pytest.mark.parametrize("costs", [None, np.array([[0, 1, 4], [2, 0, 1], [1, 3, 0.0]])])
def test_classes_reach_the_optimum_over_all_labellings(blobs, costs, rescale_slack):
    X, y = blobs
    problem = multiclass.Multiclass(3, 3, costs)
    weights = np.linspace(0.2, 2.0, len(y))
    best = program(problem, X, y, lambda _: range(3), weights, rescale_slack)
    learned = SlackRescaled(problem) if rescale_slack else problem
    labels = learned.truths(y) if rescale_slack else y
    risk = RegularizedRisk(learned, X, labels, SquaredNorm(), weights, np.zeros(9))
    for slack in ("n", "one"):
        solution = CuttingPlane(Stopping(1e-7, 2000), slack).solve(risk)
        assert solution.lower <= best + 1e-6 * best
        assert solution.upper == pytest.approx(best, rel=1e-6)


def test_the_weight_of_a_sample_is_how_often_it_is_there(blobs):
    X, y = blobs
    problem = multiclass.Multiclass(3, 3)
    counts = np.arange(len(y)) % 3 + 1
    weighted = multiclass.train(problem, X, y, sample_weight=counts, tol=1e-8)
    repeated = multiclass.train(
        problem, np.repeat(X, counts, axis=0), np.repeat(y, counts).tolist(), tol=1e-8
    )
    assert weighted.upper == pytest.approx(repeated.upper, rel=1e-6)
    np.testing.assert_allclose(weighted.w, repeated.w, atol=1e-3)


# ---- chains


@pytest.mark.parametrize("rescale_slack", [False, True])
def test_chains_reach_the_optimum_over_all_labellings(rescale_slack):
    xs, ys = chain.sequences(5, T=5, n_states=3, seed=1)
    problem = chain.Chain(3, 3)
    best = program(problem, xs, ys, every_labelling(5, 3), np.ones(5), rescale_slack)
    learned = SlackRescaled(problem) if rescale_slack else problem
    labels = learned.truths(ys) if rescale_slack else ys
    solution = chain.train(learned, xs, labels, tol=1e-6)
    assert solution.status.converged
    assert solution.lower <= best + 1e-6 * best
    assert solution.upper == pytest.approx(best, rel=1e-5)


def test_both_rescalings_are_the_same_for_a_loss_of_zero_or_one(blobs):
    X, y = blobs
    problem = multiclass.Multiclass(3, 3)
    plain = chain.train(problem, X, y, tol=1e-8)
    rescaled = SlackRescaled(problem)
    assert chain.train(rescaled, X, rescaled.truths(y), tol=1e-8).upper == pytest.approx(
        plain.upper, rel=1e-6
    )


def test_the_oracles_of_chains_find_the_maximum(rng):
    problem, T = chain.Chain(3, 2), 5
    labellings = every_labelling(T, 3)(None)
    for _ in range(20):
        w = rng.normal(size=problem.weight_space().dim)
        x, y = rng.normal(size=(T, 2)), rng.integers(3, size=T)
        scores = np.array([problem.joint_feature(x, o) @ w for o in labellings])
        losses = np.array([problem.loss(y, o) for o in labellings])

        def score(labelling, w=w, x=x):
            return problem.joint_feature(x, labelling) @ w

        found = problem.separate(w, x, y).y
        assert problem.loss(y, found) + score(found) == pytest.approx((losses + scores).max())
        assert score(problem.predict(w, x)) == pytest.approx(scores.max())
        by_errors = problem.best_at_each_loss(w, x, y)
        assert [problem.loss(y, o) for o in by_errors] == [k / T for k in range(T + 1)]
        for o in by_errors:
            same = np.isclose(losses, problem.loss(y, o))
            assert score(o) == pytest.approx(scores[same].max())


def test_a_chain_is_better_than_its_samples_one_by_one():
    xs, ys = chain.sequences(40, T=25)
    problem = chain.Chain(4, 4)
    solution = chain.train(problem, xs[:20], ys[:20], tol=1e-2)
    assert solution.status.converged
    test = list(zip(xs[20:], ys[20:], strict=True))
    learned = np.mean([problem.loss(y, problem.predict(solution.w, x)) for x, y in test])
    alone = np.mean([problem.loss(y, x.argmax(axis=1)) for x, y in test])
    assert learned < 0.8 * alone


def test_the_examples_run(capsys):
    multiclass.main()
    chain.main()
    out = capsys.readouterr().out
    accuracy = float(out.split("digits held out: ")[1].split()[0])
    assert accuracy > 0.93
