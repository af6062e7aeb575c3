"""Partitions and scores against their definitions, for whatever hypothesis thinks of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, rand_score
from strategies import examples, label_vectors, segmentations

from structsvm import EquivalenceMatrix
from structsvm.errors import DataError
from structsvm.partitions.losses import (
    adjusted_rand_index,
    chi_square,
    covering,
    hausdorff,
    margin_f1,
    partition_loss,
    rand_index,
)

PAIRS = st.integers(1, 12).flatmap(lambda T: st.tuples(label_vectors(T), label_vectors(T)))
CUTS = st.integers(1, 12).flatmap(lambda T: st.tuples(segmentations(T), segmentations(T)))


@examples(60)
@given(PAIRS)
def test_scores_are_what_they_are_defined_to_be(pair):
    truth, guess = map(EquivalenceMatrix.from_labels, pair)
    difference = truth.dense() - guess.dense()
    assert partition_loss(truth, guess) == pytest.approx((difference**2).sum(), abs=1e-9)
    assert rand_index(truth, guess) == pytest.approx(rand_score(*pair))
    assert adjusted_rand_index(truth, guess) == pytest.approx(adjusted_rand_score(*pair))
    assert 0 <= covering(truth, guess) <= 1 + 1e-12
    assert np.isfinite(chi_square(truth, guess))
    assert truth.inner(guess) == pytest.approx((truth.dense() * guess.dense()).sum())


@examples(60)
@given(PAIRS, st.randoms(use_true_random=False))
def test_names_and_order_of_clusters_do_not_count(pair, random):
    truth, guess = map(EquivalenceMatrix.from_labels, pair)
    names = random.sample(range(-50, 50), 4)
    renamed = EquivalenceMatrix.from_labels(np.array(names)[pair[1]])
    assert renamed == guess
    order = random.sample(range(len(pair[0])), len(pair[0]))
    moved = [EquivalenceMatrix.from_labels(y[order]) for y in pair]
    for score in (partition_loss, rand_index, adjusted_rand_index, covering):
        assert score(*moved) == pytest.approx(score(truth, guess), abs=1e-9)
    assert partition_loss(truth, guess) == pytest.approx(partition_loss(guess, truth), abs=1e-9)


@examples(60)
@given(CUTS, st.integers(0, 5))
def test_segmentations_are_scored_alike_forwards_and_backwards(pair, tolerance):
    there = [EquivalenceMatrix.from_labels(y) for y in pair]
    back = [EquivalenceMatrix.from_labels(y[::-1]) for y in pair]
    for score in (partition_loss, covering, hausdorff):
        assert score(*there) == pytest.approx(score(*back), abs=1e-9, nan_ok=True)
    found = margin_f1(*there, tolerance)
    assert 0 <= found <= 1
    assert found == pytest.approx(margin_f1(*back, tolerance))
    assert margin_f1(there[0], there[0], tolerance) == 1


@examples(60)
@given(st.integers(1, 30).flatmap(segmentations))
def test_labels_and_breakpoints_say_the_same(labels):
    M = EquivalenceMatrix.from_labels(labels)
    assert EquivalenceMatrix.from_breakpoints(M.breakpoints) == M
    assert M.breakpoints[-1] == labels.size
    assert M.sizes.sum() == labels.size
    np.testing.assert_allclose(M.dense() @ M.dense(), M.dense(), atol=1e-12)


SIZES = st.integers(-5, 1000) | st.integers(min_value=2**40) | st.integers(max_value=-(2**40))
ODD = st.recursive(
    st.none() | st.booleans() | SIZES | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


@examples(120)
@given(ODD)
def test_whatever_is_no_labels_or_breakpoints_is_refused(given_value):
    for make in (EquivalenceMatrix.from_labels, EquivalenceMatrix.from_breakpoints):
        try:
            M = make(given_value)
        except (DataError, TypeError, ValueError):
            continue
        assert M.n_samples >= 1
        assert 1 <= M.n_clusters <= M.n_samples


def test_a_breakpoint_beyond_any_memory_is_refused_before_labels_are_made():
    with pytest.raises(DataError, match="at most 100,000,000 can be held"):
        EquivalenceMatrix.from_breakpoints([3, 2**40])
