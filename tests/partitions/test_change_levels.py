"""Where a change may be: levels of held-out changes, and the ranges of samples they give."""

import numpy as np
import pandas as pd
import pytest

from structsvm import MetricLearner, SettingsError, load, margin_rates, save
from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels
from structsvm.partitions import ChangeLevels, EquivalenceMatrix
from structsvm.partitions.change_levels import places_of

LEVELS = ChangeLevels(np.arange(10.0), np.repeat([0, 1], [9, 1]))


def test_an_approximate_level_is_a_quantile_of_all_changes():
    assert [LEVELS.about(level) for level in (0.05, 0.1, 0.5, 0.9)] == [0, 1, 5, 9]


@pytest.mark.parametrize(("level", "enough"), [(0.91, 11), (0.95, 19), (0.999, 999)])
def test_a_level_that_needs_more_changes_is_refused(level, enough):
    told = f"from {enough} true changes on, and 10 were held out: .*level=0.9 at most"
    with pytest.raises(SettingsError, match=told):
        LEVELS.about(level)
    of_more = ChangeLevels(np.arange(float(enough)), np.zeros(enough, dtype=int))
    assert of_more.about(level) == enough - 1


@pytest.mark.parametrize(("n", "level"), [(4, 0.8), (10, 0.9), (30, 0.5)])
def test_a_new_change_is_below_its_level_at_the_asked_rate(n, level):
    """Of ten changes, the ninth is above another one of them with probability 9 / 11 alone."""
    rng = np.random.default_rng(0)
    drawn = rng.exponential(size=(4000, n + 1))
    below = [one[-1] <= ChangeLevels.of([one[:-1]], [0]).about(level) for one in drawn]
    assert level - 0.02 <= np.mean(below) <= level + 1 / (n + 1) + 0.02


def test_a_guaranteed_level_weighs_groups_equally():
    """Each of two groups weighs a third, that of nine changes a ninth of it for each."""
    assert LEVELS.guaranteed(1 / 3) == 8.0
    assert LEVELS.guaranteed(2 / 3) == 9.0


@pytest.mark.parametrize(("level", "enough"), [(0.7, 3), (0.8, 4), (0.9, 9), (0.95, 19)])
def test_too_few_groups_for_a_guarantee_are_refused_with_the_number_needed(level, enough):
    with pytest.raises(SettingsError, match=f"from {enough} groups on, and 2 were held out"):
        LEVELS.guaranteed(level)


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, np.nan, "0.9", True, None])
def test_a_level_is_between_0_and_1(level):
    with pytest.raises(SettingsError, match="level must be a number between 0 and 1"):
        LEVELS.about(level)


def test_recordings_without_changes_have_no_levels():
    assert ChangeLevels.of([np.empty(0)], [0]) is None


@pytest.mark.parametrize("n_groups", [5, 12])
def test_a_new_group_is_covered_as_guaranteed(n_groups):
    """Groups whose changes differ in difficulty: the mean coverage of new ones is the level."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(400):
        scale = rng.lognormal(size=n_groups + 1)
        sizes = rng.integers(1, 12, n_groups + 1)
        drawn = [rng.exponential(s, n) for s, n in zip(scale, sizes, strict=True)]
        levels = ChangeLevels.of(drawn[:-1], list(range(n_groups)))
        covered.append(np.mean(drawn[-1] <= levels.guaranteed(0.8)))
    assert np.mean(covered) >= 0.78


def test_places_of_small_excess_are_ranges_of_changes_beside_them_or_possible_changes():
    found = EquivalenceMatrix.from_breakpoints([3, 7, 10])
    excess = np.array([0.1, 0.2, 0, 5, 0.3, 0.1, 0, 5, 0.2])
    around, possible = places_of(found, excess, 0.25)
    assert around == [(1, 3), (6, 7)]
    assert possible == [[], [], [(9, 9)]]
    around, possible = places_of(found, excess, 0.0)
    assert around == [(3, 3), (7, 7)]
    assert possible == [[], [], []]


def test_a_change_that_rules_force_is_in_its_own_range():
    found = EquivalenceMatrix.from_breakpoints([2, 4])
    assert places_of(found, np.full(3, np.inf), 1.0).around == [(2, 2)]


def test_a_recording_of_one_sample_has_no_places_of_changes():
    assert places_of(EquivalenceMatrix.from_breakpoints([1]), np.empty(0), 1.0) == ([], [[]])


@pytest.fixture(scope="module")
def learner():
    """A diagonal metric of six recordings, with the levels of their held-out changes."""
    recordings = relevant_changes(8, n_samples=200, n_features=4, n_relevant=2, random_state=0)
    Xs, ys = arrays_and_labels(recordings)
    found = MetricLearner(metric="diagonal").fit(Xs[:6], ys[:6])
    found.margin_rates_ = margin_rates(found, Xs[:6], ys[:6], cv=2)
    return found, Xs[6:]


def test_segments_have_ranges_of_their_first_sample(learner, tmp_path):
    found, Xs = learner
    save(found, tmp_path / "m.structsvm")
    tables = load(tmp_path / "m.structsvm").predict_segments(Xs, level=0.8)
    assert tables == found.predict_segments(Xs, level=0.8)
    for first, *rows in tables:
        assert (first["from"], first["to"]) == (None, None)
        assert all(row["from"] <= row["start"] <= row["to"] for row in rows)
        assert all(row["margin"] > 0 for row in rows)
    wider = found.predict_segments(Xs, level=found.margin_rates_.levels.most)
    for row, more in zip(tables[0][1:], wider[0][1:], strict=True):
        assert more["from"] <= row["from"] <= row["to"] <= more["to"]


def test_ranges_of_changes_have_times(learner):
    found, Xs = learner
    frame = pd.DataFrame(Xs[0], index=pd.date_range("2026-01-01", periods=200, freq="s"))
    rows = found.predict_segments([frame], level=0.8)[0]
    assert (rows[1]["to_time"] - rows[1]["time"]).total_seconds() == rows[1]["to"] - rows[1][
        "start"
    ]


def test_a_level_needs_held_out_changes(learner):
    found, Xs = learner
    with pytest.raises(SettingsError, match="from 9 groups on, and 6 were held out"):
        found.predict_segments(Xs, level=0.9, guaranteed=True)
    with pytest.raises(SettingsError, match=r"level=0\.99 can be learned from 99 true changes on"):
        found.predict_segments(Xs, level=0.99)
    other = MetricLearner(metric="diagonal").fit(Xs, [[100, 200], [50, 200]])
    with pytest.raises(SettingsError, match="level needs true changes of recordings"):
        other.predict_segments(Xs, level=0.9)
