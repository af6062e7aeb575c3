"""The paper's theorems and the chi-square identity, as drawn."""

import itertools
from itertools import chain

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import examples, label_vectors, segmentations

from structsvm import EquivalenceMatrix
from structsvm.partitions import chi_square, hausdorff, partition_loss


@st.composite
def moved_labels(draw):
    """K equal clusters of many samples, and the same with a few samples in other clusters."""
    K = draw(st.integers(2, 5))
    size = draw(st.integers(5, 40))
    labels = np.repeat(np.arange(K), size)
    moved = labels.copy()
    places = st.lists(st.integers(0, labels.size - 1), min_size=1, max_size=size)
    for place in draw(places):
        moved[place] = draw(st.integers(0, K - 1))
    assume(np.unique(moved).size == K)
    return labels, moved


@st.composite
def moved_changes(draw):
    """A segmentation, and one whose changes are displaced by less than half of a segment."""
    lengths = draw(st.lists(st.integers(3, 40), min_size=2, max_size=8))
    reach = (min(lengths) - 1) // 2
    ends = np.cumsum(lengths)
    moves = [draw(st.integers(-reach, reach)) for _ in ends[:-1]]
    assume(any(moves))
    return [*ends], [*(ends[:-1] + moves), ends[-1]]


def flows(P, Q):
    """``(K - 1) M(P, Q)``, and the loss to first order."""
    common = P.contingency(Q).astype(float)
    np.fill_diagonal(common, 0.0)
    M = (common / np.minimum.outer(P.sizes, P.sizes)).max()
    first = 2 * ((common.sum(axis=0) + common.sum(axis=1)) / P.sizes).sum()
    return (len(common) - 1) * M, first


@examples(150)
@given(moved_labels())
def test_the_loss_is_that_of_its_flows_up_to_a_bounded_rest(labels):
    P, Q = map(EquivalenceMatrix.from_labels, labels)
    eta, first = flows(P, Q)
    assume(0 < eta < 1)
    delta = partition_loss(P, Q) / first - 1
    assert abs(delta) <= 3 * eta / (1 - eta) + 1e-9


@examples(150)
@given(moved_changes())
def test_the_loss_to_first_order_is_that_of_the_displacements(ends):
    P, Q = map(EquivalenceMatrix.from_breakpoints, ends)
    moves = np.abs(np.subtract(*ends))[:-1]
    expected = 2 * (moves * (1 / P.sizes[:-1] + 1 / P.sizes[1:])).sum()
    assert flows(P, Q)[1] == pytest.approx(expected)


@examples(150)
@given(moved_changes())
def test_the_loss_and_the_hausdorff_distance_bound_each_other(ends):
    P, Q = map(EquivalenceMatrix.from_breakpoints, ends)
    epsilon = hausdorff(P, Q)
    loss = partition_loss(P, Q)
    assert 0 < epsilon < P.sizes.min() / 2
    assert loss >= epsilon / P.sizes.max() - 1e-9
    assert loss <= 12 * P.n_clusters * epsilon / P.sizes.min() + 1e-9


@examples(150)
@given(st.integers(2, 40).flatmap(lambda T: st.tuples(segmentations(T), segmentations(T))))
def test_the_lower_bound_needs_no_equal_numbers_of_segments(pair):
    P, Q = map(EquivalenceMatrix.from_labels, pair)
    assume(P.n_clusters > 1 and Q.n_clusters > 1)
    assert partition_loss(P, Q) >= hausdorff(P, Q) / P.sizes.max() - 1e-9


def test_the_lower_bound_holds_for_all_segmentations_of_seven_samples_and_is_attained():
    T = 7
    changes = list(chain.from_iterable(itertools.combinations(range(1, T), n) for n in range(1, T)))
    every = [EquivalenceMatrix.from_breakpoints([*c, T]) for c in changes]
    ratios = [
        partition_loss(P, Q) * P.sizes.max() / hausdorff(P, Q)
        for P, Q in itertools.permutations(every, 2)
    ]
    assert min(ratios) == pytest.approx(1.0)


@examples(150)
@given(st.integers(1, 30).flatmap(lambda T: st.tuples(label_vectors(T), label_vectors(T))))
def test_the_chi_square_identity_has_the_factor_two(pair):
    P, Q = map(EquivalenceMatrix.from_labels, pair)
    share = (chi_square(P, Q) + P.n_samples) / P.n_samples
    printed = P.n_clusters + Q.n_clusters - share
    assert partition_loss(P, Q) == pytest.approx(printed - share, abs=1e-9)
    assert partition_loss(P, Q) < printed - 0.5, "the printed identity never holds"
