"""The labellings behind an answer."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from structsvm.masters import Cut
from structsvm.problem import RegularizedRisk, SupportLabelling


def support_of(
    risk: RegularizedRisk, active: Sequence[tuple[float, Cut]], n_groups: int
) -> tuple[SupportLabelling, ...]:
    """The labellings of active cuts with their multipliers, the heaviest first.

    A cut of several instances together stands for one labelling of each of them, so that whatever
    the slacks were, multipliers belong to labellings of single instances.
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
        for instance, kept, loss, share in cut.labellings:
            one = labellings.setdefault((instance, _identity(kept)), [kept, loss, 0.0])
            one[2] += share * multiplier
    truths = {i: risk.problem.kept(risk.ys[i]) for i in {instance for instance, _ in labellings}}
    for (instance, _), (kept, loss, share) in labellings.items():
        share *= float(risk.sample_weight[instance])
        support.append(SupportLabelling(instance, share, kept, truths[instance], loss))
    return tuple(sorted(support, key=lambda item: (-item.multiplier, item.instance is None)))


def _identity(kept: Any) -> Hashable:
    if isinstance(kept, np.ndarray):
        return kept.shape, kept.dtype.str, kept.tobytes()
    try:
        hash(kept)
    except TypeError:
        return id(kept)
    return kept  # type: ignore[no-any-return]
