"""Scores of states that users give: the column of each state, and checks of the scores."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from structsvm.data import UNKNOWN, Instance, States, filled
from structsvm.errors import DataError, SettingsError, nth, warn, wording
from structsvm.features.frames import SUM_TOLERANCE
from structsvm.learner.stages import Stage
from structsvm.support import Floats, Ints, counted, inner, some_of

PREFIX = "probability_"
"""What tables of scores, such as those of SimBA, write before names of states, in any case."""

TOO_RIGHT = 0.99
"""The share of samples named right from which on scores look like those of training recordings."""

IN_ORDER = 0.9
"""Columns are in the order of states if their mean scores sum to this share of the best order's."""

NAMED = wording(
    "by their names in a data frame, or ScoreDecoder(classes=[...])",
    of_files="by their names in the header, or in an array 'features' beside X in .npz files",
)
"""How users name columns after states, in messages."""

REST = -1
"""In place of a column, for a state whose score is one minus those of all others."""


@dataclass(frozen=True, eq=False)
class GivenScores(Stage):
    """Columns that are the scores of states."""

    reach = (0, 0)

    columns: Ints
    """The column of each state, (C,), or :data:`REST`."""
    classes: NDArray[Any]
    are_shares: bool = True
    """Whether the scores of each training sample sum to one."""

    @classmethod
    def of(
        cls, Xs: Sequence[Floats], states: States, names: Sequence[Any] | None, is_asked: bool
    ) -> "GivenScores":
        """Find the column of each labelled state, by names from a table or the user."""
        P = Xs[0].shape[1]
        column = _columns_by_name(names, P, is_asked)
        labelled = [_plain(name) for name in states.classes.tolist()]
        if not is_asked and not {*labelled} & {*column}:
            return _unnamed(Xs, states)
        lost = [name for name in labelled if name not in column]
        others = [name for name in column if name not in labelled]
        taken = [column[name] for name in labelled if name in column]
        sums = np.concatenate([X[:, taken].sum(axis=1) for X in Xs])
        leave_nothing = bool(lost) and bool((sums >= 1.0 - SUM_TOLERANCE).all())
        if len(lost) > 1 or leave_nothing or (lost and others and len(labelled) > 2):
            raise DataError(
                f"the labels name {some_of(lost)}, of which there are no scores; columns are "
                f"{some_of(list(column))}: name the columns as the labels do, " + NAMED
            )
        columns = np.array([column.get(name, REST) for name in labelled], dtype=np.int64)
        highest = np.max([X.max(axis=0) for X in Xs], axis=0)
        strange = [name for name in others if lost or highest[column[name]] > 1.0]
        if strange and not lost:  # of two labels one column is enough
            warn(f"the columns {some_of(strange)} are not those of a labelled state: left out")
        scores = cls(columns, states.classes)
        kept = [name for name in others if name not in strange]
        return scores._with_others([column[name] for name in kept], kept)

    def _with_others(self, columns: Iterable[int], names: Sequence[str]) -> "GivenScores":
        """Add states that have a column and no label."""
        if not names:
            return self
        warn(
            f"no label is {some_of(names)}: what has a score and no label is found only where its "
            "score is far above the others"
        )
        kind = type(self.classes.tolist()[0])
        try:
            more = [kind(name) for name in names]
        except (TypeError, ValueError) as error:
            raise DataError(
                f"labels are of the type {kind.__name__}, and the columns {some_of(names)} are "
                "not: name the columns as the labels do, " + NAMED
            ) from error
        dtype = object if self.classes.dtype == object else None
        classes = np.array([*self.classes.tolist(), *more], dtype=dtype)
        return GivenScores(np.array([*self.columns, *columns], dtype=np.int64), classes)

    def with_features(self, instances: Sequence[Instance]) -> Sequence[Instance]:
        scores = self.of_columns([filled(instance.X) for instance in instances])
        if self.are_shares:
            warn_of_sums(scores)
        return [replace(instance, states=p) for instance, p in zip(instances, scores, strict=True)]

    def online(self, X: Floats) -> Floats:
        """The scores of the states at each sample."""
        p = self._of(X, "")
        if self.are_shares and _least_and_off(p)[1] > SUM_TOLERANCE:
            warn("scores do not sum to one, as those of training do; they are taken as they are")
        return p

    def of_columns(self, Xs: Sequence[Floats]) -> list[Floats]:
        """The scores of the states, (T_i, C) each; refuse negative ones."""
        return [self._of(X, nth("recording", i) + ": ") for i, X in enumerate(Xs)]

    def _of(self, X: Floats, where: str) -> Floats:
        p = X.take(self.columns, axis=1)
        without = self._without_column
        if without.size:
            p[:, without] = 0.0
        if _least_and_off(p)[0] < 0.0:
            t, c = np.argwhere(p < 0.0)[0].tolist()
            raise DataError(
                where + f"the score {p[t, c]:g} of {self.classes[c]!s} at sample {t} is negative, "
                "and scores are probabilities: of logarithms give the exponential, of other "
                "scores of a classifier their softmax"
            )
        if without.size:
            p[:, without] = np.maximum(1.0 - p.sum(axis=1, keepdims=True), 0.0)
        return p

    @cached_property
    def _without_column(self) -> Ints:
        """The numbers of the states without a column, whose score is what the others leave."""
        return np.flatnonzero(self.columns == REST)

    @property
    def states(self) -> NDArray[Any]:
        return self.classes


def _columns_by_name(names: Sequence[Any] | None, P: int, is_asked: bool) -> dict[str, int]:
    """The column of each name; only of those with :data:`PREFIX`, if a table has such."""
    if names is None:
        return {}
    if len(names) != P or len({*map(str, names)}) < P:
        raise SettingsError(
            f"classes must name each of the {counted(P, 'column')} of the scores once, got "
            f"{some_of(names)}"
        )
    prefixed = [j for j, name in enumerate(names) if str(name).lower().startswith(PREFIX)]
    return {_plain(names[j]): j for j in (range(P) if is_asked or not prefixed else prefixed)}


def _plain(name: Any) -> str:
    """The name of a state as text, without blanks around it and :data:`PREFIX`."""
    text = str(name).strip()
    return text[len(PREFIX) :] if text.lower().startswith(PREFIX) else text


def _unnamed(Xs: Sequence[Floats], states: States) -> GivenScores:
    """The column of each state if columns are not named after states."""
    classes = states.classes
    C = classes.size
    P = Xs[0].shape[1]
    if classes.dtype.kind in "iu" and classes.min() >= 0 and classes.max() < P:
        others = [j for j in range(P) if j not in classes]
        scores = GivenScores(classes.astype(np.int64), classes)
        return scores._with_others(others, list(map(str, others)))
    if (C, P) == (2, 1):  # the only column is that of the state in which it is higher
        scored = int(_mean_scores(np.vstack(Xs), states.codes).argmax())
        return GivenScores(np.where(np.arange(2) == scored, 0, REST), classes)
    if P != C:
        raise DataError(
            f"scores have {counted(P, 'column')} and the labels name {counted(C, 'state')}, "
            f"{some_of(classes.tolist())}: say which column is which, " + NAMED
        )
    if _best_order(_mean_scores(np.vstack(Xs), states.codes)) is not None:
        raise DataError(
            "the columns of the scores seem to be in another order than the states: say which "
            "column is which, " + NAMED
        )
    return GivenScores(np.arange(P), classes)


def _mean_scores(rows: Floats, codes: Sequence[Ints]) -> Floats:
    """The mean of each column over the samples of each labelled state, (C, P)."""
    code = np.concatenate(codes)
    return np.array([rows[code == c].mean(axis=0) for c in range(int(code.max()) + 1)])


def _best_order(means: Floats) -> Ints | None:
    """The columns of the states by mean scores, (C,); None if they seem to be in order already."""
    order = linear_sum_assignment(means, maximize=True)
    return None if means.trace() >= IN_ORDER * means[order].sum() else order[1]


def warn_of_sums(scores: Sequence[Floats]) -> bool:
    """Warn of a recording whose scores do not sum to one; whether those of all do."""
    off = [_least_and_off(p)[1] for p in scores]
    if max(off, default=0.0) <= SUM_TOLERANCE:
        return True
    worst = int(np.argmax(off))
    warn(
        nth("recording", worst)
        + f": scores do not sum to one, off by {off[worst]:.3g} at most; they are taken as they are"
    )
    return False


@inner(no_cpython_wrapper=False)
def _least_and_off(p: Floats) -> tuple[float, float]:
    """The least score, at most 0, and how far the scores of a sample sum from one at most."""
    least = 0.0
    off = 0.0
    for t in range(len(p)):
        total = 0.0
        for c in range(p.shape[1]):
            total += p[t, c]
            least = min(least, p[t, c])
        off = max(off, abs(total - 1.0))
    return least, off


def warn_of_scores(scores: Sequence[Floats], codes: Sequence[Ints], classes: Any) -> None:
    """Warn of scores that look like those of other states, or of training recordings."""
    p = np.vstack(scores)
    order = _best_order(_mean_scores(p, codes))
    if order is not None:
        others = [f"{classes[j]!s} for {classes[c]!s}" for c, j in enumerate(order) if c != j]
        warn(
            f"scores are the highest where labels are those of other states ({some_of(others)}): "
            "look which column is which"
        )
    code = np.concatenate(codes)
    share = float((p.argmax(axis=1) == code)[code != UNKNOWN].mean())
    if share > TOO_RIGHT:
        warn(
            f"scores name {100 * share:.1f} % of the labelled samples right, as those of a model's "
            "own training recordings do: if they are, score recordings by a model that has not "
            "seen them, or the decoder trusts scores too much"
        )
