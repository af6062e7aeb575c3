"""Does an oracle keep its contract: many small questions, answered by enumeration as well."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from structsvm.errors import OracleError, PluginError
from structsvm.oracles.exhaustive import all_partitions, all_segmentations
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import Argmax, Constraint, Oracle, Quality
from structsvm.partitions.trace_objective import TraceObjective

__all__ = ["check_oracle"]

Floats = NDArray[np.float64]

TOLERANCE = 1e-9
"""Rounding allowed, as a fraction of the size of the objective."""


@dataclass(frozen=True)
class _Instance:
    """A small question to an oracle."""

    name: str
    objective: TraceObjective
    constraint: Constraint
    contiguous: bool

    @property
    def slack(self) -> float:
        """What a value may be off by rounding."""
        A = self.objective
        size = float(np.sum(A.Z**2)) + (abs(A.shift) + A.truth_weight) * A.n_samples
        return TOLERANCE * max(1.0, size)

    def allows(self, M: EquivalenceMatrix) -> bool:
        """Whether a partition or projector satisfies the constraint."""
        wanted = self.constraint
        if wanted.n_clusters not in (None, M.n_clusters):
            return False
        if not M.is_partition or not self.contiguous:
            return True
        if not M.is_contiguous:
            return False
        ends = set(M.breakpoints)
        return ends.issuperset(wanted.forced) and ends.isdisjoint(wanted.forbidden)

    def candidates(self) -> Iterator[EquivalenceMatrix]:
        """Every partition that the constraint allows."""
        T = self.objective.n_samples
        for row in (all_segmentations if self.contiguous else all_partitions)(T):
            M = EquivalenceMatrix.from_labels(row.astype(np.int64))
            if self.allows(M):
                yield M

    def best(self) -> float:
        """The largest ``Tr(A M)`` over the candidates, both matrices formed."""
        A = self.objective.dense()
        return max(float(np.sum(A * M.dense())) for M in self.candidates())


def check_oracle(
    oracle: Oracle,
    *,
    contiguous: bool = False,
    known_k: bool = True,
    unknown_k: bool = True,
    boundaries: bool | None = None,
    negative_signs: bool = True,
    processes: bool = True,
    n_instances: int = 80,
    seed: int = 0,
) -> None:
    """Ask an oracle many small questions, and refuse it unless every answer keeps the contract.

    The answers are compared with enumeration as far as the declared quality demands: an exact
    oracle reaches the maximum, the upper bound of any oracle is at least the maximum, and a
    partition is never better than the maximum. Every answer is worth what it says, is at least as
    good as the truth and as random partitions, is the same on a second call, in threads and in
    processes; the input is not modified and nothing is kept on the oracle.

    Parameters
    ----------
    oracle : Oracle
        The oracle to check.
    contiguous : bool
        Whether it searches segmentations; otherwise all partitions of a set.
    known_k, unknown_k : bool
        Which questions it answers.
    boundaries : bool, optional
        Whether it takes forced and forbidden boundaries; by default, as ``contiguous``.
    negative_signs : bool
        Whether it takes objectives with negative signs.
    processes : bool
        Also call it from worker processes (a few seconds).
    n_instances : int
        Number of questions.
    seed : int
        Seed of the questions.

    Raises
    ------
    PluginError
        At the first broken promise; the message says which one and what to fix.
    """
    rng = np.random.default_rng(seed)
    boundaries = contiguous if boundaries is None else boundaries
    instances = [
        _random_instance(
            rng, number, contiguous, _wish_for_k(number, known_k, unknown_k), boundaries
        )
        for number in range(n_instances)
    ]
    if negative_signs:
        instances += [_with_negative_signs(rng, instance) for instance in instances[::4]]
    settings = pickle.dumps(oracle)
    answers = [_answer(oracle, instance) for instance in instances]
    for instance, answer in zip(instances, answers, strict=True):
        _check_answer(instance, answer)
        _check_against_enumeration(instance, answer)
        _check_against_simple_answers(rng, instance, answer)
    if pickle.dumps(oracle) != settings:
        raise PluginError(
            f"{oracle!r} keeps something of a call: store settings only, and return results"
        )
    if known_k:
        _check_refusal(oracle, instances[0].objective)
    _check_same(oracle, instances, answers, "on a second call: seed every random choice")
    with ThreadPoolExecutor(4) as pool:
        _check_same(
            oracle, instances, answers, "in threads: share no scratch memory between calls", pool
        )
    if processes:
        _check_processes(oracle, instances, answers)


def _wish_for_k(number: int, known_k: bool, unknown_k: bool) -> bool:
    """Whether question ``number`` fixes the number of clusters."""
    if not (known_k or unknown_k):
        raise PluginError("an oracle answers for known K or for unknown K: set one of the two")
    return known_k and (not unknown_k or number % 2 == 1)


def _random_instance(
    rng: np.random.Generator, number: int, contiguous: bool, fix_k: bool, boundaries: bool
) -> _Instance:
    """Gaussian samples, integers with ties, offsets and null metrics in turn."""
    T, r = int(rng.integers(1, 9 if contiguous else 7)), int(rng.integers(0, 4))
    name, Z = [
        ("gaussian samples", rng.standard_normal((T, r))),
        ("integer samples with ties", rng.integers(-1, 2, (T, r)).astype(np.float64)),
        ("samples with a large offset", rng.standard_normal((T, r)) + 1e4),
        ("a null metric", np.zeros((T, r))),
    ][number // 2 % 4]
    labels = np.cumsum(rng.random(T) < 0.4) if contiguous else rng.integers(0, 3, T)
    truth = EquivalenceMatrix.from_labels(labels) if rng.random() < 0.7 else None
    objective = TraceObjective(
        Z,
        truth,
        truth_weight=0.0 if truth is None else float(rng.choice([0.5, 2.0])),
        shift=float(rng.choice([-1.0, -0.3, 0.0, 0.6])),
    )
    positions = [int(t) for t in rng.permutation(np.arange(1, T))]
    n_forced, n_forbidden = rng.integers(0, 3, 2) if boundaries and number % 3 == 0 else (0, 0)
    forced = tuple(positions[:n_forced])
    forbidden = tuple(positions[n_forced:][:n_forbidden])
    K = int(rng.integers(len(forced) + 1, T - len(forbidden) + 1)) if fix_k else None
    return _Instance(name, objective, Constraint(K, forced, forbidden), contiguous)


def _with_negative_signs(rng: np.random.Generator, instance: _Instance) -> _Instance:
    A = instance.objective
    signs = rng.choice([-1.0, 1.0], A.Z.shape[1])
    objective = TraceObjective(A.Z, A.truth, A.truth_weight, A.shift, signs)
    return _Instance(
        instance.name + ", negative signs", objective, instance.constraint, instance.contiguous
    )


def _answer(oracle: Oracle, instance: _Instance) -> Argmax:
    """The answer, given without a change to the question."""
    held = [part.copy() for part in _arrays(instance.objective)]
    try:
        answer = oracle.maximize(instance.objective, instance.constraint)
    except Exception as error:
        raise PluginError(
            f"the oracle failed on {_described(instance)}: {type(error).__name__}: {error}; "
            "answer it, or switch off this kind of question (known_k, unknown_k, boundaries, "
            "negative_signs)"
        ) from error
    _require(
        all(np.array_equal(a, b) for a, b in zip(held, _arrays(instance.objective), strict=True)),
        instance,
        "the oracle modified its input: copy an array before writing to it",
    )
    said = f"maximize must return an Argmax, not {answer!r}"
    _require(isinstance(answer, Argmax), instance, said)
    return answer


def _arrays(objective: TraceObjective) -> list[NDArray[np.generic]]:
    found: list[NDArray[np.generic]] = [objective.Z]
    if objective.truth is not None and objective.truth.labels is not None:
        found.append(objective.truth.labels)
    if objective.signs is not None:
        found.append(objective.signs)
    return found


def _check_answer(instance: _Instance, answer: Argmax) -> None:
    """What an answer says about itself."""
    y, T = answer.y, instance.objective.n_samples
    _require(
        y.n_samples == T, instance, f"y groups {y.n_samples} samples, the objective has {T}: fix y"
    )
    actual = instance.objective.value(y)
    _require(
        abs(answer.value - actual) <= instance.slack,
        instance,
        f"value is {answer.value!r} but Tr(A M) at y is {actual!r}: return objective.value(y)",
    )
    _require(
        answer.upper_bound >= answer.value - instance.slack,
        instance,
        f"upper_bound {answer.upper_bound!r} is below value {answer.value!r}: "
        "return value if the answer is exact, math.inf if no bound is known",
    )
    _require(
        instance.allows(y),
        instance,
        f"y = {y.labels if y.is_partition else 'a projector'} with {y.n_clusters} clusters "
        f"violates {instance.constraint} (contiguous={instance.contiguous}): obey the constraint",
    )
    _require(
        y.is_partition or answer.quality is Quality.RELAXATION,
        instance,
        f"y is no partition, yet the quality is {answer.quality}: declare Quality.RELAXATION",
    )


def _check_against_enumeration(instance: _Instance, answer: Argmax) -> None:
    """What the declared quality promises."""
    best = instance.best()
    _require(
        answer.upper_bound >= best - instance.slack,
        instance,
        f"upper_bound {answer.upper_bound!r} is below the maximum {best!r}: return a valid bound, "
        "or math.inf",
    )
    if answer.quality is Quality.EXACT:
        _require(
            answer.value >= best - instance.slack,
            instance,
            f"declared exact with value {answer.value!r}, but the maximum is {best!r}: "
            "fix the search or declare Quality.HEURISTIC",
        )


def _check_against_simple_answers(
    rng: np.random.Generator, instance: _Instance, answer: Argmax
) -> None:
    """The truth and random partitions: an answer worse than these makes cuts that cut nothing."""
    candidates = list(instance.candidates())
    simple = [candidates[int(i)] for i in rng.integers(0, len(candidates), 3)]
    truth = instance.objective.truth
    if truth is not None and instance.allows(truth):
        simple.append(truth)
    for M in simple:
        reached = instance.objective.value(M)
        _require(
            answer.value >= reached - instance.slack,
            instance,
            f"value {answer.value!r} is below {reached!r}, reached by labels {M.labels}: compare "
            "with objective.truth and with simple partitions before returning",
        )


def _check_refusal(oracle: Oracle, objective: TraceObjective) -> None:
    """More clusters than samples must be refused with an OracleError."""
    T = objective.n_samples
    try:
        oracle.maximize(objective, Constraint(n_clusters=T + 1))
    except OracleError:
        return
    except Exception as error:
        raise PluginError(
            f"{T + 1} clusters of {T} samples gave {type(error).__name__}: raise OracleError"
        ) from error
    raise PluginError(f"{T + 1} clusters of {T} samples were accepted: raise OracleError")


def _check_same(
    oracle: Oracle,
    instances: list[_Instance],
    answers: list[Argmax],
    where: str,
    pool: ThreadPoolExecutor | None = None,
) -> None:
    """The same questions once more, in this thread or in those of a pool."""

    def same(instance: _Instance, first: Argmax) -> bool:
        return _same(first, _answer(oracle, instance))

    kept = (pool.map if pool else map)(same, instances, answers)
    for instance, holds in zip(instances, kept, strict=True):
        _require(holds, instance, f"the answer differs {where}")


def _check_processes(oracle: Oracle, instances: list[_Instance], answers: list[Argmax]) -> None:
    """The same questions from worker processes."""
    questions = [(instance.objective, instance.constraint) for instance in instances[:8]]
    try:
        again = Parallel(n_jobs=2, backend="loky")(
            delayed(oracle.maximize)(*question) for question in questions
        )
    except Exception as error:
        raise PluginError(
            f"the oracle does not work in a worker process ({type(error).__name__}: {error}): "
            "keep settings that can be pickled"
        ) from error
    for instance, first, second in zip(instances, answers, again, strict=False):
        _require(_same(first, second), instance, "the answer differs in a worker process")


def _same(first: Argmax, second: Argmax) -> bool:
    return (
        first.y == second.y
        and first.value == second.value
        and first.upper_bound == second.upper_bound
        and first.quality is second.quality
    )


def _require(kept: bool, instance: _Instance, complaint: str) -> None:
    if not kept:
        raise PluginError(f"{complaint} [{_described(instance)}]")


def _described(instance: _Instance) -> str:
    A = instance.objective
    truth = None if A.truth is None else A.truth.labels
    return (
        f"{instance.name}: T={A.n_samples}, r={A.Z.shape[1]}, truth={truth}, "
        f"truth_weight={A.truth_weight}, shift={A.shift}, {instance.constraint}"
    )
