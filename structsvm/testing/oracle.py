"""Check oracles by questions whose answers are compared with enumerated partitions."""

import pickle
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from structsvm.errors import OracleError, PluginError, StructSVMError
from structsvm.oracles import all_partitions, all_segmentations
from structsvm.partitions import (
    Argmax,
    Constraint,
    EquivalenceMatrix,
    Oracle,
    Region,
    TraceObjective,
)
from structsvm.partitions.constraint import ConstraintKind
from structsvm.problem import Quality
from structsvm.support import asked, difference, shown


@dataclass(frozen=True, eq=False)
class Checked:
    """A plugin under test, and how messages describe it."""

    plugin: Any
    name: str  # the name of the plugin in messages
    where: str = ""  # the question it is asked, in messages

    @classmethod
    def of(cls, kind: type, plugin: Any) -> Self:
        """A plugin, after a check that it is an instance of the class of its kind."""
        checked = cls(plugin, shown(plugin))
        way_out = f", such as {plugin.__name__}()" if isinstance(plugin, type) else ""
        said = f"it is no {kind.__name__}: give an instance of a class{way_out}"
        checked.require(isinstance(plugin, kind), said)
        return cls(plugin, type(plugin).__name__)

    def refuse(self, complaint: str) -> NoReturn:
        """Raise PluginError with a complaint."""
        raise PluginError(f"{self.name}: {complaint}{f' [{self.where}]' if self.where else ''}")

    def require(self, condition: Any, complaint: str) -> None:
        """Raise PluginError with a complaint unless a condition is true."""
        if not condition:
            self.refuse(complaint)

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method, and check that it does not modify its arguments."""
        before = deepcopy(arguments)
        with asked(self.plugin, method, self.where):
            answer = getattr(self.plugin, method)(*arguments)
        unchanged = difference(before, arguments) is None
        self.require(unchanged, f"{method} modified its input: copy before writing")
        return answer

    def pickled(self) -> bytes:
        """The pickled plugin."""
        try:
            return pickle.dumps(self.plugin)
        except Exception as error:
            self.refuse(
                f"it cannot be pickled ({error}): keep plain settings, and define the class in a "
                "module"
            )


MISSED_BY = 1e-3
"""Error relative to its value up to which the tolerance of a solver is the likely cause."""


def tolerance_of(missed: float, size: float, named: str) -> str:
    """Advice about solvers with a tolerance, for an answer that nearly is the maximum; else "".

    ``named`` is what the answer calls its bound.
    """
    if missed > MISSED_BY * (1.0 + abs(size)):
        return ""
    return (
        "; a search that stops within a tolerance, as milp at its gap, has to be given a smaller "
        f"one, or returns {named} with Quality.RELAXATION"
    )


Family = Callable[[int], Iterable[ArrayLike]]
"""A function of T that lists the labels of each partition of T samples that an oracle searches."""
Searched = tuple[Oracle, list[EquivalenceMatrix]]
"""An oracle, and all partitions that it searches for one number of samples."""
INSTANCES, MOST = 80, 8  # number of questions, and largest number of samples
VALUE_ROUNDING = 1e-9  # rounding allowed, as a fraction of the size of the objective


def check_oracle(oracle: Oracle, *, contiguous: bool = False, family: Family | None = None) -> None:
    """Check that an oracle satisfies its contract, on many small questions.

    The answers are compared with enumeration as far as the declared quality demands: an exact
    oracle reaches the maximum, and no upper bound is below it. Every answer has the value that it
    claims, is at least as good as the truth and as random partitions, and is the same on a second
    call, in threads and after pickling; nothing is modified. The first broken promise raises
    PluginError, which says what to fix.

    Parameters
    ----------
    oracle : Oracle
        The oracle, which is tested with every kind of constraint that it ``takes``.
    contiguous : bool
        Whether it searches segmentations; otherwise all partitions of a set.
    family : callable, optional
        For an oracle that searches other partitions: a function of T (at most 6) that lists one
        vector of labels for each partition of T samples that it searches. If the list is empty, the
        oracle has to raise OracleError.

    Examples
    --------
    >>> from structsvm.oracles import ExhaustiveOracle
    >>> from structsvm.testing import check_oracle
    >>> check_oracle(ExhaustiveOracle(contiguous=True), contiguous=True)
    """
    Checked.of(Oracle, oracle)
    rows = family or (all_segmentations if contiguous else all_partitions)
    searched = {}
    for T in range(1, MOST + 1 if contiguous else 7):
        labels = (np.asarray(row, dtype=np.int64) for row in rows(T))
        searched[T] = oracle, list(map(EquivalenceMatrix.from_labels, labels))
    check_small(searched, INSTANCES, contiguous, np.random.default_rng(0))


@dataclass(frozen=True, eq=False, kw_only=True)
class Question(Checked):
    """A question to an oracle."""

    objective: TraceObjective
    constraint: Constraint

    @classmethod
    def to(cls, oracle: Oracle, about: str, A: TraceObjective, c: Constraint) -> "Question":
        """A question to an oracle about an objective, with a constraint."""
        truth = "" if A.truth is None else f", {in_short(A.truth)} the truth of {A.truth_weight:g}"
        where = f"{about}: T={A.n_samples}, r={A.Z.shape[1]}{truth}, shift={A.shift:g}, {c}"
        return cls(oracle, type(oracle).__name__, where, objective=A, constraint=c)

    @property
    def slack(self) -> float:
        """Rounding error that is allowed, in proportion to the size of the terms."""
        A = self.objective
        size = float(np.nansum(A.Z**2)) + (abs(A.shift) + A.truth_weight) * A.n_samples
        return VALUE_ROUNDING * (1.0 + size)

    def ask(self) -> Argmax:
        """The answer of the oracle, after a check of its value, bound and quality."""
        try:
            answer: Argmax = self.plugin.ask(self.objective, self.constraint)
        except PluginError as error:
            self.refuse(str(error))
        except StructSVMError as error:
            self.refuse(f"it refused a question that there are partitions to answer: {error}")
        value = self.objective.value(answer.y)
        self.require(
            abs(answer.value - value) <= self.slack,
            f"value is {answer.value!r} but Tr(A M) at y is {value!r}: return objective.value(y)",
        )
        self.require(
            answer.upper_bound >= answer.value - self.slack,
            f"upper_bound {answer.upper_bound!r} is below value {answer.value!r}: return value if "
            "the answer is exact, math.inf if no bound is known",
        )
        self.require(
            answer.y.is_partition or answer.quality is Quality.RELAXATION,
            f"y is no partition, yet the quality is {answer.quality}: declare Quality.RELAXATION",
        )
        return answer

    def compare(self, answer: Argmax, members: Iterable[EquivalenceMatrix]) -> None:
        """Check that no member of the family that keeps the constraint exceeds the bound."""
        is_exact = answer.quality is Quality.EXACT
        most = answer.value if is_exact else answer.upper_bound
        for M in members if np.isfinite(most) else ():
            if self.constraint.violation(M) is None:
                value = self.objective.value(M)
                if value <= most + self.slack:
                    continue
                self.refuse(
                    f"declared {'exact' if is_exact else 'an upper bound'} with {most:.6g}, but "
                    f"{in_short(M)}, which is in the family, has {value - most:.3g} more: fix the "
                    "search, or declare Quality.HEURISTIC with math.inf as its bound"
                    + tolerance_of(value - most, value, "the upper bound that it has proved")
                )

    def check(self, members: list[EquivalenceMatrix], rng: np.random.Generator) -> Argmax:
        """The answer, after a comparison with all members that keep the constraint."""
        answer = self.ask()
        self.require(
            not answer.y.is_partition or answer.y in members,
            f"{in_short(answer.y)} violates the constraint, or is none of the family: search that "
            "alone",
        )
        self.compare(answer, members)
        simple = [members[i] for i in rng.integers(0, len(members), 3)]
        if self.objective.truth in members:
            simple.append(self.objective.truth)
        for M in simple:  # cuts of worse answers would be useless
            reached = self.objective.value(M)
            self.require(
                answer.value >= reached - self.slack,
                f"value {answer.value!r} is below {reached!r}, reached by {in_short(M)}: compare "
                "with objective.truth and with simple partitions before returning",
            )
        return answer


def in_short(M: EquivalenceMatrix) -> str:
    """A short description of a partition for messages."""
    if not M.is_partition:
        return "a projector"
    return f"labels {M.labels.tolist()}" if M.n_samples <= 30 else f"{M.n_clusters} clusters"


def _small_question(
    rng: np.random.Generator, number: int, T: int, searched: Searched, contiguous: bool
) -> Question:
    """A random question about T Gaussian samples, integers with ties, offsets or null metrics."""
    oracle, partitions = searched
    r = int(rng.integers(0, 4))
    name, Z = [
        ("gaussian samples", rng.standard_normal((T, r))),
        ("integer samples with ties", rng.integers(-1, 2, (T, r)).astype(np.float64)),
        ("samples with a large offset", rng.standard_normal((T, r)) + 1e4),
        ("a null metric", np.zeros((T, r))),
    ][number // 2 % 4]
    truth = None
    constraint = Constraint()
    if partitions and rng.random() < 0.7:
        truth = partitions[int(rng.integers(len(partitions)))]
    weight = 0.0 if truth is None else float(rng.choice([0.5, 2.0]))
    if partitions and number % 4 == 1:  # a constraint that some partition keeps
        M = partitions[int(rng.integers(len(partitions)))]
        constraints = constraints_of(M, oracle.takes, rng, contiguous)
        constraint = constraints[int(rng.integers(len(constraints)))] if constraints else constraint
    elif number % 2:  # a constraint that perhaps no partition keeps
        at = rng.permutation(np.arange(1, T)).tolist()
        takes_them = contiguous and "boundaries" in oracle.takes
        n, m = rng.integers(0, 3, 2).tolist() if takes_them else (0, 0)
        forced = tuple(at[:n])
        forbidden = tuple(at[n : n + m])
        K = int(rng.integers(len(forced) + 1, T - len(forbidden) + 1))
        constraint = Constraint(K if "n_clusters" in oracle.takes else None, forced, forbidden)
    shift = float(rng.choice([-1.0, -0.3, 0.0, 0.6]))
    objective = TraceObjective(Z, truth, weight, shift)
    return Question.to(oracle, name, objective, constraint)


def constraints_of(
    M: EquivalenceMatrix, takes: Collection[str], rng: np.random.Generator, contiguous: bool
) -> list[Constraint]:
    """Some constraints that a partition keeps, of each kind that an oracle takes."""
    T = M.n_samples
    constraints = []
    if "n_clusters" in takes:
        constraints.append(Constraint(n_clusters=M.n_clusters))
    if T < 2 or not M.is_partition:
        return constraints
    i, j = sorted(rng.permutation(T)[:2].tolist())
    if contiguous and "boundaries" in takes:
        at = M.breakpoints[:-1]
        others = rng.permutation(np.setdiff1d(np.arange(1, T), at))
        forced = tuple(sorted(rng.permutation(at)[:2].tolist()))
        forbidden = tuple(sorted(others[: max(1, T // 4)].tolist()))
        constraints += [Constraint(forced=forced), Constraint(forbidden=forbidden)]
        constraints.append(Constraint(forced=forced, forbidden=forbidden))
        end = int(M.boundaries[1])
        if end > 1:
            constraints.append(Constraint(regions=(Region(1, end, 0),)))
    if contiguous and "regions" in takes:
        n = int(np.count_nonzero((M.boundaries >= max(i, 1)) & (M.boundaries < j + 1)))
        if n:
            constraints.append(Constraint(regions=(Region(i, j + 1, n),)))
            constraints.append(Constraint(regions=(Region(i, j + 1, 1, or_more=True),)))
    if not contiguous and "links" in takes:
        with_first = M.labels == M.labels[0]
        same = np.flatnonzero(with_first)
        other = np.flatnonzero(~with_first)
        together = ((int(same[0]), int(same[-1])),) if same.size > 1 else ()
        apart = ((0, int(other[-1])),) if other.size else ()
        links = Constraint(together=together), Constraint(apart=apart)
        constraints += [
            c for c in (*links, Constraint(together=together, apart=apart)) if c.has_links
        ]
    return constraints


def check_small(
    searched: Mapping[int, Searched], n_questions: int, contiguous: bool, rng: np.random.Generator
) -> None:
    """Check answers to random questions about few samples, by enumeration."""
    questions = []
    answers = []
    kinds = get_args(ConstraintKind)
    for number in range(n_questions if searched else 0):
        T = int(rng.choice(list(searched)))
        oracle, partitions = searched[T]
        question = _small_question(rng, number, T, searched[T], contiguous)
        unknown = sorted(set(oracle.takes) - set(kinds))
        question.require(not unknown, f"takes holds {unknown}: it may hold {', '.join(kinds)}")
        before = question.pickled()
        members = [M for M in partitions if question.constraint.violation(M) is None]
        if members:
            questions.append(question)
            answers.append(question.check(members, rng))
        else:
            with suppress(OracleError):
                wrong = oracle.ask(question.objective, question.constraint)
                question.refuse(f"{wrong!r} came, and no partition answers this: raise OracleError")
        same = question.pickled() == before
        question.require(same, "it keeps something of a call: store settings only, return results")

    def ask_again(question: Question) -> Argmax | None:
        """The answer to a question that was answered before; None if it is refused now."""
        with suppress(PluginError):
            return question.ask()
        return None

    copies = [replace(q, plugin=pickle.loads(q.pickled())) for q in questions]
    with ThreadPoolExecutor(4) as pool:
        each_with: Any
        for each_with, asked_again, where in (
            (map, questions, "on a second call: seed every random choice"),
            (pool.map, questions, "in threads: share no scratch memory between calls"),
            (map, copies, "after pickling: keep settings that can be pickled"),
        ):
            asked_each = each_with(ask_again, asked_again)
            for question, first, second in zip(questions, answers, asked_each, strict=True):
                question.require(first == second, f"the answer differs {where}")
