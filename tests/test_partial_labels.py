"""Partial labels: their forms, what they allow, and the contradictions they are refused for."""

import itertools

import numpy as np
import pytest
from sequential_cases import segmentations

from structsvm.errors import DataError
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partial_labels import PartialLabels, as_partial, stretches
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import Constraint, Region, TraceObjective


def agree(labels: PartialLabels, boundary: np.ndarray) -> np.ndarray:
    """By the definition of each kind of label; the rows of ``boundary`` mark 0..T."""
    segment = np.cumsum(boundary[:, :-1], axis=1)
    good = np.ones(len(boundary), dtype=bool)
    for region in labels.regions:
        changes = boundary[:, region.first : region.end].sum(axis=1)
        good &= changes >= 1 if region.or_more else changes == region.changes
    if labels.n_clusters is not None:
        good &= segment[:, -1] == labels.n_clusters
    if labels.codes is None:
        return good
    codes = labels.codes
    for i, j in itertools.combinations(np.flatnonzero(codes >= 0), 2):
        same = segment[:, i] == segment[:, j]
        if codes[i] != codes[j]:
            good &= ~same
        elif (codes[i:j] == codes[i]).all():
            good &= same
    return good


def random_labels(rng: np.random.Generator, T: int) -> PartialLabels:
    regions = []
    for _ in range(int(rng.integers(0, 4))):
        start, end = (int(t) for t in np.sort(rng.choice(T + 1, 2, replace=False)))
        regions.append((start, end, "1+" if rng.random() < 0.3 else int(rng.integers(0, 3))))
    labels = None
    if rng.random() < 0.7:
        labels = np.cumsum(rng.random(T) < 0.3)
        labels[rng.random(T) < 0.5] = -1
    K = int(rng.integers(1, T + 1)) if rng.random() < 0.3 else None
    return PartialLabels(labels=labels, regions=regions, n_clusters=K)


def constraint_or_reason(labels: PartialLabels, T: int) -> Constraint | str:
    try:
        return labels.constraint(T, contiguous=True)
    except DataError as error:
        return str(error)


def test_says_exactly_which_segmentations_agree() -> None:
    """Thousands of label sets, T <= 8: refused if and only if none agrees, else the best found."""
    oracle, contradictions, answered = SequentialOracle(), 0, 0
    for seed in range(4_000):
        rng = np.random.default_rng(seed)
        T = int(rng.integers(2, 9))
        labels = random_labels(rng, T)
        boundary = segmentations(T)[0]
        good = agree(labels, boundary)
        constraint = constraint_or_reason(labels, T)
        if isinstance(constraint, str):
            assert "not supported" in constraint or not good.any(), (seed, constraint)
            contradictions += 1
            continue
        assert good.any(), seed
        objective = TraceObjective(rng.standard_normal((T, 2)), shift=-0.3)
        found = np.zeros(T + 1, dtype=bool)
        found[oracle.maximize(objective, constraint).y.boundaries] = True
        assert good[(boundary == found).all(axis=1)].all(), seed
        answered += 1
    assert contradictions > 1_000
    assert answered > 1_000


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        (PartialLabels(regions=[(0, 6, 0), (2, 5, 1)]), ("0..6 with no", "2..5 with 1 change")),
        (PartialLabels(regions=[(0, 9, 1), (2, 5, 2)]), ("0..9 with 1", "2..5 with 2")),
        (
            PartialLabels([0, 0, 0, 1, 1, 1, -1, -1, -1, -1], regions=[(1, 6, 0)]),
            ("1..6 with no changes", "samples 2 and 3, which differ"),
        ),
        (
            PartialLabels([0, 0, 0, 0, -1, -1, -1, -1, -1, -1], regions=[(0, 4, "1+")]),
            ("0..4 with at least 1", "samples 0..3, which leave room for 0"),
        ),
        (
            PartialLabels([0, -1, -1, 1, -1, -1, -1, -1, -1, -1], n_clusters=1),
            ("n_clusters=1", "samples 0 and 3, which have different labels"),
        ),
        (PartialLabels(regions=[(3, 8, 2)], n_clusters=2), ("3..8 with 2", "n_clusters=2")),
    ],
)
def test_names_the_two_that_clash(labels: PartialLabels, named: tuple[str, str]) -> None:
    with pytest.raises(DataError, match="contradict each other") as caught:
        labels.constraint(10, contiguous=True)
    message = str(caught.value)
    assert all(name in message for name in named), message
    assert message.count(" and ") - sum(name.count(" and ") for name in named) == 1


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        (
            PartialLabels(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)]),
            ("cannot-link (0, 2)", "rows 0, 1, 2 are together"),
        ),
        (
            PartialLabels([0, 1, -1, -1], must_link=[(0, 1)]),
            ("rows 0 and 1", "rows 0, 1 are together"),
        ),
        (
            PartialLabels(chunks=[5, -1, 5, 2], cannot_link=[(2, 0)]),
            ("cannot-link (2, 0)", "rows 0, 2 are together"),
        ),
        (PartialLabels(["a", "b", "c", None], n_clusters=2), ("n_clusters=2", "3 clusters")),
    ],
)
def test_names_the_links_that_clash(labels: PartialLabels, named: tuple[str, ...]) -> None:
    with pytest.raises(DataError, match="contradict each other") as caught:
        labels.constraint(4, contiguous=False)
    assert all(name in str(caught.value) for name in named), str(caught.value)


@pytest.mark.parametrize(
    ("given", "contiguous", "message"),
    [
        ({"labels": [0, 1, -1]}, True, "4 samples but labels of shape"),
        ({"chunks": [0, 0]}, False, "4 samples but chunks of shape"),
        ({"regions": [(0, 5, 1)]}, True, "not part of a recording of 4 samples"),
        ({"regions": [(1, 3, 3)]}, True, "no room"),
        ({"regions": [(0, 3, 1), (2, 4, 1)]}, True, "cut them"),
        ({"n_clusters": 9}, True, "n_clusters=9: there is no room"),
        ({"must_link": [(0, 1)]}, True, "labels of clusterings"),
        ({"regions": [(0, 3, 1)]}, False, "labels of segmentations"),
        ({"must_link": [(0, 7)]}, False, "row 7"),
        ({"chunks": [1, 1, 1, 1], "n_clusters": 2}, False, "leave 1 group"),
    ],
)
def test_refuses_what_does_not_suit(given: dict, contiguous: bool, message: str) -> None:
    with pytest.raises(DataError, match=message):
        PartialLabels(**given).constraint(4, contiguous)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labels": [[0]]}, "non-empty vector"),
        ({"labels": ["1", 1, None]}, "labels do not compare"),
        ({"regions": [(0, 1)]}, "start, end, changes"),
        ({"regions": [(0, 5, "2+")]}, "0, 1, 2, ... or"),
        ({"must_link": [(1, 1)]}, "pairs of different row numbers"),
        ({"cannot_link": [(1, 2, 3)]}, "pairs of different row numbers"),
        ({"n_clusters": 0}, "integer >= 1"),
    ],
)
def test_refuses_other_forms(given: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        PartialLabels(**given)


def test_stretches_are_where_every_boundary_is_decided() -> None:
    labels = PartialLabels([-1, 7, 7, 8, -1, 8, -1, -1, -1, -1], regions=[(7, 9, 0)])
    constraint = labels.constraint(10, contiguous=True)
    assert stretches(constraint, 10) == [(1, 4, [2, 3]), (6, 9, [3])]
    assert stretches(Constraint(), 1) == []


@pytest.mark.parametrize(("change", "holds"), [(19, False), (20, True), (29, True), (30, False)])
def test_regions_are_the_numbers_of_lopart(change: int, holds: bool) -> None:
    """Its (20, 30, 1), from 1 and with both ends, asks for a change after samples 20 to 29."""
    constraint = PartialLabels(regions=[(20, 30, 1)]).constraint(100, contiguous=True)
    answer = EquivalenceMatrix.from_breakpoints([change, 60, 100])
    assert (constraint.violation(answer) is None) == holds


def test_minus_one_marks_unlabelled_samples() -> None:
    partial = as_partial([0, 0, -1], 3)
    assert partial is not None
    assert not partial.is_complete
    assert as_partial([0, 0, 1], 3) is None
    assert as_partial([2, 3], 3) is None
    assert PartialLabels(["a", "b"]).is_complete
    assert PartialLabels(regions=[Region(0, 4, 1)]).regions[0].holds(np.array([0, 2, 4]))
