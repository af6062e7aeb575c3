"""A generic problem that is wrong, or asked wrongly, is refused by name and never certified."""

from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from structsvm.errors import DataError, LearningError, MasterError, PluginError, SettingsError
from structsvm.problem import Problem, RegularizedRisk, Separation
from structsvm.regularizers import Custom, SquaredNorm
from structsvm.solvers.base import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.frank_wolfe import BlockFrankWolfe
from structsvm.status import Quality
from structsvm.testing import check_problem
from structsvm.weights import PSD, Free, Nonnegative

CLASSES = range(3)
BUFFER = np.zeros(6)


@dataclass(frozen=True)
class Classes(Problem):
    """Multiclass classification by enumeration, with one promise broken perhaps."""

    broken: str = ""

    def weight_space(self) -> Free:
        return Free(6)

    def joint_feature(self, x: Any, y: Any) -> Any:
        phi = np.kron(np.eye(3)[np.asarray(y).item()], x[:2])
        if self.broken == "buffer":
            BUFFER[:] = phi
            return BUFFER
        shapes = {
            "table": phi.reshape(3, 2),
            "list": phi.tolist(),
            "integers": phi.astype(int),
        }
        return shapes.get(self.broken, phi)

    def loss(self, y: Any, y_hat: Any) -> Any:
        differs = float(np.any(y != y_hat))
        if self.broken == "text":
            return "much"
        if self.broken == "truth costs":
            return 0.1 + differs
        return -differs if self.broken == "negative" else differs

    def separate(self, w: Any, x: Any, y: Any) -> Any:
        loss = replace(self, broken="" if self.broken == "text" else self.broken).loss
        phi = replace(self, broken="").joint_feature
        sign = -1.0 if self.broken == "subtracted" else 1.0
        best = int(np.argmax([w @ phi(x, k) + sign * loss(y, k) for k in CLASSES]))
        if self.broken == "writes x":
            x *= 1.5
        if self.broken == "writes y":
            y[...] = best
        if self.broken == "bare":
            return best
        if self.broken == "quality":
            return Separation(best, 0.0, "exact")
        slacks: dict[str, Any] = {"slack": -1.0, "no slack": None, "vector of slacks": np.zeros(2)}
        answer = Separation(best, slacks.get(self.broken, 0.0), Quality.EXACT)
        given = {
            "another feature": {"feature": phi(x, best) * 2.0},
            "another size": {"feature": np.zeros(1)},
            "another loss": {"loss": 3.0 * loss(y, best)},
            "negative reward": {"loss": -loss(y, best)},
            "same feature and loss": {"feature": phi(x, best), "loss": loss(y, best)},
        }
        return replace(answer, **given.get(self.broken, {}))

    def predict(self, w: Any, x: Any) -> int:
        return int(np.argmax([w @ self.joint_feature(x, k) for k in CLASSES]))


def risk(broken: str = "", **changed: Any) -> RegularizedRisk:
    rng = np.random.default_rng(0)
    ys = [np.array(k % 3) for k in range(6)]
    given = {
        "problem": Classes(broken),
        "xs": [np.array([y == 0, y == 1]) * 2.0 + rng.standard_normal(2) for y in ys],
        "ys": ys,
        "regularizer": SquaredNorm(0.2),
        "sample_weight": np.ones(6),
        "null": np.zeros(6),
    }
    return RegularizedRisk(**(given | changed))


SOLVERS = [
    CuttingPlane(Stopping(1e-3, max_iter=100)),
    CuttingPlane(Stopping(1e-3, max_iter=100), slack="one"),
    BlockFrankWolfe(Stopping(1e-2, max_iter=100)),
]


@pytest.mark.parametrize("solver", SOLVERS, ids=["n", "one", "frank-wolfe"])
@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        ("truth costs", r"Classes\.loss\(y, y\) is 0.1 .* the truth must not cost anything"),
        ("writes x", "Classes changed the sample that it was given.*copy before writing"),
        ("writes y", "Classes changed the labelling that it was given.*copy before writing"),
        ("negative", r"Classes\.loss returned -1.0: a loss must not be negative"),
        ("subtracted", r"separate found a labelling with the loss 0 where another.* worth 1 more"),
        ("bare", r"Classes\.separate returned \d \(an int\): return Separation\(y, slack, quality"),
        ("table", r"joint_feature returned an array of float64 of shape \(3, 2\).* dimension 6"),
        ("list", r"joint_feature returned .*list.*: return one vector of floats of shape \(6,\)"),
        (
            "integers",
            r"joint_feature returned an array of int64 .*: return one vector of floats",
        ),
        ("text", r"Classes\.loss returned 'much' \(a str\): return a float"),
        ("quality", "returned the quality 'exact': return Quality.EXACT"),
        ("slack", "returned the slack -1.0"),
        ("no slack", "returned the slack None"),
        ("vector of slacks", "returned the slack array"),
        ("another feature", r"separate returned the feature .* where joint_feature gives its"),
        (
            "another size",
            r"returned the feature an array of float64 of shape \(1,\) .* dimension 6",
        ),
        ("another loss", r"separate returned the loss 3\.0 where loss gives its labelling 1\.0"),
        ("negative reward", r"separate returned the loss -1\.0"),
        ("buffer", "joint_feature writes to an array that it returned before"),
    ],
)
def test_a_broken_problem_is_named_before_the_first_round_ends(
    broken: str, complaint: str, solver: Any
) -> None:
    with pytest.raises(PluginError, match=f"sample 0: .*{complaint}"):
        solver.solve(risk(broken))


@pytest.mark.parametrize("solver", SOLVERS, ids=["n", "one", "frank-wolfe"])
def test_what_separate_knows_already_is_taken(solver: Any) -> None:
    given, asked = (solver.solve(risk(broken)) for broken in ("same feature and loss", ""))
    np.testing.assert_array_equal(given.w, asked.w)
    assert (given.lower, given.upper) == (asked.lower, asked.upper)


class Waves(Classes):
    """Joint features that are nowhere zero, of single precision."""

    dtype = np.float32

    def joint_feature(self, x: Any, y: Any) -> Any:
        waves = np.sin(np.outer([1.0, 3.0, 5.0], x[:2]).ravel() * (1.0 + float(y)))
        return waves.astype(np.float32).astype(self.dtype)


class DoubleWaves(Waves):
    dtype = float


@pytest.mark.parametrize("solver", SOLVERS, ids=["n", "one", "frank-wolfe"])
def test_features_of_single_precision_are_summed_in_double(solver: Any) -> None:
    """Their differences would be rounded to seven digits, and the bounds allow for fifteen."""
    single, double = (solver.solve(risk(problem=problem())) for problem in (Waves, DoubleWaves))
    np.testing.assert_array_equal(single.w, double.w)
    assert (single.lower, single.upper) == (double.lower, double.upper)
    assert single.status is double.status


@pytest.mark.parametrize("omega", [1.0, 0.0])
def test_an_infinite_slack_is_named_unless_its_sample_does_not_count(omega: float) -> None:
    """It was said that nothing is to learn, and times a weight of 0 it made every bound NaN."""

    class FirstUnknown(Classes):
        def separate(self, w: Any, x: Any, y: Any) -> Separation:
            unknown = np.array_equal(x, given.xs[0])
            return replace(super().separate(w, x, y), slack=np.inf if unknown else 0.0)

    given = risk(problem=FirstUnknown(), sample_weight=[omega, 1, 1, 1, 1, 1])
    if omega:
        with pytest.raises(LearningError, match="the slack of an answer is infinite"):
            SOLVERS[0].solve(given)
    else:
        assert SOLVERS[0].solve(given).status.name == "OPTIMAL"


@pytest.mark.parametrize("scale", [1e4, 1e10])
def test_an_exact_oracle_is_exact_at_any_scale_of_the_losses(scale: float) -> None:
    given = risk(sample_weight=np.full(6, scale), regularizer=SquaredNorm(0.2 * scale))
    for seed in range(2):
        solver = BlockFrankWolfe(Stopping(1e-4, max_iter=200), random_state=seed)
        assert "heuristic" not in solver.solve(given).bound


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        ("no slack", "separate returned the slack None: it is how far"),
        ("another feature", "separate returned the feature .* where joint_feature gives its"),
        ("another loss", r"separate returned the loss 3\.0 where loss gives its labelling 1\.0"),
    ],
)
def test_the_check_of_a_problem_looks_at_all_of_its_answer(broken: str, complaint: str) -> None:
    given = risk(broken)
    with pytest.raises(PluginError, match=complaint):
        check_problem(given.problem, given.xs, given.ys)


@pytest.mark.parametrize("solver", SOLVERS, ids=["n", "one", "frank-wolfe"])
def test_the_right_problem_is_solved_and_asked_no_more_than_before(solver: Any) -> None:
    asked: list[int] = []

    class Counting(Classes):
        def separate(self, w: Any, x: Any, y: Any) -> Separation:
            asked.append(1)
            return super().separate(w, x, y)

    solution = solver.solve(risk(problem=Counting()))
    assert solution.status.converged
    assert len(asked) == solution.oracle_calls


NO_WEIGHTS = r"sample_weight has shape \(9,\) for 6 samples in xs"


@pytest.mark.parametrize(
    ("changed", "error", "complaint"),
    [
        ({"xs": [], "ys": []}, DataError, "ys has 0 labellings for 0 samples"),
        ({"ys": [0, 1]}, DataError, "ys has 2 labellings for 6 samples"),
        ({"ys": [0] * 9}, DataError, "ys has 9 labellings for 6 samples"),
        ({"sample_weight": np.ones(9)}, DataError, NO_WEIGHTS),
        ({"sample_weight": np.ones(2)}, DataError, r"shape \(2,\) for 6 samples"),
        ({"sample_weight": 1.0}, DataError, r"shape \(\) for 6 samples"),
        ({"sample_weight": [1, 1, -1, 1, 1, 1]}, DataError, "of sample 2 is -1.0"),
        ({"sample_weight": [1, 1, 1, np.nan, 1, 1]}, DataError, "of sample 3 is nan"),
        ({"sample_weight": np.zeros(6)}, DataError, "of sample 0 is 0.0: .* not for all"),
        ({"null": None}, SettingsError, r"null is .*None.* such as np\.zeros\(6\)"),
        ({"null": np.zeros(5)}, SettingsError, r"null is an array of float64 of shape \(5,\)"),
        ({"null": 0.0}, SettingsError, "null is 0.0"),
        ({"start": np.full(6, np.inf)}, SettingsError, "start is .* 6 finite numbers"),
        ({"problem": Classes}, PluginError, "problem is .*: give an instance of a class"),
    ],
)
def test_a_risk_that_makes_no_sense_is_refused_by_argument(
    changed: dict[str, Any], error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error, match=complaint):
        risk(**changed)


@pytest.mark.parametrize("name", ["null", "start"])
@pytest.mark.parametrize(
    ("space", "outside"), [(Nonnegative(6), [1, -1, 0, 0, 0, 0]), (PSD(3), [1, 5, 0, 1, 0, 1])]
)
def test_a_weight_outside_of_its_cone_is_refused(name: str, space: Any, outside: Any) -> None:
    class Coned(Classes):
        def weight_space(self) -> Any:
            return space

    with pytest.raises(SettingsError, match=f"{name} is .* away from the cone .* space.project"):
        risk(problem=Coned(), **{name: outside})
    inside = space.project(np.asarray(outside, dtype=float))
    assert np.array_equal(getattr(risk(problem=Coned(), **{name: inside}), name), inside)


def test_weights_may_be_a_list() -> None:
    listed = SOLVERS[0].solve(risk(sample_weight=[1, 2, 1, 1, 1, 0]))
    array = SOLVERS[0].solve(risk(sample_weight=np.array([1.0, 2, 1, 1, 1, 0])))
    assert np.array_equal(listed.w, array.w)


def test_constraints_that_are_no_list_are_named() -> None:
    with pytest.raises(SettingsError, match=r"constraints returned .*: return a list"):
        SOLVERS[0].solve(risk(constraints=lambda w: w[0] >= 0))


@pytest.mark.parametrize(
    ("constraints", "complaint"),
    [
        (lambda w: [w[9] <= 1], r"constraints raised IndexError for a metric of shape \(6,\)"),
        (lambda w: [w <= np.ones(3)], "constraints raised ValueError for a metric of shape"),
        (
            lambda w: [cp.sum(w) <= cp.Parameter(name="most")],
            "constraints use most: parameters need",
        ),
    ],
    ids=["index", "shape", "parameter"],
)
def test_constraints_that_fail_are_named(constraints: Any, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        SOLVERS[0].solve(risk(constraints=constraints))


@pytest.mark.parametrize(
    ("omega", "error", "complaint"),
    [
        (cp.sum, (MasterError, SettingsError), "the regularizer is not nonnegative"),
        (lambda w: 0.0, SettingsError, "must be a scalar convex cvxpy expression, got 0.0"),
        (lambda w: cp.abs(w), SettingsError, "must be a scalar convex"),
        (lambda w: -cp.sum_squares(w), SettingsError, "must be a scalar convex"),
    ],
)
def test_a_regularizer_that_is_none_is_named(omega: Any, error: Any, complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        SOLVERS[0].solve(risk(regularizer=Custom(omega)))
