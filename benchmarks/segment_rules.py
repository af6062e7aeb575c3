"""Learning with a rule on segments, written in numpy, against learning without one.

    make bench-segment_rules

Four recordings of a thousand samples, on one thread; medians of five fits in turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from _harness import Goal, report, seconds_in_turns

from structsvm import ChangePoint, MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels
from structsvm.problems import SegmentProblem


@dataclass(frozen=True)
class MinDwell(SegmentProblem):
    """The plugin of docs/plugins.md."""

    min_length: int = 8

    def allows(self, start: Any, end: int, n_samples: int) -> Any:
        """A state lasts at least so long."""
        return end - start >= min(self.min_length, n_samples)


def main() -> None:
    """Measure both kinds of metric."""
    recordings = relevant_changes(4, n_samples=1000, n_features=6, n_relevant=2, random_state=0)
    Xs, ys = arrays_and_labels(recordings)
    goals = []
    for metric in ("diagonal", "full"):
        problems = (MinDwell(), ChangePoint(min_length=8), ChangePoint())
        fits = [partial(MetricLearner(problem, metric).fit, Xs, ys) for problem in problems]
        plugin, setting, plain = seconds_in_turns(*fits)
        name = f"{metric}: a minimum length by a"
        goals.append(Goal.at_most(f"{name} plugin, against none", plugin, plain, 3.0))
        goals.append(Goal.at_most(f"{name} setting, against none", setting, plain, 3.0))
    report("segment_rules", goals)


if __name__ == "__main__":
    main()
