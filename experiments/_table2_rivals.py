"""The baselines of metric-learn on the tables of Table 2; run by ``make rivals``.

They need an older scikit-learn than the rest, so they run in an environment of their own and leave
docs/paper/table2_rivals.json, which table2_uci.py shows beside ours. Same splits, same K-means.
MMC and ITML get 200 pairs of each kind, MMC in its full form. LMNN and NCA get all labels, but on
letter those of 2,000 rows drawn at random: their cost and memory grow with the square of the rows.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from _report import PAPER, SHARED
from _tables import NAMES, Task, read

from structsvm import Clustering, EquivalenceMatrix, baselines

PAIRS = 200
SETTINGS: dict[str, dict[str, Any]] = {
    "mmc": {"n_constraints": PAIRS, "max_iter": 50},
    "itml": {"n_constraints": PAIRS, "max_iter": 200},
    "lmnn": {"max_iter": 50},
    "nca": {"max_iter": 50},
}
ROWS = 2_000
"""Most rows for LMNN and NCA."""
SPLITS = 5
"""Of each table: MMC and NCA take up to half a minute for each."""


def run(task: Task, name: str) -> float:
    """The loss of one metric on one split; NaN when it fails."""
    settings = SETTINGS[name] | ({} if name == "lmnn" else {"random_state": task.seed})
    decoder = Clustering(random_state=task.seed).decoder
    X, truth = task.train.standardized, task.train.truth
    if name in ("lmnn", "nca") and len(X) > ROWS:
        rows = np.random.default_rng(task.seed).permutation(len(X))[:ROWS]
        assert truth.labels is not None
        X, truth = X[rows], EquivalenceMatrix.from_labels(truth.labels[rows])
    try:
        metric = baselines.fit(name, decoder, [X], [truth], **settings)
        return task.scores(metric)[0]
    except (ValueError, ArithmeticError, RuntimeError) as error:
        print(f"{name} failed: {error}")
        return float("nan")


def main(folder: Path, tables: list[str]) -> None:
    path = PAPER / "table2_rivals.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for table in (read(name, folder) for name in tables):
        for protocol in ("same_rows", "held_out"):
            tasks = [task for task in getattr(table, protocol)() if task.seed < SPLITS]
            for name in SETTINGS:
                start = time.perf_counter()
                losses = [run(task, name) for task in tasks]
                seconds = (time.perf_counter() - start) / len(tasks)
                print(
                    table.name, protocol, name, np.round(losses, 2), f"{seconds:.1f} s", flush=True
                )
                found.setdefault(protocol, {}).setdefault(table.name, {})[name] = losses
        path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "tables")
    parser.add_argument("tables", nargs="*", default=list(NAMES))
    arguments = parser.parse_args()
    main(arguments.data, arguments.tables)
