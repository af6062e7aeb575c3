"""StructuredSVM: labellings that are no partitions, against independent solutions; bad input."""

import json
import re
import runpy
import signal
from dataclasses import astuple, dataclass
from pathlib import Path
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from cases import cases
from generic_examples import (
    blobs,
    chain,
    every_labelling,
    few_weights,
    multiclass,
    program,
    slack_rescaling,
)
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from structsvm import (
    ChangePoint,
    DataError,
    EquivalenceMatrix,
    MetricLearner,
    SettingsError,
    StructuredSVM,
    diagnose,
    evaluate,
    load,
    save,
)
from structsvm.errors import DataWarning, OracleWarning, PluginError
from structsvm.interop import risk_of
from structsvm.partitions import UNCONSTRAINED
from structsvm.problem import Custom, Free, Product, SquaredNorm
from structsvm.solvers import CuttingPlane, Stopping

SlackRescaled = slack_rescaling.SlackRescaled
COSTS = ((0.0, 1.0, 4.0), (2.0, 0.0, 1.0), (1.0, 3.0, 0.0))


def exactly(problem, tol=1e-6, slack="n", **settings):
    """A learner of a small gap."""
    solver = CuttingPlane(Stopping(tol, max_iter=2000), slack)
    return StructuredSVM(problem, solver=solver, **settings)


def assert_optimal(svm, best, rel=1e-5):
    assert svm.converged_
    assert svm.solution_.lower <= best + 1e-6 * best
    assert svm.solution_.upper == pytest.approx(best, rel=rel)


# ---- classes


def test_multiclass_digits_agree_with_crammer_and_singer_of_liblinear():
    data = load_digits()
    X = data.data[:400] / 16.0
    y = data.target[:400]
    C = 0.05
    peer = LinearSVC(
        multi_class="crammer_singer",
        C=C,
        fit_intercept=False,
        tol=1e-6,
        max_iter=100_000,
        random_state=0,
    ).fit(X, y)
    margins = X @ peer.coef_.T
    hinge = (margins + 1 - np.eye(10)[y]).max(axis=1) - margins[np.arange(len(y)), y]
    lam = 1 / (C * len(y))
    best = lam * 0.5 * np.sum(peer.coef_**2) + hinge.mean()
    svm = exactly(multiclass.Multiclass(), tol=1e-5, slack="one", lam=lam).fit(X, y)
    assert_optimal(svm, best, rel=1e-4)
    assert np.mean(np.array(svm.predict(X)) == peer.predict(X)) > 0.99


@pytest.mark.parametrize("rescale_slack", [False, True])
@pytest.mark.parametrize("costs", [None, COSTS])
@pytest.mark.parametrize("slack", ["n", "one"])
def test_classes_reach_the_optimum_over_all_labellings(rng, costs, rescale_slack, slack):
    X, y = blobs(rng)
    problem = multiclass.Multiclass((0, 1, 2), 3, costs)
    weights = np.linspace(0.2, 2.0, len(y))
    best = program(problem, X, y, lambda _: range(3), weights, rescale_slack) / weights.sum()
    learned = SlackRescaled(problem) if rescale_slack else problem
    labels = learned.truths(y) if rescale_slack else y
    svm = exactly(learned, 1e-7, slack, lam=1 / weights.sum())
    assert_optimal(svm.fit(X, labels, sample_weight=weights), best, rel=1e-6)


# ---- chains


@pytest.mark.parametrize("rescale_slack", [False, True])
def test_chains_reach_the_optimum_over_all_labellings(rescale_slack):
    xs, ys = chain.sequences(5, T=5, n_states=3, seed=1)
    problem = chain.Chain(3, 3)
    best = program(problem, xs, ys, every_labelling(5, 3), np.ones(5), rescale_slack) / 5
    learned = SlackRescaled(problem) if rescale_slack else problem
    labels = learned.truths(ys) if rescale_slack else ys
    assert_optimal(exactly(learned, lam=0.2).fit(xs, labels), best)


# ---- regularizers and constraints of cvxpy


def nuclear(w, n_classes=3):
    """The sum of the singular values of the weights, one row for each class."""
    return cp.normNuc(cp.reshape(w, (n_classes, w.size // n_classes), order="C"))


@pytest.mark.parametrize("omega", [cp.norm1, nuclear])
@pytest.mark.parametrize("constraints", [None, few_weights.balanced])
def test_cvxpy_reaches_the_optimum_over_all_labellings(rng, omega, constraints):
    X, y = blobs(rng)
    problem = few_weights.Wines(3)
    lam = 0.05
    best = program(
        problem,
        X,
        y,
        lambda _: range(3),
        np.full(18, 1 / 18),
        False,
        lambda w: lam * omega(w),
        constraints,
    )
    svm = exactly(problem, 1e-5, lam=lam, regularizer=Custom(omega), constraints=constraints)
    assert_optimal(svm.fit(X, y), best, rel=1e-4)
    if constraints is not None:
        np.testing.assert_allclose(svm.weight_.reshape(3, 3).sum(axis=0), 0.0, atol=1e-5)


# ---- as an estimator


@pytest.fixture
def classes(rng):
    return blobs(rng, 60)


@pytest.fixture
def installed(monkeypatch):
    """As if a distribution declared the problems of the examples."""

    def points(group):
        named = {"structsvm.structured_problems": (multiclass.Multiclass, chain.Chain)}
        return [
            SimpleNamespace(
                name=cls.__name__.lower(),
                value=f"examples:{cls.__name__}",
                dist=None,
                load=lambda cls=cls: cls,
            )
            for cls in named.get(group, ())
        ]

    monkeypatch.setattr("structsvm.partitions.plugins.entry_points", points)


def test_data_frames_name_the_features(classes):
    X, y = classes
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    svm = StructuredSVM(multiclass.Multiclass()).fit(frame, pd.Series(y))
    assert svm.feature_names_in_.tolist() == ["a", "b", "c"]
    assert svm.predict(frame) == svm.predict(X)
    with pytest.raises(DataError, match="X has features b, a, c, expected a, b, c: give"):
        svm.predict(frame[["b", "a", "c"]])


# ---- what is given


@cases(
    ({"problem": ChangePoint()}, r"partitions are for MetricLearner"),
    ({"lam": 0}, r"lam must be > 0, got 0"),
    ({"regularizer": "l1"}, r"regularizer must be one of \['squared', 'trace'\]"),
    ({"regularizer": "trace"}, r"the trace is not nonnegative on Free"),
    (
        {"solver": "quasi-newton"},
        r"solver must be a Solver or one of \['auto', 'cutting-plane'",
    ),
)
def test_impossible_settings_of_a_structured_svm_are_named(classes, given, complaint):
    settings = {"problem": multiclass.Multiclass(), **given}
    with pytest.raises(SettingsError, match=complaint):
        StructuredSVM(**settings).fit(*classes)


@cases(
    ([[1.0]], [0, 1], {}, r"1 instance but 2 labellings in y: give one for each"),
    ([], [], {}, r"X is empty: give at least one instance"),
    ([[1.0]], None, {}, r"there are no labellings"),
    ([np.array([1.0, np.nan])], [0], {}, r"instance 0 has nan at 1: fill missing values first"),
    (np.ones((2, 1)), [0.0, np.nan], {}, r"labelling of instance 1 is nan|give a finite one"),
    (np.ones((2, 1)), np.ma.array([0, 1], mask=[0, 1]), {}, r"labelling of instance 1 is masked"),
    (np.ones((2, 1)), [0, 1], {"sample_weight": [1, -1]}, r"sample_weight of instance 1 is -1.0"),
)
def test_impossible_data_of_a_structured_svm_are_named(X, y, how, complaint):
    y = np.array(y) if isinstance(y, list) and y[:1] == [0.0] else y
    with pytest.raises(DataError, match=complaint):
        StructuredSVM(multiclass.Multiclass()).fit(X, y, **how)


def test_a_learned_weight_of_zero_is_warned_of(classes):
    svm = StructuredSVM(few_weights.Wines(3), lam=100.0, regularizer=Custom(few_weights.cp.norm1))
    with pytest.warns(DataWarning, match=r"the best weight is zero.*lower lam=100.0"):
        svm.fit(*classes)


@pytest.mark.parametrize("wrong", [-1.0, 0.0], ids=["the least score", "always the first class"])
def test_inference_that_misses_the_truth_is_warned_of(classes, wrong):
    class Wrong(multiclass.Multiclass):
        def predict(self, w, x):
            return super().predict(wrong * w, x)

    with pytest.warns(
        OracleWarning, match=r"instance \d+: Wrong\.predict found a labelling whose sc"
    ):
        StructuredSVM(Wrong()).fit(*classes)


def test_a_partition_that_misses_the_truth_is_warned_of():
    class Whole(ChangePoint):
        def partition(self, instance, metric, n_clusters=None, constraint=UNCONSTRAINED):
            return EquivalenceMatrix.from_breakpoints([instance.n_samples])

        def calibrate(self, factor, data):
            return super().calibrate(factor, data)

    X = np.repeat([[0.0], [5.0], [1.0]], 10, axis=0)
    with pytest.warns(OracleWarning, match=r"instance 0: Whole\.partition found a labelling"):
        MetricLearner(Whole()).fit([X, 2 * X], [[10, 20, 30]] * 2)


# ---- weights, constraints, solvers


def test_ctrl_c_at_the_end_of_learning_leaves_nothing_of_an_earlier_fit(classes, monkeypatch):
    X, y = classes
    svm = StructuredSVM(multiclass.Multiclass(), solver=CuttingPlane()).fit(X, y)
    solve = CuttingPlane.solve

    def solve_and_interrupt(*args, **kwargs):
        solution = solve(*args, **kwargs)
        signal.raise_signal(signal.SIGINT)
        return solution

    monkeypatch.setattr(CuttingPlane, "solve", solve_and_interrupt)
    wide = np.hstack([X, X])
    with pytest.raises(KeyboardInterrupt):
        svm.fit(wide, y)
    assert svm.n_features_in_ == wide.shape[1]
    assert len(svm.predict(wide)) == len(y)


def test_weights_of_instances_stand_for_copies(classes):
    X, y = classes
    counts = np.arange(60) // 3 % 3
    svm = StructuredSVM(
        multiclass.Multiclass(), lam=0.05, solver=CuttingPlane(Stopping(1e-8, 2000))
    )
    weighted = svm.fit(X, y, sample_weight=counts).solution_
    repeated = svm.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).solution_
    assert weighted.upper == pytest.approx(repeated.upper, rel=1e-6)
    np.testing.assert_allclose(weighted.w, repeated.w, atol=1e-3)
    repeat = svm.score(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert svm.score(X, y, sample_weight=counts) == pytest.approx(repeat)


@dataclass(frozen=True)
class InParts(multiclass.Multiclass):
    """The same weights, as a product of two cones."""

    def weight_space(self):
        return Product((Free(2), Free(super().weight_space().dim - 2)))


@cases(
    {"regularizer": Custom(lambda w: cp.norm1(w))},
    {"regularizer": SquaredNorm(center=np.arange(9.0))},
    {"constraints": lambda w: [w[0] == 0.25, w[8] + 0.5 <= 0]},
    ids=["custom", "centre", "constraints"],
)
def test_problems_see_a_weight_of_several_cones_as_one_vector(classes, settings):
    whole, parts = (
        StructuredSVM(problem, solver=CuttingPlane(Stopping(1e-6)), **settings).fit(*classes)
        for problem in (multiclass.Multiclass(), InParts())
    )
    assert parts.weight_.shape == whole.weight_.shape == (9,)
    np.testing.assert_array_equal(parts.weight_, parts.solution_.w)
    np.testing.assert_allclose(parts.weight_, whole.weight_, atol=1e-2)
    assert parts.solution_.upper == pytest.approx(whole.solution_.upper, rel=1e-5)


# ---- labellings that are known in part


def partly(ys, rng, share=0.5):
    return [np.where(rng.random(y.size) < share, -1, y) for y in ys]


def test_partial_labellings_are_completed(rng):
    xs, ys = chain.sequences(40, T=20)
    few = StructuredSVM(chain.Chain(), lam=0.05).fit(xs[:3], ys[:3])
    known = [*ys[:3], *partly(ys[3:20], rng)]
    more = StructuredSVM(chain.Chain(), lam=0.05).fit(xs[:20], known)
    assert more.score(xs[20:], ys[20:]) > few.score(xs[20:], ys[20:])
    objectives = [r.objective for r in more.alternated_.rounds]
    assert objectives == sorted(objectives, reverse=True)
    for given, found in zip(known, more.alternated_.labels, strict=True):
        assert np.all((given < 0) | (given == found))
        assert more.problem_.is_complete(found)
    assert few.alternated_ is None
    alone = StructuredSVM(chain.Chain(), lam=0.05).fit(xs[:20], known, max_rounds=0)
    np.testing.assert_array_equal(alone.solution_.w, few.solution_.w)


def test_partial_labellings_end_at_an_optimum_for_their_completions(rng):
    xs, ys = chain.sequences(6, T=5, n_states=3, seed=1)
    known = [*ys[:3], *partly(ys[3:], rng)]
    svm = StructuredSVM(chain.Chain(3, 3), lam=0.2, solver=CuttingPlane(Stopping(1e-8, 2000))).fit(
        xs, known
    )
    assert svm.alternated_.fixed_point
    labels = svm.alternated_.labels
    best = program(svm.problem_, xs, labels, every_labelling(5, 3), np.full(6, 1 / 1.2)) / 5
    assert svm.solution_.upper == pytest.approx(best, rel=1e-5)


def test_partial_labellings_alone_are_refused(rng):
    xs, ys = chain.sequences(4)
    svm = StructuredSVM(chain.Chain())
    with pytest.raises(DataError, match="labelling is known in part only: label one instance"):
        svm.fit(xs, partly(ys, rng))
    with pytest.raises(SettingsError, match="resume= keeps one convex problem"):
        svm.fit(xs, [ys[0], *partly(ys[1:], rng)], resume="x")
    with pytest.raises(DataError, match="the labelling of instance 1 is known in part only"):
        risk_of(svm, xs, [ys[0], *partly(ys[1:], rng)])


# ---- files


def test_a_structured_svm_is_saved_and_loaded(classes, installed, tmp_path):
    X, y = classes
    costs = ((0.0, 1.0, 2.0), (1.0, 0.0, 1.0), (2.0, 1.0, 0.0))
    svm = StructuredSVM(multiclass.Multiclass(costs=costs), lam=0.1, solver="one-slack").fit(X, y)
    save(svm, tmp_path / "m.structsvm")
    again = load(tmp_path / "m.structsvm")
    assert isinstance(again, StructuredSVM)
    assert again.get_params() == svm.get_params()
    assert again.problem_ == svm.problem_
    assert again.predict(X) == svm.predict(X)
    np.testing.assert_array_equal(again.weight_, svm.weight_)
    assert again.solution_.summary() == svm.solution_.summary()
    assert again.n_features_in_ == 3
    again.fit(X, y)
    np.testing.assert_array_equal(again.weight_, svm.weight_)
    save(again, tmp_path / "again")
    assert load(tmp_path / "again").predict(X) == svm.predict(X)


# ---- problems that break their contract


@dataclass(frozen=True)
class Broken(multiclass.Multiclass):
    """Fails in one method, at one sample."""

    where: str = ""

    def _fail(self, where, x):
        if where == self.where and x[0] == 42.0:
            raise RuntimeError("boom")

    def joint_feature(self, x, y):
        self._fail("joint_feature", x)
        return super().joint_feature(x, y)

    def separate(self, w, x, y):
        self._fail("separate", x)
        return super().separate(w, x, y)

    def predict(self, w, x):
        self._fail("predict", x)
        return super().predict(w, x)


@pytest.mark.parametrize("where", ["joint_feature", "separate", "predict"])
def test_a_method_that_fails_is_named_with_its_sample(classes, where):
    X, y = classes
    X = X.copy()
    X[7, 0] = 42.0
    with pytest.raises(Exception, match=rf"instance 7: Broken\.{where} raised RuntimeError: boom"):
        StructuredSVM(Broken(where=where)).fit(X, y).predict(X)


def test_a_problem_that_writes_to_the_weight_is_named(classes):
    @dataclass(frozen=True)
    class Writes(multiclass.Multiclass):
        def separate(self, w, x, y):
            w *= 0.9
            return super().separate(w, x, y)

    with pytest.raises(PluginError, match=r"instance 0: Writes\.separate .*read-only.*copy"):
        StructuredSVM(Writes()).fit(*classes)


EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "generic_svm"


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.stem)
def test_every_structured_example_runs_with_its_accuracy(file, capsys):
    runpy.run_path(str(file), run_name="__main__")
    for accuracy in re.findall(r"accuracy.*held out: ([\d.]+)", capsys.readouterr().out):
        assert float(accuracy) > 0.93


# ---- the weight to start from


@dataclass(frozen=True)
class Sticky(chain.Chain):
    """Chains that know a weight without learning: a state is the sign of the first feature."""

    first: tuple[float, ...] = (-1.0, 0.0, 1.0, 0.0, 0.5, 0.0, 0.0, 0.5)

    def start(self):
        return np.array(self.first)


def two_states(n, T=20, seed=0):
    rng = np.random.default_rng(seed)
    ys = [np.repeat(rng.permutation(2), T // 2) for _ in range(n)]
    xs = [np.column_stack([2 * y - 1.0, np.ones(T)]) + 0.8 * rng.normal(size=(T, 2)) for y in ys]
    return xs, ys


def test_a_weight_to_start_from_completes_labellings_of_which_none_is_full(rng):
    xs, ys = two_states(30)
    known = partly(ys[:10], rng, 0.9)
    svm = StructuredSVM(Sticky(2, 2), lam=0.05).fit(xs[:10], known)
    for given, found in zip(known, svm.alternated_.labels, strict=True):
        assert np.all((given < 0) | (given == found))
        assert svm.problem_.is_complete(found)
    objectives = [r.objective for r in svm.alternated_.rounds]
    assert objectives == sorted(objectives, reverse=True)
    assert -svm.score(xs[10:], ys[10:]) < 0.1
    nothing = [np.full(20, -1)] * 10
    assert -StructuredSVM(Sticky(2, 2), lam=0.05).fit(xs[:10], nothing).score(xs, ys) < 0.1
    with pytest.raises(DataError, match="learning to begin with, or allow some rounds"):
        svm.fit(xs[:10], known, max_rounds=0)
    with pytest.raises(DataError, match=r"learning to begin with, or define Chain\.start"):
        StructuredSVM(chain.Chain(2, 2)).fit(xs[:10], known)


@pytest.mark.parametrize("first", [(1.0,), (np.nan,) * 8, (1.0,) * 9])
def test_an_impossible_starting_weight_is_refused(first, rng):
    xs, ys = two_states(4)
    svm = StructuredSVM(Sticky(2, 2, first), lam=0.05)
    with pytest.raises(PluginError, match=r"Sticky\.start returned"):
        svm.fit(xs, partly(ys, rng))
    svm.fit(xs, ys)  # which asks for none
    with pytest.raises(PluginError, match=r"Sticky\.start returned"):
        evaluate(svm, xs, ys)


# ---- evaluation and diagnosis


class Always:
    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return [self.answer] * len(X)


def test_an_evaluation_compares_losses_on_the_same_samples():
    xs, ys = two_states(30)
    svm = StructuredSVM(Sticky(2, 2), lam=0.05).fit(xs[:10], ys[:10])
    new = xs[10:], ys[10:]
    found = evaluate(svm, *new, baselines={"zeros": Always(np.zeros(20, dtype=int))})
    assert list(found.losses) == ["learned", "null", "start", "zeros"]
    assert found.scores["learned"] == pytest.approx(-svm.score(*new))
    expected = [np.mean(y != g) for y, g in zip(new[1], svm.predict(new[0]), strict=True)]
    np.testing.assert_allclose(found.losses["learned"], expected)
    assert found.scores["zeros"] == 0.5
    gain = found.contrasts["zeros"]
    assert gain.mean == pytest.approx(0.5 - found.scores["learned"])
    assert gain.low > 0
    assert gain.units == 20
    assert "gap" in str(found)
    assert "the weight to start from" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["certificate"]["status"] == "OPTIMAL"
    grouped = evaluate(svm, *new, groups=np.arange(20) // 4, names=list("abcdefghijklmnopqrst"))
    assert grouped.contrasts["start"].units == 5
    assert grouped.names[1] == "b"
    search = GridSearchCV(StructuredSVM(Sticky(2, 2)), {"lam": [0.05]}, cv=2)
    assert evaluate(search.fit(xs[:10], ys[:10]), *new).scores == pytest.approx(
        {name: found.scores[name] for name in ("learned", "null", "start")}
    )


def test_an_evaluation_without_a_weight_to_start_from_has_the_null_weight(classes):
    X, y = classes
    svm = StructuredSVM(multiclass.Multiclass(), lam=0.1).fit(X, y)
    assert list(evaluate(svm, X, y).losses) == ["learned", "null"]


@cases(
    ({"n_clusters": 3}, "n_clusters, measured, split and times are for partitions"),
    ({"names": ["a"]}, "instances but 1 name"),
    ({"groups": [0, 1]}, "groups"),
    ({"baselines": {"null": Always(0)}}, "the baseline 'null' has the name of another one"),
)
def test_evaluation_of_a_structured_svm_refuses_wrong_arguments(classes, given, complaint):
    X, y = classes
    svm = StructuredSVM(multiclass.Multiclass(), lam=0.1).fit(X, y)
    with pytest.raises((DataError, SettingsError), match=complaint):
        evaluate(svm, X, y, **given)


def test_a_diagnosis_looks_at_certificate_and_inference(classes):
    X, y = classes
    svm = StructuredSVM(multiclass.Multiclass(), lam=0.1).fit(X, y)
    found = diagnose(svm, X, y)
    assert not found.findings
    assert found.checked == ("certificate", "inference")
    assert diagnose(svm).checked == ("certificate",)
    with pytest.warns(ConvergenceWarning):
        short = StructuredSVM(
            multiclass.Multiclass(), lam=1e-4, solver=CuttingPlane(Stopping(1e-9, 1))
        ).fit(X, y)
    assert diagnose(short).kinds == ("certificate",)
    heavy = StructuredSVM(few_weights.Wines(3), lam=100.0, regularizer=Custom(few_weights.cp.norm1))
    with pytest.warns(DataWarning, match="the best weight is zero"):
        heavy.fit(X, y)
    assert diagnose(heavy).findings[0].values["status"] == "NOTHING_TO_LEARN"
    svm.problem_ = FirstClass(*astuple(svm.problem_))
    wrong = diagnose(svm, X, y)
    assert wrong.kinds == ("inference",)
    assert "FirstClass.predict found a labelling with a score" in wrong.findings[0].found


class FirstClass(multiclass.Multiclass):
    def predict(self, w, x):
        return self.classes[0]


class Strict(multiclass.Multiclass):
    """It says what an instance is, and which labels there are."""

    def check(self, x, y=None):
        if np.linalg.norm(x) == 0.0:
            raise DataError("an instance has some length")
        if y is not None and y < 0:
            raise DataError("a class is >= 0")
        if x[0] > 1e6:
            raise ZeroDivisionError("of the plugin")


@pytest.mark.parametrize(
    ("row", "label", "error", "said"),
    [
        (np.zeros(2), 0, DataError, "some length"),
        (np.ones(2), -1, DataError, "a class is"),
        (np.full(2, 1e7), 0, PluginError, "Strict.check raised ZeroDivisionError"),
    ],
)
def test_checks_of_a_problem_run_in_fit_and_predict(classes, row, label, error, said):
    X, y = (np.array(part)[:20] for part in classes)
    problem = Strict()
    svm = StructuredSVM(problem, lam=0.1).fit(X, y)
    wrong = np.vstack([X[:3], np.resize(row, X.shape[1]), X[3:6]])
    with pytest.raises(error, match=said) as refused:
        StructuredSVM(problem, lam=0.1).fit(wrong, [*y[:3], label, *y[3:6]])
    assert "instance 3" in str(refused.value) + str(getattr(refused.value, "__notes__", ""))
    if label >= 0:
        with pytest.raises(error, match=said) as refused:
            svm.predict(wrong)
        assert "instance 3" in str(refused.value) + str(getattr(refused.value, "__notes__", ""))
