"""How named states are marked: the same colour and hatch for a name in every picture of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from structsvm.learner.learner import MetricLearner

COLORS = ("#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00", "#CC79A7", "#F0E442")
"""Okabe and Ito's colours but black, neighbours far apart in hue and in lightness."""

HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++")
"""What tells states apart once the colours are used up, as matplotlib spells it."""


@dataclass(frozen=True)
class StateMark:
    """What a state looks like."""

    color: str
    hatch: str
    ink: str
    """The colour of what is written on it."""


NO_STATE = StateMark("#8C8C8C", "", "#000000")
"""Of items without a name, and of states that the model has not learned."""


def state_marks(learner: MetricLearner) -> dict[Any, StateMark]:
    """The mark of each state that a learner knows, by name; empty if it knows none."""
    own = [learner.classes_, *(getattr(r, "classes_", None) for r in learner.baselines_.values())]
    known = next((classes for classes in own if classes is not None), None)
    states: Sequence[Any] = () if known is None else known.tolist()
    return {name: _mark(k) for k, name in enumerate(states)}


def _mark(k: int) -> StateMark:
    color = COLORS[k % len(COLORS)]
    return StateMark(color, HATCHES[k // len(COLORS) % len(HATCHES)], _ink(color))


def _ink(color: str) -> str:
    """Black or white, whichever is read better on a colour."""
    channels = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if (luminance + 0.05) ** 2 > 0.05 * 1.05 else "#FFFFFF"
