"""What runs on the same samples hand on to each other: nothing of it depends on the regularizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import SettingsError
from structsvm.problem import RegularizedRisk
from structsvm.solvers.planes import Planes
from structsvm.status import Quality
from structsvm.support.arrays import Floats


class Memory:
    """The cuts and losses of a run, from which the next one starts.

    Hinge losses, and so cuts, planes and their sums, depend on the samples alone. Along a path of
    regularizers each run begins with the cuts of the one before and knows its best weight without
    calling an oracle::

        memory = Memory()
        for risk in path:  # the same samples, the strongest regularizer first
            solution = solver.solve(risk, memory=memory)

    Every run has its own certificate, which is as good as that of a run without memory.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.problem import Problem, RegularizedRisk, Separation
    >>> from structsvm.partitions import Quality
    >>> from structsvm.regularizers import SquaredNorm
    >>> from structsvm.solvers import CuttingPlane, Memory
    >>> from structsvm.weights import Free
    >>> class Signs(Problem):
    ...     def weight_space(self):
    ...         return Free(2)
    ...
    ...     def joint_feature(self, x, y):
    ...         return y * x
    ...
    ...     def loss(self, y, y_hat):
    ...         return float(y != y_hat)
    ...
    ...     def predict(self, w, x):
    ...         return 1.0 if w @ x > 0 else -1.0
    ...
    ...     def separate(self, w, x, y):
    ...         worst = max((1.0, -1.0), key=lambda s: self.loss(y, s) + s * (w @ x))
    ...         return Separation(worst, 0.0, Quality.EXACT)
    >>> xs, ys = [np.array([1.0, 0.2]), np.array([-1.0, 0.1])], [1.0, -1.0]
    >>> memory, solver = Memory(), CuttingPlane()
    >>> problem, share, null = Signs(), np.full(2, 0.5), np.zeros(2)
    >>> for lam in (1.0, 0.1):
    ...     risk = RegularizedRisk(problem, xs, ys, SquaredNorm(lam), share, null)
    ...     print(solver.solve(risk, memory=memory).status.name)
    OPTIMAL
    OPTIMAL
    """

    def __init__(self) -> None:
        self.best: Planes | None = None
        """At the best weight of the run before, without its cuts."""
        self.state: Mapping[str, NDArray[Any]] | None = None
        """The state of the solver, from which the next run starts."""
        self.qualities: frozenset[Quality] = frozenset()
        """Of the answers that this state comes from."""
        self.caught: str | None = None
        """Which oracle claimed more than it could keep, if one did."""
        self._seen: dict[bytes, Planes] = {}
        self._owner: tuple[tuple[Any, ...], type, dict[str, Any]] | None = None

    def of(self, risk: RegularizedRisk, solver: Any) -> Memory:
        """Return this memory, after a check that it belongs to these samples and this solver.

        Raises
        ------
        SettingsError
            When it is of others: what it remembers would be wrong.
        """
        samples = (risk.problem, risk.xs, risk.ys, risk.sample_weight)
        settings = {name: value for name, value in vars(solver).items() if name != "stopping"}
        if self._owner is None:
            self._owner = samples, type(solver), settings
        known, kind, others = self._owner
        same = all(a is b for a, b in zip(samples, known, strict=True))
        if not same or type(solver) is not kind or settings != others:
            raise SettingsError(
                "this memory is of other samples or of another solver: begin with a new Memory()"
            )
        return self

    def recall(self, w: Floats, penalty: float) -> Planes | None:
        """Return the losses at ``w`` with this Omega(w), or None if they are not known."""
        seen = self._seen.get(w.tobytes())
        return None if seen is None else seen._replace(penalty=penalty)

    def note(self, evaluation: Planes) -> None:
        """Remember the losses at a weight from which every run starts."""
        self._seen[evaluation.w.tobytes()] = _without_cuts(evaluation, evaluation.values)

    def note_best(self, evaluation: Planes, known: Floats | None) -> None:
        """Remember the losses at the best weight so far, at least those that were known."""
        values = evaluation.values
        values = values if known is None else np.maximum(values, known)
        self.best = _without_cuts(evaluation, values)


def _without_cuts(evaluation: Planes, values: Floats) -> Planes:
    """The losses alone: the cuts are in the state of the solver."""
    return evaluation._replace(
        groups=np.empty(0, dtype=np.int64),
        slopes=np.empty((0, evaluation.w.size)),
        intercepts=np.empty(0),
        values=values,
        labellings=[],
    )
