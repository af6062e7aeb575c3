"""Learning to cut photographs of horses: what it is worth, and that both solvers agree."""

import pytest

from structsvm import MetricLearner, NormalizedCut, evaluate
from structsvm.io import images_and_labels, read_images
from structsvm.solvers.base import Stopping
from structsvm.solvers.cccp import CCCP
from structsvm.solvers.quasi_newton import QuasiNewton


@pytest.fixture(scope="module")
def horses(shared_data):
    """Ten images to learn from, thirty others, as graphs of about 115 superpixels."""
    images, labels = images_and_labels(read_images(shared_data / "weizmann_horse")[:40])
    graphs = [sample.side for sample in NormalizedCut().read(images)[0]]
    return (graphs[:10], labels[:10]), (graphs[10:], labels[10:])


def test_learning_beats_the_grid(horses):
    learn, test = horses
    learner = MetricLearner(NormalizedCut(), lam=0.02).fit(*learn, baselines="quick")
    found = evaluate(learner, *test)
    assert found.scores["learned"]["loss"] < 1.2
    assert found.scores["grid"]["loss"] - found.scores["learned"]["loss"] > 0.4
    assert found.scores["learned"]["jaccard"] < found.scores["grid"]["jaccard"] - 0.1
    # A horse against the rest: one single part costs K - 1 = 1, and no cut is better by much.
    assert found.verdict.code == "blind"
    assert "one single part, whatever is in the image, may do as well" in str(found.verdict)


@pytest.mark.parametrize("objective", ["normalized", "plain"])
def test_both_solvers_reach_the_same_minimum(horses, objective):
    (graphs, labels), _ = horses
    problem = NormalizedCut(objective_kind=objective)
    quasi, convex = (
        MetricLearner(problem, "diagonal", lam=0.02, solver=solver).fit(graphs, labels)
        for solver in (QuasiNewton(Stopping(tol=1e-4)), CCCP(Stopping(tol=1e-5)))
    )
    first, second = quasi.solution_, convex.solution_
    assert first.upper == pytest.approx(second.upper, rel=5e-4)
    assert first.null == pytest.approx(second.null)
    assert first.upper < 0.95 * first.null
