"""What hypothesis draws for the property tests, and how long they take.

A short profile, the same in every run, belongs to `make test`; `make fuzz` sets
``STRUCTSVM_FUZZ=1`` and draws anew, more and for as long as it is told.
"""

import os

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from structsvm import EquivalenceMatrix, Region
from structsvm.partitions import Constraint, TraceObjective

LONG = os.environ.get("STRUCTSVM_FUZZ", "") not in {"", "0"}
COMMON = {
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
    "print_blob": True,
}


def examples(n):
    """So many examples in `make test`, thirty times as many in `make fuzz`."""
    if LONG:
        return settings(max_examples=30 * n, **COMMON)
    return settings(max_examples=n, derandomize=True, **COMMON)


def numbers(limit=100.0):
    """Numbers that a sensor gives: ties and zeros often, and any in between."""
    return st.one_of(
        st.integers(-3, 3).map(float),
        st.sampled_from([0.1, -0.1, 1e-3, limit, -limit, 1e-12]),
        st.floats(-limit, limit, allow_nan=False, width=32),
    )


def matrices(T, P, limit=100.0):
    """Arrays (T, P) of such numbers; ``T`` and ``P`` are numbers or strategies of them."""
    T = st.just(T) if isinstance(T, int) else T
    P = st.just(P) if isinstance(P, int) else P
    return st.tuples(T, P).flatmap(
        lambda shape: hnp.arrays(np.float64, shape, elements=numbers(limit))
    )


def label_vectors(T, most=4):
    """Labels (T,), any of them alike."""
    return st.lists(st.integers(0, most - 1), min_size=T, max_size=T).map(np.array)


@st.composite
def segmentations(draw, T):
    """Labels of segments, one after the other, (T,)."""
    cuts = draw(st.lists(st.booleans(), min_size=T - 1, max_size=T - 1))
    return np.cumsum([False, *cuts])


@st.composite
def objectives(draw, contiguous, most=8):
    """Objectives ``Tr(A M)`` of a handful of samples, with and without a truth."""
    T = draw(st.integers(1, most))
    Z = draw(matrices(T, st.integers(0, 3)))
    truth, weight = None, 0.0
    if draw(st.booleans()):
        labels = draw(segmentations(T) if contiguous else label_vectors(T))
        truth = EquivalenceMatrix.from_labels(labels)
        weight = draw(st.sampled_from([0.0, 0.5, 2.0]))
    shift = draw(st.one_of(st.sampled_from([0.0, -1.0, 1.0]), numbers()))
    return TraceObjective(Z, truth, weight, shift)


@st.composite
def constraints(draw, T):
    """What segmentations of ``T`` samples have to keep, which may be impossible."""
    places = st.lists(st.integers(0, T), max_size=3).map(tuple)
    regions = st.lists(
        st.builds(Region, st.integers(0, T), st.integers(0, T), st.integers(0, 3), st.booleans()),
        max_size=2,
    ).map(tuple)
    return Constraint(
        n_clusters=draw(st.none() | st.integers(1, T)),
        forced=draw(st.just(()) | places),
        forbidden=draw(st.just(()) | places),
        regions=draw(st.just(()) | regions),
    )


def size_of(objective):
    """How large the terms of an objective are: its rounding is a small part of this."""
    T = objective.n_samples
    return float((objective.Z**2).sum()) + abs(objective.shift) * T + objective.truth_weight * T
