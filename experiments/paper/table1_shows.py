"""The paper's Table 1: shows of talk and music, segmented by sound, by pictures and by both.

The shows of the paper are not public, so ten are made (_shows.py) and written as .mkv files: four
to learn, three to choose settings by, three to test, 1.5 h each with 60 to 120 changes. They are
read back as any film is, one sample a second, and labelled from the tables of their changes.
Settings (the number of components of PCA and RCA, the strength and kind of a learned metric, the
kind of classifier) are those with the smallest mean loss on the three shows to choose by; the
penalty of a metric is calibrated on the four to learn. The number of segments is unknown.

    python -m experiments.paper.table1_shows --seconds 400      # as often as it asks for
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._cache import CACHE, Pieces, seconds_option
from experiments._report import Row, publish
from experiments.paper._shows import FULL, QUICK, Size, speech_in_words, write_show
from structsvm import ChangePoint, EquivalenceMatrix, MetricLearner
from structsvm.baselines import BoundaryClassifier, FrameClassifier
from structsvm.data.standardize import Standardizer
from structsvm.interop import labels_to_breakpoints
from structsvm.io import Recording, read_media, read_recordings, with_labels, write_recording
from structsvm.partitions import Examples, Instance
from structsvm.partitions.learning import within_whitening
from structsvm.partitions.losses import covering, partition_loss

Floats = NDArray[np.float64]

USES = ("learn",) * 4 + ("choose",) * 3 + ("test",) * 3
STREAMS = ("audio", "video", "both")
N_SOUND = 38
"""Features of sound, which come before those of pictures."""
COLUMNS = {"audio": slice(None, N_SOUND), "video": slice(N_SOUND, None), "both": slice(None)}
LAMS = (0.01, 0.1, 1.0)
SLOW = "boosting"
"""What quick runs leave out."""
SHRINKAGE = 1e-2
"""Of the covariances of RCA, some of whose colours are constant within parts."""

PRINTED = {
    "PCA": ((23, 41, 34), (40, 55, 25), (29, 53, 37)),
    "untrained": ((29, 48, 33), (59, 55, 47), (40, 48, 36)),
    "learned": ((6.1, 9.3, 7), (10, 14, 11), (8.7, 9.6, 7.8)),
}
"""Losses in the paper, for each stream and show."""


@dataclass(frozen=True, eq=False)
class Shows:
    """One stream of all shows."""

    Xs: list[Floats]
    names: list[NDArray[Any]]
    """Talk or music, for each second."""

    @property
    def truths(self) -> list[EquivalenceMatrix]:
        """The true segmentations."""
        return [_segments(y) for y in self.names]

    @property
    def changes(self) -> list[list[int]]:
        """True ends of segments."""
        return [truth.breakpoints for truth in self.truths]

    @property
    def instances(self) -> list[Instance]:
        """z-scores within each show."""
        return [Instance(Standardizer("recording")(X)) for X in self.Xs]

    def used(self, use: str) -> list[int]:
        """Which shows are for this."""
        return [i for i, other in enumerate(USES) if other == use]


def _segments(y: NDArray[Any]) -> EquivalenceMatrix:
    return EquivalenceMatrix.from_breakpoints(labels_to_breakpoints(y))


# ----------------------------------------------------------------------------- from films to shows


def recordings(pieces: Pieces, size: Size, seed: int) -> list[Recording] | None:
    """Every show, written and read back; None if there was no time for all of them."""
    folder = CACHE / f"shows_{size.seconds}_{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    for i, use in enumerate(USES):
        film = folder / f"{i:02}_{use}.mkv"
        features = film.with_suffix(".npz")
        tasks = {
            "write": (film, partial(_written, film, size, use, 1_000 * seed + i)),
            "read": (features, partial(_read, film, features)),
        }
        for word, (file, task) in tasks.items():
            key = f"{word} {film.name} {size.seconds} {seed}"
            if not file.exists():
                pieces.known.pop(key, None)
            if pieces.get(key, task) is None:
                break
    if pieces.left_out:
        return None
    return read_recordings(sorted(folder.glob("*.npz")))


def _written(film: Path, size: Size, use: str, seed: int) -> dict[str, Any]:
    start = time.perf_counter()
    made = write_show(film, size, use, seed)
    return {"seconds": time.perf_counter() - start, "changes": len(made.changes)}


def _read(film: Path, features: Path) -> dict[str, Any]:
    """What the table is made from: the film and the table beside it."""
    start = time.perf_counter()
    (show,) = with_labels([read_media(film)], film.with_suffix(".csv"))
    write_recording(show, features)
    return {"seconds": time.perf_counter() - start, "megabytes": film.stat().st_size / 1e6}


# ---------------------------------------------------------------------------------------- methods

Segmenter = Callable[[list[int]], list[EquivalenceMatrix]]
"""Segments the shows of these numbers."""


def untrained(shows: Shows) -> Iterator[tuple[str, Callable[[], Segmenter]]]:
    """The standardised features with the best penalty, "Reg. parameter" in the paper."""
    yield "-", lambda: _in_metric(shows, np.eye(shows.Xs[0].shape[1]))


def pca(shows: Shows) -> Iterator[tuple[str, Callable[[], Segmenter]]]:
    """The leading principal components of the shows to learn from."""
    for n in _numbers(shows):
        yield f"{n} components", partial(lambda n: _in_metric(shows, _components(shows, n)), n)


def rca(shows: Shows) -> Iterator[tuple[str, Callable[[], Segmenter]]]:
    """Relevant component analysis of the leading principal components."""
    for n in _numbers(shows):
        yield f"{n} components", partial(lambda n: _in_metric(shows, _relevant(shows, n)), n)


def learned(shows: Shows) -> Iterator[tuple[str, Callable[[], Segmenter]]]:
    """Ours, from change points."""
    for metric, lam in product(("diagonal", "full"), LAMS):
        yield f"{metric}, lam {lam:g}", partial(_learned, shows, metric, lam)


def boundaries(shows: Shows) -> Iterator[tuple[str, Callable[[], Segmenter]]]:
    """A classifier of boundaries, from change points."""
    for kind in ("logistic", "boosting"):
        yield kind, partial(_classified, shows, BoundaryClassifier(kind), shows.changes)


def frames(shows: Shows) -> Iterator[tuple[str, Callable[[], Segmenter]]]:
    """A classifier of seconds with Viterbi, from the names talk and music."""
    for kind in ("logistic", "boosting"):
        yield kind, partial(_classified, shows, FrameClassifier(kind), shows.names)


METHODS = {
    "PCA": ("change points", pca),
    "RCA": ("change points", rca),
    "untrained": ("change points", untrained),
    "learned": ("change points", learned),
    "frame classifier": ("talk or music", frames),
    "boundary classifier": ("change points", boundaries),
}
"""What each learns from, and its settings to choose from."""


def _numbers(shows: Shows) -> list[int]:
    P = shows.Xs[0].shape[1]
    return [n for n in (1, 2, 4, 8, 16, 32, 64) if n < P] + [P]


def _components(shows: Shows, n: int) -> Floats:
    instances = shows.instances
    scatter = sum(instances[i].X.T @ instances[i].X for i in shows.used("learn"))
    return np.linalg.eigh(np.asarray(scatter))[1][:, ::-1][:, :n]


def _relevant(shows: Shows, n: int) -> Floats:
    leading = _components(shows, n)
    learn = shows.used("learn")
    inside = [shows.instances[i].X @ leading for i in learn]
    return leading @ within_whitening(
        Examples([Instance(X) for X in inside], [shows.truths[i] for i in learn]), SHRINKAGE
    )


def _in_metric(shows: Shows, factor: Floats) -> Segmenter:
    """With the penalty of smallest loss on the shows to learn from."""
    problem = ChangePoint()
    learn = shows.used("learn")
    instances = shows.instances
    taught = Examples([instances[i] for i in learn], [shows.truths[i] for i in learn])
    metric = problem.calibrate(factor, taught).metric(factor)
    return lambda which: [problem.partition(instances[i], metric) for i in which]


def _learned(shows: Shows, kind: str, lam: float) -> Segmenter:
    learn = shows.used("learn")
    learner = MetricLearner(metric=kind, lam=lam)
    learner.fit([shows.Xs[i] for i in learn], [shows.changes[i] for i in learn])
    print(f"  {kind}, lam {lam:g}: {learner.solution_.summary()}", flush=True)
    return lambda which: learner.predict_partitions([shows.Xs[i] for i in which])


def _classified(shows: Shows, classifier: Any, labels: Sequence[Any]) -> Segmenter:
    learn = shows.used("learn")
    classifier.fit([shows.Xs[i] for i in learn], [labels[i] for i in learn])

    def segmented(which: list[int]) -> list[EquivalenceMatrix]:
        ends = classifier.predict_breakpoints([shows.Xs[i] for i in which])
        return [EquivalenceMatrix.from_breakpoints(end) for end in ends]

    return segmented


# ---------------------------------------------------------------------------------------- results


def measured(shows: Shows, make: Callable[[], Segmenter]) -> dict[str, Any]:
    """Losses on the shows to choose by and to test on, and how long learning took."""
    start = time.perf_counter()
    segment = make()
    found: dict[str, Any] = {"seconds": time.perf_counter() - start}
    for use in ("choose", "test"):
        which = shows.used(use)
        pairs = list(zip([shows.truths[i] for i in which], segment(which), strict=True))
        found[use] = [partition_loss(truth, guess) for truth, guess in pairs]
    found["covering"] = float(np.mean([covering(truth, guess) for truth, guess in pairs]))
    found["segments"] = [guess.n_clusters for _, guess in pairs]
    return found


def table(found: dict[tuple[str, str], dict[str, Any]]) -> list[Row]:
    """The table as the paper prints it, a row for each method."""
    rows: list[Row] = []
    for method, (labels, _) in METHODS.items():
        row: dict[str, Any] = {"method": method, "learns from": labels}
        for k, stream in enumerate(STREAMS):
            row[stream] = _three(found[stream, method]["test"])
            row[f"{stream}, printed"] = _three(PRINTED[method][k]) if method in PRINTED else None
        rows.append(row)
    return rows


def details(found: dict[tuple[str, str], dict[str, Any]]) -> list[Row]:
    """What was chosen, and what it is worth."""
    return [
        {
            "method": method,
            "stream": stream,
            "chosen": chosen["setting"],
            "loss to choose by": float(np.mean(chosen["choose"])),
            "test loss": float(np.mean(chosen["test"])),
            "covering": chosen["covering"],
            "segments found": ", ".join(map(str, chosen["segments"])),
            "seconds to learn": chosen["seconds"],
        }
        for (stream, method), chosen in found.items()
    ]


def _three(losses: Sequence[float]) -> str:
    return " / ".join(f"{loss:.3g}" for loss in losses)


def main(size: Size, seed: int, seconds: float) -> None:
    warnings.simplefilter("ignore")  # of convergence, and of colours that no show has
    pieces = Pieces("table1_shows", seconds)
    made = recordings(pieces, size, seed)
    if made is None:
        pieces.finish()
        return
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for (method, (_, settings)), stream in product(METHODS.items(), STREAMS):
        shows = Shows([show.X[:, COLUMNS[stream]] for show in made], [show.y for show in made])
        tried = {}
        for name, make in settings(shows):
            if size == QUICK and name == SLOW:
                continue
            key = f"{stream}, {method}, {name}, {size.seconds} {seed}"
            tried[name] = pieces.get(key, partial(measured, shows, make))
            print(key, tried[name], flush=True)
        if None not in tried.values():
            best = min(tried, key=lambda name: float(np.mean(tried[name]["choose"])))
            total = sum(one["seconds"] for one in tried.values())
            found[stream, method] = tried[best] | {"setting": best, "seconds": total}
    pieces.finish()
    publish("table1_shows", table(found))
    publish("table1_chosen", details(found))
    publish("table1_size", [sizes(pieces, made, size, seed, found)])


def sizes(
    pieces: Pieces, made: Sequence[Recording], size: Size, seed: int, found: dict[Any, Any]
) -> Row:
    """How large the shows are, and how long everything took."""
    keys = [f"{{}} {i:02}_{use}.mkv {size.seconds} {seed}" for i, use in enumerate(USES)]
    written, read = ([pieces.known[key.format(word)] for key in keys] for word in ("write", "read"))
    changes = [piece["changes"] for piece in written]
    return {
        "seed": str(seed),
        "seconds of a show": str(len(made[0].X)),
        "changes": f"{min(changes)} to {max(changes)}",
        "changes of the test shows": ", ".join(map(str, changes[-3:])),
        "speech": speech_in_words(),
        "files, MB": sum(piece["megabytes"] for piece in read),
        "to write the shows, s": sum(piece["seconds"] for piece in written),
        "to read them, s": sum(piece["seconds"] for piece in read),
        "to learn and choose, s": sum(chosen["seconds"] for chosen in found.values()),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    seconds_option(parser)
    parser.add_argument("--seed", type=int, default=0, help="of the shows")
    parser.add_argument("--quick", action="store_true", help="shows of five minutes")
    options = parser.parse_args()
    main(QUICK if options.quick else FULL, options.seed, options.seconds)
