"""Learning to cut photographs of horses: what it is worth, and that both solvers agree."""

import pytest

from structsvm import CutLearner, NormalizedCut, evaluate
from structsvm.datasets import images_and_labels, read_images


@pytest.fixture(scope="module")
def horses(shared_data):
    """Ten images to learn from, thirty others, as graphs of about 115 superpixels."""
    images, labels = images_and_labels(read_images(shared_data / "weizmann_horse")[:40])
    graphs = [NormalizedCut().graph(image) for image in images]
    return (graphs[:10], labels[:10]), (graphs[10:], labels[10:])


def test_learning_beats_the_grid(horses):
    learn, test = horses
    learner = CutLearner(lam=0.02).fit(*learn).fit_baselines(*learn)
    found = evaluate(learner, *test)
    assert found.scores["learned"].loss < 1.2
    assert found.scores["grid"].loss - found.scores["learned"].loss > 0.4
    assert found.scores["learned"].jaccard < found.scores["grid"].jaccard - 0.1
    assert str(found.verdict).startswith("Learning pays. On 30 held-out images")


@pytest.mark.parametrize("objective", ["normalized", "plain"])
def test_both_solvers_reach_the_same_minimum(horses, objective):
    (graphs, labels), _ = horses
    problem = NormalizedCut(objective=objective)
    quasi, convex = (
        CutLearner(problem, "diagonal", lam=0.02, solver=solver, tol=tol).fit(graphs, labels)
        for solver, tol in (("quasi-newton", 1e-4), ("cccp", 1e-5))
    )
    first, second = quasi.solution_, convex.solution_
    assert first.objective == pytest.approx(second.objective, rel=5e-4)
    assert first.start == pytest.approx(second.start)
    assert first.objective < 0.95 * first.start
