"""Calibration, features, baselines and predictions run on the workers, with the same bits."""

import operator

import numpy as np
import pytest

from structsvm import MetricLearner
from structsvm.data import deferred
from structsvm.data.deferred import batches_of
from structsvm.datasets import relevant_changes
from structsvm.errors import DataError
from structsvm.features import Lags
from structsvm.io import arrays_and_labels
from structsvm.learner.baselines import metrics_in
from structsvm.parallel import Auto, Processes, Serial, Threads
from structsvm.parallel.once import spread, working_on
from structsvm.support.progress import watching

RECORDINGS = relevant_changes(8, n_samples=200, n_features=4, n_relevant=2, random_state=0)
Xs, YS = arrays_and_labels(RECORDINGS)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred, "BATCH", 300)
    monkeypatch.setattr("structsvm.learner.steps.DECODED", 300)


def fitted(**settings: object) -> MetricLearner:
    learner = MetricLearner(metric="diagonal", features=Lags(), **settings)
    return learner.fit(Xs[:6], YS[:6], baselines="quick")


@pytest.mark.parametrize("backend", ["threads", "processes", "auto"])
def test_whoever_works_the_bits_are_the_same(backend: str) -> None:
    alone, together = fitted(), fitted(n_jobs=2, backend=backend)
    assert np.array_equal(alone.metric_.factor, together.metric_.factor)
    assert np.array_equal(alone.calibration_.losses, together.calibration_.losses)
    prices = [{k: m.price for k, m in metrics_in(x.baselines_).items()} for x in (alone, together)]
    assert prices[0] == prices[1]
    for a, b in zip(alone.predict(Xs), together.predict(Xs), strict=True):
        assert np.array_equal(a, b)
    for a, b in zip(alone.predict(Xs, 3), together.predict(Xs, 3), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("backend", [Serial(), Threads(2), Auto(2), Processes(2)])
def test_answers_come_in_the_order_of_the_parts(backend: object) -> None:
    with working_on(backend):
        assert spread("multiplying", operator.mul, list(range(7)), 10) == list(range(0, 70, 10))
        assert spread("multiplying", operator.mul, [], 10) == []


def test_an_error_comes_out_as_it_is() -> None:
    with working_on(Threads(2)), pytest.raises(DataError, match="part 1"):
        spread("failing", _fail, [0, 1], None)


def test_workers_are_for_the_block_alone() -> None:
    with working_on(Threads(2)), working_on(Serial()):
        pass
    heard = []
    with watching(lambda words, part: heard.append((words, part))):
        spread("adding", operator.add, [1, 2], 3)
    assert heard == [("adding", 0.0), ("adding", 0.5)]


def test_batches_are_neighbours_with_enough_to_do() -> None:
    assert batches_of([100, 50, 60, 300, 10]) == [(0, 4), (4, 5)]
    assert batches_of([]) == []


def _fail(part: int, _: object) -> int:
    if part:
        raise DataError(f"part {part} cannot be read")
    return part
