"""Handwritten digits as labelled recordings: real data that scikit-learn brings along."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from structsvm.errors import SettingsError
from structsvm.io.recording import Recording
from structsvm.support.checks import refuse_unlisted

SIDE = 8
FIRST_TEST_IMAGE = 1029
"""The images come in 14 blocks, writer by writer, that begin 0, 1, ..., 9; here the ninth does."""


def digits_recordings(
    n_recordings: int = 9,
    *,
    split: str = "train",
    n_runs: tuple[int, int] = (5, 9),
    run_length: tuple[int, int] = (8, 25),
    random_state: int | np.random.Generator | None = None,
) -> list[Recording]:
    """Recordings made of runs of images of one digit, written by different people.

    A metric that finds the changes has to see past the handwriting.

    Parameters
    ----------
    n_recordings : int
        Of up to 9 (train) or 6 (test) of the default size hardly any image comes twice.
    split : {"train", "test"}
        No image and, as far as the order of the set tells, no writer is in both.
    n_runs : (int, int)
        Fewest and most runs of a recording; adjacent runs show different digits.
    run_length : (int, int)
        Fewest and most images of a run, all different.
    random_state : int, Generator or None

    Returns
    -------
    list of Recording
        ``X`` holds the intensities, 0 to 16, of each image's 61 pixels that ever bear ink, called
        ``pixel_row_column``; ``y`` the digit.

    Raises
    ------
    SettingsError
        If there is no such split, or a range is none.

    Notes
    -----
    Alpaydin and Kaynak (1998), Optical Recognition of Handwritten Digits, UCI Machine Learning
    Repository; licence CC BY 4.0. scikit-learn ships the images.

    Examples
    --------
    >>> from structsvm.datasets import digits_recordings
    >>> (recording,) = digits_recordings(1, n_runs=(3, 3), run_length=(8, 8), random_state=0)
    >>> recording.X.shape, len(set(recording.y.tolist()))
    ((24, 61), 3)
    """
    refuse_unlisted("split", split, ("train", "test"))
    images, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(random_state)
    pool = np.arange(FIRST_TEST_IMAGE)
    if split == "test":
        pool = np.arange(FIRST_TEST_IMAGE, digits.size)
    of_digit = [pool[digits[pool] == digit] for digit in range(10)]
    left = [rng.permutation(some) for some in of_digit]
    limits = {"n_runs": np.inf, "run_length": min(some.size for some in of_digit)}
    for (name, limit), (least, largest) in zip(limits.items(), (n_runs, run_length), strict=True):
        if not 1 <= least <= largest <= limit:
            raise SettingsError(
                f"{name} must be (fewest, most) with 1 <= fewest <= most <= {limit}, got "
                f"{(least, largest)}"
            )
    inked = images.max(axis=0) > 0
    names = np.array([f"pixel_{r}_{c}" for r in range(SIDE) for c in range(SIDE)])
    features = tuple(names[inked].tolist())
    recordings = []
    for i in range(n_recordings):
        # Each digit is drawn uniformly among those that differ from the one before.
        steps = rng.integers(1, 10, size=int(rng.integers(n_runs[0], n_runs[1] + 1)))
        runs = (rng.integers(10) + np.cumsum(steps)) % 10
        parts = []
        for digit in runs.tolist():
            length = int(rng.integers(run_length[0], run_length[1] + 1))
            if length > left[digit].size:  # too few that were not dealt yet
                left[digit] = rng.permutation(of_digit[digit])
            parts.append(left[digit][:length])
            left[digit] = left[digit][length:]
        shown = np.concatenate(parts)
        X, y = images[np.ix_(shown, inked)], digits[shown].astype(np.int64)
        recordings.append(Recording(f"digits_{split}_{i:02d}", X, y, features))
    return recordings
