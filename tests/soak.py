"""`make soak`: fit, predict, report, save and load for some minutes, and see that nothing grows.

Each round learns from other recordings, with workers and a checkpoint, all in one process. Memory
(the part that is not shared, after collecting garbage), open files, threads, child processes and
temporary files are counted after each round. They may grow while code is loaded and compiled and
caches are filled, in the first quarter; afterwards a straight line is fitted, and the exit status
is 1 if it rises by more than a stated amount until the end.
"""

import argparse
import gc
import os
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import psutil

from structsvm import Clustering, MetricLearner, NormalizedCut, diagnose, evaluate, load, save
from structsvm.datasets import relevant_changes
from structsvm.features import Lags
from structsvm.graphs import FeatureGraph
from structsvm.io import arrays_and_labels
from structsvm.plotting import report_page
from structsvm.solvers import CuttingPlane, Stopping

MAY_GROW = {"memory": 8.0, "files": 0.0, "threads": 0.0, "processes": 0.0, "temporary": 0.0}
"""How much the line may rise after the first quarter: MB of memory, numbers of the others."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=20.0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        tempfile.tempdir = folder
        (Path(folder) / "work").mkdir()
        counts = soak(60 * args.minutes, Path(folder))
        tempfile.tempdir = None
    return judge(counts)


def soak(seconds: float, folder: Path) -> dict[str, list[float]]:
    """What was counted after each round, and when."""
    begun = time.monotonic()
    rounds = 0
    counts: dict[str, list[float]] = {"seconds": []} | {name: [] for name in MAY_GROW}
    while time.monotonic() < begun + seconds or rounds < 8:
        one_round(rounds, folder / "work")
        rounds += 1
        gc.collect()
        for name, value in measured(folder).items():
            counts[name].append(value)
        counts["seconds"].append(time.monotonic() - begun)
    return counts


def one_round(number: int, work: Path) -> None:
    """Learn, look at everything, write and read; an error now and then, as users make them."""
    recordings = relevant_changes(
        6, n_samples=200 + number % 7, n_features=5, n_relevant=2, random_state=number
    )
    Xs, ys = arrays_and_labels(recordings)
    stopping = CuttingPlane(Stopping(tol=1e-2, max_iter=30))
    backend = ("serial", "threads", "processes")[number % 3]
    learner = MetricLearner(
        metric=("diagonal", "full")[number % 2],
        features=Lags((1,)) if number % 4 == 3 else None,
        solver=stopping,
        n_jobs=2,
        backend=backend,
    )
    state = work / f"state-{number}"
    learner.fit(Xs[:4], ys[:4], resume=state, baselines="quick")
    evaluate(learner, Xs[4:], ys[4:])
    diagnose(learner, Xs, ys)
    (work / "page.html").write_text(report_page(learner, Xs[4:], ys[4:]), encoding="utf-8")
    save(learner, work / "m.structsvm")
    load(work / "m.structsvm").predict_breakpoints(Xs)
    partial = [np.where(np.arange(len(y)) < 150, y, -1) for y in ys[:3]]
    MetricLearner(metric="diagonal", solver=stopping).fit(Xs[:3], partial)
    y = np.arange(60) % 2
    X = Xs[0][:60] + 4 * y[:, None]
    MetricLearner(Clustering(), solver=stopping).fit([X], [y]).predict([X], n_clusters=2)
    graph = FeatureGraph(X[:30])
    parts = [y[:30]] * 2
    cuts = NormalizedCut()
    MetricLearner(cuts).fit([graph] * 2, parts).predict([graph], n_clusters=2)
    for wrong in ([X * np.nan], [X[:, :0]], "spam"):
        try:
            learner.predict(wrong)
        except ValueError:
            continue
    for path in work.iterdir():
        path.unlink()


def measured(folder: Path) -> dict[str, float]:
    """What this process holds."""
    process = psutil.Process()
    return {
        "memory": process.memory_full_info().uss / 1e6,
        "files": float(process.num_fds()),
        "threads": float(process.num_threads()),
        "processes": float(len(process.children(recursive=True))),
        "temporary": float(sum(len(files) for _, _, files in os.walk(folder))),
    }


def judge(counts: dict[str, list[float]]) -> int:
    """Print what grew, and whether that is too much."""
    n = len(counts["seconds"])
    first = n // 4
    print(
        f"{n} rounds in {counts['seconds'][-1] / 60:.1f} minutes, {threading.active_count()} of ",
        end="",
    )
    print(f"Python's threads at the end; after the first {first}:")
    print(f"{'':12}{'first':>10}{'last':>10}{'rise':>10}{'allowed':>10}")
    grown = 0
    for name, allowed in MAY_GROW.items():
        values = np.array(counts[name][first:])
        slope = np.polyfit(np.arange(values.size), values, 1)[0]
        rise = slope * (values.size - 1)
        unit = " MB" if name == "memory" else ""
        print(f"{name:12}{values[0]:10.1f}{values[-1]:10.1f}{rise:10.2f}{allowed:10.1f}{unit}")
        grown += rise > allowed + 0.5
    return int(grown > 0)


if __name__ == "__main__":
    sys.exit(main())
