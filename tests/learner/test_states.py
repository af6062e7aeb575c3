"""Segments with states: the semi-Markov search, its problem, and the segmenter that learns it."""

import itertools
import pickle

import numpy as np
import pytest
from cases import cases, refused
from recording_cases import NAMES
from recording_cases import recordings_of_states as recordings
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from structsvm import ChangePoint, EquivalenceMatrix, PartialLabels, StateSegmenter, StructuredSVM
from structsvm.baselines import BoundaryClassifier, FrameClassifier
from structsvm.errors import DataError, LearningError, OracleError, SettingsError
from structsvm.features import Columns
from structsvm.learner import TrainingSet
from structsvm.learner.allowed_states import Allowed
from structsvm.learner.state_decoder import StateCounts, block_starts, in_blocks
from structsvm.oracles.semi_markov import best_states
from structsvm.oracles.state_score import StateScore, segments_of
from structsvm.partitions.constraint import Constraint
from structsvm.partitions.losses import partition_loss
from structsvm.problem import Status
from structsvm.problems import StateSequence
from structsvm.testing import check_problem


@pytest.mark.parametrize("seed", range(60))
def test_the_best_states_are_those_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    T = int(rng.integers(1, 8))
    C = int(rng.integers(2, 4))
    L = int(rng.integers(1, T + 2))

    def scores(*shape):
        return np.where(rng.random(shape) < 0.15, -np.inf, rng.normal(size=shape))

    truth = None
    if rng.random() < 0.6:
        truth = EquivalenceMatrix.from_breakpoints(sorted({*rng.integers(1, T + 1, 3), T}))
    late = rng.integers(-3, 4, (C, C)) if seed % 2 else np.zeros((0, 0), dtype=int)
    score = StateScore(
        *(scores(T, C), scores(C, L + 1), scores(C, C), scores(C), scores(C)), truth, 1.5, late
    )
    best = dict.fromkeys([None, *range(1, T + 1)], -np.inf)
    for path in itertools.product(range(C), repeat=T):
        states = np.array(path)
        for K in (None, len(segments_of(states)[0])):
            best[K] = max(best[K], score.value(states))
    for K, value in best.items():
        if value == -np.inf:
            with pytest.raises(OracleError, match="no segmentation"):
                best_states(score, K)
            continue
        found = best_states(score, K)
        assert score.value(found) == pytest.approx(value)
        assert K is None or len(segments_of(found)[0]) == K


def test_known_states_are_kept_and_the_rest_is_the_best(rng):
    for _ in range(30):
        known = np.where(rng.random(6) < 0.3, rng.integers(0, 2, 6), -1)
        score = StateScore(rng.normal(size=(6, 2)), np.zeros((2, 2)), np.full((2, 2), -1.0), *E2)
        found = best_states(score.knowing(known))
        paths = map(np.array, itertools.product(range(2), repeat=6))
        agree = [path for path in paths if ((path == known) | (known < 0)).all()]
        assert score.value(found) == pytest.approx(max(map(score.value, agree)))
        assert ((found == known) | (known < 0)).all()


E2 = np.zeros((2, 2))


def test_a_score_does_not_change_with_the_arrays_it_was_made_from(rng):
    x = rng.normal(size=(6, 2))
    score = StateScore(x, np.zeros((2, 2)), np.zeros((2, 2)), *E2)
    before = best_states(score)
    x[:] = np.nan
    assert (best_states(score) == before).all()


def new_score(given):
    usual = {"samples": np.zeros((5, 2)), "lengths": np.zeros((2, 3)), "changes": E2}
    return StateScore(**{**usual, "first": np.zeros(2), "last": np.zeros(2), **given})


NINE = EquivalenceMatrix.from_breakpoints([9])
test_malformed_scores_of_states_are_refused = refused(
    OracleError,
    lambda given: new_score(given),
    ({"samples": np.full((5, 2), np.nan)}, "samples must hold numbers"),
    ({"samples": np.full((5, 2), np.inf)}, "samples must hold numbers"),
    ({"samples": np.zeros((0, 2))}, "samples must have shape"),
    ({"samples": [["a", "b"]]}, "samples must be an array"),
    ({"lengths": np.zeros((2, 1))}, "L >= 1"),
    ({"lengths": np.zeros((1, 6))}, r"shape \(2, L"),
    ({"lengths": np.full((2, 3), np.nan)}, "lengths must hold"),
    ({"changes": np.zeros((1, 1))}, "changes must have shape"),
    ({"changes": np.full((2, 2), np.inf)}, "changes must hold"),
    ({"first": np.zeros(1)}, "first and last must have shape"),
    ({"last": np.array([0.0, np.nan])}, "last must hold"),
    ({"truth": NINE, "truth_weight": 1.0}, "the truth labels 9 samples, and there are 5"),
    ({"truth": EquivalenceMatrix.from_labels([0, 1, 0, 1, 1])}, "consecutive"),
    ({"truth": EquivalenceMatrix.from_breakpoints([5]), "truth_weight": -1.0}, "truth_weight"),
)

test_impossible_numbers_of_segments_with_states_are_refused = refused(
    OracleError,
    lambda K: best_states(new_score({}), K),
    *((K, f"cannot make {K} segments out of 5") for K in (0, -1, 1.5, 6)),
)

test_malformed_known_states_are_refused = refused(
    OracleError,
    lambda states: new_score({}).value(np.array(states)),
    ([0, 1, -1, 0, 0], "states are 0..1"),
    ([0, 1, 2, 0, 0], "states are 0..1"),
    ([0, 1, 0], "an integer for each of 5"),
    ([0.0, 1.0, 0.5, 0.0, 0.0], "an integer for each of 5"),
)


def sequences(n, rng):
    """Scores of two states that last 6 and 3 samples, and the states."""
    ys = [np.repeat([0, 1, 0, 1], [6, 3, 6, 3])] * n
    return [np.where(y[:, None] == [0, 1], 0.0, -1.0) + rng.normal(size=(18, 2)) for y in ys], ys


def counts_of(ys, C):
    """Of whole recordings."""
    return StateCounts.of(ys, C, np.ones((len(ys), 2), bool), np.zeros((len(ys), 2)))


@pytest.mark.parametrize(("width", "most"), [((2, 2), 1.2), ((4, 0), 2.0), ((3, 3), 1.5)])
@pytest.mark.parametrize("method", [StateSegmenter(["lda"]), FrameClassifier()])
def test_samples_around_changes_may_have_no_labels(method, width, most):
    """Lengths of labels were those of segments, which vary little, and no label had a change."""
    rng = np.random.default_rng(0)
    Xs = []
    truths = []
    ys = []
    for _ in range(6):
        lengths = rng.integers(13, 16, 5)
        truth = np.repeat(["a", "b", "c", "a", "b"], lengths)
        y = truth.astype(object)
        for end in np.cumsum(lengths).tolist():
            y[end - width[0] : end + width[1]] = None
        y[: width[1]] = None
        Xs.append(rng.normal(size=(y.size, 3)) + 3.0 * (truth[:, None] == ["a", "b", "c"]))
        truths.append(EquivalenceMatrix.from_breakpoints(np.cumsum(lengths)))
        ys.append(PartialLabels(y.tolist()))
    found = clone(method).fit(Xs, ys).predict_partitions(Xs)
    losses = [partition_loss(M, N) for M, N in zip(truths, found, strict=True)]
    assert np.mean(losses) < most  # that of no change is 4


def test_the_problem_of_state_sequences_passes_its_checks(rng):
    xs, ys = sequences(2, rng)
    problem = StateSequence(
        counts_of(ys, 2).lengths(9), *np.ones((1, 2, 2), bool), *[np.ones(2, bool)] * 2
    )
    check_problem(problem, [x[:7] for x in xs], [y[:7] for y in ys])


def test_weights_of_lengths_and_changes_are_learned_with_a_certificate(rng):
    xs, ys = sequences(12, rng)
    lengths = counts_of(ys, 2).lengths(18)
    anything = np.ones(2, dtype=bool)
    problem = StateSequence(lengths, ~np.eye(2, dtype=bool), anything, anything)
    learned = StructuredSVM(problem).fit(xs[:6], ys[:6])
    assert learned.solution_.status.converged
    assert learned.solution_.lower <= learned.solution_.upper
    blind = StructuredSVM(StateSequence.free(2)).fit(xs[:6], ys[:6])
    assert learned.score(xs[6:], ys[6:]) > blind.score(xs[6:], ys[6:])


def test_a_state_that_is_forbidden_at_a_sample_is_not_predicted_there(rng):
    xs, ys = sequences(4, rng)
    learned = StructuredSVM(StateSequence.free(2)).fit(xs, ys)
    xs[0][:9, 0] = -np.inf
    for w in (learned.solution_.w, np.zeros_like(learned.solution_.w)):
        assert (StateSequence.free(2).predict(w, xs[0])[:9] == 1).all()


def test_a_labelling_in_a_state_that_its_scores_forbid_is_refused():
    x = np.zeros((2, 2))
    y = np.array([0, 1])
    problem = StateSequence.free(2)
    assert problem.sized([x], [y]) is problem
    for scores, wrong in ((x - [[0, np.inf]], "forbidden"), (x + np.nan, "scores must be numbers")):
        with pytest.raises(DataError, match=f"instance 0: .*{wrong}"):
            problem.sized([scores], [y])


def spoilt(rng, x=None, y=None, **settings):
    xs, ys = sequences(3, rng)
    free = vars(StateSequence.free(2))
    xs[1] = xs[1] if x is None else x
    ys[1] = ys[1] if y is None else np.array(y)
    return StructuredSVM(StateSequence(**{**free, **settings})).fit(xs, ys)


test_instances_that_do_not_fit_a_state_sequence_are_refused = refused(
    DataError,
    lambda rng, given: spoilt(rng, **given),
    ({"y": [0] * 17 + [-1]}, "instance 1: the labelling: states are 0..1, and there are -1..0"),
    ({"y": [0] * 17 + [2]}, "instance 1: the labelling: states are 0..1"),
    ({"y": [0] * 9}, "instance 1: the labelling: give an integer for each of 18"),
    ({"x": np.zeros((18, 1))}, "instance 1: scores must be numbers"),
    ({"x": np.full((18, 2), np.nan)}, "instance 1 has nan"),
    ({"allowed": ~np.ones((2, 2), bool)}, "instance 0: its labelling has .* forbidden"),
)
test_impossible_settings_of_a_state_sequence_are_refused = refused(
    SettingsError,
    lambda rng, given: spoilt(rng, **given),
    ({"begins": np.ones(1, bool)}, "begins must be truth values"),
    ({"allowed": np.full((2, 2), 0.5)}, "allowed must be truth values"),
    ({"lengths": np.zeros((2, 1))}, "L >= 1"),
    ({"lengths": np.full((2, 3), np.inf)}, "lengths must be numbers"),
)


def test_mean_and_spread_of_lengths_shrink_to_those_of_all_states():
    counts = counts_of([np.repeat([0, 1, 0], [4, 9, 4])], 3)
    scores = counts.lengths(20)
    assert scores.shape == (3, 21)
    assert scores.max() == pytest.approx(0.0)
    assert 4 <= scores[0, 1:].argmax() + 1 < scores[2, 1:].argmax() + 1 < scores[1, 1:].argmax() + 1


@pytest.fixture
def segmenter():
    return StateSegmenter(["lda"], n_folds=2)


def test_the_state_segmenter_predicts_labels_breakpoints_and_states(segmenter, rng):
    segmenter.fit(recordings(8, rng), [NAMES] * 8)
    new = recordings(3, rng)
    right = np.mean([found == NAMES for found in segmenter.predict_states(new)])
    assert right > 0.95
    assert segmenter.solution_.status.converged
    for ends, table in zip(
        segmenter.predict_breakpoints(new, 2), segmenter.predict_segments(new, 2), strict=True
    ):
        assert [row["end"] for row in table] == ends
        assert len(ends) == 2


def test_a_state_segmenter_may_be_pickled_cloned_and_refitted(segmenter, rng):
    Xs = recordings(6, rng)
    ends = segmenter.fit(Xs, [NAMES] * 6, groups=list("aabbcc")).predict_breakpoints(Xs)
    assert pickle.loads(pickle.dumps(segmenter)).predict_breakpoints(Xs) == ends
    again = clone(segmenter).fit(Xs[::-1], [NAMES] * 6, groups=list("ccbbaa"))
    assert again.fit(Xs, [NAMES] * 6, groups=list("aabbcc")).predict_breakpoints(Xs) == ends


@pytest.mark.parametrize("error", [KeyboardInterrupt, DataError])
def test_a_fit_that_fails_leaves_what_was_learned_before(segmenter, rng, monkeypatch, error):
    Xs = recordings(4, rng)
    before = segmenter.fit(Xs, [NAMES] * 4).predict_states(Xs)

    def fail(*_):
        raise error

    monkeypatch.setattr(StateSegmenter, "_tuned", fail)
    with pytest.raises(error):
        segmenter.fit(Xs, [[f"not {name}" for name in NAMES]] * 4)
    assert np.array_equal(segmenter.predict_states(Xs), before)


def test_a_single_group_gives_counts_and_no_learned_weights(segmenter, rng):
    Xs = recordings(3, rng)
    segmenter.fit(Xs, [NAMES] * 3, groups=["a"] * 3)
    assert segmenter.solution_ is None
    assert np.mean(segmenter.predict_states(Xs[:1])[0] == NAMES) > 0.9


def test_a_single_segmented_recording_gives_counts_and_no_learned_weights(segmenter, rng):
    every_other = np.where(np.arange(NAMES.size) % 2, NAMES.astype(object), None)
    segmenter.fit(recordings(2, rng), [NAMES, PartialLabels(labels=every_other)])
    assert segmenter.solution_ is None
    assert np.isfinite(segmenter.weight_).all()


def test_levels_are_seen_that_standardisation_within_a_recording_hides(rng):
    """Rest, one activity, rest: within itself, each recording looks the same."""

    def levels(n):
        ys = [np.repeat(["rest", ("walk", "run")[i % 2], "rest"], 12) for i in range(n)]
        heights = {"rest": 0.0, "walk": 1.0, "run": 2.0}
        return [
            np.array([[heights[name]] for name in y]) + 0.1 * rng.normal(size=(36, 1)) for y in ys
        ], ys

    (Xs, ys) = levels(8)
    (new, truths) = levels(20)

    def right(of):
        found = of.fit(Xs, ys).predict_states(new)
        return np.mean([a == b for a, b in zip(found, truths, strict=True)])

    within = right(FrameClassifier("lda", standardize="recording"))
    assert right(StateSegmenter(["lda"])) > max(0.97, within)
    assert right(FrameClassifier("lda")) > max(0.97, within)


ABC = np.repeat(["a", "b", "c"], 8)


def in_order(n, rng, names=ABC):
    columns = np.unique(names)
    return [(names[:, None] == columns) + 0.4 * rng.normal(size=(names.size, 3)) for _ in range(n)]


def levels_of(rng, apart):
    """Return recordings of three of six states each, whose own levels are so far apart."""
    Xs = []
    ys = []
    for _ in range(12):
        y = np.repeat(rng.permutation(6)[:3], rng.integers(10, 20, 3))
        Xs.append(apart * rng.normal(size=30) + 2.0 * np.eye(30)[y] + rng.normal(size=(y.size, 30)))
        ys.append(y)
    return Xs, ys


@pytest.mark.parametrize("estimators", [["lda"], ["kernel", "lda"], ["logistic"]])
@pytest.mark.parametrize(("apart", "scale"), [(0.0, "training"), (6.0, "both")])
def test_the_scaling_is_chosen_on_groups_not_seen(estimators, apart, scale):
    Xs, ys = levels_of(np.random.default_rng(0), apart)
    found = StateSegmenter(estimators).fit(Xs, ys)
    assert found.standardize_ == scale
    same = StateSegmenter(estimators, standardize=scale).fit(Xs, ys)
    np.testing.assert_array_equal(found.weight_, same.weight_)


def test_a_single_group_keeps_the_default_scaling(rng):
    Xs, ys = levels_of(rng, 0.0)
    assert StateSegmenter(["lda"]).fit(Xs, ys, groups=[0] * len(Xs)).standardize_ == "both"


@pytest.mark.parametrize("P", [10, 40])
def test_stored_discriminants_grow_linearly_with_the_columns(P):
    y = np.repeat(["a", "b"], 20)
    rng = np.random.default_rng(0)
    Xs = [(y == "b")[:, None] + rng.normal(size=(40, P)) for _ in range(4)]
    segmenter = StateSegmenter(["lda"], features=Columns()).fit(Xs, [y] * 4)
    for model in segmenter.models_:
        arrays = [v for v in vars(model.classifier).values() if isinstance(v, np.ndarray)]
        assert max(one.size for one in arrays) <= 4 * P  # states, and both scales
    assert segmenter.predict_states(Xs[:1])[0].shape == (40,)


def test_a_given_order_of_states_is_kept_with_its_number_of_segments(rng):
    Xs = in_order(6, rng)
    segmenter = StateSegmenter(["lda"], order=["a", "b", "c"]).fit(Xs, [ABC] * 6)
    backwards = [X[::-1] for X in in_order(2, rng)]
    for names in segmenter.predict_states(backwards):
        starts = segments_of(np.unique(names, return_inverse=True)[1])[0]
        assert names[starts].tolist() == ["a", "b", "c"]
    with pytest.raises(OracleError, match="into 2 segments"):
        segmenter.predict(Xs[:1], n_clusters=2)


def test_forbidden_changes_and_lengths_are_not_predicted(rng):
    Xs = in_order(6, rng)
    settings = {"changes": {"a": ["b"], "b": ["a", "c"]}, "min_length": 3, "max_length": {"b": 9}}
    segmenter = StateSegmenter(["lda"], **settings).fit(Xs, [ABC] * 6)
    for table in segmenter.predict_segments([rng.normal(size=(40, 3)) for _ in range(5)]):
        names = [row["state"] for row in table]
        assert {*itertools.pairwise(names)} <= {("a", "b"), ("b", "a"), ("b", "c")}
        lengths = [(row["end"] - row["start"], row["state"]) for row in table]
        assert all(n >= 3 and (name != "b" or n <= 9) for n, name in lengths)


test_labels_that_break_a_rule_are_refused = refused(
    DataError,
    lambda rng, settings: StateSegmenter(["lda"], **settings).fit(in_order(4, rng), [ABC] * 4),
    ({"changes": {"a": ["c"]}}, "recording 0: samples 8..16 of the state 'b'"),
    ({"order": ["a", "c", "b"]}, "recording 0: samples 8..16"),
    ({"min_length": 9}, "recording 0: samples 0..8"),
    ({"max_length": {"c": 7}}, "recording 0: samples 16..24 of the state 'c'"),
)


test_impossible_settings_of_a_state_segmenter_are_refused = refused(
    SettingsError,
    lambda rng, settings: StateSegmenter(**{"estimators": ["lda"], **settings}).fit(
        in_order(4, rng), [ABC] * 4
    ),
    ({"changes": {"a": ["d"]}}, "changes name"),
    ({"order": ["a", "b"]}, "name each of the states"),
    ({"min_length": {"d": 2}}, "min_length names"),
    ({"max_length": 10**30}, "max_length must be at most"),
    ({"order": 3}, "order must be a list of states, got 3"),
    ({"order": {*ABC}}, "order must be a list of states"),
    ({"changes": ["a"]}, "changes must be a dictionary"),
    ({"changes": {"a": 3}}, "changes must be a dictionary"),
    ({"min_length": 5, "max_length": 4}, "swap them"),
    ({"estimators": []}, "estimators must be 'quick' or a list"),
    ({"estimators": "lda"}, "estimators must be 'quick' or a list"),
    ({"lam": 0.0}, "lam"),
)


# ---- recordings in which only some segments have names


def named_but(*unknown, names=NAMES):
    """Names of a recording, but for some ranges of its samples."""
    labels = names.astype(object)
    for start, end in unknown:
        labels[start:end] = None
    return PartialLabels(labels=labels)


@cases([(0, 15)], [(15, 22)], [(24, 30)], [(0, 3), (12, 14), (27, 30)])
def test_samples_without_a_name_are_left_out(segmenter, rng, unknown):
    """At the start, in the middle, at the end, and in most segments; of some recordings, or all."""
    Xs = recordings(6, rng)
    new = recordings(4, rng)
    some = [NAMES] * 3 + [named_but(*unknown)] * 3
    for ys, least in ((some, 0.9), ([named_but(*unknown)] * 6, 0.75)):
        found = segmenter.fit(Xs, ys).predict_states(new)
        assert np.mean([names == NAMES for names in found]) > least
        assert segmenter.solution_.status.converged


@cases(
    ({"order": ["a", "b", "c"]}, [(0, 12)]),
    ({"order": ["a", "b", "c"]}, [(0, 8), (16, 24)]),
    ({"changes": {"a": ["b"], "b": ["c"]}, "min_length": 7}, [(0, 6), (18, 24)]),
    ({"min_length": {"b": 8}, "max_length": 9}, [(0, 9)]),
)
def test_segments_that_are_named_in_part_may_be_longer_than_their_names(rng, settings, unknown):
    """A part of a recording begins and ends anywhere; the rules still hold where all is known."""
    ys = [ABC] * 3 + [named_but(*unknown, names=ABC)] * 3
    segmenter = StateSegmenter(["lda"], **settings).fit(in_order(6, rng), ys)
    assert np.mean([names == ABC for names in segmenter.predict_states(in_order(3, rng))]) > 0.9
    (short,) = segmenter.predict_segments([rng.normal(size=(40, 3))])
    least = settings.get("min_length", 1)
    least = least if isinstance(least, dict) else dict.fromkeys("abc", least)
    assert all(row["end"] - row["start"] >= least.get(row["state"], 1) for row in short)


test_labelled_segments_that_break_a_length_rule_are_refused = refused(
    DataError,
    lambda rng, settings, unknown: StateSegmenter(["lda"], **settings).fit(
        in_order(4, rng), [named_but(unknown, names=ABC)] * 4
    ),
    ({"min_length": 9}, (0, 4), "recording 0: samples 8..16 of the state 'b'"),
    ({"min_length": {"a": 9}}, (20, 24), "recording 0: samples 0..8 of the state 'a'"),
    ({"max_length": {"c": 7}}, (0, 12), "recording 0: samples 16..24 of the state 'c'"),
    ({"order": ["b", "a", "c"]}, (20, 24), "recording 0: samples 0..8 of the state 'a'"),
)


@cases(np.full(30, -1, dtype=object), PartialLabels(labels=[None] * 30), PartialLabels())
def test_labels_that_name_nothing_are_refused(segmenter, rng, labels):
    for learner in (segmenter, FrameClassifier("lda"), BoundaryClassifier("logistic")):
        with pytest.raises(DataError, match="no label says that anything changes"):
            learner.fit(recordings(3, rng), [labels] * 3)


def test_probabilities_that_do_not_sum_to_one_are_refused(segmenter, rng):
    class Unsure(LinearDiscriminantAnalysis):
        def predict_proba(self, X):
            return 2.0 * super().predict_proba(X)

    with pytest.raises(LearningError, match="sum to 1 in each row"):
        StateSegmenter([Unsure()]).fit(recordings(4, rng), [NAMES] * 4)


def test_recordings_shorter_than_the_least_length_are_one_segment(rng):
    segmenter = StateSegmenter(["lda"], min_length=4).fit(in_order(4, rng), [ABC] * 4)
    assert segmenter.predict_breakpoints([np.zeros((3, 3)), np.zeros((1, 3))]) == [[3], [1]]


def test_long_segments_are_learned_from_in_blocks(rng):
    y = np.repeat([0, 1, 0, 1], [300, 200, 250, 350])
    Xs = [y[:, None] + rng.normal(size=(y.size, 1)) for _ in range(4)]
    segmenter = StateSegmenter(["lda"]).fit(Xs, [y] * 4)
    found = segmenter.predict_states(Xs)
    assert np.mean([a == y for a in found]) > 0.97
    assert segmenter.solution_.status.converged


def test_blocks_of_samples_keep_every_segment_and_its_limits():
    for seed in range(300):
        rng = np.random.default_rng(seed)
        sizes = np.where(rng.random(9) < 0.4, rng.integers(1, 7, 9), rng.integers(1, 60, 9))
        y = np.repeat(np.arange(9) % 3, sizes)
        block = int(rng.integers(2, 12))
        starts = block_starts(y, block)
        found = in_blocks(y, starts, block)
        assert np.diff(starts, append=y.size).max() <= block
        assert (found[segments_of(found)[0]] == np.arange(9) % 3).all()
        limits = {
            name: {c: int(of(sizes[c::3])) for c in range(3)}
            for name, of in (("min_length", np.min), ("max_length", np.max))
        }
        settings = StateSegmenter(**limits)
        problem = Allowed.of(settings, np.arange(3)).sequence(np.zeros((3, 200)), block)
        assert problem.first_broken(found) is None


@pytest.mark.parametrize(
    "settings",
    [
        {"max_length": {"a": 330}},
        {"changes": {"a": ["b"], "b": ["c", "a"], "c": ["a"]}},
        {"min_length": {"a": 250}, "max_length": {"b": 2}},
        {},
    ],
)
def test_short_segments_are_learned_from_beside_long_ones(settings, rng):
    """In blocks of 6 samples: a short state between two long segments of one state."""
    y = np.repeat(list("abcaba"), [300, 2, 1, 330, 2, 290])
    Xs = [0.7 * rng.normal(size=(y.size, 3)) + 2.5 * (y[:, None] == list("abc")) for _ in range(4)]
    segmenter = StateSegmenter(["lda"], **settings).fit(Xs, [y] * 4)
    assert segmenter.solution_.status.converged
    for table in segmenter.predict_segments(Xs):
        if "max_length" in settings:
            longest = settings["max_length"]
            assert all(r["end"] - r["start"] <= longest.get(r["state"], 999) for r in table)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("n", [4, 9])
def test_a_perfect_fit_is_optimal(n, unit, rng):
    y = np.repeat(["rest", "walk", "rest"], 10)
    Xs = [unit * ((y == "walk")[:, None] + 0.02 * rng.normal(size=(30, 1))) for _ in range(n)]
    solution = StateSegmenter(["lda"]).fit(Xs, [y] * n).solution_
    assert solution.status is Status.OPTIMAL
    assert solution.gap <= 1e-2
    assert solution.lower <= solution.upper <= 1e-9


@pytest.mark.parametrize(
    "estimator",
    [StateSegmenter(["lda"]), FrameClassifier("lda"), BoundaryClassifier("logistic")],
    ids=["states", "frames", "boundaries"],
)
class TestHeldOut:
    """What is said of training recordings comes from what has not seen them."""

    def held_out(self, learner, Xs, ys, counts, groups=None):
        """Return labels (T,) by what others taught, as many segments as are found, and as given."""
        problem = ChangePoint()
        instances, models = learner.learn_held_out(TrainingSet.of(problem, Xs, ys, groups=groups))
        labels = [], []
        for instance, model, count in zip(instances, models, counts, strict=True):
            for found, K in zip(labels, (None, count), strict=True):
                M, states = model.partition(problem, instance, Constraint(K))
                named = states is not None
                found.append(learner.classes_[states[M.labels]] if named else M.labels)
        return labels

    def test_held_out_names_of_noise_are_right_by_chance_only(self, estimator, rng):
        Xs = [rng.normal(size=(40, 3)) for _ in range(40)]
        ys = [np.repeat(rng.choice(["a", "b"], 8), 5) for _ in Xs]
        counts = [1 + np.count_nonzero(y[1:] != y[:-1]) for y in ys]
        priced, counted = self.held_out(clone(estimator), Xs, ys, counts)
        if isinstance(estimator, BoundaryClassifier):
            hits = np.array([np.diff(found) > 0 for found in counted])
            truths = np.array([y[1:] != y[:-1] for y in ys])
            assert hits[truths].mean() < 0.25  # a tenth of all places are changes
        else:
            assert 0.4 < np.mean(np.array(priced) == np.array(ys)) < 0.6

    def test_held_out_predictions_are_those_of_fit_with_the_asked_counts(self, estimator, rng):
        Xs = recordings(6, rng)
        ys = [NAMES] * 6
        groups = list("aabbcc")
        first = clone(estimator).fit(Xs, ys, groups=groups)
        second = clone(estimator)
        _, counted = self.held_out(second, Xs, ys, [3, None, 2, 3, 3, 1], groups)
        for a, b in zip(first.predict_breakpoints(Xs), second.predict_breakpoints(Xs), strict=True):
            assert a == b
        n = [1 + np.count_nonzero(y[1:] != y[:-1]) for y in counted]
        assert n[0] == n[3] == n[4] == 3
        assert n[2] == 2
        assert n[5] == 1
        with pytest.raises(DataError, match="no two groups"):
            self.held_out(clone(estimator), Xs, ys, [3] * 6, ["a"] * 6)


def gazes(rng, n):
    """Return positions that rest and move in turn, of 8 to 24 samples each."""
    Xs = []
    ys = []
    for _ in range(n):
        sizes = rng.integers(8, 25, 12)
        moves = np.arange(12) % 2
        steps = np.repeat(moves[:, None] * rng.choice([-4.0, 4.0], (12, 2)), sizes, axis=0)
        Xs.append(np.cumsum(steps, axis=0) + 0.5 * rng.normal(size=steps.shape))
        ys.append(np.repeat(np.where(moves, "saccade", "fixation"), sizes))
    return Xs, ys


@pytest.mark.parametrize("n", [5, 9])
def test_windows_find_changes_of_raw_signals_at_their_sample(rng, n):
    """With windows of even widths a fifth of them are, and most are one sample late or early."""
    segmenter = StateSegmenter().fit(*gazes(rng, n))
    assert segmenter.estimator_weights_.size == 4  # boosting of windows is asked, too
    Xs, ys = gazes(rng, 8)
    found = segmenter.predict_states(Xs)
    right = [
        np.isin(np.flatnonzero(y[1:] != y[:-1]), np.flatnonzero(p[1:] != p[:-1]))
        for y, p in zip(ys, found, strict=True)
    ]
    assert np.concatenate(right).mean() > 0.35
    assert np.mean(np.concatenate(ys) == np.concatenate(found)) > 0.95


@pytest.mark.parametrize(("n", "P", "size"), [(9, 17, 3), (5, 17, 4), (5, 41, 3)])
def test_boosting_of_windows_depends_on_the_numbers_of_recordings_and_columns(n, P, size):
    rng = np.random.default_rng(0)
    ys = [np.repeat(["a", "b"], 10)] * n
    Xs = [(y == "b")[:, None] + rng.normal(size=(20, P)) for y in ys]
    assert StateSegmenter().fit(Xs, ys).estimator_weights_.size == size
    quick = StateSegmenter("quick").fit([X[:, :16] for X in Xs], ys)
    assert quick.estimator_weights_.size == 3
    assert type(quick.models_[-1].classifier).__name__ == "HistGradientBoostingClassifier"
    assert quick.fit(Xs, ys).estimator_weights_.size == 2


def test_classifiers_of_long_segments_see_short_windows_and_slopes():
    """Means and deviations of a quarter of a segment and more are the same in both states."""
    rng = np.random.default_rng(0)
    ys = [np.repeat(["slow", "fast", "slow"], 400)] * 4
    Xs = []
    for y in ys:
        period = np.where(y == "fast", 10.0, 40.0)
        phase = 2 * np.pi * (rng.uniform() + np.cumsum(1.0 / period))
        Xs.append(np.sin(phase)[:, None] + rng.normal(scale=0.05, size=(y.size, 1)))
    segmenter = StateSegmenter(["fast-kernel"]).fit(Xs[:3], ys[:3])
    assert np.mean(segmenter.predict_states(Xs[3:])[0] == ys[3]) > 0.98
    (context,) = {model.kind for model in segmenter.models_}
    assert "5, 15, 45" in context
