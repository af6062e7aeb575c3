"""What partitions that are predicted have to keep: labels that are known, links, lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, TypedDict

from numpy.typing import NDArray

from structsvm.data.deferred import Step
from structsvm.data.sample import Sample
from structsvm.data.words import Words
from structsvm.errors import DataError, OracleError, SettingsError
from structsvm.learner.samples import partition_of
from structsvm.partial_labels.complete import labels_of_each
from structsvm.partial_labels.labels import PartialLabels, as_partial
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import Metric
from structsvm.partitions.oracle import UNCONSTRAINED, Constraint
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.contract import AtOnce, asked

LENGTHS = ("min_length", "max_length")


class Rules(TypedDict, total=False):
    """Keywords of ``predict`` and its relatives that say which partitions are allowed."""

    known: Any
    """What is known of the partition of each sample: :class:`~structsvm.PartialLabels`, a vector
    of labels with -1 where nothing is known, or None; a list, or what is known of the only
    sample."""
    must_link: Sequence[tuple[int, int]]
    """Pairs of rows of the only table that are in one cluster."""
    cannot_link: Sequence[tuple[int, int]]
    """Pairs of rows of the only table that are in two clusters."""
    min_length: int
    """Fewest samples of a segment."""
    max_length: int | None
    """Most samples of a segment."""


def read_rules(
    problem: PartitionProblem, samples: Sequence[Sample], rules: Rules
) -> tuple[PartitionProblem, list[Constraint]]:
    """The problem with the lengths of segments that are allowed, and a constraint for each
    sample.
    """
    strange = sorted(set(rules) - set(Rules.__annotations__))
    if strange:
        raise TypeError(
            f"predict takes {', '.join(Rules.__annotations__)}, and no keyword {strange[0]!r}"
        )
    return _with_lengths(problem, rules), _constraints(problem, samples, rules)


def decode(
    metric: Metric,
    problem: PartitionProblem,
    sample: Sample,
    n_clusters: int | None,
    constraint: Constraint,
    i: int,
) -> EquivalenceMatrix:
    """Partition sample ``i`` under a constraint."""
    with asked(problem, "partition", f"{problem.traits.words.whole} {i}"):
        return metric.decode(problem, sample, n_clusters, constraint)


def decode_all(
    part: tuple[int, Sequence[Sample], Sequence[int | None], Sequence[Constraint]],
    given: tuple[PartitionProblem, Metric, Step | None],
) -> list[EquivalenceMatrix]:
    """Partition neighbouring samples, the free ones together, wherever that is done."""
    (first, samples, counts, constraints), (problem, metric, step) = part, given
    pairs = zip(counts, constraints, strict=True)
    free = [j for j, (K, rule) in enumerate(pairs) if K is None and rule.says_nothing]
    found: dict[int, EquivalenceMatrix] = {}
    made: dict[int, Sample] = {}
    at_once = AtOnce()
    with at_once, asked(problem, "partition"):
        some = [samples[j] for j in free]
        together, alone = problem.partitions_at_once(some, metric, step)
        found = {free[k]: M for k, M in together.items()}
        made = {free[k]: sample for k, sample in alone.items()}
    partitions = []
    for j, (sample, K, constraint) in enumerate(zip(samples, counts, constraints, strict=True)):
        M = found.get(j)
        if M is None:
            x = made.get(j) or (sample if step is None else sample.made_by(step))
            M = decode(metric, problem, x, K, constraint, first + j)
        partitions.append(M)
    at_once.raise_fault()
    return partitions


def labels_of(
    problem: PartitionProblem, partitions: Sequence[EquivalenceMatrix], samples: Sequence[Sample]
) -> list[NDArray[Any]]:
    """The partitions of samples as labels that users write."""
    found: list[NDArray[Any]] = []
    with asked(problem, "decode", lambda: f"{problem.traits.words.whole} {len(found)}"):
        for M, sample in zip(partitions, samples, strict=True):
            found.append(problem.decode(M, sample))
    return found


def counts_of(
    constraints: Sequence[Constraint], counts: Sequence[int | None], words: Words
) -> list[int | None]:
    """The number of clusters of each sample: the one that is asked for, or the one that is
    known.
    """
    pairs = list(zip([constraint.n_clusters for constraint in constraints], counts, strict=True))
    for i, (known, given) in enumerate(pairs):
        if None not in (known, given) and known != given:
            raise DataError(
                f"{words.whole} {i}: it is known to have {words.parts(int(known or 0))}, but "
                f"n_clusters={given}: leave out one of them"
            )
    return [known if given is None else given for known, given in pairs]


def named(error: OracleError, problem: PartitionProblem, i: int) -> OracleError:
    return type(error)(f"{problem.traits.words.whole} {i}: {error}")


def _with_lengths(problem: PartitionProblem, rules: Rules) -> PartitionProblem:
    lengths: dict[str, Any] = {name: rules[name] for name in LENGTHS if name in rules}  # type: ignore[literal-required]
    if not lengths:
        return problem
    settings = {field.name for field in fields(problem)}  # type: ignore[arg-type]
    missing = [name for name in lengths if name not in settings]
    if missing:
        raise SettingsError(
            f"{missing[0]} is a rule for segments, but {type(problem).__name__} has no such "
            "setting: leave it out, or write a SegmentProblem (docs/plugins.md)"
        )
    return replace(problem, **lengths)  # type: ignore[type-var]


def _constraints(
    problem: PartitionProblem, samples: Sequence[Sample], rules: Rules
) -> list[Constraint]:
    known = _known_of_each(problem, samples, rules)
    constraints = []
    for i, (sample, y) in enumerate(zip(samples, known, strict=True)):
        try:
            constraints.append(_constraint(problem, sample, y))
        except DataError as error:
            raise DataError(f"{problem.traits.words.whole} {i}: {error}") from error
    return constraints


def _known_of_each(problem: PartitionProblem, samples: Sequence[Sample], rules: Rules) -> list[Any]:
    known, words = rules.get("known"), problem.traits.words
    must_link, cannot_link = rules.get("must_link", ()), rules.get("cannot_link", ())
    if len(must_link) or len(cannot_link):
        if known is not None or len(samples) != 1:
            raise SettingsError(
                "must_link and cannot_link are links between the rows of one table: give "
                "known=[PartialLabels(must_link=..., cannot_link=...), ...], one for each of "
                f"{words.wholes(len(samples))}"
            )
        return [PartialLabels(must_link=must_link, cannot_link=cannot_link)]
    if known is None:
        return [None] * len(samples)
    # A list with None in it would be read as the labels of a single sample.
    listed = isinstance(known, list | tuple) and any(y is None for y in known)
    if listed and len(known) == len(samples):
        return list(known)
    return labels_of_each(known, samples, words)


def _constraint(problem: PartitionProblem, sample: Sample, y: Any) -> Constraint:
    """Which partitions agree with what is known."""
    if y is None:
        return UNCONSTRAINED
    contiguous, T = problem.traits.contiguous, sample.n_samples
    given = problem.learning.known_labels(y, sample)
    partial = as_partial(given, T, problem.traits.words.item)
    if partial is None:
        partial = PartialLabels(partition_of(problem.encode(given, sample)).labels)
    return partial.constraint(T, contiguous)
