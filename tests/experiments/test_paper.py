"""The paper's experiments: their command, the pages made from them, methods of other papers."""

import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, label_vectors

from structsvm import EquivalenceMatrix

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from experiments._figures import PAPER, faults, faults_of_file, pages
from experiments.paper.run import FOLDER, PARTS
from experiments.studies import penalty_regression, sinkhorn
from experiments.studies._state_scores import state_matching_score, weighted_adjusted_rand_index


def test_every_experiment_of_the_paper_is_run():
    scripts = {
        path.name
        for path in chain.from_iterable(
            FOLDER.glob(pattern) for pattern in ("table*.py", "figure*.py", "appendix*.py")
        )
    }
    assert scripts <= {part.command[0] for part in PARTS}
    assert scripts - {part.quick[0] for part in PARTS if part.quick} == set(), "nor left out in CI"


# ---- rivals


class TestIntervalRegression:
    def test_interval_regression_finds_a_rule_within_every_interval(self, rng):
        features = rng.normal(size=(30, 2))
        logs = 1.0 + features @ [0.5, 2.0]
        intervals = np.column_stack([logs - 2.0, logs + 2.0])
        intervals[::3, 0] = -np.inf
        intervals[1::3, 1] = np.inf
        rule = penalty_regression.regression(features, intervals, constant=False)
        found = np.log([rule(x) for x in features])
        assert ((intervals[:, 0] < found) & (found < intervals[:, 1])).all()

    def test_a_constant_feature_does_not_change_a_regression(self, rng):
        features = np.column_stack([np.ones(8), rng.normal(size=8)])
        intervals = np.column_stack([features[:, 1] - 1, features[:, 1] + 1])
        rule = penalty_regression.regression(features, intervals, constant=False)
        other = np.array([5.0, 0.3])
        assert rule(other) == pytest.approx(rule(np.array([1.0, 0.3])))


class TestSinkhorn:
    @pytest.fixture
    def windows(self, rng):
        return rng.normal(size=(3, 5, 3)), rng.normal(size=(3, 5, 3)) + 1.0

    def test_the_sinkhorn_divergence_of_a_window_with_itself_is_zero(self, windows):
        X, Y = windows
        L = np.diag([1.0, 0.5, 2.0])
        assert sinkhorn.divergence(X, X, L, 0.5)[0] == pytest.approx(np.zeros(3), abs=1e-9)
        assert (sinkhorn.divergence(X, Y, L, 0.5)[0] > 0).all()

    def test_transport_plans_have_the_right_sums(self, windows, monkeypatch):
        monkeypatch.setattr(sinkhorn, "ROUNDS", 300)
        _, plan = sinkhorn.transport(*windows, np.eye(3), 5.0)
        assert plan.sum(axis=1) == pytest.approx(np.full((3, 5), 0.2), abs=1e-6)
        assert plan.sum(axis=2) == pytest.approx(np.full((3, 5), 0.2), abs=1e-6)

    def test_the_gradient_of_the_divergence_is_that_of_differences(self, windows, monkeypatch, rng):
        monkeypatch.setattr(sinkhorn, "ROUNDS", 300)
        L = np.eye(3) + 0.1 * rng.normal(size=(3, 3))
        weights = np.array([1.0, -2.0, 0.5])
        _, kept = sinkhorn.divergence(*windows, L, 5.0)
        found = sinkhorn.slope(kept, weights, L)
        for i, j in ((0, 0), (1, 2), (2, 1)):
            step = np.zeros((3, 3))
            step[i, j] = 1e-5
            up, down = (sinkhorn.divergence(*windows, L + s, 5.0)[0] for s in (step, -step))
            assert found[i, j] == pytest.approx(weights @ (up - down) / 2e-5, rel=1e-4)


# ---- printed numbers are those of the files of docs/paper, which say where they come from


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_pages_print_the_numbers_of_their_files(page):
    assert list(faults(page)) == []


@pytest.mark.parametrize("path", sorted(PAPER.glob("*.json")), ids=lambda path: path.stem)
def test_published_files_name_command_commit_and_machine(path):
    assert list(faults_of_file(path)) == []


# ---- WARI and the state matching score, against the values of tsseg-eval and against their meaning


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
def test_scores_of_states_are_those_of_their_authors(guess, wari, sms):
    assert weighted_adjusted_rand_index(TRUTH, guess) == pytest.approx(wari, abs=2e-5)
    assert state_matching_score(TRUTH, guess) == pytest.approx(sms, abs=1e-6)


PAIRS = st.integers(2, 30).flatmap(lambda T: st.tuples(label_vectors(T), label_vectors(T)))


@examples(80)
@given(PAIRS)
def test_errors_of_state_matching_cost_their_length_to_twice_it(pair):
    truth, guess = map(EquivalenceMatrix.from_labels, pair)
    free = dict.fromkeys(("delay", "transition", "missing", "isolation"), 0.0)
    plain = state_matching_score(truth, guess, free)
    wrong = (1 - plain) * truth.n_samples
    assert wrong == pytest.approx(round(wrong)), "a number of samples"
    dear = state_matching_score(truth, guess, dict.fromkeys(free, 1.0))
    assert plain - (1 - plain) - 1e-9 <= dear <= state_matching_score(truth, guess) + 1e-9
