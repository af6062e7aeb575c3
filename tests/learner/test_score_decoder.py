"""The decoder of given scores: what it learns, says and refuses."""

import pickle
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from cases import cases
from recording_cases import NAMES, recordings_of_states, scores_of_states
from sklearn.base import clone

from structsvm import PartialLabels, ScoreDecoder, evaluate, load, margin_rates, save
from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.learner.score_decoder import sure_median

STATES = ["rest", "turn", "walk"]


@pytest.fixture
def scores(rng):
    """Return scores of six recordings, a few of which are wrong, and those of six others."""
    Xs = [scores_of_states(X) for X in recordings_of_states(12, rng, 1.0)]
    return Xs[:6], Xs[6:]


def wrong(found, truth=NAMES):
    return float(np.mean([np.mean(names != truth) for names in found]))


def test_the_score_decoder_beats_the_largest_score(scores):
    train, new = scores
    decoder = ScoreDecoder(STATES).fit(train, [NAMES] * 6)
    largest = [np.array(STATES)[p.argmax(axis=1)] for p in new]
    assert wrong(decoder.predict_states(new)) < wrong(largest) / 2
    assert decoder.solution_.status.converged
    segments = decoder.predict_segments(new[0])
    assert [row["state"] for row in segments] == ["rest", "walk", "turn", "rest"]
    assert [row["margin"] is None for row in segments] == [True, False, False, False]


def test_the_score_decoder_keeps_rules_on_changes(scores):
    train, new = scores
    decoder = ScoreDecoder(STATES, changes={"rest": ["walk"], "walk": ["turn"], "turn": ["rest"]})
    decoder.fit(train, [NAMES] * 6)
    for states in decoder.predict_states(new):
        pairs = {(a, b) for a, b in pairwise(states) if a != b}
        assert pairs <= {("rest", "walk"), ("walk", "turn"), ("turn", "rest")}
    assert np.diff([0, *decoder.predict_breakpoints(new[0], min_length=6)]).min() >= 6
    known = np.full(30, None)
    known[3] = "turn"
    free = ScoreDecoder(STATES).fit(train, [NAMES] * 6)
    assert free.predict_states(new[:1], known=[PartialLabels(labels=known)])[0][3] == "turn"


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_the_score_decoder_finds_columns_by_name(scores, order):
    train, new = scores
    usual = ScoreDecoder(STATES).fit(train, [NAMES] * 6).predict_breakpoints(new)
    names = [STATES[j] for j in order]
    turned = [p[:, order] for p in train]
    others = [p[:, order] for p in new]
    decoder = ScoreDecoder(names).fit(turned, [NAMES] * 6)
    assert decoder.classes_.tolist() == STATES
    assert decoder.predict_breakpoints(others) == usual
    columns = [f"Probability_{name}" for name in names]
    frames = [pd.DataFrame(p, columns=columns) for p in turned]
    decoder = ScoreDecoder().fit(frames, [NAMES] * 6)
    assert decoder.predict_breakpoints([pd.DataFrame(p, columns=columns) for p in others]) == usual


def test_columns_without_names_are_sorted_states_or_their_numbers(scores):
    train, new = scores
    usual = ScoreDecoder(STATES).fit(train, [NAMES] * 6)
    assert (ScoreDecoder().fit(train, [NAMES] * 6).weight_ == usual.weight_).all()
    codes = np.array([STATES.index(name) for name in NAMES])
    found = ScoreDecoder().fit(train, [codes] * 6).predict_states(new)
    assert (np.array(STATES)[found[0]] == usual.predict_states(new)[0]).all()
    with pytest.raises(DataError, match="another order"):
        ScoreDecoder().fit([p[:, [2, 0, 1]] for p in train], [NAMES] * 6)


def test_a_state_that_no_label_has_is_told_and_can_be_found(scores):
    train, _ = scores
    more = [np.column_stack([p, np.full(30, 1e-4)]) for p in train]
    with pytest.warns(DataWarning, match="no label is rear"):
        decoder = ScoreDecoder([*STATES, "rear"]).fit(more, [NAMES] * 6)
    assert decoder.classes_.tolist() == [*STATES, "rear"]
    reared = more[0].copy()
    reared[10:25] = [0.0, 0.0, 0.0, 1.0]
    assert "rear" in decoder.predict_states([reared])[0]
    assert "rear" not in decoder.predict_states(more)[0]


@pytest.mark.parametrize("factor", [0.5, 3.0, 100.0])
def test_scores_that_do_not_sum_to_one_are_told_and_taken(scores, factor):
    train, new = scores
    with pytest.warns(DataWarning, match="do not sum to one"):
        decoder = ScoreDecoder(STATES, smoothing=0.02).fit([factor * p for p in train], [NAMES] * 6)
    assert wrong(decoder.predict_states([factor * p for p in new])) < 0.2


@pytest.mark.parametrize("factor", [0.5, 100.0])
def test_scores_that_sum_to_one_in_training_alone_are_told(scores, factor):
    train, new = scores
    decoder = ScoreDecoder(STATES).fit(train, [NAMES] * 6)
    with pytest.warns(DataWarning, match="recording 1: scores do not sum to one"):
        decoder.predict_states([new[0], factor * new[1]])
    stream = decoder.stream()
    stream.push(new[0])
    with pytest.warns(DataWarning, match="do not sum to one, as those of training do"):
        stream.push(factor * new[1])


def test_sums_that_were_told_in_training_are_not_told_again(scores):
    train, new = scores
    with pytest.warns(DataWarning, match="do not sum to one"):
        decoder = ScoreDecoder(STATES).fit([2.0 * p for p in train], [NAMES] * 6)
    decoder.predict_states([2.0 * p for p in new])
    decoder.stream().push(2.0 * new[0])


def test_percentages_that_leave_less_than_nothing_to_the_other_state_are_told(scores):
    train, new = ([p[:, [1]] for p in part] for part in scores)
    names = np.where(NAMES == STATES[1], "there", "not there")
    decoder = ScoreDecoder().fit(train, [names] * 6)
    with pytest.warns(DataWarning, match=r"recording 1: scores do not sum to one, off by \d\d"):
        decoder.predict_states([new[0], 100.0 * new[1]])


@pytest.mark.parametrize("order", [[1, 0, 2], [1, 2, 0]])
def test_columns_that_are_named_after_other_states_are_told(scores, order):
    train, _ = scores
    classes = [STATES[j] for j in order]
    told = f"highest where labels .*{classes[0]} for {STATES[0]}"
    with pytest.warns(DataWarning, match=told):
        ScoreDecoder(classes).fit(train, [NAMES] * 6)


def test_scores_of_training_recordings_are_told(rng):
    perfect = [(NAMES[:, None] == np.array(STATES)) * 1.0] * 4
    with pytest.warns(DataWarning, match="own training recordings"):
        ScoreDecoder(STATES).fit(perfect, [NAMES] * 4)


def test_scores_that_cannot_be_used_are_refused_with_advice(scores):
    train, new = scores
    negative = [np.log(p + 1e-9) for p in train]
    with pytest.raises(DataError, match=r"recording 0.*negative.*exponential"):
        ScoreDecoder(STATES).fit(negative, [NAMES] * 6)
    decoder = ScoreDecoder(STATES).fit(train, [NAMES] * 6)
    with pytest.raises(DataError, match="negative"):
        decoder.predict([new[0] - 2.0])
    with pytest.raises(DataError, match="29 labels"):
        ScoreDecoder(STATES).fit(train, [NAMES[:-1]] * 6)
    with pytest.raises(DataError, match=r"walk.*no scores"):
        ScoreDecoder(["rest", "turn", "run"]).fit(train, [NAMES] * 6)
    with pytest.raises(SettingsError, match="3 columns"):
        ScoreDecoder(["rest", "walk"]).fit(train, [NAMES] * 6)
    with pytest.raises(DataError, match="say which column"):
        ScoreDecoder().fit([p[:, :2] for p in train], [NAMES] * 6)
    with pytest.raises(SettingsError, match="smoothing"):
        ScoreDecoder(STATES, smoothing=0.0).fit(train, [NAMES] * 6)


@pytest.mark.parametrize("n", [1, 2])
def test_the_score_decoder_learns_from_few_recordings(scores, n):
    train, new = scores
    decoder = ScoreDecoder(STATES).fit(train[:n], [NAMES] * n)
    assert wrong(decoder.predict_states(new)) < 0.2
    of_one = ScoreDecoder(STATES).fit(train, [NAMES] * 6, groups=["me"] * 6)
    assert of_one.solution_ is not None, "recordings are held out where all are of one person"


def test_the_score_decoder_learns_from_partial_labels(scores):
    train, new = scores
    some = NAMES.astype(object)
    some[20:] = None
    open_end = NAMES.astype(object)
    open_end[20:] = -1
    with pytest.raises(DataError):
        ScoreDecoder(STATES).fit(train, [some] * 6)  # missing labels are refused, as everywhere
    decoder = ScoreDecoder(STATES).fit(train, [PartialLabels(labels=open_end)] * 6)
    assert wrong(decoder.predict_states(new)) < 0.2


def test_the_score_decoder_is_saved_and_evaluated_like_any_learner(scores, tmp_path):
    train, new = scores
    decoder = ScoreDecoder(STATES).fit(train, [NAMES] * 6)
    save(decoder, tmp_path / "decoder.structsvm")
    found = decoder.predict_breakpoints(new)
    for same in (
        load(tmp_path / "decoder.structsvm"),
        pickle.loads(pickle.dumps(decoder)),
        clone(decoder).fit(train, [NAMES] * 6),
    ):
        assert same.predict_breakpoints(new) == found
    assert evaluate(decoder, new, [NAMES] * 6).learned["accuracy"] > 0.9


def wide(name, X):
    """Scores as tools of others write them, with columns that are no scores."""
    p = scores_of_states(X)
    if name == "SimBA":
        columns = {f"Probability_{s}": p[:, j] for j, s in enumerate(STATES)}
        beside = {"Nose_x": 100.0 * p[:, 0], "walk": (p[:, 2] > 0.5) * 1}
        return pd.DataFrame({**beside, **columns})
    if name == "YASA":
        return pd.DataFrame(p, columns=STATES).assign(epoch=np.arange(len(p)))
    return pd.DataFrame(p[:, ::-1], columns=STATES[::-1])


@pytest.mark.parametrize("name", ["SimBA", "YASA", "turned"])
def test_columns_that_are_no_scores_are_left_out(rng, name):
    Xs = recordings_of_states(8, rng, 1.0)
    usual = ScoreDecoder(STATES).fit([scores_of_states(X) for X in Xs[:6]], [NAMES] * 6)
    frames = [wide(name, X) for X in Xs]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        decoder = ScoreDecoder().fit(frames[:6], [NAMES] * 6)
    assert any("epoch" in str(one.message) for one in said) == (name == "YASA")
    expected = usual.predict_breakpoints([scores_of_states(X) for X in Xs[6:]])
    assert decoder.predict_breakpoints(frames[6:]) == expected


@pytest.mark.parametrize("column", ["walk", "Probability_walk", None])
@pytest.mark.parametrize("labels", [("no walk", "walk"), ("other", "walk"), (0, 1)])
def test_a_single_column_of_scores_is_the_presence_of_one_of_two_labels(rng, column, labels):
    Xs = recordings_of_states(8, rng, 1.0)
    walks = NAMES == "walk"
    y = np.where(walks, labels[1], labels[0])
    one = [scores_of_states(X)[:, [2]] for X in Xs]
    if column and labels[0] != 0:
        one = [pd.DataFrame(p, columns=[column]) for p in one]
    decoder = ScoreDecoder().fit(one[:6], [y] * 6)
    assert set(decoder.classes_.tolist()) == set(labels)
    assert wrong(decoder.predict_states(one[6:]), y) < 0.2
    assert np.allclose(decoder.predict_proba(one[6]).sum(axis=1), 1.0)


@pytest.mark.parametrize("are_named", [True, False])
@pytest.mark.parametrize("share", [1.0, 1.3])
def test_a_label_for_which_the_scores_leave_nothing_is_refused(scores, are_named, share):
    train, _ = scores
    labels = np.where(np.arange(NAMES.size) < 5, "climb", NAMES)
    train = [share * p for p in train]
    given = [pd.DataFrame(p, columns=STATES) for p in train] if are_named else train
    decoder = ScoreDecoder(None if are_named else STATES)
    with pytest.raises(DataError, match="the labels name climb, of which there are no scores"):
        decoder.fit(given, [labels] * 6)
    half = [p * 0.5 for p in given]
    assert "climb" in decoder.fit(half, [labels] * 6).classes_


@cases(3, {*STATES})
def test_a_set_of_column_names_is_refused(scores, classes):
    train, _ = scores
    with pytest.raises(SettingsError, match="classes must be a list of names"):
        ScoreDecoder(classes).fit(train, [NAMES] * 6)


def late_scores(rng, n, delays, noise=0.15):
    """Recordings of two states whose scores change so many samples after the labels do."""
    found = []
    for _ in range(n):
        lengths = rng.integers(12, 30, 10)
        y = np.repeat(np.arange(10) % 2, lengths)
        p = np.empty(y.size)
        at = 0
        for k, size in enumerate(lengths.tolist()):
            begin = at + (delays[k % 2] if k else 0)
            p[begin:] = k % 2
            at += size
        p = np.clip(0.2 + 0.6 * p + rng.normal(scale=noise, size=y.size), 0, 1)
        found.append((np.column_stack([1 - p, p]), np.array(["off", "on"])[y]))
    return found


@pytest.mark.parametrize("delays", [(3, 3), (3, -2), (0, 4)])
def test_changes_that_are_late_are_moved_by_kind(rng, delays):
    train = late_scores(rng, 6, delays)
    test = late_scores(rng, 4, delays)
    decoder = ScoreDecoder(["off", "on"]).fit([p for p, _ in train], [y for _, y in train])
    assert abs(decoder.late_[0, 1] - delays[1]) <= 1
    assert abs(decoder.late_[1, 0] - delays[0]) <= 1
    moved = decoder.predict_states([p for p, _ in test])
    decoder.model_ = replace(decoder.model_, late=None)
    as_found = decoder.predict_states([p for p, _ in test])
    decoder.model_ = replace(decoder.model_, late=decoder.late_)
    truth = np.concatenate([y for _, y in test])
    assert wrong([np.concatenate(moved)], truth) < 0.06
    assert wrong([np.concatenate(moved)], truth) < wrong([np.concatenate(as_found)], truth) / 1.5
    for p, _ in test:
        margins = [row["margin"] for row in decoder.predict_segments(p)][1:]
        assert min(margins) > 0
    path = decoder.predict_segments(test[0][0], min_length=4)
    assert min(row["end"] - row["start"] for row in path) >= 4


def test_changes_without_delay_are_not_moved(rng):
    train = late_scores(rng, 6, (0, 0), noise=0.25)
    decoder = ScoreDecoder(["off", "on"]).fit([p for p, _ in train], [y for _, y in train])
    assert decoder.late_ is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [([5] * 3, 0), ([2] * 8, 2), ([-3] * 9 + [4], -3), ([-1, 1] * 10, 0), ([0, 3, 3, 4] * 6, 3)],
)
def test_a_median_delay_is_moved_only_as_far_as_is_certain(values, expected):
    assert sure_median(np.array(values)) == expected


def test_the_score_decoder_is_compared_with_smoothing_by_hand(scores):
    train, new = scores
    decoder = ScoreDecoder(STATES).fit(train, [NAMES] * 6, baselines="quick")
    found = evaluate(decoder, new, [NAMES] * 6).scores
    assert {"largest-score", "smoothed-scores"} <= found.keys()
    assert found["largest-score"]["loss"] > found["learned"]["loss"]
    rival = decoder.baselines_["smoothed-scores"]
    assert rival.width_ > 1 or rival.shortest_ > 1
    largest = [np.array(STATES)[p.argmax(axis=1)] for p in new]
    named = decoder.baselines_["largest-score"].predict_states(new)
    assert all((a == b).all() for a, b in zip(named, largest, strict=True))


@pytest.mark.parametrize("scale", [0.5, 2.0, 100.0])
def test_rates_and_ranges_do_not_depend_on_the_scale_of_the_weights(scores, scale):
    """Models of the folds may have kept counts, or learned weights of half that size."""
    train, new = scores
    decoder = ScoreDecoder(STATES).fit(train, [NAMES] * 6)
    decoder.margin_rates_ = margin_rates(decoder, train, [NAMES] * 6, cv=3)
    rows = decoder.predict_segments(new[0], level=0.9)
    decoder.model_ = replace(decoder.model_, weight=scale * decoder.model_.weight)
    scaled = decoder.predict_segments(new[0], level=0.9)
    for row, other in zip(rows, scaled, strict=True):
        for key in ("start", "from", "to"):
            assert row[key] == other[key]
        if row["margin"] is not None:
            assert other["margin"] == pytest.approx(scale * row["margin"])
            assert other["rate"] == pytest.approx(row["rate"])
