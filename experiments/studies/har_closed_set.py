"""How many recordings of the same states each method needs, from one to all 95.

The split of har_spsw.py; the states of the test recordings are those of the training recordings.
1 to 40 recordings are drawn five times, and the draws of a seed contain each other. Every method
gets the same labels and tunes its penalty or threshold on them; whatever learns from labels before
that is cross-fitted by person.

    python -m experiments.studies.har_closed_set --seconds 400      # as often as it asks for
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments._cache import Pieces, run_on
from experiments._report import PAPER, SHARED, Row, publish, stored
from experiments.studies._har import (
    BOOSTING,
    BOUNDARIES,
    LOGISTIC,
    METHODS,
    METRIC,
    METRIC_ON_LAGS,
    METRIC_ON_SCORES,
    OLDA,
    OLDA_ON_LAGS,
    difference,
    losses,
    mean_and_error,
    segmentations,
)
from experiments.studies.har_spsw import split
from structsvm.errors import DataWarning
from structsvm.io import Recording, arrays_and_labels

SIZES = (1, 2, 5, 10, 20, 40, 95)
DRAWS = 5
SHOWN = (
    OLDA,
    OLDA_ON_LAGS,
    "metric, diagonal",
    METRIC,
    "metric on lags, diagonal",
    METRIC_ON_LAGS,
    BOUNDARIES,
    METRIC_ON_SCORES,
    LOGISTIC,
    BOOSTING,
)
PAIRS = (
    (METRIC_ON_LAGS, OLDA_ON_LAGS),
    (METRIC_ON_SCORES, BOOSTING),
    (METRIC_ON_SCORES, LOGISTIC),
    (METRIC_ON_LAGS, BOUNDARIES),
    ("metric on lags, diagonal", BOUNDARIES),
    ("metric on lags, diagonal", BOOSTING),
)


def draws(n: int, size: int) -> list[list[int]]:
    """The recordings to learn from, once where all of them are taken."""
    if size == n:
        return [list(range(n))]
    return [np.random.default_rng(seed).permutation(n)[:size].tolist() for seed in range(DRAWS)]


def run(method: str, learn: Sequence[Recording], test: Sequence[Recording]) -> list[float]:
    """The loss of each test recording after learning from some recordings."""
    Xs, ys = arrays_and_labels(learn)
    model = METHODS[method][1]("recording")
    names = [r.name for r in learn]
    return losses(test, segmentations(model, Xs, ys, names, [r.X for r in test]))


def possible(method: str, size: int) -> bool:
    """Whether a method can learn from so many: scores are not cross-fitted with one recording."""
    return size > 1 or method != METRIC_ON_SCORES


def table(found: dict[tuple[str, int], Any]) -> list[Row]:
    """A row for each method: mean loss and its standard error over draws."""
    rows: list[Row] = []
    for method in SHOWN:
        row: dict[str, Any] = {"method": method, "learns from": METHODS[method][0]}
        for size in SIZES:
            runs = found.get((method, size))
            row[str(size)] = None if runs is None else mean_and_error(np.mean(runs, axis=1))
        rows.append(row)
    return rows


def paired(found: dict[tuple[str, int], Any], test: Sequence[Recording]) -> list[Row]:
    """A row for each pair of methods, the losses of a test recording averaged over draws."""
    rows: list[Row] = []
    for ours, rival in PAIRS:
        row: dict[str, Any] = {"loss of": ours, "less that of": rival}
        for size in SIZES:
            both = {m: found.get((m, size)) for m in (ours, rival)}
            row[str(size)] = None
            if both[ours] is not None:
                means = {m: np.mean(runs, axis=0) for m, runs in both.items()}
                row[str(size)] = difference(means, ours, rival, test)
        rows.append(row)
    return rows


def draw() -> None:
    """Loss against the number of recordings, as the table has it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from structsvm.plotting.style import line_styles, plain

    figure, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
    plain(ax)
    _, rows = stored("har_closed_set")
    for row, style in zip(rows, line_styles(SHOWN).values(), strict=True):
        means = {size: row[str(size)] for size in SIZES if row[str(size)] not in (None, "-")}
        losses = [float(str(mean).split()[0]) for mean in means.values()]
        ax.plot(list(means), losses, label=row["method"], **style)
    ax.set_xscale("log")
    ax.set_xticks(SIZES, [str(size) for size in SIZES])
    ax.minorticks_off()
    ax.set_xlabel("recordings to learn from")
    ax.set_ylabel("mean loss on 50 recordings of other people")
    figure.legend(loc="outside right center", frameon=False)
    figure.savefig(PAPER / "har_closed_set.png", dpi=110)
    plt.close(figure)


def main(folder: Path, seconds: float) -> None:
    warnings.simplefilter("ignore", DataWarning)
    learn, test = split(folder)
    pieces = Pieces("har_closed_set", seconds)
    found = {}
    for size in SIZES:
        for method in [m for m in SHOWN if possible(m, size)]:
            runs = [
                pieces.get(
                    f"{method} {size} {k}", partial(run, method, [learn[i] for i in chosen], test)
                )
                for k, chosen in enumerate(draws(len(learn), size))
            ]
            found[method, size] = runs
    pieces.finish()
    publish("har_closed_set", table(found))
    publish("har_closed_set_paired", paired(found, test))
    draw()


if __name__ == "__main__":
    run_on(main, SHARED / "har_spsw", __doc__)
