"""Instances and labels to learn from, checked once, and the part of them that fits in memory."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from structsvm.data import (
    UNKNOWN,
    Instance,
    Step,
    Words,
    all_in_memory,
    apply_to_instances,
    bytes_to_read,
    check_weights,
    label_values,
    labels_of_items,
    map_arrays,
    missing_labels,
    units_of,
    usual_steps,
    warn_about_columns,
    warn_about_spellings,
)
from structsvm.errors import DataError, LearningError, among, warn, wording
from structsvm.learner.columns import labelled_parts, warn_of_columns
from structsvm.learner.form import Form
from structsvm.partitions import EquivalenceMatrix, Examples, PartitionProblem
from structsvm.partitions.problem import has_rows, read_instances
from structsvm.support import Floats, Ints, limits
from structsvm.training_labels import Known, labels_of_each, read_labels

ROWS, CLUSTERS, STATES = "rows", "clusters", "states"
Made = TypeVar("Made")
NOTHING_SAID = (
    "no label says that anything changes or differs: label a stretch with a change, or a region "
    "with at least one (-1 marks samples without a label: write classes -1 and 1 as 0 and 1)"
)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Instances to learn from; N of them, :func:`len`. What ``fit`` takes in place of ``Xs, ys``.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import ChangePoint
    >>> from structsvm.learner import TrainingSet
    >>> data = TrainingSet.of(ChangePoint(), [np.zeros((4, 2))], [[2, 4]])
    >>> len(data), data.truths[0].breakpoints
    (1, [2, 4])
    """

    problem: PartitionProblem
    instances: Sequence[Instance]
    labels: Sequence[Known]
    weights: Floats
    """(N,); a weight of 2 stands for an instance that is there twice, 0 for one that is not."""
    given: Sequence[Any]
    """The labels of each instance as they were given: features may learn from names of states."""
    names: list[str] | None = None
    """Names of the features, if they have any."""
    groups: Sequence[Any] | None = None
    """The person, machine, ... that each instance is of, if known, (N,)."""
    question: str | None = None
    """What is held out to choose by: of tables, see :attr:`asks`; "states" of recordings; None."""
    steps: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Time steps from row to row, as far as times are known: :func:`usual_steps`."""
    called: Sequence[str] | None = None
    """The names of the instances, (N,), if they have any."""
    part_of: str = ""
    """The fingerprint of the whole of which this is a part, if trials of all parts are kept."""
    _made: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)
    """Values of :meth:`once`, such as features, which several methods share."""

    @classmethod
    def of(
        cls,
        problem: PartitionProblem,
        Xs: Any,
        ys: Any,
        feature_names: Sequence[str] | None = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> "TrainingSet":
        """Read instances and labels in any form, or take a training set as it is."""
        if isinstance(Xs, cls):
            arguments = {"y": ys, "feature_names": feature_names, "sample_weight": sample_weight}
            twice = [k for k, v in (arguments | {"groups": groups}).items() if v is not None]
            if type(Xs.problem) is not type(problem):
                raise DataError(
                    f"a TrainingSet was read for {type(Xs.problem).__name__}, and this learner is "
                    f"for {type(problem).__name__}: read it with this"
                )
            if twice:
                raise DataError(
                    f"a TrainingSet holds {', '.join(twice)} already: read the instances with it"
                )
            return replace(Xs, problem=problem)
        form = Form.of(Xs, problem=problem)
        form.warn_about_times()
        named = form.features if feature_names is None else feature_names
        instances, names = read_instances(problem, form.instances, named, None)
        words = problem.traits.words
        labels_of_all = labels_of_each(form.labels(ys), instances, words)
        if groups is not None:
            names_of_groups, units = units_of(
                form.in_order(groups, "groups"), len(instances), words
            )
            groups = [names_of_groups[unit] for unit in units]
        if not words.of_graphs:
            _warn_of_unlabelled(labels_of_all, words)
            called = form.names or list(map(words.numbered, range(len(instances))))
            warn_about_columns([x.data for x in instances], names, called[0])
            warn_about_spellings(labels_of_all, called)
        data = cls(
            problem,
            instances,
            labels=read_labels(problem, instances, labels_of_all),
            weights=check_weights(form.in_order(sample_weight, "weights"), len(instances), words),
            names=names,
            groups=groups,
            given=labels_of_all,
            steps=usual_steps(form.axes),
            called=form.names,
        )
        parts = labelled_parts(instances, data.labels)
        warn_of_columns(instances, data.columns, problem.traits.words.seen_in(instances), parts)
        return data

    def __len__(self) -> int:
        return len(self.instances)

    def once(self, what: Hashable, make: Callable[[], Made]) -> Made:
        """The value of ``make()``, which is called when this value is first asked for."""
        if what not in self._made:
            self._made[what] = make()
        made: Made = self._made[what]
        return made

    def at(self, which: Sequence[int] | Ints) -> "TrainingSet":
        """Return the set of some of the instances, by number."""
        lists: dict[str, Any] = {
            name: [values[i] for i in which]
            for name in ("instances", "labels", "groups", "given", "called")
            if (values := getattr(self, name)) is not None
        }
        return replace(self, weights=self.weights[np.asarray(which, dtype=np.intp)], **lists)

    def cut(self, pieces: Sequence[tuple[int, Ints]]) -> "TrainingSet":
        """Return the set of parts of instances with labels of items, by number and rows."""
        whole = replace(self.at([i for i, _ in pieces]), groups=None, called=None)
        instances = list(whole.instances)
        labels = list(whole.labels)
        given = list(whole.given)
        for k, (_, rows) in enumerate(pieces):
            if rows.size == instances[k].n_samples:
                continue
            given[k] = label_values(getattr(given[k], "labels", given[k]))[rows]
            instances[k] = instances[k].at(rows)
            truth = labels[k].truth
            if truth is None:
                (labels[k],) = read_labels(self.problem, [instances[k]], [given[k]])
            else:
                labels[k] = Known.of(EquivalenceMatrix.from_labels(truth.labels[rows]))
        return replace(whole, instances=instances, labels=labels, given=given)

    @property
    def without_single_group(self) -> "TrainingSet":
        """The set without groups if all instances are in one, so that single ones are held out."""
        return replace(self, groups=None) if len({*(self.groups or ())}) == 1 else self

    def counted(self) -> "TrainingSet":
        """Return the set of the instances that have a weight and labels that say anything.

        Completing instances of which nothing is known was measured to be harmful.
        """
        says = [k.truth is not None or not k.constraint.says_nothing for k in self.labels]
        which = np.flatnonzero(self.weights * says)
        if not which.size:
            raise DataError(NOTHING_SAID)
        return self.at(which)

    def with_features(
        self, Xs: Sequence[Floats], made: tuple[str, ...] | None = None
    ) -> "TrainingSet":
        """Return the set with these features, and with their names ``made``, if there are any."""
        pairs = zip(self.instances, Xs, strict=True)
        return replace(self, instances=[instance.with_features(X, made) for instance, X in pairs])

    def read(self) -> "TrainingSet":
        """The set with its instances in memory."""
        data = [instance.data for instance in self.instances]
        arrays = map_arrays("reading", np.asarray, data)
        is_there = all(X is array for X, array in zip(data, arrays, strict=True))
        return self if is_there else self.with_features(arrays)

    def made_by(self, step: Step) -> "TrainingSet":
        """Return the set after a step for each instance."""
        return replace(self, instances=apply_to_instances(self.instances, step))

    @property
    def columns(self) -> list[str]:
        """The names of the features, x0, x1, ... if they have none."""
        return self.names or [f"x{j}" for j in range(self.n_features)]

    @property
    def item_labels(self) -> list[Any]:
        """Labels of items, as features and baselines learn from them."""
        pairs = zip(self.given, self.instances, strict=True)
        return [instance.item_labels(y) for y, instance in pairs]

    @property
    def arrays(self) -> list[Floats]:
        """The features of each, (T_i, P)."""
        return all_in_memory(
            [instance.data for instance in self.instances], self.problem.traits.words
        )

    @property
    def n_features(self) -> int:
        return self.instances[0].n_features

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Which instances are labelled in full, (N,)."""
        return np.array([known.truth is not None for known in self.labels], dtype=bool)

    @property
    def scorable(self) -> NDArray[np.bool_]:
        """Which instances partitions can be scored on: those with labels of single items, (N,)."""
        return np.array([known.scored is not None for known in self.labels], dtype=bool)

    @property
    def truths(self) -> list[EquivalenceMatrix]:
        """The true partitions; refuse partial labels."""
        words = self.problem.traits.words
        truths = []
        for i, known in enumerate(self.labels):
            if known.truth is None:
                raise DataError(
                    words.numbered(i)
                    + f": is labelled in part only (-1 marks {words.item}s without a label), which "
                    "is enough to learn from but not for this"
                )
            truths.append(known.truth)
        return truths

    @property
    def examples(self) -> Examples:
        """The instances, their partitions, which are all known, and their weights."""
        return Examples(self.instances, self.truths, self.weights)

    @property
    def asks(self) -> str | None:
        """What is held out of tables, :attr:`question` or "rows"; None for other instances."""
        return (self.question or ROWS) if has_rows(self.problem, self.instances) else None

    @property
    def parts(self) -> "TrainingSet":
        """The set of all parts whose partition is known, as instances of their own."""
        if self.complete.all():
            return self
        examples = self.known_parts(lambda x, rows, truth: (x.at(rows), truth))
        labels = [Known.of(truth) for truth in examples.truths]
        parts = replace(self, instances=[*examples.instances], labels=labels)
        parts = replace(parts, given=examples.truths, weights=examples.weights)
        return replace(parts, groups=None, called=None)

    def known_parts(
        self, part: Callable[[Instance, Ints, EquivalenceMatrix], tuple[Instance, Any]]
    ) -> Examples:
        """What ``part`` makes of each known part of an instance, weighted as the instance is."""
        parts = []
        owners = []
        for i, (instance, known) in enumerate(zip(self.instances, self.labels, strict=True)):
            for rows, truth in zip(*known.part, strict=True):
                whole = known.truth is not None
                parts.append((instance, truth) if whole else part(instance, rows, truth))
                owners.append(i)
        instances = [x for x, _ in parts]
        truths = [truth for _, truth in parts]
        return Examples(instances, truths, self.weights[owners])


def _warn_of_unlabelled(ys: Sequence[Any], words: Words) -> None:
    """Warn that -1 among numbers stands for a missing label, and is no class."""
    vectors = [np.asarray(y) for y in ys if isinstance(y, np.ndarray | list)]
    numbers = [y for y in vectors if y.ndim == 1 and y.dtype.kind in "if"]
    n = sum(int((y == UNKNOWN).sum()) for y in numbers)
    if n:
        warn(
            f"{n} of {words.items(sum(y.size for y in numbers))} are without a label (-1): if -1 "
            "is a class, "
            + wording(
                "give names, y.astype(str); PartialLabels(labels=y) says that it is none",
                of_files="write names",
            )
        )


def names_of_labels(y: Any) -> list[str]:
    """Labels of items as text; a whole number has the same name however it is stored."""
    values = label_values(y).tolist()
    return [str(int(v) if isinstance(v, float) and v.is_integer() else v) for v in values]


SEED = 0  # of the draw of instances if not all of them fit in memory
Learned = TypeVar("Learned")


def learn_in_memory(
    data: TrainingSet, name: str, learn: Callable[[TrainingSet], Learned]
) -> tuple[Ints, Learned]:
    """Learn from the instances that fit in memory; their numbers, and what was learned."""
    which = even_part(data, limits.GATHERED)
    part = (data if which.size == len(data) else data.at(which)).read()
    drawn = f"{which.size} of {data.problem.traits.words.wholes(len(data))}"
    if which.size < len(data):
        amount = limits.amount(limits.GATHERED)
        warn(
            f"{name} is fitted on {drawn}, an even subset: at most {amount} of them are in memory "
            "at once; to use more, give arrays"
        )
    try:
        with among(which.tolist()):
            return which, learn(part)
    except (DataError, LearningError) as error:
        if which.size < len(data):
            error.add_note(f"it is fitted on {drawn}, an even subset: to use more, give arrays")
        raise


def even_part(data: TrainingSet, max_bytes: int) -> Ints:
    """The numbers of instances that fit, ascending: all, or some of each group; two at least."""
    sizes = np.array([bytes_to_read(instance.data) for instance in data.instances])
    if sizes.sum() <= max_bytes:
        return np.arange(len(data))
    units = units_of(data.groups, len(data), data.problem.traits.words)[1].tolist()
    drawn = np.random.default_rng(SEED).permutation(len(data))
    turns = np.empty(len(data), dtype=np.int64)
    taken = dict.fromkeys(units, 0)
    for i in drawn.tolist():  # the first one of each group, then the second of each, ...
        turns[i] = taken[units[i]]
        taken[units[i]] += 1
    drawn = drawn[np.argsort(turns[drawn], kind="stable")]
    # First of all come the instances that show a label in its first or second group.
    shown: dict[Hashable, set[int]] = {}
    labels = data.item_labels
    shows_more = []
    for i in drawn.tolist():
        values = labels_of_items(labels[i], data.instances[i].n_samples)
        names = set() if values is None else {*values[~missing_labels(values)].tolist()}
        groups = [shown.setdefault(name, set()) for name in names]
        shows_more.append(any(len(group) < 2 and units[i] not in group for group in groups))
        for group in groups:
            group.add(units[i])
    order = drawn[np.argsort(~np.array(shows_more), kind="stable")]
    count = int((np.cumsum(sizes[order]) <= max_bytes).sum())
    return np.sort(order[: max(count, 2)])
