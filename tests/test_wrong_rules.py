"""A rule for segments that answers wrongly is named, by the check of problems and by fit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from structsvm import ChangePoint, MetricLearner
from structsvm.errors import DataError, PluginError
from structsvm.problems import SegmentProblem
from structsvm.testing import check_problem

JUMP = np.repeat([0, 3], [14, 16])[:, None]
XS = [np.random.default_rng(i).normal(size=(30, 2)) + JUMP for i in (0, 1)]
YS = [[14, 30]] * 2


def written(start: Any, end: int) -> Any:
    start -= end
    return start <= -4


@dataclass(frozen=True)
class Ruled(SegmentProblem):
    rule: str

    def allows(self, start: Any, end: Any, n_samples: int) -> Any:
        return RULES[self.rule](start, end)


WRONG = {
    "one too few": (lambda s, e: (e - s >= 4)[:-1], "Ruled.allows returned an array of bool"),
    "too many": (lambda s, e: np.ones(99, dtype=bool), "Ruled.allows returned an array of bool"),
    "two dimensions": (lambda s, e: (e - s >= 4)[:, None], "Ruled.allows returned an array of boo"),
    "nothing": (lambda s, e: None, "Ruled.allows returned None"),
    "numbers": (lambda s, e: e - s, "Ruled.allows returned an array of int64"),
    "and": (
        lambda s, e: s % 2 == 0 and e - s >= 4,
        r"Ruled.allows raised ValueError.* with & and \|, not",
    ),
    "if": (
        lambda s, e: True if e - s >= 4 else e < 9,
        "Ruled.allows raised ValueError.* not with if",
    ),
    "one for all": (
        lambda s, e: bool(e - np.min(s) >= 4),
        r"Ruled\(rule='one for all'\) allows .* depending on the other starts",
    ),
    "written to": (written, "Ruled.allows raised ValueError.* not written to: copy it"),
}

RULES: dict[str, Callable[[Any, int], Any]] = {
    **{name: rule for name, (rule, _) in WRONG.items()},
    "the end alone": lambda s, e: e % 2 == 0,
}


@pytest.mark.parametrize("name", WRONG)
def test_it_is_named_by_fit(name):
    with pytest.raises(PluginError, match=WRONG[name][1]):
        MetricLearner(Ruled(name)).fit(XS, YS)


@pytest.mark.parametrize("name", WRONG)
def test_it_is_named_by_the_check(name):
    with pytest.raises(PluginError, match=WRONG[name][1]):
        check_problem(Ruled(name), XS, YS)


def test_a_rule_about_the_end_alone_may_answer_once_for_all():
    learner = MetricLearner(Ruled("the end alone"), metric="diagonal").fit(XS, YS)
    assert all(end % 2 == 0 for end in learner.predict_breakpoints(XS[0]))


def test_labels_that_are_not_allowed_are_named_with_their_sample():
    with pytest.raises(
        DataError, match=r"^recording 2: the segment 0\.\.2 is not one that ChangePoint"
    ):
        check_problem(ChangePoint(min_length=4), [*XS, XS[0]], [*YS, [2, 30]])
