"""Checkpoints: files with the state of a run, from which the same run goes on."""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from structsvm.errors import CheckpointError, CheckpointWarning, SettingsError, warn
from structsvm.problem import CompositeRisk, Risk
from structsvm.solvers.certificate import Certificate
from structsvm.support import Archive, alone_on, fingerprint, unwritable

Arrays = dict[str, NDArray[Any]]
CHECKPOINT = Archive("checkpoint", 1, CheckpointError)
SECONDS_BETWEEN = 2.0  # least time between two writes
SAME_LOSS = 1e-9
"""Part of its terms by which a loss may differ on another machine."""
ANEW = "give another file to start again"
logger = logging.getLogger("structsvm")


def read_state(path: Path) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a checkpoint; CheckpointError with the way out."""
    try:
        return CHECKPOINT.read(path)
    except CheckpointError as error:
        raise CheckpointError(f"{error}; {ANEW}") from error


class Checkpoint:
    """The checkpoint of a run."""

    def __init__(self, path: str | PathLike[str], identity: Mapping[str, str]) -> None:
        self.path = Path(path)
        self.identity = dict(identity)
        self._written = -np.inf
        self._failing = False
        reason = unwritable(self.path)
        if not self.path.parent.is_dir():
            reason = f"there is no folder {self.path.parent}"
        if reason is not None:
            raise CheckpointError(f"{path}: cannot be written: {reason}")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other runs from using this file within the context."""
        taken = CheckpointError(
            f"{self.path}: another run keeps its state in this file right now: wait for its end, "
            "or give another file"
        )
        with alone_on(self.path, taken):
            yield

    def restore(self, certificate: Certificate) -> tuple[Arrays, int, bool] | None:
        """Restore the certificate; arrays, oracle calls and whether it stalled; None: no file."""
        if not self.path.exists():
            return None
        header, arrays = read_state(self.path)
        try:
            stored = header["identity"]
            other = [name for name, mark in self.identity.items() if stored.get(name) != mark]
            if not other:
                certificate.restore(header["certificate"], arrays.pop("best", None))
                saved = arrays, int(header["oracle_calls"]), bool(header["stalled"])
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            said = f"{self.path}: no checkpoint of this version: {error!r}; {ANEW}"
            raise CheckpointError(said) from error
        if other:
            raise CheckpointError(
                f"{self.path}: a checkpoint with other {', '.join(other)}: give the same data and "
                f"settings to resume from it, or {ANEW}"
            )
        logger.info("going on from %s, after %d oracle calls", self.path, saved[1])
        return saved

    def refuse(self, loss: float, before: float) -> NoReturn:
        """Refuse a checkpoint of another problem, by the loss at its weight now and then."""
        # Fingerprints of settings do not show that a method was edited, or reads a global.
        raise CheckpointError(
            f"{self.path}: a checkpoint of another problem: at its weight the loss is {loss:.6g}, "
            f"and was {before:.6g}: give the same problem to resume from it, or {ANEW}"
        )

    @property
    def is_due(self) -> bool:
        """Whether the last write was long enough ago."""
        return time.monotonic() >= self._written + SECONDS_BETWEEN

    def write(self, certificate: Certificate, state: Mapping[str, Any], **after: Any) -> None:
        """Write the state of a run; ``after`` holds the oracle calls and whether it has stalled."""
        # Labellings may be objects of any type, and are left out: a resumed run can do without.
        arrays = {name: a for name, a in state.items() if not a.dtype.hasobject}
        if certificate.best is not None:
            arrays["best"] = certificate.best
        header = {"identity": self.identity, "certificate": certificate.header(), **after}
        try:
            CHECKPOINT.write(self.path, header, arrays)
        except CheckpointError as error:
            if not self._failing:
                self._failing = True
                warn(
                    f"{error}; learning continues, and the next round tries again: make room, or "
                    "stop, because this run could not be resumed",
                    CheckpointWarning,
                )
            return
        self._written = time.monotonic()
        self._failing = False


def identity(risk: Risk, solver: Any) -> dict[str, str]:
    """Fingerprints of a risk and of a solver, without its stopping rule, which may change."""
    settings = [value for name, value in vars(solver).items() if name != "stopping"]
    named: dict[str, Any] = {"solver": [type(solver), *settings]}
    if isinstance(risk, CompositeRisk):
        named["recordings"] = [risk.part([i]) for i in range(risk.n_instances)]
        named["regularizer"] = risk.regularizer
    else:
        named["recordings"] = list(risk.xs)
        named["labels"] = list(risk.ys)
        named["sample weights"] = risk.sample_weight
        omega: Any = risk.regularizer
        if risk.quadratic is None:  # no formula is known: the problem of minimising it
            B, w, cone = risk.space.variable()
            data = _canonical(omega.as_cvxpy(B, w, risk.space), cone)
            # The canonical data do not include constants.
            omega = [type(omega), data, omega.value(risk.null, risk.space)]
        named["regularizer"] = [omega, risk.null]
        named["constraints"] = None
        if risk.constraints is not None:
            B, _, cone = risk.space.variable()
            named["constraints"] = _canonical(0, [*cone, *risk.further_constraints(B)])
    return {name: fingerprint(value) for name, value in named.items()}


def _canonical(objective: Any, constraints: list[Any]) -> list[Any]:
    """The data of a problem for a solver, which identify it, unlike the code that makes it."""
    import cvxpy as cp

    try:
        problem = cp.Problem(cp.Minimize(objective), constraints)
        data = problem.get_problem_data("CLARABEL")[0]
    except (cp.error.DCPError, cp.error.SolverError) as error:
        raise SettingsError(f"the regularizer or a constraint is not convex: {error}") from error
    arrays = [data["c"], data["b"], str(data["dims"])]
    for entries in map(sp.coo_array, (data["A"], data["P"]) if "P" in data else (data["A"],)):
        order = np.lexsort((entries.col, entries.row))
        rows, columns = (at[order].astype(np.int64) for at in (entries.row, entries.col))
        arrays += [entries.shape, rows, columns, entries.data[order]]
    return arrays
