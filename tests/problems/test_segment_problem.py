"""Segmentations that keep a rule: exact against enumeration, and learned like any other problem."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from cases import cases, refused
from wrong_plugins import recordings

from structsvm import ChangePoint, MetricLearner, load, save
from structsvm.errors import DataError, OracleError, PluginError, SettingsError
from structsvm.oracles import AllowedSegmentsOracle
from structsvm.oracles.exhaustive import all_segmentations
from structsvm.partitions import Constraint, EquivalenceMatrix, Region, TraceObjective
from structsvm.problems import SegmentProblem
from structsvm.testing import check_oracle, check_problem


@dataclass(frozen=True)
class MinDwell(SegmentProblem):
    min_length: int = 5

    def allows(self, start: Any, end: Any, n_samples: int) -> Any:
        return end - start >= min(self.min_length, n_samples)


@dataclass(frozen=True)
class Even(SegmentProblem):
    """Segments of an even length, the last one apart."""

    def allows(self, start: Any, end: Any, n_samples: int) -> Any:
        return ((end - start) % 2 == 0) | (end == n_samples)


def at_least(m: int) -> Callable[[Any, Any, int], Any]:
    return lambda starts, end, n: end - starts >= min(m, n)


def between(m: int, most: int) -> Callable[[Any, Any, int], Any]:
    return lambda starts, end, n: (end - starts >= m) & (end - starts <= most)


def random_rule(seed: int) -> Callable[[Any, Any, int], Any]:
    """Each segment allowed or not, whatever the others are."""
    kept = np.random.default_rng(seed).random((20, 20)) < 0.7
    return lambda starts, end, n: kept[starts, end]


def shrinking(starts: Any, end: Any, n: int) -> Any:
    """Neighbours all of them, whose first and last starts move back now and then."""
    return (starts <= end - 1 - end % 3) & (starts >= max(0, end - 4 + end % 2))


RULES = {
    "anything": lambda starts, end, n: True,
    "at least 2": at_least(2),
    "at least 3": at_least(3),
    "1 to 3": between(1, 3),
    "2 to 4": between(2, 4),
    "even": Even().allows,
    "on the hour": lambda starts, end, n: (starts % 3 == 0) & ((end % 3 == 0) | (end == n)),
    "shrinking": shrinking,
    "random": random_rule(0),
    "random too": random_rule(1),
}


def keeps(rule: Callable[[Any, Any, int], Any], M: EquivalenceMatrix) -> bool:
    pairs = zip(M.boundaries[:-1].tolist(), M.boundaries[1:].tolist(), strict=True)
    return all(np.all(rule(np.array([s]), t, M.n_samples)) for s, t in pairs)


@dataclass(frozen=True)
class Listed:
    """Every segmentation of T samples that keeps a rule."""

    boundaries: Any
    """Which are boundaries, (n, T + 1), without the two ends."""
    matrices: Any
    """(n, T, T)."""

    @classmethod
    def of(cls, rule: Callable[[Any, Any, int], Any], T: int) -> "Listed":
        found = [EquivalenceMatrix.from_labels(row) for row in all_segmentations(T)]
        kept = [M for M in found if keeps(rule, M)]
        boundaries = np.zeros((len(kept), T + 1), dtype=bool)
        for row, M in zip(boundaries, kept, strict=True):
            row[M.boundaries[1:-1]] = True
        return cls(boundaries, np.array([M.dense() for M in kept]).reshape(-1, T, T))

    def keep(self, constraint: Constraint) -> Any:
        """Which of them a constraint allows, (n,)."""
        at = self.boundaries
        kept = at[:, list(constraint.forced)].all(axis=1)
        kept &= ~at[:, list(constraint.forbidden)].any(axis=1)
        if constraint.n_clusters is not None:
            kept &= at.sum(axis=1) == constraint.n_clusters - 1
        for region in constraint.regions:
            n = at[:, region.first : region.end].sum(axis=1)
            kept &= n >= 1 if region.or_more else n == region.changes
        return kept

    def __contains__(self, M: EquivalenceMatrix) -> bool:
        return bool((self.matrices == M.dense()).all(axis=(1, 2)).any())


def constraints(rng: np.random.Generator, T: int) -> list[Constraint]:
    at = rng.permutation(np.arange(1, T))
    a, b = np.sort(rng.permutation(T + 1)[:2]).tolist()
    return [
        Constraint(),
        Constraint(n_clusters=int(rng.integers(1, min(T, 5) + 1))),
        Constraint(forced=tuple(at[:1].tolist()), forbidden=tuple(at[1:3].tolist())),
        Constraint(n_clusters=min(T, 3), forbidden=tuple(at[:2].tolist())),
        Constraint(regions=(Region(a, b, 0),)),
        *(
            Constraint(K, tuple(at[:forced].tolist()), regions=counted)
            for counted, (K, forced) in product(
                ((Region(a, b, 1),), (Region(a, b, 1, True),), halves(rng, T)),
                ((None, 0), (min(T, 4), 0), (None, 1)),
            )
        ),
    ]


def halves(rng: np.random.Generator, T: int) -> tuple[Region, ...]:
    """A number of changes in either part of a recording, and at least one in the middle."""
    cut = int(rng.integers(1, T + 1))
    first, last = (int(k) for k in rng.integers(0, 3, 2))
    both = (Region(0, cut, first),) + ((Region(cut, T, last),) if cut < T else ())
    return (*both, Region(T // 4, 1 + 3 * T // 4, 1, True))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_answers_of_a_segment_problem_are_those_of_enumeration(
    rule: Callable[[Any, Any, int], Any],
) -> None:
    rng = np.random.default_rng(0)
    oracle = AllowedSegmentsOracle(rule)
    refused = 0
    answered = 0
    listed = {T: Listed.of(rule, T) for T in range(1, 11)}
    for number in range(60):
        T = int(rng.integers(1, 11))
        Z = rng.standard_normal((T, int(rng.integers(0, 4)))) + rng.choice([0.0, 100.0])
        truth = EquivalenceMatrix.from_labels(np.cumsum(rng.random(T) < 0.3))
        objective = TraceObjective(
            rng.choice([0.3, 1.0, 3.0]) * Z,
            truth if number % 2 else None,
            float(rng.choice([0.5, 2.0])) if number % 2 else 0.0,
            float(rng.choice([-3.0, -1.0, -0.2, 0.0, 0.5])),
        )
        values = np.einsum("nst,st->n", listed[T].matrices, objective.dense())
        for constraint in constraints(rng, T):
            allowed = listed[T].keep(constraint)
            if not allowed.any():
                with pytest.raises(OracleError):
                    oracle.ask(objective, constraint)
                refused += 1
                continue
            answer = oracle.ask(objective, constraint)
            assert answer.y in listed[T]
            assert constraint.violation(answer.y) is None
            best = values[allowed].max()
            assert answer.value == pytest.approx(
                best, rel=1e-9, abs=1e-15 + 1e-9 * np.sum(objective.Z**2)
            )
            answered += 1
    assert answered > 60
    assert refused > 0


def everything(starts: Any, end: Any, n_samples: int) -> Any:
    return np.ones(starts.shape, dtype=bool)


def test_the_oracle_of_a_segment_problem_passes_its_checks() -> None:
    check_oracle(AllowedSegmentsOracle(everything), contiguous=True)


@cases(MinDwell(2), MinDwell(8), ChangePoint("known", min_length=2, max_length=25), ids=repr)
def test_a_segment_problem_of_one_method_passes_its_checks(problem: Any) -> None:
    report = check_problem(problem, *recordings(2, (14, 10, 16)))
    assert min(report.given) > 5


def test_rules_on_segments_may_depend_on_their_start() -> None:
    Xs, ys = recordings(2, (14, 10, 16))
    assert min(check_problem(Even(), Xs, ys).given) > 5


def test_a_segment_problem_is_learned_saved_and_takes_partial_labels(
    tmp_path: Any, monkeypatch: Any
) -> None:
    Xs, ys = recordings(4)
    learner = MetricLearner(MinDwell(6), metric="diagonal").fit(Xs, ys)
    for ends in learner.predict_breakpoints(Xs):
        assert np.diff([0, *ends]).min() >= 6
    ys[1] = np.where((ys[1] == 1) | (np.arange(40) == 15), ys[1], -1)
    partial = MetricLearner(MinDwell(6), metric="diagonal").fit(Xs, ys)
    assert partial.alternated_.labels[1].sizes.min() >= 6
    assert 16 in partial.alternated_.labels[1].breakpoints
    known = MetricLearner(ChangePoint(min_length=6), metric="diagonal").fit(Xs, ys)
    save(known, tmp_path / "m.structsvm")
    again = load(tmp_path / "m.structsvm")
    assert again.problem == ChangePoint(min_length=6)
    assert all(map(np.array_equal, again.predict(Xs), known.predict(Xs)))
    with pytest.raises(PluginError, match="MinDwell has no name"):
        save(learner, tmp_path / "n.structsvm")
    monkeypatch.setattr("structsvm.partitions.plugins.entry_points", lambda group: [Entry()])
    save(learner, tmp_path / "n.structsvm")
    again = load(tmp_path / "n.structsvm")
    assert again.problem == MinDwell(6)
    assert all(map(np.array_equal, again.predict(Xs), learner.predict(Xs)))


class Entry:
    """What a distribution with MinDwell declares."""

    name, value, dist = "min-dwell", "test_segment_problem:MinDwell", None

    def load(self) -> type:
        return MinDwell


def test_labels_that_break_the_rule_are_named() -> None:
    Xs, ys = recordings(2)
    with pytest.raises(
        DataError, match=r"recording 0: the segment 0\.\.14 is not one that MinDwell"
    ):
        MetricLearner(MinDwell(15)).fit(Xs, ys)


test_impossible_length_limits_are_refused = refused(
    SettingsError,
    lambda settings: ChangePoint(**settings),
    ({"min_length": 0}, "min_length must be an integer >= 1, got 0"),
    ({"min_length": 2.5}, "min_length must be an integer"),
    ({"min_length": 5, "max_length": 4}, "an integer >= min_length=5, got 4"),
)
