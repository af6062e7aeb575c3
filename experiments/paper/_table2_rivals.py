"""The baselines of metric-learn on the tables of Table 2; run by ``make baselines``.

They need an older scikit-learn than the rest, so they run in an environment of their own and leave
docs/paper/table2_rivals.json, which the tables of table2_uci.py show beside ours. Same splits, same
K-means. MMC and ITML get 200 pairs of each kind, MMC in its full form. LMNN and NCA get all labels,
but on letter those of 2,000 rows drawn at random: their cost and memory grow with the square of the
rows.
Each metric of each split is kept at once: a run that was cut short goes on from there.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import metric_learn
import numpy as np

from experiments._cache import Pieces, seconds_option
from experiments._origin import commits_in, origin
from experiments._report import PAPER, SHARED
from experiments._tables import NAMES, Table, Task, read
from experiments.paper.table2_uci import show
from structsvm import Clustering, EquivalenceMatrix
from structsvm.partitions import Examples, Instance

ALGORITHMS = {"mmc": "MMC_Supervised", "itml": "ITML_Supervised", "lmnn": "LMNN", "nca": "NCA"}
PAIRS = 200
SETTINGS: dict[str, dict[str, Any]] = {
    "mmc": {"n_constraints": PAIRS, "max_iter": 50},
    "itml": {"n_constraints": PAIRS, "max_iter": 200},
    "lmnn": {"max_iter": 50},
    "nca": {"max_iter": 50},
}
ROWS = 2_000
"""Most rows for LMNN and NCA."""


def run(task: Task, name: str) -> float:
    """The loss of one metric on one split; NaN when it fails."""
    settings = SETTINGS[name] | ({} if name == "lmnn" else {"random_state": task.seed})
    problem = Clustering(random_state=task.seed)
    X = task.train.standardized
    truth = task.train.truth
    if name in ("lmnn", "nca") and len(X) > ROWS:
        rows = np.random.default_rng(task.seed).permutation(len(X))[:ROWS]
        X = X[rows]
        truth = EquivalenceMatrix.from_labels(truth.labels[rows])
    try:
        model = getattr(metric_learn, ALGORITHMS[name])(**settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn's newer names, and of convergence
            factor = np.asarray(model.fit(X, truth.labels).components_.T)
        calibration = problem.calibrate(factor, Examples([Instance(X)], [truth]))
        return task.scores(calibration.metric(factor))[0]
    except (ValueError, ArithmeticError, RuntimeError) as error:
        print(f"{name} failed: {error}")
        return float("nan")


def timed(task: Task, name: str, key: str) -> float:
    """The same, and a line that says how long it took."""
    start = time.perf_counter()
    loss = run(task, name)
    print(f"{key}: {loss:.2f} ({time.perf_counter() - start:.1f} s)", flush=True)
    return loss


def tasks(tables: list[Table]) -> Iterator[tuple[str, Table, Task]]:
    """Every split of every table, with its protocol."""
    for table in tables:
        for protocol in ("same_rows", "held_out"):
            for task in getattr(table, protocol)():
                yield protocol, table, task


def main(folder: Path, names: list[str], algorithms: list[str], seconds: float) -> None:
    tables = [read(name, folder) for name in names]
    pieces = Pieces("table2_rivals", seconds)
    path = PAPER / "table2_rivals.json"
    found = json.loads(path.read_text()) if path.exists() else {"runs": {}, "commits": {}}
    for algorithm in algorithms:
        computed: dict[tuple[str, str], list[str]] = {}
        for protocol, table, task in tasks(tables):
            key = f"{algorithm} {table.name} {protocol} {task.seed}"
            if pieces.get(key, partial(timed, task, algorithm, key)) is not None:
                computed.setdefault((protocol, table.name), []).append(key)
        for (protocol, name), keys in computed.items():
            losses = [pieces.known[key] for key in keys]
            commits = sorted({pieces.commits[key] for key in keys})
            for part, value in (("runs", losses), ("commits", commits)):
                found[part].setdefault(protocol, {}).setdefault(name, {})[algorithm] = value
        content = found | {"origin": origin(commits_in(found["commits"]))}
        path.write_text(json.dumps(content, indent=1) + "\n")
    show()
    pieces.finish()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "tables")
    parser.add_argument("tables", nargs="*", default=list(NAMES), help="only these")
    parser.add_argument("--algorithms", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    seconds_option(parser)
    args = parser.parse_args()
    main(args.data, args.tables, args.algorithms, args.seconds)
