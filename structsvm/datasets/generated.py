"""Recordings that are made: synthetic ones in which few features matter, and runs of digits."""

from itertools import product

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from structsvm.io import Recording
from structsvm.support import refuse_below, refuse_unless, refuse_unlisted

MIN_LENGTH = 20  # samples in the shortest segment
N_CHANGES = (5, 9)  # fewest and most changes of a recording, and of each nuisance feature
LOADINGS_SEED = 12345
"""The relevant directions are the same whatever ``random_state``: a test set must share them."""


def relevant_changes(
    n_recordings: int = 10,
    *,
    n_samples: int = 600,
    n_features: int = 300,
    n_relevant: int = 10,
    rank: int | None = None,
    jump: float = 1.0,
    noise: float = 1.0,
    random_state: int | np.random.Generator | None = None,
) -> list[Recording]:
    """Synthetic recordings in which few of many features follow the labels.

    The setting of Lajugie et al., section "Synthetic examples". The first ``n_relevant`` features
    change their mean together, at the 5 to 9 changes that are labelled; each of the others changes
    its mean 5 to 9 times too, at times of its own. Segments have at least 20 samples and, given
    their number, are drawn uniformly.

    Parameters
    ----------
    n_recordings : int
    n_samples, n_features : int
        T and P.
    n_relevant : int
        How many features follow the labels.
    rank : int, optional
        Dimension of the space in which the levels of the relevant features lie; the same space for
        every ``random_state``. None draws the level of each feature by itself.
    jump, noise : float
        Standard deviations of the levels, and of the samples around them.
    random_state : int, Generator or None

    Returns
    -------
    list of Recording
        Features are called ``relevant_0``, ... and ``nuisance_0``, ...; ``y`` numbers the segments.

    Raises
    ------
    SettingsError
        If ``n_relevant`` is not in ``1..n_features``, or ``n_samples`` leaves no room for ten
        segments of 20 samples.

    Examples
    --------
    >>> from structsvm.datasets import relevant_changes
    >>> recordings = relevant_changes(2, n_samples=200, n_features=3, n_relevant=1, random_state=0)
    >>> recordings[0].X.shape, recordings[0].features
    ((200, 3), ('relevant_0', 'nuisance_0', 'nuisance_1'))
    """
    of_all = f"in 1..{n_features} (n_features)"
    refuse_unless(1 <= n_relevant <= n_features, "n_relevant", of_all, n_relevant)
    refuse_below((N_CHANGES[1] + 1) * MIN_LENGTH, "n_samples", n_samples)
    if rank is not None:
        refuse_below(1, "rank", rank)
    rng = np.random.default_rng(random_state)
    features = [f"relevant_{j}" for j in range(n_relevant)]
    features += [f"nuisance_{j}" for j in range(n_features - n_relevant)]
    loadings = np.eye(n_relevant)  # from latent levels to levels of features
    if rank is not None:
        structure = np.random.default_rng(LOADINGS_SEED)
        loadings = structure.standard_normal((n_relevant, rank)).T / np.sqrt(rank)
    recordings = []
    for i in range(n_recordings):
        X = noise * rng.standard_normal((n_samples, n_features))
        y = _segment_numbers(rng, n_samples)
        latent = rng.standard_normal((y[-1] + 1, loadings.shape[0]))
        X[:, :n_relevant] += jump * (latent @ loadings)[y]
        for j in range(n_relevant, n_features):
            own = _segment_numbers(rng, n_samples)
            X[:, j] += jump * rng.standard_normal(own[-1] + 1)[own]
        recordings.append(Recording(f"synthetic_{i:02d}", X, y, tuple(features)))
    return recordings


def _segment_numbers(rng: np.random.Generator, n_samples: int) -> NDArray[np.int64]:
    """The number of the segment of each sample, (T,), drawn uniformly without short segments."""
    n_changes = int(rng.integers(N_CHANGES[0], N_CHANGES[1] + 1))
    spare = n_samples - (n_changes + 1) * MIN_LENGTH
    places = np.sort(rng.choice(spare + n_changes, n_changes, replace=False))
    changes = places + np.arange(n_changes) * (MIN_LENGTH - 1) + MIN_LENGTH
    sizes = np.diff(changes, prepend=0, append=n_samples)
    return np.repeat(np.arange(n_changes + 1, dtype=np.int64), sizes)


PIXELS_OF_A_SIDE = 8
FIRST_TEST_IMAGE = 1029
"""The first image of the ninth of 14 blocks, each of which begins 0, 1, ..., 9 for new writers."""


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
        words = f"(fewest, most) with 1 <= fewest <= most <= {limit}"
        refuse_unless(1 <= least <= largest <= limit, name, words, (least, largest))
    inked = images.max(axis=0) > 0
    names = np.array(
        [f"pixel_{r}_{c}" for r, c in product(range(PIXELS_OF_A_SIDE), range(PIXELS_OF_A_SIDE))]
    )
    features = tuple(names[inked].tolist())
    recordings = []
    for i in range(n_recordings):
        # Each digit is drawn uniformly among those that differ from the one before.
        steps = rng.integers(1, 10, size=int(rng.integers(n_runs[0], n_runs[1] + 1)))
        runs = (rng.integers(10) + np.cumsum(steps)) % 10
        parts = []
        for digit in runs.tolist():
            length = int(rng.integers(run_length[0], run_length[1] + 1))
            if length > left[digit].size:  # too few images are left
                left[digit] = rng.permutation(of_digit[digit])
            parts.append(left[digit][:length])
            left[digit] = left[digit][length:]
        shown = np.concatenate(parts)
        X = images[np.ix_(shown, inked)]
        y = digits[shown].astype(np.int64)
        recordings.append(Recording(f"digits_{split}_{i:02d}", X, y, features))
    return recordings
