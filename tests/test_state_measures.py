"""WARI and the state matching score, against the values of tsseg-eval and against their meaning."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, label_vectors

from structsvm import EquivalenceMatrix

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments"))

from _state_scores import state_matching_score, weighted_adjusted_rand_index


def states(*runs):
    """States and for how many samples each lasts."""
    return EquivalenceMatrix.from_labels(np.repeat(*map(list, zip(*runs, strict=True))))


TRUTH = states((0, 40), (1, 30), (0, 20), (2, 60), (1, 50))

# What tsseg-eval 0.1.4 (Chavelli, Boniol and Thomazo, 2025) says of them; `make conformance`
# compares on random states. It truncates the counts of WARI to whole numbers.
RECORDED = {
    "late": (states((0, 46), (1, 24), (0, 20), (2, 60), (1, 50)), 0.949247, 0.967),
    "early": (states((0, 33), (1, 37), (0, 20), (2, 60), (1, 50)), 0.939266, 0.9615),
    "isolated": (
        states((0, 40), (1, 30), (0, 20), (2, 25), (1, 10), (2, 25), (1, 50)),
        0.744221,
        0.9382,
    ),
    "on a change": (
        states((0, 35), (3, 10), (1, 25), (0, 20), (2, 60), (1, 50)),
        0.958766,
        0.949925,
    ),
    "missed": (states((0, 40), (1, 30), (0, 15), (3, 80), (1, 35)), 0.772243, 0.89),
    "one state": (states((0, 200)), 0.0, 0.3566),
    "renamed": (states((7, 40), (5, 30), (7, 20), (3, 60), (5, 50)), 1.0, 1.0),
    "much wrong": (states((0, 52), (1, 9), (2, 30), (1, 44), (0, 65)), 0.320833, 0.59246),
}


@pytest.mark.parametrize(("guess", "wari", "sms"), RECORDED.values(), ids=RECORDED)
def test_values_of_the_authors(guess, wari, sms):
    assert weighted_adjusted_rand_index(TRUTH, guess) == pytest.approx(wari, abs=2e-5)
    assert state_matching_score(TRUTH, guess) == pytest.approx(sms, abs=1e-6)


PAIRS = st.integers(2, 30).flatmap(lambda T: st.tuples(label_vectors(T), label_vectors(T)))


@examples(80)
@given(PAIRS)
def test_what_is_wrong_costs_its_length_and_at_most_as_much_again(pair):
    truth, guess = map(EquivalenceMatrix.from_labels, pair)
    free = dict.fromkeys(("delay", "transition", "missing", "isolation"), 0.0)
    plain = state_matching_score(truth, guess, free)
    wrong = (1 - plain) * truth.n_samples
    assert wrong == pytest.approx(round(wrong)), "a number of samples"
    dear = state_matching_score(truth, guess, dict.fromkeys(free, 1.0))
    assert plain - (1 - plain) - 1e-9 <= dear <= state_matching_score(truth, guess) + 1e-9
