"""Checks of an oracle: many small questions, answered by enumeration as well."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, cached_property
from types import FunctionType
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from structsvm.errors import OracleError, PluginError
from structsvm.oracles.exhaustive import all_partitions, all_segmentations
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import Argmax, Constraint, ConstraintKind, Oracle, Quality, Region
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.plain import shown

Family = Callable[[int], Iterable[ArrayLike]]
"""T to one vector of labels for each partition of T samples that an oracle searches."""

MOST = 8
"""Items of the largest question."""

TOLERANCE = 1e-9
"""Rounding allowed, as a fraction of the size of the objective."""


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
    oracles = [asked for asked in map(oracle_of, range(1, MOST + 1)) if asked is not None]
    if not oracles:
        return
    takes = frozenset.intersection(*map(_takes, oracles))
    rows = family or (all_segmentations if contiguous else all_partitions)
    draw = _Questions(
        rng,
        contiguous=contiguous,
        partitions=cache(lambda T: [_partition(row) for row in rows(T)]),
        known_k=known_k and "n_clusters" in takes,
        unknown_k=unknown_k,
        boundaries=contiguous and "boundaries" in takes if boundaries is None else boundaries,
        regions=contiguous and "regions" in takes,
        links=not contiguous and "links" in takes,
    )
    questions = [
        replace(question, oracle=asked)
        for question in draw.questions(n_instances, negative_signs)
        if (asked := oracle_of(question.objective.n_samples)) is not None
    ]
    settings = [_pickled(asked) for asked in oracles]
    for question in questions:
        if not question.candidates:
            _check_impossible(question)
    questions = [question for question in questions if question.candidates]
    answers = [_checked_answer(rng, question) for question in questions]
    for asked, before in zip(oracles, settings, strict=True):
        if _pickled(asked) != before:
            raise PluginError(
                f"{asked!r} keeps something of a call: store settings only, and return results"
            )
    with ThreadPoolExecutor(4) as pool:
        in_threads = list(pool.map(_answer, questions))
    copies = [replace(q, oracle=pickle.loads(pickle.dumps(q.oracle))) for q in questions]
    for answered, where in (
        (map(_answer, questions), "on a second call: seed every random choice"),
        (in_threads, "in threads: share no scratch memory between calls"),
        (map(_answer, copies), "after pickling: keep settings that can be pickled"),
    ):
        for question, first, second in zip(questions, answers, answered, strict=True):
            question.require(first == second, f"the answer differs {where}")
    for question, first in zip(questions, answers, strict=True):
        if question.constraint.says_nothing:
            (second,) = question.oracle.ask_all([question.objective])
            question.require(first == second, "the answer of maximize_all is another one")


@dataclass(frozen=True)
class _Question:
    """A small question to an oracle, and every partition that may answer it."""

    name: str
    objective: TraceObjective
    constraint: Constraint
    partitions: list[EquivalenceMatrix]
    """All that the oracle searches."""
    oracle: Any = None

    @cached_property
    def candidates(self) -> list[EquivalenceMatrix]:
        return [M for M in self.partitions if self.constraint.violation(M) is None]

    @property
    def slack(self) -> float:
        return TOLERANCE * max(1.0, size_of(self.objective))

    def __str__(self) -> str:
        A = self.objective
        truth = None if A.truth is None else A.truth.labels
        return (
            f"{self.name}: T={A.n_samples}, r={A.Z.shape[1]}, truth={truth}, "
            f"truth_weight={A.truth_weight}, shift={A.shift}, {self.constraint}"
        )

    def require(self, kept: bool, complaint: str) -> None:
        if not kept:
            raise PluginError(f"{complaint} [{self}]")


@dataclass(frozen=True)
class _Questions:
    """Draws questions of the kinds that an oracle answers."""

    rng: np.random.Generator
    contiguous: bool
    partitions: Callable[[int], list[EquivalenceMatrix]]
    known_k: bool
    unknown_k: bool
    boundaries: bool
    regions: bool
    links: bool

    def __post_init__(self) -> None:
        """Some question must be left."""
        if not (self.known_k or self.unknown_k):
            raise PluginError("an oracle answers for known K or for unknown K: set one of the two")

    def questions(self, n: int, negative_signs: bool) -> list[_Question]:
        """Some of them once more, with negative signs and with regions or links."""
        plain = [self._plain(number) for number in range(n)]
        signed = [self._with_signs(question) for question in plain[::4] if negative_signs]
        return plain + signed + [q for one in plain[1::4] for q in self._with_counts_or_links(one)]

    def _plain(self, number: int) -> _Question:
        """Gaussian samples, integers with ties, offsets and null metrics in turn."""
        rng = self.rng
        T, r = int(rng.integers(1, MOST + 1 if self.contiguous else 7)), int(rng.integers(0, 4))
        name, Z = [
            ("gaussian samples", rng.standard_normal((T, r))),
            ("integer samples with ties", rng.integers(-1, 2, (T, r)).astype(np.float64)),
            ("samples with a large offset", rng.standard_normal((T, r)) + 1e4),
            ("a null metric", np.zeros((T, r))),
        ][number // 2 % 4]
        partitions, truth = self.partitions(T), None
        if partitions and rng.random() < 0.7:
            truth = partitions[int(rng.integers(len(partitions)))]
        weight = 0.0 if truth is None else float(rng.choice([0.5, 2.0]))
        objective = TraceObjective(Z, truth, weight, float(rng.choice([-1.0, -0.3, 0.0, 0.6])))
        at = [int(t) for t in rng.permutation(np.arange(1, T))]
        some = rng.integers(0, 3, 2) if self.boundaries and number % 3 == 0 else (0, 0)
        forced, forbidden = tuple(at[: some[0]]), tuple(at[some[0] :][: some[1]])
        fix_k = self.known_k and (not self.unknown_k or number % 2 == 1)
        K = int(rng.integers(len(forced) + 1, T - len(forbidden) + 1)) if fix_k else None
        return _Question(name, objective, Constraint(K, forced, forbidden), partitions)

    def _with_signs(self, question: _Question) -> _Question:
        signs = self.rng.choice([-1.0, 1.0], question.objective.Z.shape[1])
        objective = replace(question.objective, signs=signs)
        return replace(question, name=f"{question.name}, negative signs", objective=objective)

    def _with_counts_or_links(self, question: _Question) -> list[_Question]:
        """One that some partition keeps, if there is one."""
        T, partitions = question.objective.n_samples, question.partitions
        if T < 3 or not partitions or not (self.regions or self.links) or not self.unknown_k:
            return []
        M = partitions[int(self.rng.integers(len(partitions)))]
        i, j = sorted(self.rng.permutation(T)[:2].tolist())
        if self.regions:
            n = int(np.count_nonzero((M.boundaries >= max(i, 1)) & (M.boundaries < j + 1)))
            some = n > 0 and bool(self.rng.random() < 0.5)
            constraint = Constraint(regions=(Region(i, j + 1, 1 if some else n, or_more=some),))
        else:
            assert M.labels is not None
            same = M.labels[i] == M.labels[j]
            constraint = Constraint(together=((i, j),)) if same else Constraint(apart=((i, j),))
        name = f"{question.name}, regions or links"
        return [replace(question, name=name, constraint=constraint)]


def size_of(A: TraceObjective) -> float:
    """The size of the terms of an objective, which rounding is a fraction of."""
    return float(np.nansum(A.Z**2)) + (abs(A.shift) + A.truth_weight) * A.n_samples


def check_value(
    require: Callable[[bool, str], None], A: TraceObjective, answer: Argmax, slack: float
) -> None:
    """An answer is worth what it says, and no more than its bound."""
    value = A.value(answer.y)
    require(
        abs(answer.value - value) <= slack,
        f"value is {answer.value!r} but Tr(A M) at y is {value!r}: return objective.value(y)",
    )
    require(
        answer.upper_bound >= answer.value - slack,
        f"upper_bound {answer.upper_bound!r} is below value {answer.value!r}: return value if the "
        "answer is exact, math.inf if no bound is known",
    )


def _partition(row: ArrayLike) -> EquivalenceMatrix:
    return EquivalenceMatrix.from_labels(np.asarray(row, np.int64))


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


def _check_impossible(question: _Question) -> None:
    """A question that no partition of the family answers must be refused with an OracleError."""
    try:
        answer = question.oracle.ask(question.objective, question.constraint)
    except OracleError:
        return
    question.require(
        False, f"no partition of the family answers this, but {answer!r} came: raise OracleError"
    )


def _answer(question: _Question) -> Argmax:
    try:
        answer: Argmax = question.oracle.ask(question.objective, question.constraint)
    except PluginError as error:
        raise PluginError(f"{error} [{question}]") from error
    except OracleError as error:
        raise PluginError(
            f"the oracle failed on {question}: {error}; answer it, or switch off this kind of "
            "question (known_k, unknown_k, boundaries, negative_signs)"
        ) from error
    return answer


def _checked_answer(rng: np.random.Generator, question: _Question) -> Argmax:
    answer, slack = _answer(question), question.slack
    check_value(question.require, question.objective, answer, slack)
    y, exact = answer.y, answer.quality is Quality.EXACT
    if y.is_partition:
        question.require(
            y in question.candidates,
            f"y = {y.labels} violates the constraint, or is none of the family: search that alone",
        )
    else:
        question.require(
            answer.quality is Quality.RELAXATION,
            f"y is no partition, yet the quality is {answer.quality}: declare Quality.RELAXATION",
        )
    A = question.objective.dense()
    best = max(float(np.sum(A * M.dense())) for M in question.candidates)
    question.require(
        answer.upper_bound >= best - slack,
        f"upper_bound {answer.upper_bound!r} is below the maximum {best!r}: return a valid bound, "
        "or math.inf",
    )
    question.require(
        not exact or answer.value >= best - slack,
        f"declared exact with value {answer.value!r}, but the maximum is {best!r}: fix the search "
        "or declare Quality.HEURISTIC",
    )
    simple = [question.candidates[i] for i in rng.integers(0, len(question.candidates), 3)]
    if question.objective.truth in question.candidates:
        simple.append(question.objective.truth)
    for M in simple:  # an answer worse than these makes cuts that cut nothing
        reached = question.objective.value(M)
        question.require(
            answer.value >= reached - slack,
            f"value {answer.value!r} is below {reached!r}, reached by labels {M.labels}: "
            "compare with objective.truth and with simple partitions before returning",
        )
    return answer
