"""Online searches find what searches of whole recordings find."""

import numpy as np
import pytest

from structsvm.errors import OracleError
from structsvm.oracles import SequentialOracle, StateScore, best_states, semi_markov, sequential
from structsvm.oracles._segments import online, running
from structsvm.oracles._segments.online import OnlineSearch
from structsvm.oracles._segments.states import NOWHERE, search_states
from structsvm.oracles.semi_markov import _scores, _searched_online
from structsvm.partitions import Constraint, TraceObjective
from structsvm.support import Stack


def drawn_score(rng, T, *, forbidden=True):
    """Scores of a few states, in part forbidden, whole numbers with ties, or late."""
    C = int(rng.integers(1, 5))
    L = int(rng.integers(1, 12))
    samples, changes = rng.normal(size=(T, C)), rng.normal(size=(C, C)) - 1.0
    lengths = -np.abs(rng.normal(size=(C, L + 1)))
    if rng.random() < 0.3:
        samples, changes, lengths = (np.round(x) for x in (samples, changes, lengths))
    if forbidden and rng.random() < 0.5:
        for scores in (samples, lengths, changes):
            scores[rng.random(scores.shape) < 0.15] = -np.inf
    late = rng.integers(-3, 4, (C, C)) if rng.random() < 0.4 else None
    return StateScore(samples, lengths, changes, *np.round(rng.normal(size=(2, C))), late=late)


def pushed(search, rows, rng):
    """The search after blocks of 0 to 8 rows, and the segments that were put aside on the way."""
    settled = []
    t = 0
    while t < len(rows):
        n = int(rng.integers(0, 9))
        search.push(rows[t : t + n])
        t += n
        if rng.random() < 0.5:
            settled += search.settle()[:-1]
    search.end()
    return search, settled


def labels(segments, T):
    bounds = [*[start for start, _ in segments], T]
    return np.repeat([state for _, state in segments], np.diff(bounds))


@pytest.mark.parametrize("seed", range(250))
def test_the_segments_that_may_be_the_best_are_enough(seed):
    rng = np.random.default_rng(seed)
    for T in rng.integers(1, 80, 2).tolist():
        score = drawn_score(rng, T)
        ends = score.first, score.last
        of_all = search_states(_scores(score, None), *ends, NOWHERE, 0.0, 0)
        assert np.array_equal(_searched_online(score), of_all)


def test_very_long_recordings_are_searched_online(monkeypatch):
    score = drawn_score(np.random.default_rng(0), 60, forbidden=False)
    whole = best_states(score)
    monkeypatch.setattr(semi_markov, "LONG", 59)
    monkeypatch.setattr(semi_markov, "search_states", None)
    assert np.array_equal(best_states(score), whole)


@pytest.mark.parametrize("seed", range(250))
def test_the_online_search_of_states_agrees_with_the_whole_search(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(online, "AT_ONCE", int(rng.integers(1, 40)))
    for T in rng.integers(1, 80, 2).tolist():
        score = drawn_score(rng, T)
        search, settled = pushed(OnlineSearch.of_states(score), score.samples, rng)
        try:
            want = score.value(best_states(score))
        except OracleError:
            assert search.loss() == np.inf
            continue
        assert np.isclose(score.value(labels(settled + search.segments(), T)), want, atol=1e-9)
        assert np.isclose(-search.loss(), want, atol=1e-9)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("longest", [40, 400])
def test_the_online_search_begins_no_segment_at_barred_places(seed, longest):
    rng = np.random.default_rng(seed)
    T = int(rng.integers(2, longest))
    low = int(rng.integers(1, T))
    high = min(low + int(rng.integers(0, 5)), T - 1)
    score = drawn_score(rng, T, forbidden=False)
    rule = Constraint(forbidden=tuple(range(low, high + 1)))
    search, _ = pushed(OnlineSearch.of_states(score), score.samples, rng)
    want, free = (score.value(best_states(score, None, one)) for one in (rule, Constraint()))
    assert np.isclose(-search.loss_without(low, high), want, atol=1e-9)
    assert np.isclose(-search.loss(), free, atol=1e-9)
    Z = rng.normal(size=(T, 2)) + 3.0 * (np.arange(T) // 7)[:, None]
    changes, _ = pushed(OnlineSearch.of_changes(2, 2.0), Z, rng)
    M = SequentialOracle().ask(TraceObjective(Z, shift=-2.0), rule).y
    parts = np.split(Z, M.breakpoints[:-1])
    want = sum(((part - part.mean(axis=0)) ** 2).sum() + 2.0 for part in parts)
    assert np.isclose(2.0 * changes.loss_without(low, high), want, atol=1e-9)


def test_a_copy_of_an_online_search_continues_independently():
    rng = np.random.default_rng(0)
    score = drawn_score(rng, 300, forbidden=False)
    search = OnlineSearch.of_states(score)
    search.push(score.samples[:100])
    alone = search.copy()
    search.push(rng.normal(size=(200, score.samples.shape[1])))
    alone.push(score.samples[100:])
    alone.end()
    want = score.value(best_states(score))
    assert np.isclose(-alone.loss(), want, atol=1e-9)


def test_the_online_search_forgets_losses_of_the_distant_past():
    search = OnlineSearch.of_changes(1, 2.0)
    for _ in range(60):
        search.push(np.zeros((50, 1)))
    assert len(search.copies) == online.N_COPIES
    assert search.loss_without(5, 9) is None
    assert search.loss_without(2990, 2995) == search.loss() == 1.0


def dearest(Z, price):
    """The least cost of a segmentation, by all of them: the twin of the compiled steps."""
    costs = [0.0]
    for t in range(1, len(Z) + 1):
        spread = [((Z[s:t] - Z[s:t].mean(axis=0)) ** 2).sum() for s in range(t)]
        costs.append(min(c + more + price for c, more in zip(costs, spread, strict=True)))
    return costs[-1]


@pytest.mark.parametrize("seed", range(100))
def test_the_online_search_of_changes_agrees_with_the_whole_search(seed):
    rng = np.random.default_rng(seed)
    for T in rng.integers(1, 120, 2).tolist():
        r = int(rng.integers(0, 4))
        Z = rng.normal(size=(T, r)) + np.repeat(rng.normal(0, 3, (T // 10 + 1, r)), 10, axis=0)[:T]
        unit = 10.0 ** rng.integers(-6, 7)
        Z *= unit
        price = float(unit**2 * 10 ** rng.uniform(-1, 2))
        search, settled = pushed(OnlineSearch.of_changes(r, price), Z, rng)
        want = SequentialOracle().ask(TraceObjective(Z, shift=-price)).y.breakpoints
        assert [start for start, _ in (settled + search.segments())[1:]] + [T] == want
        assert search.n_thinned == 0
        assert np.isclose(search.loss(), dearest(Z, price) / price, rtol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_the_oracle_and_the_online_search_agree_beside_a_jump(seed):
    """Prefix sums lose what is beside a value of 1e9 or more; means of segments do not."""
    rng = np.random.default_rng(seed)
    T, r = int(rng.integers(5, 100)), int(rng.integers(1, 4))
    Z = rng.normal(size=(T, r)) + np.repeat(rng.normal(0, 3, (T // 10 + 1, r)), 10, axis=0)[:T]
    Z[rng.integers(T), rng.integers(r)] = 10.0 ** rng.integers(3, 60)
    price = float(10 ** rng.uniform(0, 2))
    found = [SequentialOracle().ask(TraceObjective(Z, shift=-price)).y]
    found += [one.y for one in SequentialOracle().ask_each(Stack.of([Z[:1], Z]), price)][1:]
    search = OnlineSearch.of_changes(r, price)
    search.push(Z)
    search.end()
    for y in found:
        assert y.breakpoints == [*(start for start, _ in search.segments()[1:]), T]
        parts = np.split(Z, y.breakpoints[:-1])
        cost = sum(((part - part.mean(axis=0)) ** 2).sum() + price for part in parts)
        assert np.isclose(cost, dearest(Z, price), rtol=1e-9)


def test_rounding_of_many_ordinary_samples_needs_no_online_search(monkeypatch):
    monkeypatch.setattr(sequential, "_as_samples_come", None)
    rng = np.random.default_rng(0)
    Z = np.repeat(rng.normal(0, 3, (5000, 3)), 200, axis=0) + rng.normal(size=(1_000_000, 3))
    assert SequentialOracle().ask(TraceObjective(Z, shift=-5.0)).y.n_clusters >= 5000


def test_the_memory_of_the_online_search_is_bounded_without_changes():
    rng = np.random.default_rng(0)
    C = 3
    lengths = np.pad(-0.1 * np.log(np.arange(1, 60)) ** 2, (1, 0))
    score = StateScore(
        np.zeros((1, C)), [lengths] * C, np.full((C, C), -12.0), [0.0] * C, [0.0] * C
    )
    states = OnlineSearch.of_states(score)
    changes = OnlineSearch.of_changes(4, price=200.0, max_candidates=64)
    sizes = []
    for _ in range(40):
        states.push(np.array([1.0, 0.0, 0.0]) + rng.normal(size=(500, C)))
        changes.push(rng.normal(size=(500, 4)))
        states.settle()
        changes.settle()
        kept = states.now.states["n"].sum(), states.now.counts[running.N_ROWS]
        sizes.append((*kept, changes.now.states["n"][0], changes.now.counts[running.N_ROWS]))
    assert changes.n_thinned > 0
    assert changes.segments() == [(0, 0)]
    assert [state for _, state in states.segments()] == [0]
    assert np.max(sizes[20:], axis=0)[[0, 2]].tolist() <= [C * 60, 64]
    assert np.max(sizes[20:], axis=0)[[1, 3]].tolist() <= [C * 70, 140]


@pytest.mark.parametrize("most", [2, 3, 4, 5, 8, 9])
def test_the_online_search_has_room_for_a_stated_number_of_segments(most):
    rng = np.random.default_rng(most)
    Z = rng.normal(size=(300, 2))
    Z[150:] += 40.0
    search = OnlineSearch.of_changes(2, 400.0, max_candidates=most)
    for row in Z[:, None]:
        search.push(row)
        assert search.now.states["n"][0] <= most
    assert search.n_thinned > 0
    assert [start for start, _ in search.segments()] == [0, 150]
