"""What two workers do for a whole fit, and what they can do at most: the share that they share.

    make bench-shares

CPU seconds of a fit on one thread, in all and of what is done in the sessions of a backend (oracles
and calibrations) or is as ready for threads (the linear systems of full metrics). Two workers that
lose nothing halve these, and nothing else (Amdahl), so that the ratio is that of the whole to the
rest and half of what they share. CPU time says so on a machine that does other work, too.

How near two workers come to it is measured in wall seconds, the best of three fits each, in turns:
``n_jobs=2`` with ``backend="auto"`` against one thread. That means something on a machine of two
cores that does nothing else, and the load when each began is printed beside it. What the machine
itself loses is measured beside it: two fits at once, each in a process of its own on one thread,
share nothing but its memory and its caches.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from _harness import Goal, report
from sklearn.exceptions import ConvergenceWarning

from structsvm import MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.parallel import Backend, Session
from structsvm.parallel.base import SerialSession, ShareTask
from structsvm.solvers import CuttingPlane, Stopping

N, T, P = 1000, 600, 30
REPEATS = 3
SETTINGS: dict[str, dict[str, Any]] = {
    "diagonal": {"metric": "diagonal"},
    "full": {"metric": "full"},
    "full, one slack": {"metric": "full", "solver": CuttingPlane(Stopping(1e-2), slack="one")},
}


@dataclass(frozen=True)
class Timed(Backend):
    """Works here, and notes the CPU seconds of it."""

    seconds: list[float]

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        """Keep the parts where they are."""
        yield _Timed(SerialSession(parts), self.seconds)


class _Timed(Session):
    def __init__(self, session: Session, seconds: list[float]) -> None:
        self._session, self._seconds = session, seconds

    def map_shares(self, task: ShareTask, argument: Any) -> list[Any]:
        started = time.process_time()
        found = self._session.map_shares(task, argument)
        self._seconds.append(time.process_time() - started)
        return found


def shared(settings: dict[str, Any], Xs: Sequence[Any], ys: Sequence[Any]) -> tuple[float, float]:
    """CPU seconds of a fit, and those of them that workers share."""
    seconds: list[float] = []

    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        MetricLearner(**settings, backend=Timed(seconds)).fit(Xs, ys)
    return time.process_time() - started, sum(seconds)


def wall(
    n_jobs: int | None, settings: dict[str, Any], Xs: Sequence[Any], ys: Sequence[Any]
) -> float:
    """Wall seconds of a fit with so many workers."""
    print(f"  load {os.getloadavg()[0]:.1f}", end="", flush=True)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        MetricLearner(**settings, n_jobs=n_jobs).fit(Xs, ys)
    took = time.perf_counter() - started
    print(f": {took:.2f} s with n_jobs={n_jobs}", flush=True)
    return took


def at_once(settings: dict[str, Any], Xs: Sequence[Any], ys: Sequence[Any]) -> float:
    """Wall seconds until two fits have ended that began together, each in its own process."""
    context = multiprocessing.get_context("fork")  # which copies the recordings
    both = [context.Process(target=wall, args=(None, settings, Xs, ys)) for _ in range(2)]
    started = time.perf_counter()
    for process in both:
        process.start()
    for process in both:
        process.join()
    return time.perf_counter() - started


def in_fact(settings: dict[str, Any], Xs: Sequence[Any], ys: Sequence[Any]) -> list[float]:
    """Wall seconds, the best of each: a fit, one with two workers, and two fits at once."""
    jobs: list[Callable[..., float]] = [partial(wall, None), partial(wall, 2), at_once]
    rounds = [[job(settings, Xs, ys) for job in jobs] for _ in range(REPEATS)]
    return [min(times) for times in zip(*rounds, strict=True)]


def main() -> None:
    drawn = relevant_changes(N, n_samples=T, n_features=P, n_relevant=5, random_state=0)
    Xs = [r.X for r in drawn]
    ys = [r.y for r in drawn]
    goals = []
    for name, settings in SETTINGS.items():
        shared(settings, Xs[:20], ys[:20])  # compiles
        whole, parallel = shared(settings, Xs, ys)
        title = f"N={N:,} T={T} P={P} {name}"
        least = whole - parallel / 2
        goals.append(Goal.at_least(f"{title}: with two workers at best; a fit", least, whole, 1.6))
        alone, together, both = in_fact(settings, Xs, ys)
        name = f"{title}: with two workers, wall; a fit"
        goals.append(Goal.at_least(name, together, alone, 1.6))
        goals.append(
            Goal.against(f"{title}: two fits at once; one after the other", both, 2 * alone)
        )
    report("shares", goals)


if __name__ == "__main__":
    main()
