"""How near to the best weight the oracles are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEP = 0.1
"""By how much of the rest one round changes the damping."""


class Damping:
    """Where between the master's weight (0) and the best one (1) the oracles are called.

    With one slack a few planes are all that is known of a sum of many maxima, and the master's
    weight jumps for as long as they do not hold it. How far it can be trusted is seen from the
    planes that are found on the way to it: if by them the objective rises from there on, the next
    round stays nearer to the best weight, otherwise it goes further (Pessoa, Sadykov, Uchoa and
    Vanderbeck, Automation and combination of linear-programming based stabilization techniques in
    column generation, 2018). With a slack for each sample that gains nothing, and damping stays.
    """

    def __init__(self, share: float, follows: bool) -> None:
        self.share, self.follows = share, follows and share > 0

    def note(self, rises: bool) -> None:
        """Take note of a damped round: whether the objective rises towards the master's weight."""
        if self.follows:
            self.share += STEP * ((1.0 - self.share) if rises else -self.share)

    def state(self) -> dict[str, NDArray[Any]]:
        """The array that :meth:`restore` takes."""
        return {"damping": np.array([self.share])}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Be what another was; files of older versions say nothing of it."""
        if self.follows and "damping" in state:
            self.share = float(state["damping"][0])
