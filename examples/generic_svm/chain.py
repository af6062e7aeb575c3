"""A linear-chain model, trained as a max-margin Markov network (Taskar et al., 2003).

    python examples/generic_svm/chain.py

The score of a labelling is a sum over samples and over transitions, and so is the Hamming loss:
loss-augmented inference is the Viterbi algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from slack_rescaling import LossLevels

from structsvm.problem import Problem, RegularizedRisk, Separation
from structsvm.regularizers import SquaredNorm
from structsvm.solution import Solution
from structsvm.solvers import CuttingPlane, Stopping
from structsvm.status import Quality
from structsvm.weights import Free

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Chain(LossLevels):
    """Samples are sequences (T, P), labellings are states (T,), the loss is the share of errors.

    ``w`` holds a weight vector for each state, (n_states, P), and a weight for each transition,
    (n_states, n_states), flattened.
    """

    n_states: int
    n_features: int

    def weight_space(self) -> Free:
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

    def best_at_each_loss(self, w: Floats, x: Floats, y: Ints) -> list[Ints]:
        """A best labelling with 0, 1, ..., T errors."""
        return viterbi_by_errors(*self._scores(w, x), y)

    def _scores(self, w: Floats, x: Floats) -> tuple[Floats, Floats]:
        K, P = self.n_states, self.n_features
        return x @ w[: K * P].reshape(K, P).T, w[K * P :].reshape(K, K)


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
        best, origin = reached.max(axis=1), reached.argmax(axis=1)
        score = np.full((T + 1, K), -np.inf)
        for state in states:
            step = wrong[t, state]
            rows = slice(step, T + 1)
            score[rows, state] = best[: T + 1 - step, state] + emission[t, state]
            came_from[t, rows, state] = origin[: T + 1 - step, state]
    found = []
    for errors in np.flatnonzero(np.isfinite(score.max(axis=1))):
        y = np.empty(T, dtype=np.int64)
        y[-1], left = score[errors].argmax(), int(errors)
        for t in range(T - 1, 0, -1):
            y[t - 1] = came_from[t, left, y[t]]
            left -= int(wrong[t, y[t]])
        found.append(y)
    return found


def train(
    problem: Problem, xs: Sequence[Floats], ys: Sequence[object], C: float = 1.0, tol: float = 1e-3
) -> Solution:
    """Minimise ``1/2 |w|^2 + C sum_i L_i(w)``, one slack for each sequence."""
    dim = problem.weight_space().dim
    risk = RegularizedRisk(problem, xs, ys, SquaredNorm(), np.full(len(ys), C), np.zeros(dim))
    return CuttingPlane(Stopping(tol, max_iter=2000)).solve(risk)


def sequences(
    n: int, T: int = 30, n_states: int = 4, noise: float = 1.2, seed: int = 0
) -> tuple[list[Floats], list[Ints]]:
    """Draws from a hidden Markov model whose states persist and whose samples are noisy."""
    rng = np.random.default_rng(seed)
    stay = 0.8 * np.eye(n_states) + 0.2 / n_states
    xs, ys = [], []
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
    problem = Chain(n_states=4, n_features=4)
    solution = train(problem, xs[:30], ys[:30])
    errors = [problem.loss(y, problem.predict(solution.w, x)) for x, y in zip(xs, ys, strict=True)]
    alone = [np.mean(x.argmax(axis=1) != y) for x, y in zip(xs, ys, strict=True)]
    print(solution.summary())
    print(f"errors on sequences held out: {np.mean(errors[30:]):.3f}", end=", ")
    print(f"taking each sample by itself: {np.mean(alone[30:]):.3f}")


if __name__ == "__main__":
    main()
