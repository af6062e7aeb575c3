"""Labels in part of long recordings: what is known of them takes time in proportion to T."""

import time

import numpy as np
import pytest

from structsvm.data.sample import Sample
from structsvm.errors import DataError
from structsvm.partial_labels.complete import Known, read_labels
from structsvm.partial_labels.labels import PartialLabels
from structsvm.partitions import equivalence
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.oracle import Region
from structsvm.problems.change_point import ChangePoint


def half_blank(T, rng, length=1):
    """Random labels, every other sample without one."""
    y = np.repeat(rng.integers(0, 4, T // length), length)
    return np.where(rng.random(T) < 0.5, -1, y)


def random_partition(T, rng):
    ends = np.flatnonzero(rng.random(T - 1) < 0.3) + 1
    return EquivalenceMatrix.from_breakpoints([*ends.tolist(), T])


def test_twenty_thousand_samples_take_seconds():
    """Every step used to look at every label: a minute, and a contingency table of a gigabyte."""
    rng, T = np.random.default_rng(0), 20_000
    y = half_blank(T, rng)
    guesses = [random_partition(T, rng) for _ in range(3)]
    started = time.process_time()
    (known,) = read_labels(ChangePoint(), [Sample(np.zeros((T, 1)))], [y])
    losses = [known.loss(M) for M in guesses]
    assert time.process_time() < started + 8
    assert min(losses) > 100


@pytest.mark.parametrize("length", [1, 4])
@pytest.mark.parametrize("seed", range(5))
def test_the_loss_is_the_sum_over_the_stretches(seed, length):
    rng, T = np.random.default_rng(seed), 120
    regions = [Region(80, 90, 1), Region(95, 110, 1, or_more=True), Region(112, 118, 0)]
    y = half_blank(T, rng, length)
    y[78:] = -1
    labels = PartialLabels(y, regions=regions)
    known = Known(T, labels.constraint(T, True), None, True)
    for _ in range(20):
        M = random_partition(T, rng)
        expected = sum(
            partition_loss(truth, EquivalenceMatrix.from_labels(M.labels[rows]))
            for rows, truth in zip(*known.part, strict=True)
        )
        regions = [r for r in known.constraint.regions if r.changes]
        expected += sum(not r.holds(M.boundaries) for r in regions)
        assert known.loss(M) == pytest.approx(expected, abs=1e-9)


def test_nothing_but_regions():
    known = Known(20, PartialLabels(regions=[(0, 6, 1)]).constraint(20, True), None, True)
    assert known.loss(EquivalenceMatrix.from_breakpoints([3, 20])) == 0
    assert known.loss(EquivalenceMatrix.from_breakpoints([20])) == 1
    assert known.loss(EquivalenceMatrix.from_breakpoints([2, 4, 20])) == 1


def test_large_tables_are_summed_where_they_are_not_zero(monkeypatch):
    rng = np.random.default_rng(0)
    pairs = [(random_partition(60, rng), random_partition(60, rng)) for _ in range(20)]
    pairs += [(EquivalenceMatrix.from_labels(rng.integers(0, 5, 60)), M) for M, _ in pairs]
    expected = [a.inner(b) for a, b in pairs]
    monkeypatch.setattr(equivalence, "LARGE_TABLE", 0)
    assert [a.inner(b) for a, b in pairs] == pytest.approx(expected, rel=1e-12)


def test_a_contradiction_in_long_labels_is_found_and_named():
    rng, T = np.random.default_rng(0), 20_000
    y = half_blank(T, rng)
    y[10_000:10_005] = [0, 1, 0, 1, 0]
    labels = PartialLabels(y, regions=[(10_000, 10_005, 3)])
    started = time.process_time()
    with pytest.raises(DataError, match="contradict each other: ") as caught:
        labels.constraint(T, contiguous=True)
    assert time.process_time() < started + 8
    assert "region 10000..10005 with 3 changes" in str(caught.value)
    with pytest.raises(DataError, match="n_clusters=3"):
        PartialLabels(y, n_clusters=3).constraint(T, contiguous=True)
    assert time.process_time() < started + 16
