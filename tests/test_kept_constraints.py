"""A constraint is kept or refused: no oracle drops what labels say without a word."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from wrong_plugins import MinDwellOracle, Segments, recordings

from structsvm import MetricLearner, PartialLabels
from structsvm.data.sample import Sample
from structsvm.errors import DataError, OracleError, PluginError
from structsvm.oracles.clustering import ClusteringOracle
from structsvm.oracles.exhaustive import ExhaustiveOracle
from structsvm.oracles.sequential import SequentialOracle
from structsvm.oracles.spectral import SpectralOracle
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Constraint, Oracle, Region
from structsvm.partitions.trace_objective import TraceObjective

Z = np.repeat([[0.0], [4.0], [0.0]], 4, axis=0)
OBJECTIVE = TraceObjective(Z, shift=-1.0)


@dataclass(frozen=True)
class Plain(Oracle):
    """The exact segmentation, whatever the constraint says."""

    takes = frozenset({"n_clusters", "boundaries", "regions", "links"})

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        return SequentialOracle().maximize(objective)


@pytest.mark.parametrize(
    ("constraint", "complaint"),
    [
        (Constraint(n_clusters=2), "it has 3 clusters where exactly 2 are asked for"),
        (Constraint(forced=(2,)), "it has no boundary at 2, where one is forced"),
        (Constraint(forbidden=(8,)), "it has a boundary at 8, where none may be"),
        (Constraint(regions=(Region(2, 7, 0),)), r"1 changes in the region 2\.\.7 with no change"),
        (Constraint(regions=(Region(5, 8, 1, True),)), r"0 changes .* with at least 1 change"),
        (Constraint(together=((0, 1, 5),)), "separates samples 0 and 5, which are to be together"),
        (Constraint(apart=((4, 5),)), "puts samples 4 and 5 together, which are to be apart"),
    ],
)
def test_an_answer_that_breaks_its_constraint_names_the_oracle(
    constraint: Constraint, complaint: str
) -> None:
    with pytest.raises(PluginError, match=rf"Plain\.maximize breaks .*{complaint}"):
        Plain().ask(OBJECTIVE, constraint)


def test_an_answer_that_keeps_its_constraint_is_passed_on() -> None:
    constraint = Constraint(3, (4,), (2,), (Region(6, 12, 1), Region(0, 4, 0)))
    assert Plain().ask(OBJECTIVE, constraint) == Plain().maximize(OBJECTIVE)


@dataclass(frozen=True)
class Answering(Oracle):
    answer: Any

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        return self.answer(SequentialOracle().maximize(objective))


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda a: a.y, r"returned an EquivalenceMatrix: return Argmax\(y, value, upper_bound"),
        (lambda a: replace(a, y=a.y.labels), "an Argmax of an array of int64 .*EquivalenceMatrix"),
        (lambda a: replace(a, quality="exact"), "'exact' .a str.: return one of .*Quality.EXACT"),
        (lambda a: replace(a, value=np.nan), "the value nan"),
        (
            lambda a: replace(a, y=EquivalenceMatrix.from_breakpoints([3])),
            "answered for 3 samples, the objective has 12",
        ),
    ],
)
def test_what_is_no_answer_is_named(answer: Any, complaint: str) -> None:
    with pytest.raises(PluginError, match=rf"Answering\.maximize .*{complaint}"):
        Answering(answer).ask(OBJECTIVE)


def test_an_oracle_that_fails_is_named() -> None:
    with pytest.raises(PluginError, match=r"Answering\.maximize raised ZeroDivisionError"):
        Answering(lambda a: 1 // 0).ask(OBJECTIVE)


REGION = Constraint(regions=(Region(2, 7, 1),))
LINKS = Constraint(together=((0, 1),))


@pytest.mark.parametrize(
    ("oracle", "constraint", "complaint"),
    [
        (Answering(None), REGION, r"Answering does not take regions \(region 2\.\.7 with 1 change"),
        (Answering(None), LINKS, r"does not take links.*takes = \['boundaries', 'n_clusters'\]"),
        (SequentialOracle(), LINKS, "SequentialOracle does not take links"),
        (ClusteringOracle(relaxation=False), REGION, "ClusteringOracle does not take regions"),
        (ClusteringOracle(), Constraint(forced=(2,)), "does not take boundaries"),
        (SpectralOracle(), LINKS, "SpectralOracle does not take links"),
    ],
)
def test_what_an_oracle_does_not_take_is_refused_before_it_is_asked(
    oracle: Oracle, constraint: Constraint, complaint: str
) -> None:
    with pytest.raises(OracleError, match=complaint):
        oracle.ask(OBJECTIVE, constraint)


def test_regions_without_a_change_are_boundaries_ruled_out() -> None:
    constraint = Constraint(forbidden=(9,), regions=(Region(3, 6, 0), Region(6, 9, 1)))
    allowed, forced = constraint.boundary_masks(12)
    assert np.flatnonzero(~allowed).tolist() == [3, 4, 5, 9]
    assert not forced.any()
    assert Constraint(regions=(Region(2, 6, 0),)).kinds == {"boundaries"}
    assert constraint.kinds == {"boundaries", "regions"}


def test_enumeration_keeps_regions() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        objective = TraceObjective(rng.standard_normal((9, 2)), shift=-0.5)
        constraint = Constraint(regions=(Region(0, 4, 0), Region(4, 7, 1), Region(6, 9, 1, True)))
        answer = ExhaustiveOracle(contiguous=True).ask(objective, constraint)
        exact = SequentialOracle().ask(objective, constraint)
        assert answer.value == pytest.approx(exact.value, abs=1e-9)


@dataclass(frozen=True)
class MinDwell(Segments):
    def decoder(self, sample: Sample) -> Oracle:
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
