"""A round of learning does not do again what one before has done, nor what nobody looks at."""

from dataclasses import dataclass

import numpy as np

from structsvm.partitions import Quality
from structsvm.problem import Problem, RegularizedRisk, Separation
from structsvm.regularizers import SquaredNorm
from structsvm.solvers import CuttingPlane, Stopping
from structsvm.support.progress import watching
from structsvm.weights import Free

N, CLASSES, FEATURES = 6, 3, 4


@dataclass(frozen=True)
class Classes(Problem):
    """The class of a vector, with a weight for each class and feature."""

    def weight_space(self):
        return Free(CLASSES * FEATURES)

    def joint_feature(self, x, y):
        return np.kron(np.eye(CLASSES)[y], x)

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def separate(self, w, x, y):
        scores = w.reshape(CLASSES, FEATURES) @ x + (np.arange(CLASSES) != y)
        return Separation(int(scores.argmax()), 0.0, Quality.EXACT)

    def predict(self, w, x):
        return int((w.reshape(CLASSES, FEATURES) @ x).argmax())


def risk_of(regularizer):
    rng = np.random.default_rng(0)
    xs, ys = list(rng.standard_normal((N, FEATURES))), rng.integers(CLASSES, size=N).tolist()
    null, shares = np.zeros(CLASSES * FEATURES), np.full(N, 1 / N)
    return RegularizedRisk(Classes(), xs, ys, regularizer, shares, null)


class CountedNorm(SquaredNorm):
    """Counts how often its quadratic form is asked for."""

    asked = 0

    def as_quadratic(self, space):
        type(self).asked += 1
        return super().as_quadratic(space)


class CountedStopping(Stopping):
    """Counts how often it is asked how much is done."""

    asked = 0

    def part(self, entry):
        type(self).asked += 1
        return super().part(entry)


def test_the_form_of_a_regularizer_is_asked_for_once():
    CountedNorm.asked = 0
    solution = CuttingPlane(Stopping(1e-7)).solve(risk_of(CountedNorm(0.01)))
    assert solution.n_iter > 2
    assert CountedNorm.asked == 1


def test_iterations_are_described_to_those_who_watch():
    CountedStopping.asked, told = 0, []
    solver = CuttingPlane(CountedStopping(1e-7))
    solver.solve(risk_of(SquaredNorm(0.01)))
    assert CountedStopping.asked == 0
    with watching(lambda words, part: told.append((words, part))):
        solution = solver.solve(risk_of(SquaredNorm(0.01)))
    assert len(told) == CountedStopping.asked == solution.n_iter
