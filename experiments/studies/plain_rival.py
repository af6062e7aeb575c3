"""What a practitioner writes in thirty lines, beside what ``structsvm try --minutes 1`` answers.

On every set of these pages whose labels are names, none left out: recordings of states, tables of
classes and images of regions. Two sets of features are there as the signals that they were made of,
too. The other sets of recordings have changes without names. The rival sees the means and
deviations of windows of three widths, a random forest names each sample, and one price of a switch,
the best on a third of the training recordings (or groups), smooths the names by dynamic
programming. Rows of tables have no windows, and pixels of images have windows in two dimensions;
neither has a price. What ``try`` holds out and judges by is asked of both, and the same function
scores both, from the files that ``try`` writes, with what it predicts. The rival learns from all
others, of other people if recordings are of people; ``try`` may learn from less to be in time. The
command runs on one thread, in a process of its own, and its minute is one of the processor.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import starmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import uniform_filter
from sklearn.ensemble import RandomForestClassifier

from experiments._cache import Pieces, seconds_option
from experiments._report import SHARED, Row, publish_some
from experiments.studies.try_out import CASES, Case, given, run
from structsvm import EquivalenceMatrix
from structsvm.datasets import digits_recordings
from structsvm.evaluation.contrast import Contrast
from structsvm.interop import labels_to_breakpoints
from structsvm.io import Recording, read_recordings, write_recording
from structsvm.partitions.losses import adjusted_rand_index, partition_loss

Floats = NDArray[np.float64]
Names = NDArray[Any]

ON_CPU_TIME = "experiments.studies._on_cpu_time"
WIDTHS = (5, 15, 51)
PRICES = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0)
MOST = 60_000
"""Samples that a forest learns from, at most."""

TABLES = ("iris", "wine", "balance_scale", "ionosphere", "movement_libras", "digits", "letter")
SETS: Mapping[str, Case] = {
    "har_spsw": Case("change-point", "recordings", options=("--groups", "^s[0-9]+")),
    "mocap6": CASES["mocap6"],
    "tep": CASES["tep"],
    "har_spsw, signals": Case("change-point", "recordings", options=("--groups", "^s[0-9]+")),
    "mocap6, signals": Case("change-point", "recordings"),
    "skab": Case("change-point", "recordings"),
    "digits in turn": Case("change-point", "recordings"),
    **{name: Case("clustering", "rows") for name in ("breast_cancer_wdbc", *TABLES)},
    "weizmann_horse": CASES["weizmann_horse"],
}


# ---- the thirty lines


def windows(X: Floats) -> Floats:
    """Each sample, and mean and deviation of the windows around it, (T, 7 P)."""
    frame = pd.DataFrame(X)
    seen = [frame]
    for width in WIDTHS:
        around = frame.rolling(width, center=True, min_periods=1)
        seen += [around.mean(), around.std().fillna(0.0)]
    return np.hstack([part.to_numpy() for part in seen])


def pixels(image: Floats) -> Floats:
    """The same of pixels, with where they are, (H * W, 7 P + 2)."""
    seen = [image]
    for width in WIDTHS:
        mean = uniform_filter(image, (width, width, 0))
        square = uniform_filter(image**2, (width, width, 0))
        seen += [mean, np.sqrt(np.maximum(square - mean**2, 0.0))]
    places = np.moveaxis(np.indices(image.shape[:2]), 0, -1) / max(image.shape[:2])
    return np.concatenate([*seen, places], axis=2).reshape(places[..., 0].size, -1)


def forest(seen: Sequence[Floats], names: Sequence[Names]) -> RandomForestClassifier:
    rows = np.vstack(seen)
    labels = np.concatenate(names)
    some = np.random.default_rng(0).permutation(len(rows))[:MOST]
    trees = RandomForestClassifier(50, min_samples_leaf=3, n_jobs=1, random_state=0)
    return trees.fit(rows[some], labels[some])


def smoothed(scores: Floats, price: float) -> NDArray[np.int64]:
    """The path of the largest sum of scores (T, C) less the price of its switches."""
    (T, C) = scores.shape
    before = np.zeros((T, C), dtype=np.int64)
    best = scores[0]
    for t in range(1, T):
        switch = best.max() - price
        before[t] = np.where(best >= switch, np.arange(C), best.argmax())
        best = np.maximum(best, switch) + scores[t]
    path = [int(best.argmax())]
    for t in range(T - 1, 0, -1):
        path.append(int(before[t, path[-1]]))
    return np.array(path[::-1])


def of_recordings(Xs: Sequence[Floats], ys: Sequence[Names], groups: Names) -> Callable[..., Any]:
    """Names of the samples of a recording, with the price that is best on a third of the groups."""
    seen = [windows(X) for X in Xs]
    order = np.random.default_rng(0).permutation(np.unique(groups))
    aside = np.isin(groups, order[: max(1, len(order) // 3)])
    rest = np.flatnonzero(~aside)
    trial = forest([seen[i] for i in rest], [ys[i] for i in rest])
    scores = {i: logs(trial, seen[i]) for i in np.flatnonzero(aside).tolist()}

    def loss(price: float) -> float:
        found = [loss_of(ys[i], trial.classes_[smoothed(scores[i], price)], True) for i in scores]
        return float(np.mean(found))

    price = min(PRICES, key=loss)
    final = forest(seen, ys)
    return lambda X: final.classes_[smoothed(logs(final, windows(X)), price)]


def logs(trees: RandomForestClassifier, seen: Floats) -> Floats:
    return np.log(np.clip(trees.predict_proba(seen), 1e-6, 1.0))


# ---- both on what is held out


@dataclass(frozen=True)
class HeldOut:
    """True names, and the parts and names that were found; no names where only parts were."""

    truth: Names
    parts: Names
    names: Names | None
    ordered: bool

    @property
    def loss(self) -> float:
        return loss_of(self.truth, self.parts, self.ordered)

    @property
    def index(self) -> float:
        both = partition(self.truth, self.ordered), partition(self.parts, self.ordered)
        return adjusted_rand_index(*both)

    @property
    def right(self) -> float:
        return np.nan if self.names is None else float(np.mean(self.truth == self.names))


def partition(labels: Names, ordered: bool) -> EquivalenceMatrix:
    """Segments of equal labels, or clusters."""
    if ordered:
        return EquivalenceMatrix.from_breakpoints(labels_to_breakpoints(labels))
    return EquivalenceMatrix.from_labels(labels)


def loss_of(truth: Names, found: Names, ordered: bool) -> float:
    return partition_loss(partition(truth, ordered), partition(found, ordered))


Answers = Mapping[str, HeldOut]
"""By the name of the recording, table or image."""


def rows_held_out(path: Path) -> pd.DataFrame:
    """The table of a recording or of rows, with what was found, names as text."""
    frame = pd.read_csv(path)
    frame["label"] = frame["label"].astype(str)
    return frame


def answer_of(frame: pd.DataFrame, part: str) -> HeldOut:
    named = [name for name in ("label_predicted", "state") if name in frame]
    names = frame[named[0]].astype(str).to_numpy() if named else None
    truth = frame["label"].to_numpy()
    return HeldOut(truth, frame[part].to_numpy(), names, part == "segment")


def group(name: str, case: Case) -> str:
    """Whose recording it is: s01_02 is of s01; or, where nobody is named, what is independent."""
    return name.partition("_")[0] if "--groups" in case.options else name


def recordings(case: Case, paths: Sequence[str], predicted: Path) -> tuple[Answers, Answers, float]:
    answers = {
        path.name.removesuffix("_segments.csv"): answer_of(rows_held_out(path), "segment")
        for path in sorted(predicted.glob("*_segments.csv"))
    }
    known = {recording.name: recording for recording in read_recordings(paths)}
    judged = {group(name, case) for name in answers}
    groups = {name: group(name, case) for name in known}
    learned = [known[name] for name, own in groups.items() if own not in judged]
    start = time.process_time()
    ys = [np.asarray(one.y).astype(str) for one in learned]
    named = of_recordings(
        [one.X for one in learned], ys, np.array([groups[one.name] for one in learned])
    )
    rivals = {}
    for name in answers:
        found = named(known[name].X)
        rivals[name] = HeldOut(np.asarray(known[name].y).astype(str), found, found, True)
    return answers, rivals, time.process_time() - start


def tables(_: Case, paths: Sequence[str], predicted: Path) -> tuple[Answers, Answers, float]:
    (path,) = predicted.glob("*_clusters.csv")
    held_out = rows_held_out(path)
    whole = pd.read_csv(paths[0])
    rest = whole.drop(index=held_out["row"])
    columns = [name for name in whole if name != "label"]
    start = time.process_time()
    trees = forest([rest[columns].to_numpy()], [rest["label"].astype(str).to_numpy()])
    found = trees.predict(held_out[columns].to_numpy())
    seconds = time.process_time() - start
    rival = HeldOut(held_out["label"].to_numpy(), found, found, False)
    return {"table": answer_of(held_out, "cluster")}, {"table": rival}, seconds


def images(_: Case, paths: Sequence[str], predicted: Path) -> tuple[Answers, Answers, float]:
    folder = Path(paths[0])

    def read(kind: str, name: str) -> NDArray[Any]:
        return np.asarray(Image.open(folder / kind / f"{name}.png"))

    def truth(name: str) -> Names:
        return np.where(read("mask", name).ravel() > 0, "horse", "other")

    def seen(name: str) -> Floats:
        return pixels(read("img", name).astype(np.float64) / 255.0)

    masks = {path.stem.removesuffix("_mask"): path for path in predicted.rglob("*_mask.png")}
    answers = {
        name: HeldOut(truth(name), np.asarray(Image.open(path)).ravel(), None, False)
        for name, path in sorted(masks.items())
    }
    learned = sorted(path.stem for path in (folder / "img").iterdir() if path.stem not in masks)
    start = time.process_time()
    rng = np.random.default_rng(0)
    X = []
    y = []
    for name in learned:
        of_image = seen(name)
        some = rng.permutation(len(of_image))[: MOST // len(learned)]
        X.append(of_image[some])
        y.append(truth(name)[some])
    trees = forest(X, y)
    rivals = {}
    for name in answers:
        found = trees.predict(seen(name))
        rivals[name] = HeldOut(truth(name), found, found, False)
    return answers, rivals, time.process_time() - start


COMPARED = {"change-point": recordings, "clustering": tables, "normalized-cut": images}


def signals(path: Path) -> Recording:
    """The signals that the features of a file were made of, and the state of each sample."""
    with np.load(path) as stored:
        states = stored["yraw" if "yraw" in stored else "y"]
        return made(path.stem, stored["Xraw"], stored["labels"][states])


def faults(number: int, path: Path) -> Recording:
    """An experiment of skab, a group by itself, in which samples are normal or not."""
    with np.load(path) as stored:
        names = np.where(stored["anomaly"] > 0, "anomaly", "normal")
        return made(f"{number:02d}", stored["X"], names)


def made(name: str, X: Floats, y: Names) -> Recording:
    return Recording(name, X.astype(np.float64), y, tuple(f"x{j}" for j in range(X.shape[1])))


def written(name: str, folder: Path) -> list[Recording]:
    """The recordings of a set whose files are not given as they are; none for other sets."""
    files = sorted((folder / name.removesuffix(", signals")).glob("*.npz"))
    if name == "digits in turn":
        drawn = digits_recordings(40, random_state=0)
        return [replace(one, name=f"{k:02d}") for k, one in enumerate(drawn)]
    if name.endswith(", signals"):
        return list(map(signals, files))
    return list(starmap(faults, enumerate(files))) if name == "skab" else []


def paths_of(name: str, case: Case, folder: Path, place: Path) -> list[str]:
    """The files of a set."""
    recordings_of_set = written(name, folder)
    if not recordings_of_set:
        return given(name, case, folder, place)
    for recording in recordings_of_set:
        write_recording(recording, place / f"{recording.name}.npz")
    return sorted(str(path) for path in place.glob("*.npz"))


def compared(name: str, folder: Path) -> dict[str, Any]:
    """Both on one set: losses of what is held out, the share named right, CPU seconds."""
    case = SETS[name]
    with TemporaryDirectory() as data, TemporaryDirectory() as place:
        paths = paths_of(name, case, folder, Path(data))
        line = ["try", case.problem, *paths, *case.options, "--json", "--minutes", "1"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        plain, _ = run([*line, "-o", str(Path(place) / "tried")], ON_CPU_TIME)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        predicted = Path(place) / "tried" / "predicted"
        answers, rivals, of_rival = COMPARED[case.problem](case, paths, predicted)
    names = list(answers)
    used = plain["predicted_with"]
    own = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found: dict[str, Any] = {"names": names}
    found["used"] = plain["chosen"] if used == "learned" else used
    for who, these, seconds in (("try", answers, own), ("rival", rivals, of_rival)):
        found[who] = {
            "loss": [these[one].loss for one in names],
            "index": [these[one].index for one in names],
            "right": [these[one].right for one in names],
            "samples": [these[one].truth.size for one in names],
            "seconds": seconds,
        }
    print(name, found["used"], *(np.mean(found[who]["loss"]) for who in ("try", "rival")))
    return found


def row_of(name: str, found: Mapping[str, Any]) -> Row:
    """Means over what is held out, and the paired gain with its interval over people."""
    row: dict[str, Any] = {"set": name, "held out": len(found["names"]), "try": found["used"]}
    for score in ("loss", "index"):
        for who in ("try", "rival"):
            row[f"{score}, {who}"] = float(np.mean(found[who][score]))
    for who in ("try", "rival"):
        right = float(np.average(found[who]["right"], weights=found[who]["samples"]))
        row[f"named right, {who}"] = None if np.isnan(right) else right
    gains = np.subtract(found["rival"]["loss"], found["try"]["loss"])
    groups = [group(one, SETS[name]) for one in found["names"]]
    gain = Contrast.of("rival", gains, np.unique(groups, return_inverse=True)[1])
    told = f"{gain.mean:+.2f}"
    row["gain"] = told if gain.units < 2 else f"{told} ({gain.low:+.2f} to {gain.high:+.2f})"
    row["CPU seconds, try"] = f"{found['try']['seconds']:.0f}"
    row["CPU seconds, rival"] = f"{found['rival']['seconds']:.0f}"
    return row


def main(folder: Path, seconds: float, sets: Sequence[str]) -> None:
    """Compare on these sets, and publish them with the earlier rows of others."""
    pieces = Pieces("plain_rival", seconds)
    found = {name: pieces.get(name, partial(compared, name, folder)) for name in sets}
    pieces.finish()
    rows = [row_of(name, one) for name, one in found.items()]
    publish_some("plain_rival", rows, "set")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="these alone")
    seconds_option(parser)
    arguments = parser.parse_args()
    main(arguments.data, arguments.seconds, arguments.sets)
