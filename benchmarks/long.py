"""One long recording, segmented in a given metric.

    make bench-long

Wall time, and the most memory that the process had at any moment, pages of files included.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from _harness import Goal, printed_by, report

LENGTHS = (1_000_000, 10_000_000)
"""Samples of a recording of 8 features with a change every 1,000."""
SEGMENTING = """
import resource, time
import numpy as np
from structsvm import MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels
training = relevant_changes(6, n_samples=2000, n_features=8, n_relevant=8, random_state=0)
learner = MetricLearner(metric="diagonal").fit(*arrays_and_labels(training))
X = np.load({path!r})
learner.predict_breakpoints([X[:1000]])
started = time.perf_counter()
(ends,) = learner.predict_breakpoints([X])
print(time.perf_counter() - started, len(ends))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9)
"""


def write(path: Path, T: int) -> None:
    """A recording as a .npy file, written block by block."""
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(T, 8))
    rng = np.random.default_rng(0)
    for begin in range(0, T, 1000):
        X[begin : begin + 1000] = rng.normal(size=(1000, 8)) + 2.0 * rng.normal(size=8)
    X.flush()


def segment(path: Path, T: int) -> tuple[float, float]:
    """Seconds and gigabytes."""
    write(path, T)
    seconds, n_segments, gigabytes = printed_by(SEGMENTING.format(path=str(path)))
    assert n_segments == T / 1000, f"{n_segments} segments"
    path.unlink()
    return seconds, gigabytes


def main() -> None:
    with TemporaryDirectory() as folder:
        (short, little), (long, much) = (segment(Path(folder) / "X.npy", T) for T in LENGTHS)
    report(
        "long",
        [
            Goal.at_most("T=1e7 P=8, seconds; T=1e6", long, short, 15.0),
            Goal("T=1e6 P=8, GB", little),
            Goal.at_most("T=1e7 P=8, GB; 4", much, 4.0, 1.0),
        ],
    )


if __name__ == "__main__":
    main()
