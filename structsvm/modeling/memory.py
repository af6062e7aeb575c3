"""Planes in the pools of atoms, which one run stores for the next as long as they hold."""

import pickle
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from structsvm.errors import OracleWarning, warn
from structsvm.masters import Cut, Planes, WorkingSet
from structsvm.modeling.pool import Touch
from structsvm.modeling.rewriting import Rewritten, StandIn
from structsvm.support import Floats

MAX_POOL_BYTES = 2**26
"""Most bytes of planes that are stored of an atom; the latest are."""

ACTIVE_PLANE = 1e-7
"""Multiplier above which a plane is active in a solution."""


class Memory:
    """The planes that earlier runs left in the pools of the atoms of a problem."""

    def __init__(self, rewritten: Rewritten) -> None:
        self._stand_ins = rewritten.stand_ins
        self._slack = rewritten.slack
        self._recalled: set[int] = set()
        """The ids of the cuts of earlier runs."""

    def forget(self) -> None:
        """Clear the pools."""
        for stand_in in self._stand_ins:
            stand_in.atom.pool.clear()

    def recall(
        self, answers: Sequence[Planes], ask: Callable[[Sequence[Floats]], Sequence[Planes]]
    ) -> list[StandIn]:
        """The atoms whose stored planes still hold, as one call of each of their oracles shows.

        ``answers`` are those at the start, which often is the last solution. The call is needed
        because an oracle may read a cvxpy.Parameter or data that have changed.
        """
        stored = [s for s in self._stand_ins if s.atom.pool.cuts and self._has_marks(s)]
        arguments = [planes.w for planes in answers]
        for stand_in in stored:
            touch = stand_in.atom.pool.touch
            assert touch is not None
            arguments[stand_in.number] = touch.argument
        pairs = zip(arguments, answers, strict=True)
        if not all(np.array_equal(at, planes.w) for at, planes in pairs):
            answers = ask(arguments)
        unchanged = [s for s in stored if _is_unchanged(s, answers[s.number])]
        for stand_in in unchanged:
            self._recalled |= set(map(id, stand_in.atom.pool.cuts))
        return unchanged

    def keep(self, cuts: WorkingSet, touches: Sequence[Touch], largest: Floats) -> None:
        """Store the planes of the cuts for the next run.

        ``touches`` are the answers of each atom at the solution, ``largest`` the sizes of the terms
        of each group.
        """
        of_atoms: list[list[Cut]] = [[] for _ in self._stand_ins]
        for labellings in cuts.state()["labellings"]:
            for a, plane, _, _ in labellings:
                of_atoms[a].append(plane)
        for stand_in, planes in zip(self._stand_ins, of_atoms, strict=True):
            most = max(1, MAX_POOL_BYTES // planes[0].slope.nbytes) if planes else 0
            pool = stand_in.atom.pool
            pool.marks = self._marks(stand_in)
            pool.cuts = planes[-most:]
            pool.quality = stand_in.quality
            pool.touch = touches[stand_in.number]
            pool.largest = float(largest[stand_in.rows].max())

    def is_part_of(self, active: Iterable[tuple[float, Cut]]) -> bool:
        """Whether planes of earlier runs are among the cuts with these multipliers."""
        for multiplier, cut in active:
            planes = (plane for _, plane, _, _ in cut.labellings or ())
            if multiplier > ACTIVE_PLANE and any(id(plane) in self._recalled for plane in planes):
                return True
        return False

    def _has_marks(self, stand_in: StandIn) -> bool:
        """Whether the planes in the pool belong to the present settings and parameters."""
        return stand_in.atom.pool.marks == self._marks(stand_in)

    def _marks(self, stand_in: StandIn) -> bytes:
        """The settings and parameters that the planes of an atom depend on, as bytes."""
        sizes = [arg.size for arg in stand_in.arguments]
        values = [parameter.value for parameter in stand_in.atom.parameters_of_oracle]
        return pickle.dumps((self._slack, sizes, values))


def _is_unchanged(stand_in: StandIn, answer: Planes) -> bool:
    """Whether an oracle answers as it did at the last solution; if not, its pool is cleared."""
    now = stand_in.touch(answer)
    atom = stand_in.atom
    then = atom.pool.touch
    assert then is not None
    term = then.differs(now)
    if term is not None:
        warn(
            f"{atom.called}: at the last solution the oracle returned {then.uppers[term]:.9g}, "
            f"and at the same point it now returns {now.uppers[term]:.9g}: it has changed, and "
            "what was known of it is forgotten. Name the cvxpy.Parameter that it depends on in "
            "parameters=, or call solve with warm_start=False after other changes",
            OracleWarning,
        )
    if term is None and not then.has_other_slopes(now):
        return True
    atom.pool.clear()
    return False
