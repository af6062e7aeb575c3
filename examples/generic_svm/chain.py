"""A linear-chain model, trained as a max-margin Markov network (Taskar et al., 2003).

    python examples/generic_svm/chain.py

The score of a labelling is a sum over samples and over transitions, and so is the Hamming loss:
loss-augmented inference is the Viterbi algorithm, which also completes unknown states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from structsvm import StructuredSVM
from structsvm.partitions import Quality
from structsvm.problem import CompletableProblem, Free, Separation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Chain(CompletableProblem):
    """Samples are sequences (T, P), labellings are states (T,), the loss is the share of errors.

    States are 0, 1, ..., and -1 where they are not known. ``w`` holds a weight vector for each
    state, (n_states, P), and a weight for each transition, (n_states, n_states), flattened.
    """

    n_states: int | None = None
    n_features: int | None = None

    def sized(self, xs: Sequence[Floats], ys: Sequence[Ints]) -> Chain:
        n_states = self.n_states or 1 + max(int(np.max(y)) for y in ys)
        return replace(self, n_states=n_states, n_features=xs[0].shape[1])

    def weight_space(self) -> Free:
        assert self.n_states is not None
        assert self.n_features is not None
        return Free(self.n_states * (self.n_features + self.n_states))

    def joint_feature(self, x: Floats, y: Ints) -> Floats:
        emission = np.eye(self.n_states)[y].T @ x
        transition = np.zeros((self.n_states, self.n_states))
        np.add.at(transition, (y[:-1], y[1:]), 1.0)
        return np.concatenate((emission.ravel(), transition.ravel()))

    def loss(self, y: Ints, y_hat: Ints) -> float:
        return float(np.mean(y != y_hat))

    def separate(self, w: Floats, x: Floats, y: Ints) -> Separation:
        emission, transition = self._scores(w, x)
        emission = emission + (np.arange(self.n_states) != y[:, None]) / len(y)
        return Separation(viterbi(emission, transition), 0.0, Quality.EXACT)

    def predict(self, w: Floats, x: Floats) -> Ints:
        return viterbi(*self._scores(w, x))

    def is_complete(self, y: Ints) -> bool:
        return bool(np.all(y >= 0))

    def complete(self, w: Floats, x: Floats, y: Ints) -> Ints:
        emission, transition = self._scores(w, x)
        ruled_out = (y[:, None] >= 0) & (np.arange(self.n_states) != y[:, None])
        return viterbi(np.where(ruled_out, -np.inf, emission), transition)

    def best_at_each_loss(self, w: Floats, x: Floats, y: Ints) -> list[Ints]:
        """A best labelling with 0, 1, ..., T errors: what slack_rescaling.py needs."""
        return viterbi_by_errors(*self._scores(w, x), y)

    def _scores(self, w: Floats, x: Floats) -> tuple[Floats, Floats]:
        cut = self.n_states * self.n_features
        return x @ w[:cut].reshape(self.n_states, -1).T, w[cut:].reshape(self.n_states, -1)


def viterbi(emission: Floats, transition: Floats) -> Ints:
    """The labelling of largest ``sum_t emission[t, y_t] + sum_t transition[y_t, y_t+1]``."""
    T, K = emission.shape
    came_from = np.zeros((T, K), dtype=np.int64)
    score = emission[0]
    for t in range(1, T):
        reached = score[:, None] + transition
        came_from[t] = reached.argmax(axis=0)
        score = reached.max(axis=0) + emission[t]
    y = np.empty(T, dtype=np.int64)
    y[-1] = score.argmax()
    for t in range(T - 1, 0, -1):
        y[t - 1] = came_from[t, y[t]]
    return y


def viterbi_by_errors(emission: Floats, transition: Floats, truth: Ints) -> list[Ints]:
    """For every attainable number of errors, the best labelling with as many.

    The Viterbi algorithm on pairs of a state and the number of errors so far: T times the work.
    """
    T, K = emission.shape
    score = np.full((T + 1, K), -np.inf)  # errors so far, state
    came_from = np.zeros((T, T + 1, K), dtype=np.int64)
    wrong = (np.arange(K) != truth[:, None]).astype(np.int64)
    states = np.arange(K)
    score[wrong[0], states] = emission[0]
    for t in range(1, T):
        reached = score[:, :, None] + transition  # errors before, state before, state
        best = reached.max(axis=1)
        origin = reached.argmax(axis=1)
        score = np.full((T + 1, K), -np.inf)
        for state in states:
            step = wrong[t, state]
            rows = slice(step, T + 1)
            score[rows, state] = best[: T + 1 - step, state] + emission[t, state]
            came_from[t, rows, state] = origin[: T + 1 - step, state]
    found = []
    for errors in np.flatnonzero(np.isfinite(score.max(axis=1))):
        y = np.empty(T, dtype=np.int64)
        y[-1] = score[errors].argmax()
        left = int(errors)
        for t in range(T - 1, 0, -1):
            y[t - 1] = came_from[t, left, y[t]]
            left -= int(wrong[t, y[t]])
        found.append(y)
    return found


def sequences(
    n: int, T: int = 30, n_states: int = 4, noise: float = 1.2, seed: int = 0
) -> tuple[list[Floats], list[Ints]]:
    """Draws from a hidden Markov model whose states persist and whose samples are noisy."""
    rng = np.random.default_rng(seed)
    stay = 0.8 * np.eye(n_states) + 0.2 / n_states
    xs = []
    ys = []
    for _ in range(n):
        y = np.zeros(T, dtype=np.int64)
        y[0] = rng.integers(n_states)
        for t in range(1, T):
            y[t] = rng.choice(n_states, p=stay[y[t - 1]])
        xs.append(np.eye(n_states)[y] + noise * rng.standard_normal((T, n_states)))
        ys.append(y)
    return xs, ys


def main() -> None:
    xs, ys = sequences(60)
    svm = StructuredSVM(Chain(), lam=1 / 30).fit(xs[:30], ys[:30])
    print(svm.solution_.summary())
    alone = np.mean([np.mean(x.argmax(axis=1) != y) for x, y in zip(xs[30:], ys[30:], strict=True)])
    print(f"errors on sequences held out: {-svm.score(xs[30:], ys[30:]):.3f}", end=", ")
    print(f"taking each sample by itself: {alone:.3f}")

    rng = np.random.default_rng(0)
    open_ys = [np.where(rng.random(y.size) < 0.5, -1, y) for y in ys[5:30]]
    few = StructuredSVM(Chain(), lam=1 / 30).fit(xs[:5], ys[:5])
    more = StructuredSVM(Chain(), lam=1 / 30).fit(xs[:30], [*ys[:5], *open_ys])
    print(f"from 5 labelled sequences: {-few.score(xs[30:], ys[30:]):.3f}", end=", ")
    print(f"with 25 more of which half the states are known: {-more.score(xs[30:], ys[30:]):.3f}")


if __name__ == "__main__":
    main()
