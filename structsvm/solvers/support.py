"""The labellings that hold the optimum where it is, read off the active cuts of a working set."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from structsvm.masters.working_set import ActiveCut
from structsvm.problem import RegularizedRisk
from structsvm.solution import SupportLabelling


def support_of(
    risk: RegularizedRisk, active: Sequence[ActiveCut], n_groups: int
) -> tuple[SupportLabelling, ...]:
    """The labellings of active cuts with their multipliers, the heaviest first.

    A cut of several samples together stands for one labelling of each of them, so that whatever the
    slacks were, multipliers belong to labellings of single samples.
    """
    weights: dict[tuple[int, Hashable], float] = {}
    labellings: dict[tuple[int, Hashable], tuple[Any, float]] = {}
    found: list[SupportLabelling] = []
    for cut in active:
        if cut.labellings is None:
            found.append(_unknown(risk, cut, cut.group if n_groups == risk.n_samples else None))
            continue
        for sample, kept, loss, share in cut.labellings:
            key = sample, _identity(kept)
            labellings.setdefault(key, (kept, loss))
            weights[key] = weights.get(key, 0.0) + share * cut.multiplier
    truths = {i: risk.problem.kept(risk.ys[i]) for i in {sample for sample, _ in weights}}
    for key, share in weights.items():
        sample, (kept, loss) = key[0], labellings[key]
        multiplier = share * float(risk.sample_weight[sample])
        found.append(SupportLabelling(sample, multiplier, kept, truths[sample], loss))
    return tuple(sorted(found, key=lambda item: (-item.multiplier, item.sample is None)))


def _unknown(risk: RegularizedRisk, cut: ActiveCut, sample: int | None) -> SupportLabelling:
    """A cut whose labellings are not known, of one sample or of all of them together."""
    assert cut.plane is not None
    intercept, slope = cut.plane
    omega = 1.0 if sample is None else float(risk.sample_weight[sample])
    truth = None if sample is None else risk.problem.kept(risk.ys[sample])
    plane = intercept / omega, slope / omega
    return SupportLabelling(sample, omega * cut.multiplier, None, truth, None, plane)


def _identity(kept: Any) -> Hashable:
    if isinstance(kept, np.ndarray):
        return kept.shape, kept.dtype.str, kept.tobytes()
    try:
        hash(kept)
    except TypeError:
        return id(kept)
    return kept  # type: ignore[no-any-return]
