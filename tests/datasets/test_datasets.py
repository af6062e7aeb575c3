"""Synthetic recordings, and recordings of digits."""

from itertools import chain

import numpy as np
from cases import refused
from sklearn.datasets import load_digits

from structsvm.datasets import digits_recordings, relevant_changes
from structsvm.errors import SettingsError


def runs(y):
    """Return the first sample and the length of each run."""
    starts = np.flatnonzero(np.diff(y, prepend=y[0] - 1))
    return starts, np.diff(starts, append=y.size)


class TestDigits:
    def test_digit_recordings_have_stated_shapes_and_names(self):
        recordings = digits_recordings(4, random_state=0)
        assert len({r.name for r in recordings}) == 4
        for recording in recordings:
            assert recording.features[:2] == ("pixel_0_1", "pixel_0_2")
            assert recording.X.shape == (recording.y.size, 61)
            assert len(set(recording.features)) == 61
            starts, lengths = runs(recording.y)
            assert 5 <= starts.size <= 9
            assert lengths.min() >= 8
            assert lengths.max() <= 25

    def test_images_carry_their_own_digit(self):
        images, digits = load_digits(return_X_y=True)
        images = images[:, images.max(axis=0) > 0].copy()  # pixels that ever bear ink
        digit_of = {image.tobytes(): digit for image, digit in zip(images, digits, strict=True)}
        for recording in digits_recordings(3, split="test", random_state=1):
            assert [digit_of[x.tobytes()] for x in recording.X] == recording.y.tolist()

    def test_no_image_is_in_both_splits(self):
        train, test = (
            {
                x.tobytes()
                for x in chain.from_iterable(
                    r.X for r in digits_recordings(30, split=s, random_state=2)
                )
            }
            for s in ("train", "test")
        )
        assert len(train) > 900  # of 1029
        assert len(test) > 700  # of 768
        assert not train & test

    test_impossible_settings_of_digits_are_refused = refused(
        SettingsError,
        lambda options: digits_recordings(1, **options),
        ({"split": "all"}, r"split must be one of \('train', 'test'\), got 'all'"),
        ({"n_runs": (3, 2)}, r"n_runs must be \(fewest, most\) with 1 <= .* got \(3, 2\)"),
        ({"run_length": (8, 500)}, r"run_length must be .* <= most <= \d+, got \(8, 500\)"),
    )


class TestRelevantChanges:
    def test_recordings_with_relevant_changes_have_stated_shapes_and_segments(self):
        for recording in relevant_changes(5, n_features=12, n_relevant=3, random_state=0):
            assert recording.X.shape == (600, 12)
            starts, lengths = runs(recording.y)
            assert 6 <= starts.size <= 10
            assert lengths.min() >= 20
            assert recording.features[2:4] == ("relevant_2", "nuisance_0")

    def test_only_relevant_features_follow_the_labels(self):
        recordings = relevant_changes(
            20, n_features=8, n_relevant=4, noise=0.0, n_samples=300, random_state=1
        )
        for recording in recordings:
            starts, _ = runs(recording.y)
            jumps = np.diff(recording.X, axis=0) != 0
            np.testing.assert_array_equal(np.flatnonzero(jumps[:, 0]) + 1, starts[1:])
            assert (jumps[:, :4] == jumps[:, :1]).all()
            assert all(5 <= jumps[:, j].sum() <= 9 for j in range(4, 8))
        assert all((jumps[:, j] != jumps[:, 0]).any() for j in range(4, 8))

    def test_low_rank_levels_share_their_directions(self):
        train, test = (
            np.vstack([r.X for r in relevant_changes(3, rank=3, noise=0.0, random_state=seed)])
            for seed in (0, 1)
        )
        relevant = np.vstack([train, test])[:, :10]
        assert np.linalg.matrix_rank(relevant) == 3

    test_impossible_settings_of_relevant_changes_are_refused = refused(
        SettingsError,
        lambda options: relevant_changes(1, **options),
        ({"n_relevant": 400}, r"n_relevant must be in 1..300 \(n_features\), got 400"),
        ({"n_samples": 150}, "n_samples must be an integer >= 200, got 150"),
        ({"rank": 0}, "rank must be an integer >= 1, got 0"),
    )
