"""Does an oracle keep its contract: many small questions, answered by enumeration as well."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import FunctionType
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import OracleError, PluginError
from structsvm.partitions.oracle import Argmax, ConstraintKind, Oracle, Quality
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.plain import shown
from structsvm.testing._instances import MOST, Family, Instance, Kind, random_instances


def check_oracle(
    oracle: Oracle | Callable[[int], Oracle | None],
    *,
    contiguous: bool = False,
    family: Family | None = None,
    known_k: bool = True,
    unknown_k: bool = True,
    boundaries: bool | None = None,
    negative_signs: bool = True,
    n_instances: int = 80,
    seed: int = 0,
) -> None:
    """Check that an oracle satisfies its contract, on many small questions.

    The answers are compared with enumeration as far as the declared quality demands: an exact
    oracle reaches the maximum, the upper bound of any oracle is at least the maximum, and a
    partition is never better than the maximum. Every answer is worth what it says, is at least as
    good as the truth and as random partitions, is the same on a second call, in threads and after
    pickling; the input is not modified and nothing is kept on the oracle.

    Parameters
    ----------
    oracle : Oracle, or a function that takes T and gives one
        The oracle to check, or that of T samples; None where there is none.
    contiguous : bool
        Whether it searches segmentations; otherwise all partitions of a set.
    family : callable, optional
        Searches it neither: takes T (at most 6) to one vector of labels for each partition of T
        samples that it searches. There may be none for some T, or for some number of clusters:
        then the oracle has to raise OracleError.
    known_k, unknown_k : bool
        Which questions it answers; none with K where ``oracle.takes`` lacks "n_clusters".
    boundaries : bool, optional
        Whether it takes forced and forbidden boundaries; by default, as ``contiguous``, if
        ``oracle.takes`` has "boundaries". Regions and links are asked for where it has those.
    negative_signs : bool
        Whether it takes objectives with negative signs.
    n_instances : int
        Number of questions.
    seed : int
        Seed of the questions.

    Raises
    ------
    PluginError
        At the first broken promise; the message says which one and what to fix.

    Examples
    --------
    >>> from structsvm.oracles import ExhaustiveOracle
    >>> from structsvm.testing import check_oracle
    >>> oracle = ExhaustiveOracle(contiguous=True)
    >>> check_oracle(oracle, contiguous=True, n_instances=4)
    """
    given: Any = oracle
    oracle_of: Callable[[int], Oracle | None]
    oracle_of = given if isinstance(given, FunctionType) else lambda _: given
    rng = np.random.default_rng(seed)
    oracles = [oracle for oracle in map(oracle_of, range(1, MOST + 1)) if oracle is not None]
    if not oracles:
        return
    takes = frozenset.intersection(*map(_takes, oracles))
    boundaries = contiguous and "boundaries" in takes if boundaries is None else boundaries
    known_k = known_k and "n_clusters" in takes
    regions, links = contiguous and "regions" in takes, not contiguous and "links" in takes
    kind = Kind(contiguous, known_k, unknown_k, boundaries, family, regions, links)
    instances = [
        replace(instance, oracle=oracle_of(instance.objective.n_samples))
        for instance in random_instances(rng, n_instances, kind, negative_signs)
        if oracle_of(instance.objective.n_samples) is not None
    ]
    settings = [_pickled(oracle) for oracle in oracles]
    for instance in instances:
        if not instance.candidates:
            _check_impossible(instance)
    instances = [instance for instance in instances if instance.candidates]
    answers = []
    for instance in instances:
        answer = _answer(instance)
        answers.append(answer)
        _check_answer(instance, answer)
        _check_against_enumeration(instance, answer)
        _check_against_simple_answers(rng, instance, answer)
    for asked, before in zip(oracles, settings, strict=True):
        if _pickled(asked) != before:
            raise PluginError(
                f"{asked!r} keeps something of a call: store settings only, and return results"
            )
    _check_same(instances, answers, "on a second call: seed every random choice")
    _check_many(instances, answers)
    with ThreadPoolExecutor(4) as pool:
        _check_same(instances, answers, "in threads: share no scratch memory between calls", pool)
    copies = [replace(i, oracle=pickle.loads(pickle.dumps(i.oracle))) for i in instances]
    _check_same(copies, answers, "after pickling: keep settings that can be pickled")


def _check_many(instances: list[Instance], answers: list[Argmax]) -> None:
    """What is asked at once is answered as one after another."""
    for instance, first in zip(instances, answers, strict=True):
        if instance.constraint.says_nothing and instance.oracle is not None:
            (second,) = instance.oracle.ask_all([instance.objective])
            instance.require(first == second, "the answer of maximize_all is another one")


def _takes(oracle: Oracle) -> frozenset[ConstraintKind]:
    if not isinstance(oracle, Oracle):
        raise PluginError(f"{shown(oracle)} is no Oracle: give an instance of a class of yours")
    unknown = sorted(set(oracle.takes) - set(get_args(ConstraintKind)))
    if unknown:
        raise PluginError(
            f"{type(oracle).__name__}.takes holds {unknown[0]!r}: it may hold "
            f"{', '.join(get_args(ConstraintKind))}"
        )
    return oracle.takes


def _pickled(oracle: Oracle) -> bytes:
    try:
        return pickle.dumps(oracle)
    except Exception as error:
        raise PluginError(
            f"{type(oracle).__name__} cannot be pickled ({error}): keep plain settings, and define "
            "the class in a module"
        ) from error


def _check_impossible(instance: Instance) -> None:
    """A question that no partition of the family answers must be refused with an OracleError."""
    try:
        answer = instance.ask()
    except OracleError:
        return
    instance.require(
        False, f"no partition of the family answers this, but {answer!r} came: raise OracleError"
    )


def _answer(instance: Instance) -> Argmax:
    """The answer, given without a change to the question."""
    held = [part.copy() for part in _arrays(instance.objective)]
    try:
        answer = instance.ask()
    except PluginError as error:
        raise PluginError(f"{error} [{instance.described()}]") from error
    except OracleError as error:
        raise PluginError(
            f"the oracle failed on {instance.described()}: {error}; answer it, or switch off this "
            "kind of question (known_k, unknown_k, boundaries, negative_signs)"
        ) from error
    instance.require(
        all(np.array_equal(a, b) for a, b in zip(held, _arrays(instance.objective), strict=True)),
        "the oracle modified its input: copy an array before writing to it",
    )
    return answer


def _arrays(objective: TraceObjective) -> list[NDArray[np.generic]]:
    found: list[NDArray[np.generic]] = [objective.Z]
    if objective.truth is not None and objective.truth.labels is not None:
        found.append(objective.truth.labels)
    if objective.signs is not None:
        found.append(objective.signs)
    return found


def _check_answer(instance: Instance, answer: Argmax) -> None:
    y = answer.y
    actual = instance.objective.value(y)
    instance.require(
        abs(answer.value - actual) <= instance.slack,
        f"value is {answer.value!r} but Tr(A M) at y is {actual!r}: return objective.value(y)",
    )
    instance.require(
        answer.upper_bound >= answer.value - instance.slack,
        f"upper_bound {answer.upper_bound!r} is below value {answer.value!r}: "
        "return value if the answer is exact, math.inf if no bound is known",
    )
    instance.require(
        instance.allows(y),
        f"y = {y.labels if y.is_partition else 'a projector'} with {y.n_clusters} clusters "
        f"violates {instance.constraint} of {instance.kind}: obey the constraint",
    )
    instance.require(
        y.is_partition or answer.quality is Quality.RELAXATION,
        f"y is no partition, yet the quality is {answer.quality}: declare Quality.RELAXATION",
    )


def _check_against_enumeration(instance: Instance, answer: Argmax) -> None:
    best = instance.best()
    instance.require(
        answer.upper_bound >= best - instance.slack,
        f"upper_bound {answer.upper_bound!r} is below the maximum {best!r}: return a valid bound, "
        "or math.inf",
    )
    if answer.quality is Quality.EXACT:
        instance.require(
            answer.value >= best - instance.slack,
            f"declared exact with value {answer.value!r}, but the maximum is {best!r}: "
            "fix the search or declare Quality.HEURISTIC",
        )


def _check_against_simple_answers(
    rng: np.random.Generator, instance: Instance, answer: Argmax
) -> None:
    """The truth and random partitions: an answer worse than these makes cuts that cut nothing."""
    candidates = instance.candidates
    simple = [candidates[int(i)] for i in rng.integers(0, len(candidates), 3)]
    truth = instance.objective.truth
    if truth is not None and instance.allows(truth):
        simple.append(truth)
    for M in simple:
        reached = instance.objective.value(M)
        instance.require(
            answer.value >= reached - instance.slack,
            f"value {answer.value!r} is below {reached!r}, reached by labels {M.labels}: "
            "compare with objective.truth and with simple partitions before returning",
        )


def _check_same(
    instances: list[Instance],
    answers: list[Argmax],
    where: str,
    pool: ThreadPoolExecutor | None = None,
) -> None:
    again = (pool.map if pool else map)(_answer, instances)
    for instance, first, second in zip(instances, answers, again, strict=True):
        instance.require(first == second, f"the answer differs {where}")
