"""New rows of known clusters, or new clusters: half of the classes are labelled, half are found.

Ten draws of classes, 5 of the ten digits or 13 of the 26 letters, whose labelled rows are learned
from; 80 % of the digits' rows, 50 rows of each letter, as a table that somebody labels has.
*New clusters*: the rows of the other classes are clustered, as many of each class as were taken of
the labelled ones. *Further rows*: rows of the labelled classes that were not learned from. The
number of clusters is given. `default` is MetricLearner(Clustering()) as it is; `rows` and
`clusters` are the learned metrics that MetricLearnerCV(Clustering(), split=...) chose on the
labelled rows alone, `best for ...` the best of all its candidates. Draws share rows, so that the
standard errors over them are optimistic. `--parts menu` is what no choice can know: what each
candidate of the menu is worth on the new clusters of each draw.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._cache import Pieces, seconds_option
from experiments._report import SHARED, Row, publish, publish_some
from experiments._tables import read
from experiments.studies._chosen import learned_metric
from structsvm import Clustering, EquivalenceMatrix, MetricLearner, MetricLearnerCV
from structsvm.errors import DataWarning, VerdictWarning
from structsvm.learner import TrainingSet
from structsvm.learner.methods import menu_of
from structsvm.learner.steps import decode_with
from structsvm.partitions.losses import adjusted_rand_index

Floats = NDArray[np.float64]
Rows = tuple[Floats, NDArray[np.int64]]

SEEDS = tuple(range(100, 110))
"""The menu was made with draws of other seeds."""
SIZES = {"digits": (0.8, None), "letter": (50, 75)}
"""Rows of a class to learn from, a number or a part, and rows of a class at all."""
RIVALS = ("untrained", "rca", "lda")
PARTS = ("default", "rows", "clusters")
MENU = "menu"
QUESTIONS = ("new clusters", "further rows")


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows to learn from, and rows to cluster for each question."""

    learn: Rows
    tests: dict[str, Rows]

    @classmethod
    def of(cls, name: str, folder: Path, seed: int) -> Draw:
        """Divide the classes of a table in two, and the rows of the first half."""
        table = read(name, folder)
        X = table.X
        y = np.unique(table.y, return_inverse=True)[1]
        rng = np.random.default_rng(seed)
        classes = rng.permutation(int(y.max()) + 1)
        half = classes.size // 2
        share, most = SIZES[name]
        rows = {c: rng.permutation(np.flatnonzero(y == c))[:most] for c in classes.tolist()}
        cut = {c: int(share if share >= 1 else share * len(rows[c])) for c in rows}
        known = classes[:half].tolist()
        new = classes[half:].tolist()

        def part(pieces: Sequence[NDArray[np.int64]]) -> Rows:
            chosen = np.concatenate(pieces)
            return X[chosen], y[chosen]

        return cls(
            part([rows[c][: cut[c]] for c in known]),
            {
                "new clusters": part([rows[c] for c in new]),
                "further rows": part([rows[c][cut[c] :] for c in known]),
            },
        )

    def scores(self, find: Callable[[list[Floats], int], Any]) -> dict[str, float]:
        """The adjusted Rand index for each question."""
        found = {}
        for question, (X, y) in self.tests.items():
            truth = EquivalenceMatrix.from_labels(y)
            (guess,) = find([X], truth.n_clusters)
            found[question] = adjusted_rand_index(truth, guess)
        return found


def default(name: str, folder: Path, seed: int) -> dict[str, Any]:
    """The default settings, and the metrics in closed form."""
    draw = Draw.of(name, folder, seed)
    start = time.process_time()
    learner = MetricLearner(Clustering()).fit(*draw.learn, baselines=["rca", "lda"])
    seconds = time.process_time() - start
    found = {"default": draw.scores(learner.predict_partitions)}
    for rival in RIVALS:
        found[rival] = draw.scores(partial(decode_with, learner, learner.baselines_[rival].metric_))
    return {"scores": found, "seconds": {"default": seconds}}


def chosen(name: str, folder: Path, seed: int, split: str) -> dict[str, Any]:
    """What model selection takes, learned or not, by its own question."""
    draw = Draw.of(name, folder, seed)
    start = time.process_time()
    search = MetricLearnerCV(Clustering(), split=split, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VerdictWarning)
        warnings.simplefilter("ignore", DataWarning)  # pixels that are always white
        search.fit(*draw.learn)
    seconds = time.process_time() - start
    best = search.best_estimator_
    metric, learned = learned_metric(search, *draw.learn)
    print(name, seed, split, learned, search.best_candidate_, f"{seconds:.0f} s", flush=True)
    return {
        "scores": {
            split: draw.scores(metric.predict_partitions),
            f"best for {split}": draw.scores(best.predict_partitions),
        },
        "seconds": {split: seconds},
        "learned": learned,
        "best": search.best_candidate_,
        "verdict": str(search.verdict_),
    }


def menu(name: str, folder: Path, seed: int) -> dict[str, float]:
    """The adjusted Rand index of each candidate of the menu on the new clusters."""
    draw = Draw.of(name, folder, seed)
    X, y = draw.learn
    learner = MetricLearner(Clustering()).fit(X, y)
    found: dict[str, float] = {}
    data = replace(TrainingSet.of(Clustering(), [X], [y]), question="clusters")
    for method in menu_of(data, learner).candidates:
        for candidate in method.along(Clustering().traits.lams):
            own = candidate.learned_from(data)
            found[str(candidate)] = draw.scores(own.predict_partitions)[QUESTIONS[0]]
    return found


def menu_rows(found: Sequence[dict[str, float]]) -> list[Row]:
    """A row for each candidate, the best first, and one for the best candidate of each draw."""
    indices = {name: np.array([draw[name] for draw in found]) for name in found[0]}
    order = sorted(indices, key=lambda name: -float(indices[name].mean()))
    best = np.max([indices[name] for name in order], axis=0)
    rows = [("the best of each draw, in hindsight", best), *((n, indices[n]) for n in order)]
    return [{"candidate": name, QUESTIONS[0]: mean_and_error(values)} for name, values in rows]


def publish_menu(name: str, folder: Path, seeds: Sequence[int], seconds: float) -> None:
    """What the candidates are worth, whichever is chosen."""
    pieces = Pieces(f"new_clusters_{name}_menu", seconds)
    found = [pieces.get(str(seed), partial(menu, name, folder, seed)) for seed in seeds]
    pieces.finish()
    publish(f"new_clusters_{name}_menu", menu_rows(found))


def mean_and_error(values: Floats) -> str:
    """The mean over draws and its standard error."""
    spread = values.std(ddof=1) / np.sqrt(values.size)
    return f"{values.mean():.3f} +- {spread:.3f}"


def rows_of(found: Sequence[dict[str, Any]]) -> list[Row]:
    """A row for each method: a mean over the draws for each question, and the time it took."""
    scores: dict[str, list[dict[str, float]]] = {}
    seconds: dict[str, list[float]] = {}
    for piece in found:
        for method, values in piece["scores"].items():
            scores.setdefault(method, []).append(values)
        for method, value in piece["seconds"].items():
            seconds.setdefault(method, []).append(value)
    rows: list[Row] = []
    for method, values in scores.items():
        row: dict[str, Any] = {"metric": method}
        for question in QUESTIONS:
            indices = np.array([value[question] for value in values])
            spread = indices.std(ddof=1) / np.sqrt(indices.size)
            row[question] = f"{indices.mean():.2f} +- {spread:.2f}"
        row["draws"] = len(values)
        row["CPU seconds"] = f"{np.mean(seconds[method]):.1f}" if method in seconds else "-"
        rows.append(row)
    return rows


def choices(found: Sequence[dict[str, Any]]) -> list[Row]:
    """How often each candidate was chosen."""
    rows: list[Row] = []
    for split in ("rows", "clusters"):
        pieces = [piece for piece in found if split in piece["seconds"]]
        for key in ("learned", "best"):
            names = [piece[key] for piece in pieces]
            counts = {taken: names.count(taken) for taken in sorted(set(names))}
            told = "; ".join(f"{taken} ({n})" for taken, n in counts.items())
            rows.append({"chosen by": split if key == "learned" else f"best for {split}", "": told})
    return [row for row in rows if row[""]]


def main(
    folder: Path, tables: Sequence[str], parts: Sequence[str], seeds: Sequence[int], seconds: float
) -> None:
    """Compute what is missing, and publish a table for each table."""
    start = time.monotonic()
    for name in tables:
        if MENU in parts:
            publish_menu(name, folder, seeds, seconds)
        chosen_by = [part for part in parts if part != MENU]
        found = []
        for part in chosen_by:
            pieces = Pieces(f"new_clusters_{name}_{part}", seconds - (time.monotonic() - start))
            for seed in seeds:
                job = partial(chosen, name, folder, seed, part)
                if part == "default":
                    job = partial(default, name, folder, seed)
                found.append(pieces.get(str(seed), job))
            pieces.finish()
        if chosen_by:
            publish_some(f"new_clusters_{name}", rows_of(found), "metric")
        if set(chosen_by) - {"default"}:
            publish_some(f"new_clusters_{name}_chosen", choices(found), "chosen by")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "tables")
    parser.add_argument("--tables", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--parts", nargs="+", choices=(*PARTS, MENU), default=PARTS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS, help="of the draws")
    seconds_option(parser)
    arguments = parser.parse_args()
    main(arguments.data, arguments.tables, arguments.parts, arguments.seeds, arguments.seconds)
