"""The candidates to choose from, in the order of preference."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from structsvm.errors import SettingsError
from structsvm.learner import Learner, Menu, Method
from structsvm.learner.closed_forms import names_for
from structsvm.learner.fitting import LEARNED_KINDS as KINDS
from structsvm.learner.steps import refuse_unsuited
from structsvm.problem import SquaredNorm

CENTRED = SquaredNorm(center=1)
"""Shrinks to where learning starts: the identity of the features, or of the whitened features."""


def candidates_among(
    candidates: Sequence[str | Method] | Mapping[str, Learner], lams: Any, menu: Menu
) -> list[Method]:
    """The candidates in the order of preference, learned metrics once for each strength."""
    if isinstance(candidates, Mapping):
        methods: list[Any] = [Method(name, learner) for name, learner in candidates.items()]
        candidates = methods if "untrained" in candidates else [*methods, "untrained"]
    by_name = {
        name: menu.of_metric(name, name) for name in (*KINDS, *names_for(menu.problem.traits))
    }
    by_name |= {method.name: method for method in (*menu.others, *menu.candidates)}
    names: list[str] = []
    order: list[Method] = []
    for c in dict.fromkeys(candidates):
        method = by_name.get(c) if isinstance(c, str) else c
        if not isinstance(method, Method) or not isinstance(method.learner, Learner):
            raise SettingsError(
                f"there is no candidate {c!r} for these data; there are {', '.join(by_name)}, and "
                "learners by name, candidates={'mine': MetricLearner(...)}"
            )
        if method.name in names:
            raise SettingsError(
                f"two candidates are called {method.name!r}: give each its own name"
            )
        names.append(method.name)
        refuse_unsuited(method.learner, menu.problem)
        learner = copy(method.learner)
        learner.problem = menu.problem
        order += replace(method, learner=learner).along(lams)
    if "untrained" not in names or len(order) < 2:
        raise SettingsError(
            "candidates must name 'untrained', which the others have to beat, and another one, "
            f"such as 'diagonal' or 'full', with lams, got {tuple(names)!r}"
        )
    return order
