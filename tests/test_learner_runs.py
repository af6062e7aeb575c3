"""How a learner runs: by which solver, on which workers, and on from where it was stopped."""

import numpy as np
import pytest
from recording_cases import recordings

from structsvm import MetricLearner
from structsvm.errors import CheckpointError, SettingsError
from structsvm.parallel import Threads
from structsvm.regularizers import Trace
from structsvm.solvers.base import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.frank_wolfe import BlockFrankWolfe
from structsvm.status import Status


@pytest.fixture(scope="module")
def data():
    return recordings()


@pytest.fixture(scope="module")
def usual(data):
    return MetricLearner(metric="diagonal").fit(*data)


@pytest.mark.parametrize(
    "settings",
    [
        {"solver": "one-slack"},
        {"solver": CuttingPlane(slack="one")},
        {"solver": BlockFrankWolfe(Stopping(max_iter=500))},
        {"solver": BlockFrankWolfe(Stopping(1e-2, 500), random_state=1)},
    ],
)
def test_every_solver_learns_the_same_metric(settings, usual, data):
    learner = MetricLearner(metric="diagonal", **settings).fit(*data)
    assert learner.converged_
    assert learner.solution_.lower <= usual.solution_.upper
    assert usual.solution_.lower <= learner.solution_.upper
    label = learner.solution_.history[0].master
    assert ("Frank-Wolfe" in label) == isinstance(settings["solver"], BlockFrankWolfe)


@pytest.mark.parametrize("solver", ["frank-wolfe", "subgradient", BlockFrankWolfe()])
@pytest.mark.parametrize(
    "settings", [{"regularizer": Trace()}, {"constraints": lambda b: [b[0] == b[1]]}]
)
def test_an_illegal_pair_is_refused_before_work_starts(solver, settings, data, monkeypatch):
    def work(*args):
        raise AssertionError("work has started")

    monkeypatch.setattr("structsvm.partitions.learning.Learning.untrained", work)
    with pytest.raises(SettingsError, match=r"use CuttingPlane, .*solver='cutting-plane'"):
        MetricLearner(metric="diagonal", solver=solver, **settings).fit(*data)


@pytest.mark.parametrize(
    "settings", [{"n_jobs": 2}, {"n_jobs": 2, "backend": "threads"}, {"backend": Threads(3)}]
)
def test_workers_do_not_change_the_metric(settings, usual, data):
    learner = MetricLearner(metric="diagonal", **settings).fit(*data)
    np.testing.assert_array_equal(learner.metric_.factor.T, usual.metric_.factor.T)
    assert learner.metric_.price == usual.metric_.price


class PowerCut(BaseException):
    """Ends a run without a word."""


def test_learning_goes_on_from_a_file_to_the_same_metric(usual, data, tmp_path):
    def cut(entry):
        if entry.iteration == 1:
            raise PowerCut

    file = tmp_path / "state.npz"
    with pytest.raises(PowerCut):
        MetricLearner(metric="diagonal").fit(*data, resume=file, callback=cut)
    learner = MetricLearner(metric="diagonal").fit(*data, resume=file)
    np.testing.assert_array_equal(learner.metric_.factor.T, usual.metric_.factor.T)
    assert learner.solution_.oracle_calls == usual.solution_.oracle_calls
    finer = MetricLearner(metric="diagonal", solver=CuttingPlane(Stopping(tol=1e-4))).fit(
        *data, resume=file
    )
    assert finer.solution_.status is Status.OPTIMAL
    assert finer.solution_.history[: usual.n_iter_] == learner.solution_.history[: usual.n_iter_]


def test_a_file_of_other_data_or_settings_is_refused(data, tmp_path):
    file = tmp_path / "state.npz"
    MetricLearner(metric="diagonal").fit(*data, resume=file)
    Xs, ys = data
    other = [Xs[0] + np.eye(len(Xs[0]), Xs[0].shape[1]), *Xs[1:]]
    with pytest.raises(CheckpointError, match="a checkpoint with other recordings"):
        MetricLearner(metric="diagonal").fit(other, ys, resume=file)
    with pytest.raises(CheckpointError, match="a checkpoint with other regularizer"):
        MetricLearner(metric="diagonal", lam=0.2).fit(*data, resume=file)
    with pytest.raises(CheckpointError, match="a checkpoint with other regularizer"):
        MetricLearner(metric="full").fit(*data, resume=file)
