"""The conformance checks: what is honest passes, and each mutation of it is caught and named."""

import math
import threading
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
from cases import cases
from wrong_plugins import Classes, Segments, mutant, recordings

from structsvm import ChangePoint, NormalizedCut
from structsvm.errors import DataError, PluginError
from structsvm.masters.newton import NewtonMaster
from structsvm.oracles import (
    ClusteringOracle,
    ExhaustiveOracle,
    SequentialOracle,
    SpectralOracle,
    all_partitions,
)
from structsvm.partitions import (
    UNCONSTRAINED,
    Argmax,
    EquivalenceMatrix,
    Oracle,
    Quality,
    SearchedInstance,
)
from structsvm.problem import History, Separation, SquaredNorm
from structsvm.problems import Clustering
from structsvm.problems.cut_risk import CutRisk
from structsvm.problems.normalized_cut import CutObjective
from structsvm.solvers import BlockFrankWolfe, CuttingPlane, ProjectedSubgradient
from structsvm.testing import (
    check_master,
    check_oracle,
    check_problem,
    check_regularizer,
    check_solver,
)

EXACT = SequentialOracle()


def caught(complaint, check, *given, **settings):
    with pytest.raises(PluginError, match=complaint):
        check(*given, **settings)


# ---- oracles


@dataclass(frozen=True)
class Altered(Oracle):
    """The exact oracle, with one promise broken."""

    alter: Any = None
    calls: list = field(default_factory=list, compare=False)

    def maximize(self, objective, constraint=UNCONSTRAINED):
        return getattr(self, self.alter)(objective, constraint)

    def overstates(self, A, c):
        answer = EXACT.maximize(A, c)
        return replace(answer, value=answer.value + 1.0, upper_bound=answer.upper_bound + 1.0)

    def bounds_below(self, A, c):
        answer = EXACT.maximize(A, c)
        return replace(answer, upper_bound=answer.value - 1.0)

    def forgets_boundaries(self, A, c):
        return EXACT.maximize(A, replace(c, forced=(), forbidden=(), regions=()))

    def forgets_k(self, A, c):
        return EXACT.maximize(A, replace(c, n_clusters=None))

    def forgets_the_loss(self, A, c):
        y = EXACT.maximize(replace(A, truth=None), c).y
        return Argmax(y, A.value(y), A.value(y), Quality.EXACT)

    def guesses(self, A, c):
        return replace(self.forgets_the_loss(A, c), upper_bound=math.inf, quality=Quality.HEURISTIC)

    def writes(self, A, c):
        A.Z[:] += 1.0
        return EXACT.maximize(A, c)

    def relaxes(self, A, c):
        answer = EXACT.maximize(A, c)
        return replace(answer, y=EquivalenceMatrix.from_factor(answer.y.factor()))

    def remembers(self, A, c):
        self.calls.append(A.n_samples)
        return EXACT.maximize(A, c)

    def fails(self, A, c):
        raise ZeroDivisionError("no luck")

    def says_nothing(self, A, c):
        return None


@dataclass(frozen=True)
class Shared(Oracle):
    """Scratch memory that every call shares: right as long as calls do not overlap."""

    scratch = {}  # noqa: RUF012
    pair = threading.Barrier(2)

    def maximize(self, objective, constraint=UNCONSTRAINED):
        self.scratch["objective"] = objective
        if threading.current_thread() is not threading.main_thread() and "met" not in self.scratch:
            with suppress(threading.BrokenBarrierError):  # a third one has nobody to meet
                self.pair.wait(30)
            self.scratch["met"] = True
        return EXACT.maximize(self.scratch["objective"], constraint)


@cases(
    (Altered("overstates"), r"return objective\.value\(y\)"),
    (Altered("bounds_below"), "is below value"),
    (Altered("forgets_boundaries"), "breaks its constraint"),
    (Altered("forgets_k"), "breaks its constraint"),
    (Altered("forgets_the_loss"), "fix the search, or declare"),
    (Altered("guesses"), r"compare with objective\.truth"),
    (Altered("writes"), "modified its input .*copy before writing"),
    (Altered("relaxes"), r"declare Quality\.RELAXATION"),
    (Altered("remembers"), "store settings only"),
    (Altered("fails"), "ZeroDivisionError: no luck"),
    (Altered("says_nothing"), r"maximize returned None .*: return Argmax\(y, value"),
    (Shared(), "in threads"),
    (mutant(SequentialOracle, takes=frozenset({"luck"}))(), r"takes holds \['luck'\]"),
    ("an oracle", "is no Oracle"),
    ids=str,
)
def test_a_wrong_oracle_is_named(oracle, complaint):
    caught(complaint, check_oracle, oracle, contiguous=True)


def test_honest_oracles_pass_their_checks():
    check_oracle(ExhaustiveOracle(contiguous=True), contiguous=True)
    check_oracle(SpectralOracle())


# ---- problems of partitions


class Doubled(SearchedInstance):
    def gram(self, y):
        return 2.0 * super().gram(y)


@dataclass(frozen=True)
class Lazy(Oracle):
    """Says that everything or nothing is the best segmentation, and that this is exact."""

    def maximize(self, objective, constraint=UNCONSTRAINED):
        T = objective.n_samples
        truth = objective.truth
        tried = [EquivalenceMatrix.from_breakpoints([T]), *([truth] if truth is not None else [])]
        tried.append(EquivalenceMatrix.from_labels(np.arange(T)))
        kept = [M for M in tried if constraint.violation(M) is None]
        if not kept:
            return EXACT.maximize(objective, constraint)
        y = max(kept, key=objective.value)
        return Argmax(y, objective.value(y), objective.value(y), Quality.EXACT)


@dataclass(frozen=True)
class Even(Oracle):
    """Segments of even length only."""

    def maximize(self, objective, constraint=UNCONSTRAINED):
        odd = tuple(range(1, objective.n_samples, 2))
        return EXACT.maximize(objective, replace(constraint, forbidden=odd))


def any_labels(self, y, instance):
    if np.shape(y) != (instance.n_samples,):
        raise DataError("labels of another shape")
    return EquivalenceMatrix.from_labels(y)


def fails_otherwise(self, y, instance):
    if np.shape(y) != (instance.n_samples,):
        raise IndexError("no luck")
    return Segments.encode(self, y, instance)


def writes(self, instance, truth):
    X = instance.X
    X += 1.0
    return SearchedInstance(instance.data, truth, EXACT)


OF_SEGMENTS = {
    "another family": (
        {"decoder": lambda self, instance: ClusteringOracle(relaxation=False)},
        "violates|no partition of this family|refused|failed",
    ),
    "accepts anything": (
        {"encode": lambda self, y, instance: EquivalenceMatrix.from_labels(np.ravel(y)[: len(y)])},
        "encode accepted",
    ),
    "crashes": ({"encode": fails_otherwise}, "encode raised IndexError for a table of labels"),
    "forgets": (
        {"decode": lambda self, M, instance: np.zeros(M.n_samples, dtype=np.int64)},
        r"encode\(decode\(M\)\) is another partition",
    ),
    "lists": (
        {"decode": lambda self, M, instance: M.labels.tolist()},
        "return one integer for each",
    ),
    "is contrary": (
        {"agreement": lambda self, truth, guess: float(truth != guess)},
        "larger must be better",
    ),
    "has no unit": (
        {"unit": lambda self, data: 0.0},
        r"unit returned 0\.0.*: return None or a number > 0",
    ),
    "ignores weights": (
        {"unit": lambda self, data: float(sum(x.X.var() for x in data.instances))},
        "with that instance twice",
    ),
    "has another gram": (
        {"training_instance": lambda self, x, truth: Doubled(x.data, truth, EXACT)},
        r"gram of the truth of instance 0 is not X\^T M X",
    ),
    "has a lazy decoder": ({"decoder": lambda self, instance: Lazy()}, "declared exact|separate"),
    "learns lazily": (
        {"training_instance": lambda self, x, truth: SearchedInstance(x.data, truth, Lazy())},
        "separate reached|declared exact|separate of a training sample",
    ),
    "is coarse": ({"decoder": lambda self, instance: Even()}, "refused|separate|failed|families"),
    "has clusters": (
        {
            "decoder": lambda self, instance: ClusteringOracle(relaxation=False),
            "encode": any_labels,
        },
        "contiguous is True, but encode accepts clusters that are no segments",
    ),
    "writes": (
        {"training_instance": writes},
        r"(training_instance modified X|writes modified its input)",
    ),
    "has no score": ({"scores": lambda self, *_: {"f1": 1.0}}, "among them 'loss' and"),
    "reads lists": ({"read": lambda self, Xs, names=None, n=None: Xs}, "read returned"),
}


@pytest.mark.parametrize("mutation", OF_SEGMENTS)
def test_a_wrong_problem_of_segments_is_named(mutation):
    definitions, complaint = OF_SEGMENTS[mutation]
    caught(complaint, check_problem, mutant(Segments, **definitions)(), *recordings(2, (8, 6, 6)))


@dataclass(frozen=True)
class Dwell(Segments):
    """Segments of eight samples at least, found by an oracle of another length."""

    searched: int = 8

    def decoder(self, instance):
        return ChangePoint(min_length=self.searched).decoder(instance)

    def encode(self, y, instance):
        return ChangePoint(min_length=8).encode(super().encode(y, instance).labels, instance)


def test_a_family_with_a_scale_is_compared_on_the_samples_given():
    report = check_problem(Dwell(), *recordings(2))
    assert min(report.given) > 5
    assert "nothing was compared by enumeration" in str(report)
    caught("no partition of this fam", check_problem, Dwell(7), *recordings(2))
    caught("refused|which is in the family", check_problem, Dwell(9), *recordings(2))


@cases((Clustering, r"give an instance .* such as Clustering\(\)"), ("a problem", "is no Problem"))
def test_objects_that_are_no_problems_are_named_by_check_problem(wrong, complaint):
    caught(complaint, check_problem, wrong, *recordings(2))


@pytest.mark.parametrize(("count", "oracle"), [("known", "rounded"), ("unknown", "relaxed")])
def test_clustering_passes_check_problem(count, oracle):
    check_problem(Clustering(count, oracle, n_init=3), *recordings(2, (6, 5, 5)))


# ---- problems that are not convex


def graphs():
    """Grids of nodes, whose first feature tells the side they are on."""
    rng = np.random.default_rng(0)
    grid = nx.grid_2d_graph(5, 4)
    Xs = []
    ys = []
    for i in range(2):
        ys.append(np.array([int(row >= 2 + i) for row, _ in grid]))
        X = np.outer(ys[-1], [2.0, 0.0]) + rng.standard_normal((20, 2)) * [0.5, 1.0]
        Xs.append((nx.to_numpy_array(grid), X))
    return Xs, ys


def steep(self, w):
    value, gradient = CutRisk.losses(self, w)
    return value, 2.0 * gradient


def heavy(self, w, regularizer):
    model = CutRisk.model(self, w, regularizer)
    return replace(model, sample_weight=3.0 * model.sample_weight)


def with_risk(**definitions):
    kind = mutant(CutRisk, **definitions)

    def risk(self, *given, **named):
        return kind(**vars(CutObjective.risk(self, *given, **named)))

    objective = mutant(CutObjective, risk=risk)
    return {"objective": lambda self, metric, P: objective(self, metric, P)}


OF_CUTS = {
    "gradient": (with_risk(losses=steep), "the gradient of losses agrees with .* differences"),
    "part": (with_risk(part=lambda self, which: self), "the parts of the risk do not add up"),
    "model": (with_risk(model=heavy), "it has to touch them there"),
    "count": (
        {
            "partition": lambda self, x, metric, K=None, c=None: NormalizedCut.partition(
                self, x, metric, 1 + (K or 2)
            ),
            "calibrate": NormalizedCut.calibrate,
        },
        "partition breaks what was asked for: it has 3 clusters where exactly 2",
    ),
}


@pytest.mark.parametrize("mutation", OF_CUTS)
def test_a_wrong_problem_that_is_not_convex_is_named(mutation):
    definitions, complaint = OF_CUTS[mutation]
    caught(complaint, check_problem, mutant(NormalizedCut, **definitions)(), *graphs())


@cases(
    {}, {"cluster_count": "unknown"}, {"objective_kind": "plain"}, {"oracle": "rounded"}, ids=str
)
def test_normalized_cuts_pass_check_problem(settings):
    assert str(check_problem(NormalizedCut(**settings), *graphs())) == "every check passed"


# ---- problems with side information


class Times(frozenset):
    """When an instrument was off."""

    def at(self, rows):
        return Times(i for i, row in enumerate(rows.tolist()) if row in self and i > 0)


class Stale(Times):
    def at(self, rows):
        return self


@dataclass(frozen=True)
class Quiet(Segments):
    """Segments that do not change where an instrument was off: pairs (X, the times it was)."""

    def read(self, Xs, feature_names=None, n_features=None):
        instances, names = super().read([X for X, _ in Xs], feature_names, n_features)
        return [replace(x, side=off) for x, (_, off) in zip(instances, Xs, strict=True)], names

    def decoder(self, instance):
        return QuietOracle(instance.side)

    def encode(self, y, instance):
        M = super().encode(y, instance)
        if set(M.breakpoints) & instance.side:
            raise DataError("the label changes where the instrument was off")
        return M


@dataclass(frozen=True)
class QuietOracle(Oracle):
    off: Times

    def maximize(self, objective, constraint=UNCONSTRAINED):
        forbidden = tuple(sorted({*self.off, *constraint.forbidden}))
        return EXACT.ask(objective, replace(constraint, forbidden=forbidden))


def test_side_information_goes_with_a_sample():
    Xs, ys = recordings(2, (8, 6, 6))
    off = (2, 5, 10, 17)
    pairs = [(X, Times(off)) for X in Xs]
    assert check_problem(Quiet(), pairs, ys).enumerated == {1: 1, 2: 2, 4: 4, 6: 8}
    whole = str(check_problem(Quiet(), [(X, frozenset(off)) for X in Xs], ys))
    assert "nothing was compared by enumeration" in whole
    stale = [(X, Stale(off)) for X in Xs]
    caught("as at makes them", check_problem, Quiet(), stale, ys)
    deaf = mutant(Quiet, decoder=lambda self, x: EXACT)()
    caught("no partition of this family|violates|separate", check_problem, deaf, pairs, ys)


# ---- problems that are no partitions


def doubles(self, x, y):
    x *= 2.0
    return np.kron(np.eye(3)[y], x)


def without_the_loss(self, w, x, y):
    return Separation(Classes.predict(self, w, x), 0.0, Quality.EXACT)


OF_CLASSES = {
    "no space": ({"weight_space": lambda self: "R^6"}, r"weight_space returned 'R\^6'"),
    "infinite": ({"joint_feature": lambda self, x, y: np.full(6, np.inf)}, "finite floats"),
    "writes": ({"joint_feature": doubles}, "joint_feature modified its input"),
    "slack": (
        {"separate": lambda self, w, x, y: Separation(y, -1.0, Quality.HEURISTIC)},
        r"slack -1\.0",
    ),
    "exact with slack": (
        {"separate": lambda self, w, x, y: Separation(y, 1.0, Quality.EXACT)},
        "return 0, or another quality",
    ),
    "no loss": ({"separate": without_the_loss}, "is worth .* more|worse than the truth"),
    "decodes wrongly": ({"predict": lambda self, w, x: 0}, "predict reached the score"),
    "not linear": (
        {
            "predict": lambda self, w, x: int(
                np.argmax([w @ self.joint_feature(x, k) - k for k in range(3)])
            )
        },
        "not linear in w",
    ),
    "elsewhere": (
        {"predict": lambda self, w, x: 7},
        "the answer of predict, 7 .an int., is none of labellings",
    ),
}


@pytest.mark.parametrize("mutation", OF_CLASSES)
def test_a_wrong_problem_is_named_by_check_problem(mutation):
    rng = np.random.default_rng(0)
    (definitions, complaint) = OF_CLASSES[mutation]
    xs = [rng.standard_normal(2) for _ in range(3)]
    given = {"labellings": lambda _x: range(3)}
    check_problem(Classes(), xs, [0, 1, 2], **given)
    caught(complaint, check_problem, mutant(Classes, **definitions)(), xs, [0, 1, 2], **given)


@dataclass(frozen=True)
class Grades(Classes):
    """Separates by the distance of grades, and declares a multiple of it."""

    factor: float = 1.0

    def loss(self, y, y_hat):
        return self.factor * abs(y - y_hat)

    def separate(self, w, x, y):
        distances = np.abs(np.arange(3) - y)
        best = int(np.argmax(distances + w.reshape(3, 2) @ x))
        return Separation(best, 0.0, Quality.EXACT)


@pytest.mark.parametrize("factor", [0.999, 1.00001])
def test_a_loss_that_is_almost_the_one_maximised_is_named(factor):
    rng = np.random.default_rng(0)
    xs = [rng.standard_normal(2) for _ in range(4)]
    ys = [0, 1, 2, 1]
    check_problem(Grades(), xs, ys)
    caught("separate (found|reached)", check_problem, Grades(factor=factor), xs, ys)


@dataclass(frozen=True)
class WithinAGap(Classes):
    """Takes the first labelling that is within a tolerance of the best, as a solver may."""

    gap: float = 1e-6
    says_so: bool = False

    def separate(self, w, x, y):
        scores = np.array([self.loss(y, z) + w @ self.joint_feature(x, z) for z in range(3)])
        first = int(np.flatnonzero(scores >= scores.max() - self.gap)[0])
        first = y if scores.max() - scores[y] <= self.gap else first
        if self.says_so:
            return Separation(first, self.gap, Quality.RELAXATION)
        return Separation(first, 0.0, Quality.EXACT)


@dataclass(frozen=True)
class OracleWithinAGap(Oracle):
    """Takes the last partition, or the truth, that is within a tolerance of the best."""

    gap: float
    takes = frozenset()

    def maximize(self, objective, constraint=UNCONSTRAINED):
        labels = map(EquivalenceMatrix.from_labels, all_partitions(objective.n_samples))
        ranked = sorted(labels, key=objective.value, reverse=True)
        most = objective.value(ranked[0])
        y = next(M for M in reversed(ranked) if objective.value(M) >= most - self.gap)
        if objective.truth is not None and objective.value(objective.truth) >= most - self.gap:
            y = objective.truth
        value = objective.value(y)
        return Argmax(y, value, value, Quality.EXACT)


@pytest.mark.parametrize("gap", [3e-7, 1e-4])
def test_the_tolerance_of_a_search_is_named_as_a_cure_that_passes(gap):
    rng = np.random.default_rng(0)
    xs = [rng.standard_normal(2) for _ in range(4)]
    ys = [0, 1, 2, 1]
    cure = "within a tolerance, as milp at its gap.* the slack with Quality.RELAXATION"
    caught(cure, check_problem, WithinAGap(gap=gap), xs, ys)
    check_problem(WithinAGap(gap=gap, says_so=True), xs, ys)


def test_the_tolerance_of_an_oracle_is_named_as_well():
    cure = "within a tolerance, as milp at its gap.* upper bound that it has proved with Quality"
    caught(cure, check_oracle, OracleWithinAGap(gap=1e-2))


def test_an_answer_that_misses_much_is_not_explained_by_a_tolerance():
    with pytest.raises(PluginError) as found:
        check_oracle(Altered("forgets_the_loss"), contiguous=True)
    assert "tolerance" not in str(found.value)


# ---- regularizers, masters and solvers


def root(self, w, space):
    return float(np.sqrt(SquaredNorm(self.weight).value(w, space)))


@cases(
    ({"value": root}, "scaled.2..value|not convex"),
    ({"value": lambda self, w, space: np.nan}, "return a finite float"),
    ({"scaled": lambda self, factor: self}, "return twice as much"),
    ({"floor": lambda self, space: 1.0}, "is below floor"),
    ({"as_cvxpy": lambda self, B, w, space: cp.sum_squares(w)}, "where value is"),
    (
        {"as_quadratic": lambda self, space: SquaredNorm(3.0).as_quadratic(space)},
        "as_quadratic differs from value",
    ),
    ({"minimum": lambda self, slope, space, upper: 0.5}, "it has to be a lower bound"),
    ({"max_scale": lambda self, slope, space: 2.0}, "a number from 0 to 1"),
)
def test_a_wrong_regularizer_is_named(definitions, complaint):
    caught(complaint, check_regularizer, mutant(SquaredNorm, **definitions)())


def answered(alter):
    def solve(self, risk, cuts, request):
        return alter(NewtonMaster().solve(risk, cuts, request), cuts)

    return mutant(NewtonMaster, solve=solve)()


def overwritten(answer, cuts):
    cuts.slopes[:] = 0.0
    return answer


@cases(
    (lambda a, _: replace(a, w=a.w + 0.5), "the minimum is"),
    (lambda a, _: replace(a, w=a.w[:1]), "shapes are"),
    (lambda a, _: replace(a, w=a.w - 1.0, is_projected=True), "outside"),
    (lambda a, _: replace(a, multipliers=-a.multipliers - 0.1), "multipliers are not negative"),
    (lambda a, _: replace(a, multipliers=0.0 * a.multipliers), "its multipliers prove"),
    (lambda a, _: replace(a, bound=(100.0, "hope")), "it claims the lower bound"),
    (overwritten, "it writes to the cuts"),
)
def test_a_wrong_master_is_named(alter, complaint):
    check_master(NewtonMaster())
    caught(complaint, check_master, answered(alter))


def solved(alter):
    def solve(self, risk, **given):
        return alter(CuttingPlane.solve(self, risk, **given))

    return mutant(CuttingPlane, solve=solve)()


@cases(
    (lambda s: replace(s, lower=s.upper + 1.0), "lower is .*, the minimum is"),
    (
        lambda s: replace(s, upper=0.9 * s.upper, lower=0.0),
        "upper is .*, the objective at the weight is",
    ),
    (lambda s: replace(s, w=10.0 * s.w), "the objective at the weight is"),
    (lambda s: replace(s, lower=s.lower - 10.0), "the status is OPTIMAL with a gap"),
    (lambda s: replace(s, history=History(s.history.entries[::-1])), "bounds of the history"),
)
def test_a_wrong_solver_is_named(alter, complaint):
    caught(complaint, check_solver, solved(alter))


@pytest.mark.parametrize(
    "solver",
    [CuttingPlane(), CuttingPlane(slack="one"), BlockFrankWolfe(), ProjectedSubgradient()],
    ids=["n", "one", "frank-wolfe", "subgradient"],
)
def test_honest_solvers_pass_check_solver(solver):
    check_solver(solver)


@pytest.mark.parametrize("check", [check_regularizer, check_master, check_solver])
def test_objects_of_another_kind_are_named_by_the_checks(check):
    caught("is no (Regularizer|Master|Solver)", check, "one")
