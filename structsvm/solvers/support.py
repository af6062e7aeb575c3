"""Support labellings: the labellings whose cuts hold the solution."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from structsvm.masters import Cut
from structsvm.problem import RegularizedRisk, SupportLabelling


def support_of(
    risk: RegularizedRisk, active: Sequence[tuple[float, Cut]], n_groups: int
) -> tuple[SupportLabelling, ...]:
    """The labellings of active cuts with their multipliers, the largest first.

    A cut of several instances consists of one labelling of each, so that multipliers belong to
    labellings of single instances with any slack.
    """
    labellings: dict[tuple[int, Hashable], list[Any]] = {}
    support: list[SupportLabelling] = []
    for multiplier, cut in active:
        if cut.labellings is None:
            omega, single, truth = 1.0, None, None
            if n_groups == risk.n_instances:
                single = cut.group
                omega = float(risk.sample_weight[cut.group])
                truth = risk.problem.kept(risk.ys[cut.group])
            plane = cut.intercept / omega, cut.slope / omega
            support.append(SupportLabelling(single, omega * multiplier, None, truth, None, plane))
            continue
        for instance, y, loss, share in cut.labellings:
            entry = labellings.setdefault((instance, _identity(y)), [y, loss, 0.0])
            entry[2] += share * multiplier
    truths = {i: risk.problem.kept(risk.ys[i]) for i in {instance for instance, _ in labellings}}
    for (instance, _), (y, loss, share) in labellings.items():
        share *= float(risk.sample_weight[instance])
        support.append(SupportLabelling(instance, share, y, truths[instance], loss))
    return tuple(sorted(support, key=lambda item: (-item.multiplier, item.instance is None)))


def _identity(y: Any) -> Hashable:
    """A key that is equal for equal labellings, as far as their type can tell."""
    if isinstance(y, np.ndarray):
        return y.shape, y.dtype.str, y.tobytes()
    try:
        hash(y)
    except TypeError:
        return id(y)
    return y  # type: ignore[no-any-return]
