"""The structured SVM without partitions: classes and chains against independent solutions."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from generic_examples import (
    blobs,
    chain,
    every_labelling,
    few_weights,
    multiclass,
    program,
    slack_rescaling,
)
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from structsvm import StructuredSVM
from structsvm.regularizers import Custom
from structsvm.solvers import CuttingPlane, Stopping

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "generic_svm"
SlackRescaled = slack_rescaling.SlackRescaled
COSTS = ((0.0, 1.0, 4.0), (2.0, 0.0, 1.0), (1.0, 3.0, 0.0))


def exactly(problem, tol=1e-6, slack="n", **settings):
    """A learner of a small gap."""
    solver = CuttingPlane(Stopping(tol, max_iter=2000), slack)
    return StructuredSVM(problem, solver=solver, **settings)


def assert_optimal(svm, best, rel=1e-5):
    assert svm.converged_
    assert svm.solution_.lower <= best + 1e-6 * best
    assert svm.solution_.upper == pytest.approx(best, rel=rel)


# ---- classes


def test_digits_as_crammer_and_singer_by_liblinear():
    data = load_digits()
    X, y = data.data[:400] / 16.0, data.target[:400]
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
    lam = 1 / (C * len(y))
    best = lam * 0.5 * np.sum(peer.coef_**2) + hinge.mean()
    svm = exactly(multiclass.Multiclass(), tol=1e-5, slack="one", lam=lam).fit(X, y)
    assert_optimal(svm, best, rel=1e-4)
    assert np.mean(np.array(svm.predict(X)) == peer.predict(X)) > 0.99


@pytest.mark.parametrize("rescale_slack", [False, True])
@pytest.mark.parametrize("costs", [None, COSTS])
@pytest.mark.parametrize("slack", ["n", "one"])
def test_classes_reach_the_optimum_over_all_labellings(rng, costs, rescale_slack, slack):
    X, y = blobs(rng)
    problem = multiclass.Multiclass((0, 1, 2), 3, costs)
    weights = np.linspace(0.2, 2.0, len(y))
    best = program(problem, X, y, lambda _: range(3), weights, rescale_slack) / weights.sum()
    learned = SlackRescaled(problem) if rescale_slack else problem
    labels = learned.truths(y) if rescale_slack else y
    svm = exactly(learned, 1e-7, slack, lam=1 / weights.sum())
    assert_optimal(svm.fit(X, labels, sample_weight=weights), best, rel=1e-6)


def test_the_weight_of_a_sample_is_how_often_it_is_there(rng):
    X, y = blobs(rng)
    svm = exactly(multiclass.Multiclass(), 1e-8, lam=0.05)
    counts = np.arange(len(y)) // 3 % 3
    weighted = svm.fit(X, y, sample_weight=counts).solution_
    repeated = svm.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).solution_
    assert weighted.upper == pytest.approx(repeated.upper, rel=1e-6)
    np.testing.assert_allclose(weighted.w, repeated.w, atol=1e-3)


# ---- chains


@pytest.mark.parametrize("rescale_slack", [False, True])
def test_chains_reach_the_optimum_over_all_labellings(rescale_slack):
    xs, ys = chain.sequences(5, T=5, n_states=3, seed=1)
    problem = chain.Chain(3, 3)
    best = program(problem, xs, ys, every_labelling(5, 3), np.ones(5), rescale_slack) / 5
    learned = SlackRescaled(problem) if rescale_slack else problem
    labels = learned.truths(ys) if rescale_slack else ys
    assert_optimal(exactly(learned, lam=0.2).fit(xs, labels), best)


def test_both_rescalings_are_the_same_for_a_loss_of_zero_or_one(rng):
    X, y = blobs(rng)
    problem = multiclass.Multiclass((0, 1, 2), 3)
    plain = exactly(problem, 1e-8).fit(X, y)
    rescaled = SlackRescaled(problem)
    again = exactly(rescaled, 1e-8).fit(X, rescaled.truths(y))
    assert again.solution_.upper == pytest.approx(plain.solution_.upper, rel=1e-6)


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
        known = np.where(rng.random(T) < 0.5, -1, y)
        agrees = np.array([np.all((known < 0) | (known == o)) for o in labellings])
        assert score(problem.complete(w, x, known)) == pytest.approx(scores[agrees].max())


def test_a_chain_is_better_than_its_samples_one_by_one():
    xs, ys = chain.sequences(40, T=25)
    svm = exactly(chain.Chain(), 1e-2, lam=1 / 20).fit(xs[:20], ys[:20])
    assert svm.converged_
    alone = np.mean([svm.problem_.loss(y, x.argmax(axis=1)) for x, y in zip(xs, ys, strict=True)])
    assert -svm.score(xs[20:], ys[20:]) < 0.8 * alone


# ---- regularizers and constraints of cvxpy


def nuclear(w, n_classes=3):
    """The sum of the singular values of the weights, one row for each class."""
    return cp.normNuc(cp.reshape(w, (n_classes, w.size // n_classes), order="C"))


@pytest.mark.parametrize("omega", [cp.norm1, nuclear])
@pytest.mark.parametrize("constraints", [None, few_weights.balanced])
def test_cvxpy_reaches_the_optimum_over_all_labellings(rng, omega, constraints):
    X, y = blobs(rng)
    problem, lam = few_weights.Wines(3), 0.05
    scaled = partial(_scaled, omega, lam)
    best = program(
        problem, X, y, lambda _: range(3), np.full(18, 1 / 18), False, scaled, constraints
    )
    svm = exactly(problem, 1e-5, lam=lam, regularizer=Custom(omega), constraints=constraints)
    assert_optimal(svm.fit(X, y), best, rel=1e-4)
    if constraints is not None:
        np.testing.assert_allclose(svm.weight_.reshape(3, 3).sum(axis=0), 0.0, atol=1e-5)


def _scaled(omega, lam, w):
    return lam * omega(w)


# ---- the files


def test_grades_by_slack_rescaling_reach_the_optimum(rng):
    X, y = blobs(rng)
    problem = slack_rescaling.Grades(3, 3)
    best = program(problem, X, y, lambda _: range(3), np.ones(18), True) / 18
    rescaled = SlackRescaled(problem)
    assert_optimal(exactly(rescaled, lam=1 / 18).fit(X, rescaled.truths(y)), best)


RUN_ALONE = """
import contextlib, io, json, os, runpy, sys, traceback
from pathlib import Path

found = {}
for file in map(Path, sys.argv[1:]):
    os.chdir(file.parent)
    sys.path[0], error = str(file.parent), None
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        try:
            runpy.run_path(str(file), run_name="__main__")
        except (Exception, SystemExit):
            error = traceback.format_exc()
    found[file.stem] = shown.getvalue(), error
print(json.dumps(found))
"""
"""Several files, each as if it were run alone, in one process that imports the libraries once."""


@pytest.fixture(scope="module")
def run_alone(tmp_path_factory):
    """What each example prints, and how it fails."""
    copies = [tmp_path_factory.mktemp(file.stem) / file.name for file in EXAMPLES.glob("*.py")]
    for copy in copies:
        copy.write_text((EXAMPLES / copy.name).read_text(encoding="utf-8"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN_ALONE, *map(str, copies)],
        cwd=copies[0].parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.stem)
def test_each_example_stands_alone(file, run_alone):
    """It runs in a folder of its own, where there is no other one to import."""
    shown, error = run_alone[file.stem]
    assert error is None, error
    if "accuracy" in shown:
        assert float(shown.split("held out: ")[1].split()[0]) > 0.93
