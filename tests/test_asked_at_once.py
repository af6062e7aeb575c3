"""Samples that are asked together and fail are asked one at a time, which hides no fault."""

import numpy as np
import pytest

from structsvm import EquivalenceMatrix, MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.errors import OracleError, PluginError
from structsvm.io import arrays_and_labels
from structsvm.oracles import SequentialOracle
from structsvm.partitions.oracle import Oracle
from structsvm.support.contract import AtOnce

RECORDINGS = relevant_changes(3, n_samples=200, n_features=2, n_relevant=1, random_state=0)
XS, YS = arrays_and_labels(RECORDINGS)
LEARNER = MetricLearner(metric="diagonal").fit(XS, YS)
FOUND = LEARNER.predict_breakpoints(XS)


def broken(self, *asked):
    raise ZeroDivisionError("no answer to so many")


def full(self, *asked):
    raise MemoryError("too many at once")


@pytest.mark.parametrize("method", ["maximize_all", "loss_curves"])
class TestLearning:
    def test_a_fault_of_asking_together_is_told_though_each_alone_is_answered(
        self, monkeypatch, method
    ):
        monkeypatch.setattr(SequentialOracle, method, broken)
        with pytest.raises((OracleError, PluginError), match="no answer to so many"):
            MetricLearner(metric="diagonal").fit(XS, YS)

    def test_what_is_too_much_for_the_memory_is_done_one_at_a_time(self, monkeypatch, method):
        whole = getattr(SequentialOracle, method)

        def alone(oracle, asked, *rest):
            return whole(oracle, asked, *rest) if len(asked) == 1 else full(oracle)

        monkeypatch.setattr(SequentialOracle, method, alone)
        found = MetricLearner(metric="diagonal").fit(XS, YS)
        np.testing.assert_array_equal(found.metric_.factor, LEARNER.metric_.factor)
        assert found.metric_.price == pytest.approx(LEARNER.metric_.price)


class TestPrediction:
    def test_a_fault_of_asking_together_is_told_though_each_alone_is_answered(self, monkeypatch):
        monkeypatch.setattr(SequentialOracle, "at_price", broken)
        with pytest.raises(PluginError, match="no answer to so many"):
            LEARNER.predict(XS)

    def test_an_answer_too_few_is_told(self, monkeypatch):
        whole = SequentialOracle.at_price
        monkeypatch.setattr(SequentialOracle, "at_price", lambda *asked: whole(*asked)[1:])
        with pytest.raises(PluginError, match="at_price returned partitions of other samples"):
            LEARNER.predict(XS)

    def test_an_answer_about_other_samples_is_told(self, monkeypatch):
        whole = SequentialOracle.at_price
        other = EquivalenceMatrix.from_breakpoints([1, 3])
        monkeypatch.setattr(SequentialOracle, "at_price", lambda *a: [*whole(*a)[1:], other])
        with pytest.raises(PluginError, match="at_price returned partitions of other samples"):
            LEARNER.predict(XS)

    def test_what_is_to_be_asked_alone_is(self, monkeypatch):
        monkeypatch.setattr(SequentialOracle, "at_price", lambda *_: [None] * 3)
        assert LEARNER.predict_breakpoints(XS) == FOUND

    def test_an_oracle_that_maximises_many_at_once_is_asked_so(self, monkeypatch):
        monkeypatch.setattr(SequentialOracle, "at_price", Oracle.at_price)
        monkeypatch.setattr(SequentialOracle, "maximize", broken)
        assert LEARNER.predict_breakpoints(XS) == FOUND

    def test_what_is_too_much_for_the_memory_is_done_one_at_a_time(self, monkeypatch):
        monkeypatch.setattr(SequentialOracle, "at_price", full)
        assert LEARNER.predict_breakpoints(XS) == FOUND


def test_errors_of_no_contract_are_not_caught():
    with pytest.raises(ZeroDivisionError), AtOnce():
        raise ZeroDivisionError
