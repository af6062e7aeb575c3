"""The same work by this library and by others: docs/results.md.

    make bench-peers

A library that cannot be installed is reported as such, and the tables are made of the others
(_peers_partitions.py). First, the same structured SVM in dlib and in PyStruct: optimum, oracle
calls, time.

Change-points with a known number of segments and a weight for each feature, free or nonnegative:
min |w|^2 / 2 + C / N sum_i L_i(w). The oracle is the same NumPy function for all. Then, against
dlib alone, a diagonal metric of 300 features with the oracles of this package, to a gap of 1e-3.
dlib is compiled and PyStruct, whose sources need help on current Python, is unpacked by the
Makefile, into an environment of their own. The objective of an answer is computed here, from its
weight.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import statistics
import sys
import time
import types
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from _harness import Goal, report
from _peers_partitions import cuts, decoding, held_out, installed, libraries
from numpy.typing import NDArray
from solvers import make_risk

from structsvm import Solution
from structsvm.problem import (
    Free,
    Nonnegative,
    Problem,
    Quality,
    RegularizedRisk,
    Separation,
    SquaredNorm,
    WeightSpace,
)
from structsvm.solvers import CuttingPlane, Stopping

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from experiments._cache import Pieces, seconds_option
from experiments._report import SHARED, publish

Floats = NDArray[np.float64]
Ends = tuple[int, ...]

C = 10.0
SCALE = 10.0
"""Of the loss."""
EPSILONS = 10.0 ** np.arange(-1, -10, -0.25)
SMALLEST = (6, 80, 10, 4)
"""Recordings, samples, features and segments of the smallest problem."""
DRAWS = 20
"""Draws of it."""


@dataclass(frozen=True)
class Segmentation(Problem):
    """Segments of a recording (T, P), by their ends."""

    space: WeightSpace

    def weight_space(self) -> WeightSpace:
        """Free or nonnegative."""
        return self.space

    def joint_feature(self, x: Floats, y: Ends) -> Floats:
        """The diagonal of ``X^T M X / T``."""
        starts = [0, *y[:-1]]
        sums = np.add.reduceat(x, starts)
        return np.asarray((sums**2 / np.subtract(y, starts)[:, None]).sum(axis=0) / len(x))

    def loss(self, y: Ends, y_hat: Ends) -> float:
        """``|M - M_i|_F^2 / T``, scaled."""
        shared = 0.0
        for a, b in zip((0, *y), y, strict=False):
            for c, d in zip((0, *y_hat), y_hat, strict=False):
                shared += max(0, min(b, d) - max(a, c)) ** 2 / ((b - a) * (d - c))
        return SCALE * (len(y) + len(y_hat) - 2 * shared) / y[-1]

    def separate(self, w: Floats, x: Floats, y: Ends) -> Separation:
        """Dynamic programming over the ends."""
        T = len(x)
        truth = np.repeat(np.eye(len(y)), np.diff((0, *y)), axis=0) / np.sqrt(np.diff((0, *y)))
        gram = (x * w) @ x.T / T - 2 * SCALE * truth @ truth.T / T
        return Separation(best_ends(gram, len(y)), 0.0, Quality.EXACT)

    def predict(self, w: Floats, x: Floats) -> Ends:
        """Not asked for."""
        raise NotImplementedError


def best_ends(gram: Floats, n_segments: int) -> Ends:
    """Ends of the segmentation that maximises ``Tr(A M)``."""
    T = len(gram)
    sums = np.zeros((T + 1, T + 1))
    sums[1:, 1:] = gram.cumsum(0).cumsum(1)
    corner = np.diag(sums)
    length = np.subtract.outer(np.arange(T + 1), np.arange(T + 1)).T
    gains = corner[:, None] + corner[None, :] - 2 * sums
    gains = np.where(length > 0, gains / np.maximum(length, 1), -np.inf)
    best = gains[0]
    back = []
    for _ in range(1, n_segments):
        candidates = best[:, None] + gains
        back.append(candidates.argmax(axis=0))
        best = candidates.max(axis=0)
    ends = [T]
    for previous in reversed(back):
        ends.append(int(previous[ends[-1]]))
    return tuple(reversed(ends))


def recordings(N: int, T: int, P: int, K: int, seed: int) -> tuple[list[Floats], list[Ends]]:
    """Three features follow the labels, the others change at times of their own."""
    rng = np.random.default_rng(seed)
    xs = []
    ys = []
    for _ in range(N):
        x = rng.standard_normal((T, P))
        ends = [(*sorted(rng.choice(np.arange(8, T - 8, 8), K - 1, replace=False)), T) for _ in x.T]
        for j in range(P):
            mine = ends[0] if j < 3 else ends[j]
            x[:, j] += np.repeat(1.5 * rng.standard_normal(K), np.diff((0, *mine)))
        xs.append(x)
        ys.append(tuple(int(end) for end in ends[0]))
    return xs, ys


def segmentations(
    shape: tuple[int, int, int, int], nonnegative: bool, seed: int = 0
) -> RegularizedRisk:
    """``|w|^2 / 2 + C / N sum_i L_i(w)`` on so many recordings, samples, features and segments."""
    xs, ys = recordings(*shape, seed)
    N, _, P, _ = shape
    problem = Segmentation(Nonnegative(P) if nonnegative else Free(P))
    return RegularizedRisk(problem, xs, ys, SquaredNorm(), np.full(N, C / N), np.zeros(P))


def objective(risk: RegularizedRisk, w: Floats) -> float:
    """``F(w)``."""
    problem = risk.problem
    total = 0.0
    for x, y, omega in zip(risk.xs, risk.ys, risk.sample_weight, strict=True):
        y_hat = problem.separate(w, x, y).y
        rise = problem.joint_feature(x, y_hat) - problem.joint_feature(x, y)
        total += omega * (problem.loss(y, y_hat) + float(rise @ w))
    return float(risk.penalty(w) + total)


@dataclass(frozen=True)
class Answer:
    """What a library came to."""

    objective: float
    calls: float
    seconds: float
    """CPU, of which other work on the machine takes none."""


Learn = Callable[[RegularizedRisk], tuple[Floats, int]]
"""Gives the weight and the number of oracle calls."""


def answer(risk: RegularizedRisk, learn: Learn, repeats: int = 1) -> Answer:
    """Run a library; the median of the times."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        w, calls = learn(risk)
        times.append(time.process_time() - started)
    return Answer(objective(risk, w), calls, statistics.median(times))


def ours(tol: float) -> Learn:
    """The default solver, to a certified relative gap."""

    def learn(risk: RegularizedRisk) -> tuple[Floats, int]:
        solution = CuttingPlane(Stopping(tol, 1000)).solve(risk)
        return solution.w, solution.oracle_calls

    return learn


def with_dlib(epsilon: float) -> Learn:
    """Its cutting planes with their cache of labellings; ``epsilon`` is of the mean loss.

    It knows ``|w|^2 / 2`` alone: features are scaled to make this the regularizer.
    """
    dlib = importlib.import_module("dlib")

    def learn(risk: RegularizedRisk) -> tuple[Floats, int]:
        problem = risk.problem
        xs = risk.xs
        ys = risk.ys
        calls = 0
        omega = risk.regularizer.as_quadratic(risk.space)
        assert omega is not None
        assert np.ptp(risk.sample_weight) == 0.0
        assert not np.any([omega.center, omega.linear])
        scale = 1 / np.sqrt(omega.curvature)

        class Structural:
            num_samples = risk.n_instances
            num_dimensions = risk.space.dim
            C = float(risk.sample_weight.sum())
            max_cache_size = 5
            learns_nonnegative_weights = not isinstance(risk.space, Free)

            def __init__(self) -> None:
                self.epsilon = epsilon

            def get_truth_joint_feature_vector(self, i: int) -> Any:
                return dlib.vector(scale * problem.joint_feature(xs[i], ys[i]))

            def separation_oracle(self, i: int, w: Any) -> Any:
                nonlocal calls
                calls += 1
                y_hat = problem.separate(scale * np.array(w), xs[i], ys[i]).y
                phi = dlib.vector(scale * problem.joint_feature(xs[i], y_hat))
                return problem.loss(ys[i], y_hat), phi

        w = scale * np.array(dlib.solve_structural_svm_problem(Structural()))
        return w, calls

    return learn


def with_pystruct(learner: str) -> Learn:
    """One of its cutting planes; its constraint is w <= 0, so it is given ``-phi``."""

    def learn(risk: RegularizedRisk) -> tuple[Floats, int]:
        learners = importlib.import_module("pystruct.learners")
        models = importlib.import_module("pystruct.models")
        problem = risk.problem
        P = risk.space.dim
        calls = 0
        nonnegative = not isinstance(risk.space, Free)
        sign = -1.0 if nonnegative else 1.0

        class Model(models.StructuredModel):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                self.size_joint_feature, self.inference_calls = P, 0

            def initialize(self, X: Any, Y: Any) -> None:
                pass

            def joint_feature(self, x: Any, y: Any) -> Floats:
                return sign * problem.joint_feature(x, tuple(y))

            def loss(self, y: Any, y_hat: Any) -> float:
                return problem.loss(tuple(y), tuple(y_hat))

            def max_loss(self, y: Any) -> float:
                return SCALE

            def loss_augmented_inference(self, x: Any, y: Any, w: Any, relaxed: Any = None) -> Any:
                nonlocal calls
                calls += 1
                return np.array(problem.separate(sign * np.asarray(w), x, tuple(y)).y)

        settings: dict[str, Any] = {"C": risk.sample_weight[0], "tol": 1e-6, "max_iter": 500}
        if nonnegative:
            settings["negativity_constraint"] = list(range(P))
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = getattr(learners, learner)(Model(), **settings)
            fitted.fit(risk.xs, [np.array(y) for y in risk.ys])
        return np.asarray(sign * fitted.w), calls

    return learn


def make_pystruct_importable(folder: str) -> None:
    """Put back what NumPy and scikit-learn have removed, and stand in for its C extensions."""
    for name, builtin in (("float", float), ("int", int), ("bool", bool), ("object", object)):
        if name not in vars(np):
            setattr(np, name, builtin)
    sys.modules["sklearn.externals.joblib"] = joblib
    externals = importlib.import_module("sklearn.externals")
    externals.joblib = joblib  # type: ignore[attr-defined]
    for name, missing in (
        ("pystruct.models.utils", ("crammer_singer_joint_feature", "loss_augment_unaries")),
        ("pystruct.inference._viterbi", ("viterbi",)),
    ):
        module = types.ModuleType(name)
        for function in missing:
            setattr(module, function, None)  # not used by these learners
        sys.modules[name] = module
    sys.path.insert(0, folder)
    with contextlib.suppress(ImportError):  # PyStruct needs it, and is reported as missing then
        importlib.import_module("cvxopt").solvers.options["show_progress"] = False


def compare(name: str, risk: RegularizedRisk) -> list[Goal]:
    """Our solver against dlib, and PyStruct against our optimum."""
    mine = answer(risk, ours(1e-7), repeats=3)
    peer = answer(risk, with_dlib(2e-8), repeats=3)
    excess = abs(mine.objective - peer.objective) / peer.objective
    goals = [
        Goal(f"{name}: optimum; dlib", mine.objective, peer.objective),
        Goal(f"{name}: relative difference to dlib", excess, None, excess, 1e-6, excess <= 1e-6),
        *costs(name, mine, peer),
    ]
    for learner in ("OneSlackSSVM", "NSlackSSVM"):
        title = f"{name}: optimum; PyStruct {learner}"
        try:
            other = answer(risk, with_pystruct(learner))
        except ValueError as error:  # of its quadratic program
            goals.append(Goal(f"{title} failed: {error}", mine.objective))
            continue
        above = other.objective / mine.objective
        if isinstance(risk.space, Free):
            goals.append(Goal(title, mine.objective, other.objective, above))
        else:
            reached = above >= 1.0 - 1e-6
            goals.append(Goal(title, mine.objective, other.objective, above, 1.0, reached))
        goals.append(Goal(f"{name}: oracle calls; {learner}", mine.calls, other.calls))
        goals.append(Goal(f"{name}: seconds; {learner}", mine.seconds, other.seconds))
    return goals


def costs(name: str, mine: Answer, peer: Answer) -> list[Goal]:
    """No more oracle calls than dlib, and no more time."""
    return [
        Goal.at_most(f"{name}: oracle calls; dlib with its cache", mine.calls, peer.calls, 1.0),
        Goal.at_most(f"{name}: seconds; dlib", mine.seconds, peer.seconds, 1.0),
    ]


def diagonal_metric() -> list[Goal]:
    """P = 300, N = 10, gap 1e-3, the problem of benchmarks/solvers.py."""
    name, tol = "diagonal 300, N 10, 1e-3", 1e-3
    risk = make_risk(10, 600, 300, "diagonal")
    best = CuttingPlane(Stopping(1e-6, 1000)).solve(risk)
    mine = answer(risk, ours(tol), repeats=3)
    peer = as_close(risk, best, tol)
    return [
        Goal(f"{name}: optimum, from below and above", best.lower, best.upper),
        Goal(f"{name}: objective; dlib", mine.objective, peer.objective),
        *costs(name, mine, peer),
    ]


def smallest_in_draws() -> list[Goal]:
    """The smallest problem in DRAWS draws, to 1e-7: one draw says little about calls."""
    goals = []
    for nonnegative in (False, True):
        pairs = []
        for seed in range(DRAWS):
            risk = segmentations(SMALLEST, nonnegative, seed)
            best = CuttingPlane(Stopping(1e-9, 1000)).solve(risk)
            pairs.append((answer(risk, ours(1e-7), repeats=3), as_close(risk, best, 1e-7)))
        name = f"{title(SMALLEST, nonnegative)}, mean of {DRAWS} draws, 1e-7"
        goals += costs(name, *(mean_of(answers) for answers in zip(*pairs, strict=True)))
    return goals


def as_close(risk: RegularizedRisk, best: Solution, tol: float) -> Answer:
    """What dlib needs with the largest ``epsilon`` of EPSILONS with which it is so close.

    That is to our lower bound, relative to the distance of the null weight from it, as ours are. It
    does not certify that, and the runs that were not enough are not counted.
    """
    for epsilon in EPSILONS:
        found = answer(risk, with_dlib(epsilon))
        gap = (found.objective - best.lower) / (best.null - best.lower)
        if gap <= tol:
            print(f"dlib, epsilon {epsilon:.1e}: gap {gap:.1e}, {found}", flush=True)
            return answer(risk, with_dlib(epsilon), repeats=3)
    raise RuntimeError("dlib does not come close enough with any epsilon")


def mean_of(answers: Sequence[Answer]) -> Answer:
    """The mean of each number."""
    values = [(found.objective, found.calls, found.seconds) for found in answers]
    return Answer(*np.mean(values, axis=0).tolist())


def title(shape: tuple[int, int, int, int], nonnegative: bool) -> str:
    """What a problem is called."""
    N, T, P, _ = shape
    return f"N={N} T={T} P={P}, {'w >= 0' if nonnegative else 'free w'}"


def optima() -> list[Goal]:
    """Both structured SVMs beside ours, on small problems and on a diagonal metric."""
    goals = []
    for shape in (SMALLEST, (10, 160, 60, 6)):
        for nonnegative in (False, True):
            goals += compare(title(shape, nonnegative), segmentations(shape, nonnegative))
    return goals + smallest_in_draws() + diagonal_metric()


def rows_of(goals: Sequence[Goal]) -> list[dict[str, Any]]:
    """Goals as docs/results.md shows them."""

    def number(value: float | None) -> str | None:
        return None if value is None else f"{value:.4g}"

    return [
        {
            "problem: quantity; library": goal.name,
            "ours": number(goal.ours),
            "theirs": number(goal.peer),
        }
        for goal in goals
    ]


def main(folder: str, data: Path, seconds: float) -> None:
    make_pystruct_importable(folder)
    found = installed()
    publish("peers_libraries", libraries(found, {"PyStruct": Path(folder).name.split("-")[-1]}))
    publish("peers_decoding", decoding(found))
    publish("peers_cuts", cuts(found))
    pieces = Pieces("peers_held_out", seconds)
    rows = held_out(found, data, pieces.get)
    pieces.finish()
    publish("peers_held_out", rows)
    if found["dlib"] is not None or found["PyStruct"] is not None:
        print("dlib and PyStruct are not both here: the table of optima stays as it is")
        return
    goals = optima()
    report("peers", goals)
    publish("peers_optimum", rows_of(goals))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pystruct", help="the folder of its sources")
    parser.add_argument("--data", type=Path, default=SHARED)
    seconds_option(parser)
    arguments = parser.parse_args()
    main(arguments.pystruct, arguments.data, arguments.seconds)
