"""What a metric is worth beside the classifiers that one would try first, on activities.

The split of har_spsw.py, and the draws of five recordings of har_few_recordings.py. Every method
gets the same labels and tunes its penalty or threshold on them; whatever learns from labels before
that is cross-fitted by person.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from _har import METHODS, mean_and_error, segmentations, truth
from _report import SHARED, Row, publish
from har_spsw import scores, split

from structsvm import EquivalenceMatrix
from structsvm.datasets import Recording, arrays_and_labels
from structsvm.errors import DataWarning
from structsvm.partitions.losses import partition_loss

DRAWS, FEW = 5, 5
LAST = list(METHODS)[-1]


def learned(
    method: str, learn: Sequence[Recording], test: Sequence[Recording]
) -> list[EquivalenceMatrix]:
    """The segmentations of the test recordings, K unknown, after learning from the others."""
    Xs, ys = arrays_and_labels(learn)
    model = METHODS[method][1]("recording")
    return segmentations(model, Xs, ys, [r.name for r in learn], [r.X for r in test])


def main(folder: Path) -> None:
    warnings.simplefilter("ignore", DataWarning)
    learn, test = split(folder)
    truths = [truth(recording.y) for recording in test]
    draws = [np.random.default_rng(seed).permutation(len(learn))[:FEW] for seed in range(DRAWS)]
    found = {name: learned(name, learn, test) for name in METHODS}
    losses = {
        name: np.array([partition_loss(t, g) for t, g in zip(truths, guesses, strict=True)])
        for name, guesses in found.items()
    }
    rows: list[Row] = []
    for name, (needs, _) in METHODS.items():
        few = [scores(truths, learned(name, [learn[i] for i in d], test))["loss"] for d in draws]
        rows.append(
            {
                "method": name,
                "learns from": needs,
                **scores(truths, found[name]),
                "loss less that of the last": None
                if name == LAST
                else mean_and_error(losses[name] - losses[LAST]),
                f"loss, {FEW} recordings": mean_and_error(few),
            }
        )
    publish("har_rivals", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    main(parser.parse_args().data)
