"""Margins of segments with states, and kept boundaries, compared with enumeration."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from cases import refused

from structsvm import ChangePoint, PartialLabels, StateSegmenter, StructSVMError
from structsvm.baselines import FrameClassifier
from structsvm.errors import OracleError
from structsvm.interop import prepare
from structsvm.oracles import StateScore, best_states, best_together, state_margins
from structsvm.oracles.state_score import segments_of
from structsvm.partitions import Constraint, EquivalenceMatrix, Region
from structsvm.partitions.constraint import UNCONSTRAINED as FREE


@dataclass
class Case:
    """A random question, and all labellings that answer it, with their scores."""

    score: StateScore
    n_segments: int | None
    constraint: Constraint
    tolerance: int
    answers: list

    @classmethod
    def drawn(cls, seed):
        rng = np.random.default_rng(seed)
        T = int(rng.integers(1, 8))
        C = int(rng.integers(1, 4))

        def scores(*shape):
            return np.where(rng.random(shape) < 0.12, -np.inf, rng.normal(size=shape))

        lengths = scores(C, int(rng.integers(2, T + 3)))
        score = StateScore(scores(T, C), lengths, scores(C, C), scores(C), scores(C))
        if seed % 2:
            score = replace(score, late=rng.integers(-3, 4, (C, C)))
        code = rng.choice(3, p=[0.8, 0.1, 0.1], size=T)
        forced, forbidden = (tuple(np.flatnonzero(code[1:] == k) + 1) for k in (1, 2))
        regions = ()
        if rng.random() < 0.4 and T > 2:
            a = int(rng.integers(0, T - 1))
            regions = (Region(a, int(rng.integers(a + 2, T + 1)), 1, or_more=True),)
        K = None if rng.random() < 0.5 else int(rng.integers(1, T + 1))
        constraint = Constraint(None, forced, forbidden, regions)
        answers = []
        for path in itertools.product(range(C), repeat=T):
            y = np.array(path)
            at = segments_of(y)[0][1:]
            agrees = {*forced} <= {*at} and not {*forbidden} & {*at} and K in (None, at.size + 1)
            value = score.value(y)
            if agrees and all(r.holds(at) for r in regions) and value > -np.inf:
                answers.append((value, y))
        return cls(score, K, constraint, int(rng.integers(0, 3)), answers)

    def best(self, keeps=lambda y: True):
        return max((value for value, y in self.answers if keeps(y)), default=-np.inf)


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_margins_of_states_are_those_of_enumeration(first):
    infinite = 0
    for case in map(Case.drawn, range(first, first + 40)):
        question = case.score, case.n_segments, case.constraint
        if not case.answers:
            with pytest.raises(OracleError):
                state_margins(*question)
            continue
        margins = state_margins(*question, case.tolerance)
        best = case.best()
        (starts, ends, states) = segments_of(margins.states)
        assert case.score.value(margins.states) == pytest.approx(best)
        assert (best_states(*question) == margins.states).all()
        for k, t in enumerate(starts[1:]):
            near = range(t - case.tolerance, t + case.tolerance + 1)
            lost = best - case.best(lambda y, near=near: not {*near} & {*segments_of(y)[0][1:]})
            assert margins.boundaries[k] == pytest.approx(lost, abs=1e-9)
            infinite += np.isinf(lost)
        for k, (a, b, c) in enumerate(zip(starts, ends, states, strict=True)):
            lost = best - case.best(lambda y, a=a, b=b, c=c: y[a] != c and len({*y[a:b]}) == 1)
            assert margins.segments[k] == pytest.approx(lost, abs=1e-9)
    assert infinite


def test_best_scores_with_joined_samples_are_those_of_enumeration():
    for case in map(Case.drawn, range(300, 360)):
        T, C = case.score.samples.shape
        pairs = np.array(list(itertools.combinations(range(T + 1), 2)))
        if case.n_segments is not None and not case.answers:
            continue
        found = best_together(
            case.score, pairs[:, 0], pairs[:, 1], case.n_segments, case.constraint
        )
        for (a, b), values in zip(pairs, found, strict=True):
            for c in range(C):
                best = case.best(lambda y, a=a, b=b, c=c: (y[a:b] == c).all())
                assert values[c] == pytest.approx(best, abs=1e-9)


def test_margins_of_long_recordings_are_those_of_the_short_search(rng):
    """Segments longer than all lengths that are told apart, beside a search for each."""
    y = np.repeat([0, 1, 0, 2, 1], [70, 40, 55, 90, 45])
    samples = rng.normal(size=(y.size, 3)) + 1.5 * (y[:, None] == np.arange(3))
    score = StateScore(samples, rng.normal(size=(3, 9)), np.full((3, 3), -6.0), *np.zeros((2, 3)))
    margins = state_margins(score)
    starts = segments_of(margins.states)[0][1:]
    assert starts.size
    for t, margin in zip(starts.tolist(), margins.boundaries, strict=True):
        without = best_states(score, None, Constraint(forbidden=(t,)))
        lost = score.value(margins.states) - score.value(without)
        assert margin == pytest.approx(lost, abs=1e-8)


TWO = StateScore(np.zeros((5, 2)), np.zeros((2, 3)), np.zeros((2, 2)), *np.zeros((2, 2)))
TRUE = EquivalenceMatrix.from_breakpoints([2, 5])
test_impossible_questions_about_margins_are_refused = refused(
    OracleError,
    lambda ask: ask(),
    (lambda: best_states(TWO, None, Constraint(forced=(5,))), "forced boundary 5"),
    (lambda: best_states(TWO, None, Constraint(regions=(Region(1, 4, 1),))), "region 1..4"),
    (lambda: best_states(TWO, None, Constraint(apart=((0, 4),))), "links: segments with states"),
    (lambda: best_states(TWO, 2, Constraint(forced=(1, 3))), "cannot make 2 segments"),
    (lambda: state_margins(TWO, tolerance=-1), "tolerance must be"),
    (lambda: best_together(TWO, [3], [3]), "must be those of samples"),
    (lambda: best_together(TWO, [0, 1], [3]), "as many integers"),
    (
        lambda: state_margins(StateScore(*[getattr(TWO, n) for n in NAMES], TRUE, 1.0)),
        "without a truth",
    ),
)
NAMES = ("samples", "lengths", "changes", "first", "last")


@pytest.mark.parametrize(("shortest", "longest"), [(1, None), (3, None), (1, 2), (2, 3), (9, None)])
def test_the_best_states_with_length_limits_are_those_of_enumeration(shortest, longest):
    for case in map(Case.drawn, range(400, 430)):
        T = len(case.score.samples)
        limited = case.score.lasting(shortest, longest)
        most = T if longest is None else longest
        best = case.best(
            lambda y, T=T, most=most: all(
                min(shortest, T) <= b - a <= most for a, b, _ in zip(*segments_of(y), strict=True)
            )
        )
        question = limited, case.n_segments, case.constraint
        if best == -np.inf:
            with pytest.raises(OracleError):
                best_states(*question)
        else:
            assert case.score.value(best_states(*question)) == pytest.approx(best)


# ---- the same of a learner

Y = np.repeat(["rest", "walk", "rest", "run"], [10, 8, 9, 7])


def recordings(n, rng):
    columns = np.array(["rest", "run", "walk"])
    return [(Y[:, None] == columns) + 0.5 * rng.normal(size=(Y.size, 3)) for _ in range(n)]


@pytest.fixture(params=["states", "frames"])
def learner(request, rng):
    kinds = {"states": StateSegmenter(["lda"]), "frames": FrameClassifier("lda")}
    return kinds[request.param].fit(recordings(5, rng), [Y] * 5)


@pytest.mark.parametrize("tolerance", [0, 2, 5])
def test_margins_of_a_learner_are_those_of_a_search_for_each(learner, rng, tolerance):
    for instance in prepare(learner, recordings(3, rng)):
        found, margins = learner.model_.margins(ChangePoint(), instance, FREE, tolerance)
        assert found.partition == learner.model_.partition(ChangePoint(), instance, FREE)[0]
        score = learner.model_.score(ChangePoint(), instance.states)
        best = score.value(found.states[found.partition.labels])
        T = instance.n_samples
        for t, margin in zip(found.partition.breakpoints, margins, strict=False):
            near = range(max(t - tolerance, 1), min(t + tolerance, T - 1) + 1)
            without = best_states(score, None, Constraint(forbidden=tuple(near)))
            assert margin == pytest.approx(best - score.value(without), abs=1e-8)


def test_known_states_are_kept_by_prediction(learner, rng):
    (X,) = recordings(1, rng)
    for name, others in (("walk", slice(0, 4)), ("rest", slice(12, 15)), ("run", slice(33, 34))):
        known = np.full(Y.size, None, dtype=object)
        known[others] = name
        rules = {"known": [PartialLabels(known)]}
        assert (learner.predict_states([X], **rules)[0][others] == name).all()
        tables = learner.predict_segments([X], **rules)
        names = [[row["state"]] * (row["end"] - row["start"]) for row in tables[0]]
        assert (np.concatenate(names)[others] == name).all()


def test_all_states_of_a_recording_may_be_known(learner, rng):
    (X,) = recordings(1, rng)
    assert (learner.predict_states([X], known=[Y[::-1]])[0] == Y[::-1]).all()
    assert learner.predict_breakpoints([X], known=[[7, 34]]) == [[7, 34]]


def test_a_known_change_has_an_infinite_margin(learner, rng):
    known = np.array([None] * 4 + ["walk", "run"] + [None] * (Y.size - 6), dtype=object)
    (table,) = learner.predict_segments(recordings(1, rng), known=[PartialLabels(known)])
    assert next(row["margin"] for row in table if row["start"] == 5) == np.inf


def test_prediction_takes_length_limits(learner, rng):
    Xs = [*recordings(2, rng), rng.normal(size=(5, 3))]
    for ends in learner.predict_breakpoints(Xs, min_length=11):
        assert ends[0] in (5, Y.size) or np.diff([0, *ends]).min() >= 11
    for ends in learner.predict_breakpoints(Xs, max_length=4):
        assert np.diff([0, *ends]).max() <= 4


test_rules_that_cannot_be_kept_are_refused = refused(
    StructSVMError,
    lambda learner, rng, rules: learner.predict(recordings(2, rng), **rules),
    ({"known": [np.repeat("fly", Y.size), None]}, "recording 0: 'fly' is none of the states rest"),
    ({"known": [PartialLabels(regions=[(1, 9, 2)]), None]}, "region 1..9 with 2 changes"),
    ({"min_length": 9, "max_length": 4}, "length"),
    ({"min_length": 0}, "min_length"),
    ({"known": [[34], [34]], "max_length": 5}, "allow more of them"),
)
