"""Answers of oracles are verified, one by one and many at once: constraints, forms, faults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from cases import cases, refused
from recording_cases import changes
from wrong_plugins import MinDwellOracle, Segments, recordings

from structsvm import ChangePoint, EquivalenceMatrix, MetricLearner, PartialLabels
from structsvm.data.instance import Instance
from structsvm.datasets import relevant_changes
from structsvm.errors import DataError, OracleError, PluginError
from structsvm.interop import risk_of
from structsvm.io import arrays_and_labels
from structsvm.masters.planes import Planes
from structsvm.oracles import ClusteringOracle, SequentialOracle, SpectralOracle
from structsvm.partitions import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    Oracle,
    Region,
    TraceObjective,
)
from structsvm.partitions.objective import MetricObjective
from structsvm.problem import RegularizedRisk
from structsvm.solvers.separation import blocks_of, separate_share

Z = np.repeat([[0.0], [4.0], [0.0]], 4, axis=0)
OBJECTIVE = TraceObjective(Z, shift=-1.0)


@dataclass(frozen=True)
class Plain(Oracle):
    """The exact segmentation, whatever the constraint says."""

    takes = frozenset({"n_clusters", "boundaries", "regions", "links"})

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        return SequentialOracle().maximize(objective)


@cases(
    (Constraint(n_clusters=2), "it has 3 clusters where exactly 2 are asked for"),
    (Constraint(forced=(2,)), "it has no boundary at 2, where one is forced"),
    (Constraint(forbidden=(8,)), "it has a boundary at 8, where none may be"),
    (Constraint(regions=(Region(2, 7, 0),)), r"1 changes in the region 2\.\.7 with no change"),
    (Constraint(regions=(Region(5, 8, 1, True),)), r"0 changes .* with at least 1 change"),
    (Constraint(together=((0, 1, 5),)), "separates samples of .*, which are to be together"),
    (Constraint(apart=((4, 5),)), "puts samples 4 and 5 together, which are to be apart"),
)
def test_an_answer_that_breaks_its_constraint_names_the_oracle(
    constraint: Constraint, complaint: str
) -> None:
    with pytest.raises(PluginError, match=rf"Plain\.maximize breaks .*{complaint}"):
        Plain().ask(OBJECTIVE, constraint)


@dataclass(frozen=True)
class Answering(Oracle):
    answer: Any

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        return self.answer(SequentialOracle().maximize(objective))


@cases(
    (lambda a: a.y, r"returned an EquivalenceMatrix: return Argmax\(y, value, upper_bound"),
    (lambda a: replace(a, y=a.y.labels), "an Argmax of an array of int64 .*EquivalenceMatrix"),
    (lambda a: replace(a, quality="exact"), "'exact' .a str.: return .*a Quality"),
    (lambda a: replace(a, value=np.nan), "the value nan"),
    (
        lambda a: replace(a, y=EquivalenceMatrix.from_breakpoints([3])),
        "answered for 3 samples, the objective has 12",
    ),
)
def test_an_oracle_that_returns_no_answer_is_named(answer: Any, complaint: str) -> None:
    with pytest.raises(PluginError, match=rf"Answering\.maximize .*{complaint}"):
        Answering(answer).ask(OBJECTIVE)


def test_an_oracle_that_fails_is_named() -> None:
    with pytest.raises(PluginError, match=r"Answering\.maximize raised ZeroDivisionError"):
        Answering(lambda a: 1 // 0).ask(OBJECTIVE)


REGION = Constraint(regions=(Region(2, 7, 1),))
LINKS = Constraint(together=((0, 1),))


test_constraints_that_an_oracle_does_not_take_are_refused_before_the_call = refused(
    OracleError,
    lambda oracle, constraint: oracle.ask(OBJECTIVE, constraint),
    (Answering(None), REGION, r"Answering does not take regions \(region 2\.\.7 with 1 change"),
    (Answering(None), LINKS, r"does not take links.*takes = \['boundaries', 'n_clusters'\]"),
    (SequentialOracle(), LINKS, "SequentialOracle does not take links"),
    (ClusteringOracle(relaxation=False), REGION, "ClusteringOracle does not take regions"),
    (ClusteringOracle(), Constraint(forced=(2,)), "does not take boundaries"),
    (SpectralOracle(), LINKS, "SpectralOracle does not take links"),
)


@dataclass(frozen=True)
class MinDwell(Segments):
    def decoder(self, instance: Instance) -> Oracle:
        return MinDwellOracle(3)


def test_a_region_without_a_change_is_kept_by_who_asks_for_the_masks() -> None:
    Xs, ys = recordings(4)
    ys[1] = PartialLabels(regions=[(0, 30, 0)])  # the samples themselves change at 10 and 26
    learned = MetricLearner(MinDwell(), metric="diagonal").fit(Xs, ys)
    completed = learned.alternated_.labels[1]
    assert all(t >= 30 for t in completed.breakpoints)


@pytest.mark.parametrize(
    "labels",
    [
        PartialLabels(regions=[(0, 30, 1)]),
        np.r_[np.zeros(8), np.full(10, -1), np.ones(22)],  # a change somewhere in between
    ],
    ids=["counted", "between"],
)
def test_a_region_that_an_oracle_does_not_take_is_refused_with_its_recording(labels: Any) -> None:
    Xs, ys = recordings(4)
    ys[2] = labels
    asked: list[str] = []
    learner = MetricLearner(MinDwell(), metric="diagonal")
    with pytest.raises(DataError, match=r"recording 2: MinDwellOracle does not take regions"):
        learner.fit(Xs, ys, callback=asked.append)
    assert not asked


# ---- many questions at once


XS, YS = changes(3, n_features=2, n_relevant=1)


def broken(self, *asked):
    raise ZeroDivisionError("no answer to so many")


def test_an_oracle_that_fails_on_a_path_of_prices_is_named(monkeypatch):
    monkeypatch.setattr(SequentialOracle, "loss_curve", broken)
    with pytest.raises((OracleError, PluginError), match="no answer to so many"):
        MetricLearner(metric="diagonal").fit(XS, YS)


# ---- a round of learning separates one sample after another, each when it is needed


def risk_in(metric: str, segment_count: str = "unknown") -> RegularizedRisk:
    recordings = relevant_changes(7, n_samples=200, n_features=4, n_relevant=2, random_state=1)
    learner = MetricLearner(ChangePoint(segment_count=segment_count), metric=metric)
    risk = risk_of(learner, *arrays_and_labels(recordings))
    assert isinstance(risk, RegularizedRisk)
    return risk


def planes_at(risk: RegularizedRisk, w: np.ndarray, deadline: float = np.inf) -> list[Planes]:
    return separate_share(blocks_of(risk), (w, np.arange(risk.n_instances), deadline))


def test_a_single_instance_has_the_same_plane_as_among_others():
    risk = risk_in("diagonal")
    together = planes_at(risk, risk.start)
    for k, block in enumerate(blocks_of(risk)):
        (alone,) = separate_share([block], (risk.start, np.arange(risk.n_instances), np.inf))
        assert np.array_equal(alone.slopes[0], together[k].slopes[0])


def test_the_instance_that_fails_is_named(monkeypatch):
    risk = risk_in("diagonal")
    broken = risk.xs[4]
    whole = SequentialOracle.maximize

    def fail(self, objective, *constraint):
        if objective.truth is broken.truth:
            raise ValueError("no answer to this one")
        return whole(self, objective, *constraint)

    monkeypatch.setattr(SequentialOracle, "maximize", fail)
    with pytest.raises(PluginError, match=r"instance 4: .*no answer to this one"):
        planes_at(risk, risk.start)


def test_missing_answers_are_not_taken_for_the_end_of_time(monkeypatch):
    risk = risk_in("diagonal")
    whole = MetricObjective.separate_each
    monkeypatch.setattr(MetricObjective, "separate_each", lambda *args: islice(whole(*args), 1))
    with pytest.raises(PluginError, match=r"instance 2: MetricObjective\.separate returned None"):
        planes_at(risk, risk.start)


def test_after_the_deadline_nothing_is_asked():
    risk = risk_in("diagonal")
    assert planes_at(risk, risk.start, deadline=0.0) == [None] * risk.n_instances


@pytest.mark.parametrize("segment_count", ["unknown", "known"])
def test_instances_are_taken_one_by_one_from_an_iterator(segment_count):
    """Between them a run sees whether its time is over."""
    risk = risk_in("diagonal", segment_count)
    waiting = iter(zip(risk.xs, risk.ys, strict=True))
    next(risk.problem.separate_each(risk.start, waiting))
    assert len(list(waiting)) == 6
