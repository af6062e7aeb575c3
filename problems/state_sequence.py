"""Segments with states: which state follows which, and how long each lasts, as one linear model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm.errors import DataError, OracleError, nth, said_by
from structsvm.oracles import StateScore, best_states
from structsvm.oracles.state_score import checked_states, segments_of
from structsvm.partitions import EquivalenceMatrix, partition_loss
from structsvm.partitions.equivalence import runs_of
from structsvm.problem import Free, Nonnegative, Problem, Product, Quality, Separation
from structsvm.support import Bools, Floats, Ints, refuse_unless, shown


@dataclass(frozen=True, eq=False)
class StateSequence(Problem):
    """Segment a recording and name the segments, by scores of the states at each sample.

    An instance is an array (T, C) of scores, such as logarithms of probabilities; a labelling is
    the number of a state for each of the T samples. With segments in states ``c_1, ..., c_K`` of
    ``n_1, ..., n_K`` samples, the score of a labelling is the sum of

    - ``w_s`` times the scores of the samples in their states,
    - ``w_l`` times ``lengths[c_k, n_k]`` of every segment,
    - ``change[c_k, c_k+1]`` of neighbours, ``first[c_1]`` and ``last[c_K]``,

    minus a price for each segment, all of which are learned. The loss is that of the partitions,
    ``|M - M'|_F^2``. Loss-augmented inference is exact
    (:func:`structsvm.oracles.semi_markov.best_states`), and so is prediction.

    Parameters
    ----------
    lengths : array of shape (C, L + 1)
        How well a segment of each number of samples suits a state, such as a logarithm of a
        density; the last column stands for all longer ones, and minus infinity forbids a length.
    allowed : array of bool, shape (C, C)
        Whether a state, the row, may be followed by another.
    begins, ends : array of bool, shape (C,)
        The states in which a recording may begin and end.

    Raises
    ------
    SettingsError
        When these have other shapes or types, or lengths that are no numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import StructuredSVM
    >>> from structsvm.problems import StateSequence
    >>> y = np.repeat([0, 1, 0], 5)
    >>> x = np.where(y[:, None] == [0, 1], 0.0, -1.0)
    >>> problem = StateSequence.free(n_states=2)
    >>> StructuredSVM(problem).fit([x], [y]).predict([x])[0].tolist() == y.tolist()
    True
    """

    lengths: Floats
    allowed: Bools
    begins: Bools
    ends: Bools

    def __post_init__(self) -> None:
        """Check once, at the door."""
        C = len(self.allowed) if np.ndim(self.allowed) else 0
        shapes = {"allowed": (C, C), "begins": (C,), "ends": (C,)}
        for name, shape in shapes.items():
            values = np.asarray(getattr(self, name))
            fits = values.shape == shape and values.dtype == np.bool_ and C > 0
            refuse_unless(fits, name, f"truth values of shape {shape}", shown(values))
        values = np.asarray(self.lengths)
        is_table = values.ndim == 2 and len(values) == C and values.shape[1] >= 2
        fits = is_table and values.dtype.kind in "iuf" and bool((values[:, 1:] < np.inf).all())
        wanted = f"numbers, or minus infinity, of shape ({C}, L + 1) with L >= 1"
        refuse_unless(fits, "lengths", wanted, shown(values))

    @classmethod
    def free(cls, n_states: int) -> "StateSequence":
        """Every length and every change of states are allowed, and none is better than another."""
        whole = np.ones((n_states, n_states), dtype=np.bool_)
        return cls(np.zeros((n_states, 2)), whole, whole[0], whole[0])

    @property
    def n_states(self) -> int:
        """The number of states, C."""
        return int(self.allowed.shape[0])

    def weight_space(self) -> Product:
        """``(w_s, w_l)``, nonnegative, and ``(price, first, last, change)``."""
        C = self.n_states
        return Product((Nonnegative(2), Free(1 + 2 * C + C * C)))

    @staticmethod
    def weight(
        samples: float, lengths: float, price: float, first: Floats, last: Floats, change: Floats
    ) -> Floats:
        """The vector of these weights."""
        return np.concatenate([[samples, lengths, price], first, last, change.ravel()])

    def sized(self, xs: Sequence[Any], ys: Sequence[Any]) -> "StateSequence":
        """The problem itself, after a check of the instances that it is learned from."""
        for i, (x, y) in enumerate(zip(xs, ys, strict=False)):
            scores = np.asarray(x)
            fits = scores.ndim == 2 and scores.shape[1] == self.n_states and scores.size
            if not (fits and scores.dtype.kind in "iuf" and (scores < np.inf).all()):
                raise DataError(
                    nth("instance", i)
                    + ": scores must be numbers, or minus infinity for a state that is "
                    f"forbidden, of shape (T, {self.n_states}), got {shown(x)}"
                )
            try:
                y = checked_states(y, len(scores), self.n_states)
            except OracleError as error:
                raise DataError(
                    nth("instance", i) + ": the labelling: " + said_by(error)
                ) from error
            broken = self.first_broken(y)
            if broken is not None or np.isneginf(scores[np.arange(y.size), y]).any():
                raise DataError(
                    nth("instance", i)
                    + ": its labelling has a segment, a change or a sample that is "
                    "forbidden: allow it, or leave the instance out"
                )
        return self

    def first_broken(self, y: Ints) -> int | None:
        """The first segment that is forbidden, or that may not follow; None if there is none."""
        starts, ends, states = segments_of(y)
        n = np.minimum(ends - starts, self.lengths.shape[1] - 1)
        is_broken = np.isneginf(self.lengths[states, n])
        is_broken[1:] |= ~self.allowed[states[:-1], states[1:]]
        is_broken[0] |= not self.begins[states[0]]
        is_broken[-1] |= not self.ends[states[-1]]
        return int(is_broken.argmax()) if is_broken.any() else None

    def joint_feature(self, x: Floats, y: Ints) -> Floats:
        C = self.n_states
        y = checked_states(y, len(x), C)
        starts, ends, states = segments_of(y)
        n = np.minimum(ends - starts, self.lengths.shape[1] - 1)
        first = np.zeros(C)
        last = np.zeros(C)
        change = np.zeros((C, C))
        first[states[0]] = last[states[-1]] = 1.0
        np.add.at(change, (states[:-1], states[1:]), 1.0)
        scores = float(x[np.arange(y.size), y].sum())
        fit = float(self.lengths[states, n].sum())
        return self.weight(scores, fit, -float(states.size), first, last, change)

    def loss(self, y: Ints, y_hat: Ints) -> float:
        return partition_loss(runs_of(y), runs_of(y_hat))

    def separate(self, w: Floats, x: Floats, y: Ints) -> Separation:
        guess = best_states(self.score(w, x, runs_of(y)))
        return Separation(guess, 0.0, Quality.EXACT)

    def predict(self, w: Floats, x: Floats) -> Ints:
        return best_states(self.score(w, x))

    def score(self, w: Floats, x: Floats, truth: EquivalenceMatrix | None = None) -> StateScore:
        """The score of a recording with these weights, plus the loss to a truth if one is given."""
        C = self.n_states
        # Forbidden samples stay forbidden where scores have the weight 0.
        samples = w[0] * x if w[0] != 0 else np.where(np.isneginf(x), -np.inf, 0.0)
        first = w[3 : 3 + C]
        last = w[3 + C : 3 + 2 * C]
        change = w[3 + 2 * C :]
        possible = np.isfinite(self.lengths)
        return StateScore(
            samples,
            np.where(possible, w[1] * np.where(possible, self.lengths, 0.0), -np.inf) - w[2],
            np.where(self.allowed, change.reshape(C, C), -np.inf),
            np.where(self.begins, first, -np.inf),
            np.where(self.ends, last, -np.inf),
            truth,
            0.0 if truth is None else 1.0,
        )
