"""The report shows the wrong labellings that weigh most."""

import pytest
from recording_cases import recordings

from structsvm import MetricLearner, load, save
from structsvm.plotting.report import support_of
from structsvm.solvers import BlockFrankWolfe, Stopping

Xs, YS = recordings(8, T=60)
NAMES = ["ann", "<b>ben</b>", "cleo", "dan", "eve"]


@pytest.fixture(scope="module")
def learner() -> MetricLearner:
    return MetricLearner(metric="diagonal").fit(dict(zip(NAMES, Xs, strict=False)), YS[:5])


def test_the_three_that_weigh_most_are_drawn_under_the_truth(learner):
    shown, support = support_of(learner), learner.solution_.support
    assert [figure["ends"] for figure in shown["figures"]] == [
        {"true": found.truth.breakpoints, "wrong": found.labelling.breakpoints}
        for found in support[:3]
    ]
    total = sum(found.multiplier for found in support)
    for found, figure in zip(support[:3], shown["figures"], strict=True):
        assert figure["caption"].startswith(f"{NAMES[found.sample]}: ")
        share = f"{100 * found.multiplier / total:.1f} % of the weight of all."
        assert figure["caption"].endswith(share)
    assert f"{len(support)} wrong segmentations hold the metric" in shown["words"]


def test_a_loaded_model_shows_them_as_well(learner, tmp_path):
    save(learner, tmp_path / "m.structsvm")
    assert support_of(load(tmp_path / "m.structsvm")) == support_of(learner)


def test_recordings_without_names_are_numbered():
    learner = MetricLearner(metric="diagonal").fit(Xs[:5], YS[:5])
    heaviest = learner.solution_.support[0].sample
    caption = support_of(learner)["figures"][0]["caption"]
    assert caption.startswith(f"Training recording {heaviest}: ")


def test_without_a_support_there_is_no_such_part():
    solver = BlockFrankWolfe(Stopping(tol=0.05))
    learner = MetricLearner(metric="diagonal", solver=solver).fit(Xs[:5], YS[:5])
    assert support_of(learner) is None
