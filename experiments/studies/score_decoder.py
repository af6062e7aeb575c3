"""Scores of anybody's classifiers into segments: the decoder beside what people set by hand.

Six sets, three kinds of classifiers. One half of the groups of a set is labelled, and the other is
tested, and the other way round: the scores of labelled recordings are those of classifiers of other
groups among them, and those of tested ones of a classifier of all labelled ones. From these scores
and the labels the decoder is learned, and the rolling mean and the shortest segment are chosen. The
rows of people are five new ones of har_spsw, with the labels of ten, three and one person.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments._cache import Pieces, run_on
from experiments._report import SHARED, Row, publish
from experiments.studies._har import person
from structsvm import ScoreDecoder
from structsvm.baselines import SmoothedScores
from structsvm.datasets import digits_recordings
from structsvm.evaluation.contrast import Contrast
from structsvm.features import Lags
from structsvm.io import Recording, arrays_and_labels, read_recordings
from structsvm.partitions.equivalence import runs_of
from structsvm.partitions.losses import partition_loss

Floats = NDArray[np.float64]
Names = NDArray[Any]

CLASSIFIERS: Mapping[str, Callable[[], Any]] = {
    "trees": lambda: ExtraTreesClassifier(60, min_samples_leaf=5, random_state=0),
    "linear": lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=300)),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=40, random_state=0),
}
LARGEST, SMOOTHED, DECODED = "largest score", "rolling mean, shortest segment", "decoder"
METHODS = (LARGEST, SMOOTHED, DECODED)
TREES = CLASSIFIERS["trees"]
PEOPLE = {"ten people": 10, "three people": 3, "one person": 1}
LAST_LEARNED = "s10"
FOLDS = 5


# ---- recordings with names


class Labelled:
    """Recordings with the context that classifiers see, the name of every sample, and groups."""

    def __init__(self, Xs: Sequence[Floats], ys: Sequence[Names], groups: Sequence[Any]) -> None:
        self.raw = [np.asarray(X, dtype=np.float64) for X in Xs]
        scaled = [(X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9) for X in Xs]
        self.Xs = Lags((-4, 0, 4)).fit_transform(scaled)
        self.ys = [np.asarray(y).astype(str) for y in ys]
        self.groups = np.asarray(groups)

        self.names = np.unique(np.concatenate(self.ys))

    def at(self, which: Sequence[int]) -> tuple[list[Floats], list[Names], Names]:
        return [self.Xs[i] for i in which], [self.ys[i] for i in which], self.groups[list(which)]

    def raw_at(self, which: Sequence[int]) -> tuple[list[Floats], list[Names], Names]:
        """The same as measured: no sample sees those after it."""
        return [self.raw[i] for i in which], [self.ys[i] for i in which], self.groups[list(which)]


def of_files(folder: Path, group: Callable[[Recording], Any]) -> Labelled:
    recordings = read_recordings(sorted(folder.glob("*.npz")))
    return Labelled(*arrays_and_labels(recordings), [group(one) for one in recordings])


def skab(folder: Path) -> Labelled:
    """Segments that are numbered take turns: as usual, and not."""
    recordings = read_recordings(sorted(folder.glob("*.npz")))
    Xs, ys = arrays_and_labels(recordings)
    return Labelled(Xs, [np.asarray(y).astype(int) % 2 for y in ys], range(len(Xs)))


def digits() -> Labelled:
    Xs, ys = arrays_and_labels(digits_recordings(20, random_state=0))
    return Labelled(Xs, ys, range(len(Xs)))


def voices() -> Labelled:
    """Loudness, smoothed by what came before: where a voice begins or ends, it says so late."""
    rng = np.random.default_rng(0)
    Xs = []
    ys = []
    for _ in range(20):
        lengths = rng.integers(20, 120, 14)
        speaks = np.repeat(np.arange(14) % 2, lengths)
        loud = 1.2 * speaks[:, None] + rng.normal(size=(speaks.size, 3))
        for t in range(1, len(loud)):
            loud[t] = 0.8 * loud[t - 1] + 0.2 * loud[t]
        Xs.append(loud)
        ys.append(np.where(speaks == 1, "voice", "silence"))
    return Labelled(Xs, ys, range(20))


def sets(folder: Path) -> dict[str, Callable[[], Labelled]]:
    return {
        "har_spsw": lambda: of_files(folder / "har_spsw", lambda one: person(one.name)),
        "mocap6": lambda: of_files(folder / "mocap6", lambda one: one.name),
        "tep": lambda: of_files(folder / "tep", lambda one: one.name),
        "skab": lambda: skab(folder / "skab"),
        "digits in turn": digits,
        "voices": voices,
    }


# ---- scores, and what is made of them


def scores_of(make: Callable[[], Any], given: Labelled, learn: Any, new: Any) -> list[Floats]:
    """Probabilities of all names by a classifier of some recordings, 0 of those it lacks."""
    names = given.names
    Xs, ys, _ = given.at(learn)
    classifier = make().fit(np.vstack(Xs), np.concatenate(ys))
    found = []
    for X in given.at(new)[0]:
        p = np.zeros((len(X), names.size))
        p[:, np.searchsorted(names, classifier.classes_)] = classifier.predict_proba(X)
        found.append(p)
    return found


def held_out(
    make: Callable[[], Any], given: Labelled, learn: Sequence[int], folds: int = FOLDS
) -> list[Floats]:
    """Probabilities of recordings by classifiers of other groups."""
    units = np.unique(given.groups[list(learn)], return_inverse=True)[1]
    fold = units % folds
    found: list[Any] = [None] * len(learn)
    for k in np.unique(fold):
        others = [i for i, of in zip(learn, fold, strict=True) if of != k]
        own = np.flatnonzero(fold == k)
        for i, p in zip(own, scores_of(make, given, others, [learn[i] for i in own]), strict=True):
            found[i] = p
    return found


@dataclass(frozen=True)
class Part:
    """Scores and labels to learn from, and scores to decode."""

    scores: Sequence[Floats]
    ys: Sequence[Names]
    groups: Any
    new: Sequence[Floats]
    truths: Sequence[Names]
    units: list[int]
    """The groups of the recordings to decode."""
    names: Names

    def losses(self, method: str) -> list[float]:
        """The loss of the paper of each recording."""
        makes: Mapping[str, Callable[[], Any]] = {
            LARGEST: lambda: SmoothedScores(self.names, tuned=False),
            SMOOTHED: lambda: SmoothedScores(self.names),
            DECODED: lambda: ScoreDecoder(self.names),
        }
        learner = makes[method]().fit(self.scores, self.ys, groups=self.groups)
        pairs = zip(self.truths, learner.predict_states(self.new), strict=True)
        return [partition_loss(runs_of(y), runs_of(path)) for y, path in pairs]


def halves(given: Labelled, make: Callable[[], Any]) -> Iterator[Part]:
    """The scores of each half of the groups, with those of the labelled other half."""
    units = np.unique(given.groups, return_inverse=True)[1]
    half = np.random.default_rng(0).permutation(units.max() + 1)[units] % 2
    for k in (0, 1):
        learn = np.flatnonzero(half != k).tolist()
        test = np.flatnonzero(half == k).tolist()
        _, ys, groups = given.at(learn)
        own = held_out(make, given, learn)
        new = scores_of(make, given, learn, test)
        yield Part(own, ys, groups, new, given.at(test)[1], units[test].tolist(), given.names)


def people(given: Labelled, make: Callable[[], Any], n: int) -> Part:
    """The scores of five new people, with those of so many labelled ones of ten."""
    learn = np.flatnonzero(given.groups <= LAST_LEARNED).tolist()
    test = np.flatnonzero(given.groups > LAST_LEARNED).tolist()
    own = held_out(make, given, learn, max(PEOPLE.values()))  # of each person by the others
    new = scores_of(make, given, learn, test)
    some = np.unique(given.groups[learn])[:n]
    kept = [k for k, i in enumerate(learn) if given.groups[i] in some]
    _, ys, groups = given.at([learn[k] for k in kept])
    units = np.unique(given.groups[test], return_inverse=True)[1].tolist()
    scores = [own[k] for k in kept]
    whose = groups if n > 1 else None
    return Part(scores, ys, whose, new, given.at(test)[1], units, given.names)


def judged(parts: Iterable[Part], methods: Sequence[str] = METHODS) -> dict[str, Any]:
    """Losses of every tested recording, and its group."""
    found: dict[str, list[float]] = {name: [] for name in methods}
    groups: list[int] = []
    for part in parts:
        groups += part.units
        for name in methods:
            found[name] += part.losses(name)
    return {"losses": found, "groups": groups}


def row_of(title: str, classifier: str, found: Mapping[str, Any]) -> Row:
    """Mean losses, and the gain over what is set by hand with its interval over groups."""
    gains = np.subtract(found["losses"][SMOOTHED], found["losses"][DECODED])
    gain = Contrast.of(SMOOTHED, gains, np.asarray(found["groups"]))
    row: dict[str, Any] = {"set": title, "classifier": classifier, "recordings": gains.size}
    row |= {name: f"{np.mean(values):.2f}" for name, values in found["losses"].items()}
    row["gain"] = f"{gain.mean:+.2f} ({gain.low:+.2f} to {gain.high:+.2f})"
    return row


def main(folder: Path, seconds: float) -> None:
    warnings.simplefilter("ignore")
    pieces = Pieces("score_decoder", seconds)
    rows = []
    for n, count in PEOPLE.items():
        key = f"five new people, labels of {n}"
        read = sets(folder)["har_spsw"]
        found = pieces.get(key, lambda r=read, c=count: judged([people(r(), TREES, c)]))
        rows.append((key, "trees", found))
    for name, read in sets(folder).items():
        for kind, make in CLASSIFIERS.items():
            found = pieces.get(f"{name}, {kind}", lambda r=read, m=make: judged(halves(r(), m)))
            rows.append((name, kind, found))
    pieces.finish()
    publish("score_decoder", [row_of(*row) for row in rows])


if __name__ == "__main__":
    run_on(main, SHARED, __doc__)
