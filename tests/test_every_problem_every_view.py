"""Every problem in every view: what a user can ask of a model works, or is refused with a reason.

A new problem is a row of PROBLEMS, a new view a function among VIEWS. What a problem has no use for
stands in its row with the reason, and has to end in an error of ours, never in a raw one.
"""

import inspect
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from cases import entries_of
from cut_cases import disc, write_images
from sklearn.model_selection import cross_val_score

from structsvm import (
    ChangePoint,
    Clustering,
    MetricLearner,
    MetricLearnerCV,
    NormalizedCut,
    evaluate,
    load,
    plotting,
    save,
)
from structsvm.errors import StructSVMError
from structsvm.features import HermiteMoments
from structsvm.graphs import GraphOfImage
from structsvm.interop import distance_function
from structsvm.learner.preparing import encode
from structsvm.partitions.plugins import problem_class
from structsvm.plotting import feature_weights, report_page
from structsvm.plotting.words import eigenvalues, scaled_metric

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
pytestmark = pytest.mark.usefixtures("closed_figures")

Instance = tuple[Any, np.ndarray]


# ---- problems


def recording(rng: np.random.Generator) -> Instance:
    """Return three segments that the first of two features tells apart."""
    y = np.repeat([0, 1, 2], rng.integers(12, 18, 3))
    return np.column_stack([3.0 * y, 0.0 * y]) + rng.normal(size=(y.size, 2)) * [0.3, 2.0], y


def changing_scale(rng: np.random.Generator) -> Instance:
    """Return three segments, the middle one of which is louder in the first of two features."""
    y = np.repeat([0, 1, 2], rng.integers(30, 36, 3))
    loud = np.where(y == 1, 6.0, 1.0)
    return rng.normal(size=(y.size, 2)) * np.column_stack([loud, np.ones(y.size)]), y


def table(rng: np.random.Generator) -> Instance:
    """Return three groups of rows that the first of two features tells apart."""
    y = rng.permutation(np.repeat([0, 1, 2], 10))
    return np.column_stack([4.0 * y, 0.0 * y]) + rng.normal(size=(30, 2)) * [0.3, 2.0], y


def circle(rng: np.random.Generator) -> Instance:
    """Return a sequence without beginning or end in which one arc differs."""
    first = rng.integers(5, 9)
    last = rng.integers(18, 25)
    y = np.zeros(30, dtype=int)
    y[first:last] = 1
    return np.column_stack([3.0 * y, 0.0 * y]) + rng.normal(size=(30, 2)) * [0.3, 2.0], y


def tree(rng: np.random.Generator) -> Instance:
    """Return a tree, of which the first of two features tells one branch, and its parts."""
    parents = (0, 1, 1, 0, 4, 4, *rng.integers(4, 7, 2).tolist())
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
    X = np.column_stack([3.0 * y, 0.0 * y]) + rng.normal(size=(9, 2)) * [0.3, 2.0]
    return (X, nx.Graph(enumerate(parents, start=1))), y


def write_tables(folder: Path, instances: list[Instance]) -> None:
    """Write one .csv file for each sample; it has no place for side information."""
    folder.mkdir()
    for i, (x, y) in enumerate(instances):
        X = x[0] if isinstance(x, tuple) else x
        rows = "".join(f"{a},{b},{k}\n" for (a, b), k in zip(X.tolist(), y, strict=True))
        (folder / f"s{i}.csv").write_text(f"signal,noise,label\n{rows}", encoding="utf-8")


@dataclass(frozen=True)
class Problem:
    """A problem, data it suits, and the views it is not for."""

    instance: Callable[[np.random.Generator], Instance]
    problem: Callable[[], Any]
    """Makes the problem; a plugin can be imported only once it is on the path."""
    fit: str
    """Options of ``structsvm fit`` that say the same as ``problem`` and ``settings``."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of a MetricLearner, and of a search."""
    feature_names: tuple[str, ...] | None = ("signal", "noise")
    """None where the problem names them."""
    write: Callable[[Path, list[Instance]], None] = write_tables
    one: str = "s0.csv"
    """The file of the first sample."""
    labels_of_one: str = ""
    """Options of ``structsvm plot`` that say where the labels of the first sample are."""
    n_parts: int = 3
    """A number of clusters that can be asked for."""
    not_for: Mapping[str, str] = field(default_factory=dict)
    """The views that it is not for, each with the reason."""


NO_ORDER = {
    "plot_segmentation": "clusters do not follow one another",
    "plot_segmentation of columns": "clusters do not follow one another",
}

OF_FILES = (
    "cli fit",
    "cli predict",
    "cli evaluate",
    "cli report",
    "cli plot of one",
    "cli plot of one, as many as in truth",
)

PROBLEMS = {
    "change-point": Problem(recording, ChangePoint, "change-point"),
    "clustering": Problem(table, Clustering, "clustering", not_for=NO_ORDER),
    "change-point of moments": Problem(
        changing_scale,
        ChangePoint,
        "change-point --context moments --set features.n_moments=3",
        settings={"features": HermiteMoments(3)},
    ),
    "normalized-cut": Problem(
        disc,
        lambda: NormalizedCut(image=GraphOfImage(n_superpixels=20)),
        "normalized-cut --set problem.image.n_superpixels=20",
        feature_names=None,
        write=write_images,
        one="img/p0.png",
        labels_of_one="--labels {test}/mask",
        n_parts=2,
        not_for={
            "plot_segmentation": "parts of an image do not follow one another",
            "plot_segmentation of columns": "parts of an image do not follow one another",
            "plot_clusters": "an image is drawn with its parts, by plot_cut",
        },
    ),
    "tree": Problem(
        tree,
        lambda: problem_class("tree")(),
        "tree",
        n_parts=2,
        not_for=NO_ORDER | dict.fromkeys(OF_FILES, "a file of features holds no tree"),
    ),
    "circular": Problem(
        circle, lambda: problem_class("circular")(), "circular", n_parts=2, not_for=NO_ORDER
    ),
}


# ---- views


@dataclass(frozen=True, eq=False)
class Case:
    """A problem with a fitted learner, held-out samples, and all of it in files."""

    problem: Problem
    learner: Any
    train: list[Instance]
    test: list[Instance]
    folder: Path

    @property
    def Xs(self) -> list[Any]:
        return [X for X, _ in self.test]

    @property
    def ys(self) -> list[np.ndarray]:
        return [y for _, y in self.test]

    @cached_property
    def size(self) -> int:
        return len(self.learner.metric_.factor)

    @cached_property
    def names(self) -> list[str]:
        return list(self.learner.metric_feature_names_)


@dataclass(frozen=True, eq=False)
class Shell:
    """Runs ``structsvm`` on the files of a case."""

    case: Case
    out: Path
    """A folder to write into."""
    captured: Callable[[], Any]

    def __call__(self, line: str) -> str:
        """Return what a command prints; its errors are raised again.

        ``{model}``, ``{learn}``, ``{test}``, ``{one}`` and ``{out}`` stand for paths.
        """
        folder = self.case.folder
        paths = {
            "model": folder / "m.structsvm",
            "learn": folder / "learn",
            "test": folder / "test",
            "one": folder / "test" / self.case.problem.one,
            "out": self.out,
        }
        from structsvm.cli import main

        code = main([word.format(**paths) for word in line.split()])
        printed = self.captured()
        if code == 1:
            assert printed.err.startswith("error: ")
            assert not printed.out
            raise StructSVMError(printed.err)
        assert code == 0, printed.err
        return str(printed.out)

    def json(self, line: str) -> Any:
        """Return what a command reports with ``--json``."""
        return json.loads(self(f"{line} --json"))


VIEWS: dict[str, Callable[[Case, Shell], None]] = {}
view = entries_of(VIEWS)


@view("fit")
def fit(case: Case, shell: Shell) -> None:
    assert case.learner.metric_.factor.T.shape[1] == case.size == len(set(case.names))
    assert case.learner.baselines_["untrained"].metric_.factor.shape[0] == case.size
    assert case.learner.converged_


@view("predict")
def predict(case: Case, shell: Shell) -> None:
    for y, found in zip(case.ys, case.learner.predict(case.Xs), strict=True):
        assert found.shape == y.shape
        assert found.dtype == np.int64


@view("predict with K")
def predict_with_k(case: Case, shell: Shell) -> None:
    K = case.problem.n_parts
    for found in case.learner.predict(case.Xs, K):
        assert np.unique(found).tolist() == list(range(K))
    counts = [K, *[K + 1] * (len(case.Xs) - 1)]
    found = case.learner.predict(case.Xs, counts)
    assert [np.unique(labels).size for labels in found] == counts


@view("score")
def score(case: Case, shell: Shell) -> None:
    assert np.isfinite(case.learner.score(case.Xs, case.ys))
    assert case.learner.score(case.Xs, case.ys, [1] * len(case.Xs)) == pytest.approx(
        case.learner.score(case.Xs, case.ys)
    )


@view("transform")
def transform(case: Case, shell: Shell) -> None:
    for Z in case.learner.transform(case.Xs):
        assert Z.shape[1] == len(case.learner.metric_.factor.T)
        assert np.isfinite(Z).all()


@view("encode")
def encoded(case: Case, shell: Shell) -> None:
    for y, truth in zip(case.ys, encode(case.learner, case.Xs, case.ys), strict=True):
        assert truth.n_clusters == np.unique(y).size


@view("evaluate")
def evaluation(case: Case, shell: Shell) -> None:
    for count in (None, "true", case.problem.n_parts):
        found = evaluate(case.learner, case.Xs, case.ys, count)
        assert {"learned", "untrained"} < set(found.scores)
        assert all(scores["loss"] >= 0.0 for scores in found.scores.values())
        assert str(found.verdict)
        json.dumps(found.to_dict(), allow_nan=False)


@view("cross_val_score")
def cross_validation(case: Case, shell: Shell) -> None:
    learner = MetricLearner(case.problem.problem(), **case.problem.settings)
    Xs, ys = zip(*case.train, strict=True)
    assert np.isfinite(cross_val_score(learner, list(Xs), list(ys), cv=2)).all()


@view("MetricLearnerCV")
def search(case: Case, shell: Shell) -> None:
    found = searched(case)
    assert found.best_estimator_.metric_.factor.T.shape[1] == case.size
    assert len(found.predict(case.Xs)) == len(case.Xs)
    for baseline in found.best_estimator_.baselines_.values():
        assert len(baseline.predict(case.Xs)) == len(case.Xs)
    assert str(found.verdict_)
    plotting.plot_path(found)


@view("save and load")
def save_and_load(case: Case, shell: Shell) -> None:
    path = shell.out / "copy.structsvm"
    save(case.learner, path)
    copy = load(path)
    assert copy.metric_feature_names_ == case.names
    assert copy.problem_ == case.learner.problem_
    np.testing.assert_array_equal(feature_weights(copy), feature_weights(case.learner))
    for mine, its in zip(case.learner.predict(case.Xs), copy.predict(case.Xs), strict=True):
        np.testing.assert_array_equal(mine, its)


@view("metric in numbers")
def numbers(case: Case, shell: Shell) -> None:
    B = scaled_metric(case.learner)
    assert B.shape == (case.size, case.size)
    np.testing.assert_allclose(feature_weights(case.learner), np.diag(B), rtol=1e-9)
    np.testing.assert_allclose(eigenvalues(case.learner).sum(), np.trace(B), rtol=1e-9)
    assert eigenvalues(case.learner).shape == (case.size,)


@view("pair_distance")
def pair_distance(case: Case, shell: Shell) -> None:
    pairs = np.random.default_rng(0).normal(size=(4, 2, case.size))
    B = case.learner.get_mahalanobis_matrix()
    difference = pairs[:, 1] - pairs[:, 0]
    expected = np.sqrt(np.einsum("np,pq,nq->n", difference, B, difference))
    np.testing.assert_allclose(case.learner.pair_distance(pairs), expected)
    assert distance_function(case.learner)(*pairs[0]) == pytest.approx(expected[0])


@view("report")
def report(case: Case, shell: Shell) -> None:
    check_page(case, report_page(case.learner, case.Xs, case.ys))


@view("plot_weights")
def weights(case: Case, shell: Shell) -> None:
    ax = plotting.plot_weights(case.learner)
    assert {label.get_text() for label in ax.get_yticklabels()} == set(case.names)


@view("plot_metric")
def heat_map(case: Case, shell: Shell) -> None:
    ax = plotting.plot_metric(case.learner)
    diagonal = case.learner.metric == "diagonal"  # of which the bars are the weights
    assert len(ax.patches) == (case.size if diagonal else 0)
    assert [image.get_array().shape for image in ax.images] == [(case.size, case.size)][diagonal:]
    assert {label.get_text() for label in ax.get_yticklabels()} == set(case.names)


@view("plot_spectrum")
def spectrum(case: Case, shell: Shell) -> None:
    ax = plotting.plot_spectrum(case.learner)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), eigenvalues(case.learner))


@view("plot_gap")
def gap(case: Case, shell: Shell) -> None:
    for against in ("iteration", "seconds", "oracle_calls"):
        ax = plotting.plot_gap(case.learner, against=against)
        assert ax.get_xlabel() == against.replace("_", " ")
        assert len(ax.lines[0].get_ydata()) > 1


@view("plot_segmentation")
def segmentation(case: Case, shell: Shell) -> None:
    for n_clusters in (None, "true", case.problem.n_parts):
        plotting.plot_segmentation(case.learner, case.Xs[0], case.ys[0], n_clusters=n_clusters)
    plotting.plot_segmentation(case.learner, case.Xs[0])


@view("plot_segmentation of columns")
def segmentation_of_columns(case: Case, shell: Shell) -> None:
    ax = plotting.plot_segmentation(case.learner, case.Xs[0], n_traces=2)
    weights: Counter[str] = Counter()
    for name, weight in zip(case.names, feature_weights(case.learner), strict=True):
        weights[name.partition(" psi")[0]] += weight  # of all that is made of a column
    drawn = [label.get_text() for label in ax.get_yticklabels()][:2]
    assert drawn == [name for name, _ in weights.most_common(2)]


@view("plot_clusters")
def clusters(case: Case, shell: Shell) -> None:
    for n_clusters in (None, "true", case.problem.n_parts):
        plotting.plot_clusters(case.learner, case.Xs[0], case.ys[0], n_clusters=n_clusters)


@view("cli fit")
def cli_fit(case: Case, shell: Shell) -> None:
    described = shell.json(f"fit {case.problem.fit} {{learn}} -o {{out}}/new.structsvm -q")
    check_description(case, described)
    learned = load(shell.out / "new.structsvm")
    assert len(described["weights"]) == len(learned.metric_.factor)


@view("cli show")
def cli_show(case: Case, shell: Shell) -> None:
    check_description(case, shell.json("show {model}"))
    assert all(name in shell("show {model} --json") for name in case.names)


@view("cli predict")
def cli_predict(case: Case, shell: Shell) -> None:
    for options in ("", f"--n-clusters {case.problem.n_parts}"):
        assert len(shell(f"predict {{model}} {{test}} {options}").splitlines()) == len(case.test)
        ((_, found),) = shell.json(f"predict {{model}} {{test}} {options}").items()
        assert len(found) == len(case.test)
    shell("predict {model} {test} -o {out}/found")
    tables = [*(shell.out / "found").glob("s?_*s.csv"), *(shell.out / "found").glob("p?_mask.*")]
    assert len(tables) == len(case.test)


@view("cli evaluate")
def cli_evaluate(case: Case, shell: Shell) -> None:
    for options in ("", "--n-clusters true"):
        assert "learned" in shell(f"evaluate {{model}} {{test}} {options}")
        assert shell.json(f"evaluate {{model}} {{test}} {options}")["verdict"]


@view("cli report")
def cli_report(case: Case, shell: Shell) -> None:
    told = shell.json("evaluate {model} {test} -o {out}/page.html")
    check_page(case, Path(told["page"]).read_text(encoding="utf-8"))


def cli_picture(options: str) -> Callable[[Case, Shell], None]:
    """Draw with ``structsvm plot``."""

    def draw(case: Case, shell: Shell) -> None:
        assert drawn(shell, options).startswith(b"\x89PNG")

    return draw


def drawn(shell: Shell, options: str) -> bytes:
    """Return the picture of ``structsvm plot``."""
    path = shell.out / f"{len(list(shell.out.iterdir()))}.png"
    told = shell.json(f"plot {{model}} {options} -o {path}")
    assert Path(told["figure"]) == path
    return path.read_bytes()


@view("cli plot of one")
def cli_plot_of_one(case: Case, shell: Shell) -> None:
    """The same one a second time."""
    first = drawn(shell, "{one}")
    shell("plot {model} {one} -o {out}/again.png")
    assert (shell.out / "again.png").read_bytes() == first


@view("cli plot of one, as many as in truth")
def cli_plot_as_many_as_in_truth(case: Case, shell: Shell) -> None:
    cli_picture(f"{{one}} --n-clusters true {case.problem.labels_of_one}")(case, shell)


@view("cli plot of the model, each time another")
def cli_pictures_differ(case: Case, shell: Shell) -> None:
    kinds = ("weights", "metric", "spectrum", "gap")
    found = [drawn(shell, f"--show {shown}") for shown in kinds]
    assert len(set(found)) == (3 if case.learner.metric == "diagonal" else 4)


def check_description(case: Case, described: Mapping[str, Any]) -> None:
    """What ``show --json`` says fits the metric."""
    assert {row["feature"] for row in described["weights"]} == set(case.names)
    assert len(described["weights"]) == case.size


def check_page(case: Case, page: str) -> None:
    """The data of a report fit the metric."""
    found = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found
    data = json.loads(found[1])
    assert data["metric"]["n_features"] == case.size
    assert len(data["metric"]["eigenvalues"]) == case.size
    assert {row["name"] for row in data["metric"]["weights"]} == set(case.names)
    assert len(data["recordings"]) == len(case.test)


def searched(case: Case) -> Any:
    """A fitted MetricLearnerCV."""
    Xs, ys = zip(*case.train, strict=True)
    search = MetricLearnerCV(
        case.problem.problem(), ("untrained", "diagonal"), [0.1], cv=2, **case.problem.settings
    )
    return search.fit(list(Xs), list(ys))


# ---- tests


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Put the two example plugins on the path, and declare them."""
    site = tmp_path_factory.mktemp("site")
    declared = site / "structsvm_examples-0.1.0.dist-info"
    declared.mkdir()
    (declared / "METADATA").write_text("Name: structsvm-examples\nVersion: 0.1.0\n")
    (declared / "entry_points.txt").write_text(
        "[structsvm.problems]\ncircular = structsvm_circular:Circular\n"
        "tree = structsvm_tree:TreeParts\n"
        "[structsvm.oracles]\ncircular = structsvm_circular:CircularOracle\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        for folder in (EXAMPLES / "plugin-circular", EXAMPLES / "plugin-tree", site):
            patch.syspath_prepend(folder)
        yield
        for name in [name for name in sys.modules if name.startswith("structsvm_")]:
            del sys.modules[name]


@pytest.fixture(scope="module", params=PROBLEMS)
def case(
    request: pytest.FixtureRequest, plugins: None, tmp_path_factory: pytest.TempPathFactory
) -> Case:
    """Return each problem with a fitted learner; of named features, as files have them."""
    problem = PROBLEMS[request.param]
    rng = np.random.default_rng(0)
    train, test = ([problem.instance(rng) for _ in range(n)] for n in (4, 2))
    Xs, ys = (list(part) for part in zip(*train, strict=True))
    learner = MetricLearner(problem.problem(), **problem.settings)
    learner.fit(Xs, ys, feature_names=problem.feature_names, baselines="quick")
    folder = tmp_path_factory.mktemp(request.param)
    problem.write(folder / "learn", train)
    problem.write(folder / "test", test)
    save(learner, folder / "m.structsvm")
    return Case(problem, learner, train, test, folder)


@pytest.fixture
def shell(case: Case, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Return what runs commands on the files of the case."""
    monkeypatch.setenv("COLUMNS", "200")
    return Shell(case, tmp_path, capsys.readouterr)


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
@pytest.mark.parametrize("name", VIEWS)
def test_every_view_of_every_problem_works_or_is_refused_with_a_reason(
    name: str, case: Case, shell: Shell
) -> None:
    if name not in case.problem.not_for:
        VIEWS[name](case, shell)
        return
    with pytest.raises(StructSVMError) as refused:
        VIEWS[name](case, shell)
    assert len(str(refused.value)) > 20


def test_views_that_a_problem_has_no_use_for_exist() -> None:
    for name, problem in PROBLEMS.items():
        assert set(problem.not_for) <= set(VIEWS), name


def test_every_picture_of_a_learner_is_a_view() -> None:
    of_learners = {
        name
        for name in plotting.__all__
        if name.startswith("plot_")
        and next(iter(inspect.signature(getattr(plotting, name)).parameters)) in ("learner", "runs")
    }
    assert of_learners <= set(VIEWS)
    assert {"plot_path"} <= set(plotting.__all__) - of_learners
