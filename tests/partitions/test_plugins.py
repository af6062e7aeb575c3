"""Problems and oracles by name, and plugins of other distributions through their entry points."""

import importlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cases import cases
from programs import loaded, python
from sklearn.model_selection import GridSearchCV
from wrong_plugins import Segments, recordings

from structsvm import (
    ChangePoint,
    MetricLearner,
    MetricLearnerCV,
    StructuredSVM,
    compare_solvers,
    evaluate,
    load,
    save,
)
from structsvm.cli import main
from structsvm.data.instance import Instance
from structsvm.errors import DataError, OracleError, PluginError
from structsvm.oracles import ExhaustiveOracle, SequentialOracle
from structsvm.partitions import (
    UNCONSTRAINED,
    EquivalenceMatrix,
    Examples,
    Metric,
    Oracle,
    PartitionProblem,
    Traits,
    Words,
)
from structsvm.partitions.plugins import (
    ORACLES,
    PROBLEMS,
    plugin_class,
    plugins,
    problem_class,
    problem_name,
    problem_names,
)
from structsvm.testing import check_problem


class Entry:
    """An entry point of another distribution."""

    def __init__(self, found, name="theirs", value="their.module:Thing"):
        self.name, self.value, self.found = name, value, found
        self.dist = SimpleNamespace(name="their-package", version="2.0")

    def load(self):
        if isinstance(self.found, BaseException):
            raise self.found
        return self.found


@dataclass(frozen=True)
class Incomplete(PartitionProblem):
    """Says nothing of its labels."""

    def decoder(self, instance):
        return SequentialOracle()


@dataclass
class Mutable:
    """No PartitionProblem, and no frozen one."""


@pytest.fixture
def installed(monkeypatch):
    """Return a function that makes these the installed entry points of any group."""

    def install(*found):
        monkeypatch.setattr("structsvm.partitions.plugins.entry_points", lambda group: list(found))

    return install


def test_plugins_of_structsvm_load_and_have_summaries() -> None:
    for plugin in [*plugins(PROBLEMS), *plugins(ORACLES)]:
        assert plugin.error is None
        assert plugin.summary.endswith(".")
        assert plugin.distribution
    (change_point,) = (p for p in plugins(PROBLEMS) if p.name == "change-point")
    assert change_point.value == "structsvm.problems.change_point:ChangePoint"
    assert change_point.settings["segment_count"] == "unknown"


class TestInstalledWhileThisRuns:
    """As by ``%pip install`` in a notebook: folders that changed are read again."""

    @staticmethod
    def declare(site: Path, name: str, changed: int) -> None:
        declared = site / f"{name}-1.0.dist-info"
        declared.mkdir(parents=True)
        (declared / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
        (declared / "entry_points.txt").write_text(f"[{PROBLEMS}]\n{name} = {name}:Problem\n")
        os.utime(
            site, ns=(changed, changed)
        )  # two changes within a tick of the clock look like one

    def test_a_new_distribution_is_found_and_a_removed_one_is_not(self, tmp_path, monkeypatch):
        self.declare(tmp_path, "first", changed=1)
        monkeypatch.syspath_prepend(tmp_path)
        assert "first" in problem_names()
        assert "second" not in problem_names()
        self.declare(tmp_path, "second", changed=2)
        assert {"first", "second"} <= set(problem_names())
        shutil.rmtree(tmp_path / "first-1.0.dist-info")
        os.utime(tmp_path, ns=(3, 3))
        assert "first" not in problem_names()
        assert "second" in problem_names()

    def test_plugins_in_a_folder_added_to_the_path_are_found(self, tmp_path, monkeypatch):
        before = problem_names()
        self.declare(tmp_path / "site", "theirs", changed=1)
        monkeypatch.syspath_prepend(tmp_path / "site")
        assert set(problem_names()) == {*before, "theirs"}
        monkeypatch.undo()
        assert problem_names() == before

    def test_metadata_of_distributions_is_read_once(self, monkeypatch):
        problem_names()
        monkeypatch.setattr("importlib.metadata.entry_points", pytest.fail)
        assert "change-point" in problem_names()


@cases(
    (
        ImportError("no module named their"),
        r"'theirs' \(their.module:Thing\) cannot be loaded: ImportError: no module named their",
    ),
    (ZeroDivisionError("their fault"), "cannot be loaded: ZeroDivisionError: their fault"),
    (SystemExit("usage: thing FILE"), "cannot be loaded: SystemExit: usage: thing FILE"),
    (int, r"'theirs' \(their.module:Thing\) is no PartitionProblem"),
    (ChangePoint(), "is no PartitionProblem"),
    (Mutable, "is no PartitionProblem"),
    (Incomplete, "lacks encode, traits: define"),
)
def test_an_entry_point_that_is_no_problem_is_refused_and_listed(installed, found, message) -> None:
    installed(Entry(found))
    with pytest.raises(PluginError, match=message):
        problem_class("theirs")
    with pytest.raises(PluginError, match="ChangePoint has no name"):
        problem_name(ChangePoint())
    (listed,) = plugins(PROBLEMS)
    assert (listed.name, listed.distribution) == ("theirs", "their-package 2.0")
    with pytest.raises(PluginError, match=message):
        raise PluginError(listed.error)


def not_today():
    raise ZeroDivisionError("not today")


@dataclass(frozen=True)
class Undecided(Segments):
    """Segments with a setting whose default cannot be made."""

    longest: list[int] = field(default_factory=not_today)


def test_a_default_that_cannot_be_made_is_listed_as_such(installed) -> None:
    installed(Entry(Undecided))
    (listed,) = plugins(PROBLEMS)
    assert listed.error == "Undecided: the default of longest raised ZeroDivisionError: not today"


def missed_changes_cost_most(truth, guess):
    """10 for each change that is missed, and 1 for each that there is not."""
    there, found = (set(M.breakpoints) for M in (truth, guess))
    return 10.0 * len(there - found) + len(found - there)


@dataclass(frozen=True)
class Asymmetric(Segments):
    """Segments with a loss of their own."""

    @property
    def loss(self):
        return missed_changes_cost_most


def test_prices_and_scores_are_those_of_the_loss_of_the_problem():
    Xs, ys = recordings(4)
    problem = Asymmetric()
    instances, _ = problem.read(Xs)
    truths = [problem.encode(y, x) for y, x in zip(ys, instances, strict=True)]
    found = problem.calibrate(np.eye(2), Examples(instances, truths))
    for price, loss in zip(found.penalties, found.losses, strict=True):
        guesses = [problem.partition(x, Metric(np.eye(2), price)) for x in instances]
        losses = list(map(missed_changes_cost_most, truths, guesses))
        assert loss == pytest.approx(np.mean(losses))
        assert problem.scores(truths[0], guesses[0], 0)["loss"] == losses[0]
        assert problem.agreement(truths[0], guesses[0]) == -losses[0]


TABLE = Instance(np.zeros((40, 2)))
SHORT = EquivalenceMatrix.from_labels([0, 0, 1])


@dataclass(frozen=True)
class SearchedInFull(Oracle):
    """Looks at every partition, and takes no conditions on it but those named."""

    contiguous: bool

    def maximize(self, objective, constraint=UNCONSTRAINED):
        return ExhaustiveOracle(self.contiguous).maximize(objective, constraint)


class WithoutConditions(SearchedInFull):
    takes = frozenset()


class WithBoundaries(SearchedInFull):
    takes = frozenset({"boundaries"})


@dataclass(frozen=True)
class FewItems(Segments):
    """Items whose number of parts cannot be asked for."""

    oracle: type[Oracle] = WithoutConditions

    def decoder(self, instance):
        return self.oracle(contiguous=True)


@dataclass(frozen=True)
class FewOfASet(FewItems):
    traits = Traits(words=Words("set", "group", "item"))

    def decoder(self, instance):
        return self.oracle(contiguous=False)

    def encode(self, y, instance):
        labels = np.asarray(y)
        if labels.shape != (instance.n_samples,):
            raise DataError(f"labels of shape {labels.shape} for {instance.n_samples} items")
        return EquivalenceMatrix.from_labels(labels)


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
@cases(
    (FewItems(), None),
    (FewItems(WithBoundaries), ["untrained", "diagonal"]),
    (FewOfASet(), None),
)
def test_an_oracle_need_not_take_a_number_of_clusters(problem, candidates):
    """The conformance kit, the search among candidates and the evaluation ask for none."""
    rng = np.random.default_rng(0)
    ys = [np.repeat([0, 1], [2, 4]), np.repeat([0, 1, 2], [1, 2, 3]), np.repeat([0, 1], [3, 3])] * 3
    Xs = [4.0 * y[:, None] * [1.0, 0.0] + rng.standard_normal((6, 2)) for y in ys]
    check_problem(problem, Xs[:3], ys[:3])
    search = MetricLearnerCV(problem, candidates, lams=[0.1], random_state=0).fit(Xs[:6], ys[:6])
    assert evaluate(search, Xs[6:], ys[6:]).scores["learned"]["loss"] < 1.0
    with pytest.raises(OracleError, match="does not take n_clusters"):
        search.predict(Xs, n_clusters=2)


def test_an_entry_point_that_is_no_oracle_is_refused(installed) -> None:
    installed(Entry(ChangePoint))
    with pytest.raises(PluginError, match=r"oracle 'theirs' .* is no Oracle"):
        plugin_class(ORACLES, "theirs")


def test_a_name_that_two_distributions_claim_is_refused(installed) -> None:
    installed(Entry(ChangePoint), Entry(ChangePoint, value="other.module:Thing"))
    with pytest.raises(PluginError, match=r"two distributions declare a problem 'theirs'"):
        problem_class("theirs")
    installed(Entry(ChangePoint), Entry(ChangePoint))  # one that is found twice on the path
    assert problem_class("theirs") is ChangePoint


@cases(
    ("decoder", None, r"decoder returned None .* return an instance of Oracle"),
    ("training_instance", None, "training_instance returned None .*: return an instance of Lab"),
    ("closed_form", 3, r"closed_form returned 3 .*: return an array L \(P, r\), or None"),
    ("calibrate", None, "calibrate returned None .*: return an instance of Calibration"),
    ("objective", None, "objective returned None .*: return an instance of Objective"),
    ("loss", lambda *Ms: np.nan, r"loss returned nan \(a float\): return a number"),
    ("loss", lambda *Ms: np.ones(3), r"loss returned an array of float64 .*: return a number"),
    (
        "traits",
        {"contiguous": True},
        "traits returned {'contiguous': True} .*: return an instance of Traits",
    ),
    ("unit", np.nan, "unit returned nan .*: return None or a number > 0"),
    ("encode", [1, 1, 0, 0], r"encode returned \[1, 1, 0, 0\] \(a list\)"),
    ("encode", SHORT, "encode returned .*: return an EquivalenceMatrix of 40 samples"),
    ("read", [TABLE], r"read returned .*: return a list of Instance\(X, side\)"),
    ("read", (iter([TABLE]), None), "read returned .*iterator object .*a tuple"),
    ("read", ([Instance(TABLE.X.astype(np.float32))], None), "read returned .*X of float64"),
    ("read", ([Instance(TABLE.X[:, 0])], None), "read returned .*X of float64"),
)
def test_a_method_of_a_problem_with_a_wrong_answer_is_named(monkeypatch, method, answer, complaint):
    found = lambda self, *arguments: answer  # noqa: E731
    if method in ("loss", "traits"):
        found = property(found)
    methods = {method: found, "__module__": __name__}
    problem = dataclass(frozen=True)(type("Wrong", (Segments,), methods))
    Xs, ys = recordings(3)
    monkeypatch.setitem(globals(), "Wrong", problem)  # where pickle looks for it
    with pytest.raises(PluginError, match=f"Wrong.{{1,2}}{complaint}"):
        MetricLearner(problem(), metric="diagonal").fit(Xs, ys)


@cases(
    ("partition", None, "partition returned None .*: return an instance of EquivalenceMatrix"),
    ("agreement", np.nan, r"agreement returned nan .*: return a number"),
    ("agreement", None, r"agreement returned None .*: return a number"),
    ("scores", None, "scores returned None .*: return an instance of dict"),
)
def test_a_wrong_answer_of_a_problem_is_named_at_the_first_call(method, answer, complaint):
    methods = {method: lambda self, *arguments: answer}
    if method == "partition":
        methods["calibrate"] = Segments.calibrate
    problem = dataclass(frozen=True)(type("Wrong", (Segments,), methods))
    Xs, ys = recordings(4)
    if method == "partition":
        use = MetricLearner(problem(), metric="diagonal").fit
    else:
        learner = MetricLearner(problem(), metric="diagonal").fit(Xs[:2], ys[:2])
        use = partial(evaluate, learner)
        Xs = Xs[2:]
        ys = ys[2:]
    with pytest.raises(PluginError, match=rf"Wrong\.{complaint}"):
        use(Xs, ys)


# ---- installed packages


ROOT = Path(__file__).resolve().parents[2]

BUILD_ALL = """
import os, sys, zipfile
from setuptools import build_meta

target, *sources = sys.argv[1:]
for source in sources:
    os.chdir(source)
    wheel = build_meta.build_wheel(target)
    zipfile.ZipFile(os.path.join(target, wheel)).extractall(target)
"""
"""What pip does with wheels that need no script, in one process for all of them."""


RUN_ALL = """
import contextlib, io, json, sys
from structsvm.cli import main

outputs = []
for line in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        code = main(line)
    if code:
        sys.exit(f"{line} ended with {code}")
    outputs.append(output.getvalue())
print(json.dumps(outputs))
"""
"""Several command lines in one process, which imports the libraries once."""


@dataclass(frozen=True)
class Installed:
    """Distributions in a folder of their own, which only these subprocesses see."""

    sources: tuple[Path, ...]
    target: Path

    @classmethod
    def of(cls, sources: list[Path], folder: Path) -> "Installed":
        target = folder / "site"
        copies = tuple(folder / "source" / source.name for source in sources)
        for source, copy in zip(sources, copies, strict=True):
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("*.egg-info", "build"))
        printed(python("-c", BUILD_ALL, target, *copies, cwd=folder))
        return cls(copies, target)

    def python(self, code: str, *arguments: object, cwd: Path) -> str:
        """What code prints in a process that finds them."""
        found = f"import sys\nsys.path.insert(0, {str(self.target)!r})\n"
        return printed(loaded(found + code, *arguments, cwd=cwd, COLUMNS="250"))

    def commands(self, *lines: list[str], cwd: Path) -> list[str]:
        """What command lines of structsvm print, run one after the other."""
        output = self.python(RUN_ALL, json.dumps(lines), cwd=cwd)
        found: list[str] = json.loads(output)
        return found


def printed(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The three examples and what `structsvm new` writes."""
    folder = tmp_path_factory.mktemp("plugins")
    kinds = {"problem": "tree-cuts", "labelling": "new-grades", "cuts": "worst-case"}
    for kind, name in kinds.items():
        assert main(["new", kind, name, "-o", str(folder / kind), "--quiet"]) == 0
    examples = ROOT / "examples"
    names = ("circular", "tree", "alignment")
    return Installed.of(
        [*(examples / f"plugin-{name}" for name in names), *(folder / kind for kind in kinds)],
        folder,
    )


def test_generated_plugins_pass_their_own_tests(packages: Installed) -> None:
    options = ["-q", "-W", "error", "-p", "no:cacheprovider", "--import-mode=importlib"]
    code = "import pytest\nsys.exit(pytest.main(sys.argv[1:]))"
    said = packages.python(code, *options, *packages.sources, cwd=packages.target)
    assert "51 passed" in said


def test_installed_plugins_are_listed_by_the_command(packages: Installed, tmp_path: Path) -> None:
    listed, shown = packages.commands(["problems", "--json"], ["problems"], cwd=tmp_path)
    assert shown.count("structsvm-circular 0.1.0") == 2
    assert "new-grades" in {one["name"] for one in json.loads(listed)["structured_problems"]}
    for kind, new in {"problems": "tree-cuts", "oracles": "tree"}.items():
        found = {plugin["name"]: plugin for plugin in json.loads(listed)[kind]}
        assert found["circular"]["distribution"] == "structsvm-circular 0.1.0"
        assert found["circular"]["error"] is None
        assert new in found


# ---- the plugins of docs/plugins.md


PAGE = Path(__file__).resolve().parents[2] / "docs" / "plugins.md"
BLOCK = re.compile(r"^```(?:python|py)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = BLOCK.findall(PAGE.read_text(encoding="utf-8"))


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write the block that has a text into a module, and import it."""
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    written = []

    def write(name, holding):
        (block,) = [block for block in BLOCKS if holding in block]
        (tmp_path / f"{name}.py").write_text(block, encoding="utf-8")
        written.append(name)
        return importlib.import_module(name)

    yield write
    for name in written:
        monkeypatch.delitem(importlib.sys.modules, name)


def test_a_plugin_with_one_method_learns_and_predicts(module, rng):
    problem = module("dwell", "class MinDwell").MinDwell(min_length=5)
    ys = [np.repeat([0, 1, 2], [10, 8, 12]), np.repeat([0, 1], [12, 18])]
    Xs = [np.column_stack([4.0 * y, 0.0 * y]) + 0.5 * rng.standard_normal((30, 2)) for y in ys]
    check_problem(problem, Xs, ys)
    found = MetricLearner(problem).fit(Xs, ys).predict_breakpoints(Xs)
    assert found == [[10, 18, 30], [12, 30]]


def test_a_generated_structured_problem_learns_and_predicts(module, monkeypatch, tmp_path, capsys):
    grades = module("grades", "class Grades")
    assert "grades off, on average: 0." in capsys.readouterr().out
    module("test_grades", "def test_grades_keep_the_contract").test_grades_keep_the_contract()
    X = grades.X
    y = grades.y
    Grades = grades.Grades
    search = GridSearchCV(StructuredSVM(Grades()), {"problem__n_grades": [4, 6]}, cv=2)
    assert search.fit(X, y).best_score_ > -0.5
    found = compare_solvers(Grades(), X, y, ["cutting-plane", "one-slack"], lam=0.1)
    assert all(solution.gap <= 1e-3 for solution in found.solutions.values())
    monkeypatch.setattr("structsvm.learner.files.problem_name", lambda problem: "grades")
    monkeypatch.setattr("structsvm.learner.files.plugin_class", lambda group, name: Grades)
    save(grades.svm, tmp_path / "m.structsvm")
    assert load(tmp_path / "m.structsvm").predict(X) == grades.svm.predict(X)
