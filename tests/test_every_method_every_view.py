"""Every method in every view: all learners have one face, and say why where they cannot.

A new method is a row of METHODS, a new view a function among VIEWS. A view that a method has no use
for stands in its row, and has to end in an error of ours with a reason, never in a raw one.
"""

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import entries_of
from recording_cases import NAMES, OnDemand, recordings_of_states, scores_of_states
from sklearn.base import clone

from structsvm import (
    ChangePoint,
    EquivalenceMatrix,
    MetricLearner,
    MetricLearnerCV,
    PartialLabels,
    ScoreDecoder,
    StateSegmenter,
    StructSVMError,
    diagnose,
    evaluate,
    load,
    margin_rates,
    plotting,
    save,
    weight_stability,
)
from structsvm.baselines import BoundaryClassifier, EqualSegments, FrameClassifier
from structsvm.cli.options import METHODS as TYPED
from structsvm.features import Lags, StateScores
from structsvm.interop import distance_function, export_metric, prepare, without
from structsvm.learner import TrainingSet
from structsvm.model_selection.named import LEARNERS
from structsvm.plotting import report_page

pytestmark = [
    pytest.mark.usefixtures("closed_figures"),
    pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning"),
    pytest.mark.filterwarnings("ignore::structsvm.errors.DataWarning"),
]


@dataclass(frozen=True)
class Row:
    """A method, how it is typed, and the views that it is not for."""

    learner: Callable[[], Any]
    typed: str
    """Options of ``structsvm fit``."""
    named: bool = False
    """Whether it knows names of states."""
    not_for: frozenset[str] = frozenset()
    seen: Callable[[Any], Any] = lambda X: X
    """What it learns from instead of a recording."""


NO_METRIC = {
    "distances",
    "exported metric",
    "weight stability",
    "plot_weights",
    "plot_metric",
    "plot_spectrum",
    "without a column",
}
UNSURE = {"margins", "margin rates", "cli predict --margins"}
NO_RULES = {"what is known", "least length"}
NO_PROBLEM = {"plot_gap"}
NAMELESS = {"names of states"}

METHODS = {
    "full": Row(lambda: MetricLearner(), "--method metric"),
    "scores": Row(
        lambda: MetricLearner(metric="diagonal", features=StateScores("logistic", lags=(0,))),
        "--method metric --metric diagonal --context scores --set features.estimator=logistic",
        named=True,
        not_for=frozenset({"without a column"}),
    ),
    "olda": Row(lambda: MetricLearner(metric="olda"), "--method olda"),
    "untrained": Row(lambda: MetricLearner(metric="untrained"), "--method untrained"),
    "states": Row(
        lambda: StateSegmenter(["lda"]),
        "--method states --set estimators=['lda']",
        named=True,
        not_for=frozenset(NO_METRIC),
    ),
    "decoder": Row(
        lambda: ScoreDecoder(["rest", "turn", "walk"]),
        "--method decoder --set classes=['rest','turn','walk']",
        named=True,
        not_for=frozenset(NO_METRIC),
        seen=scores_of_states,
    ),
    "frames": Row(
        lambda: FrameClassifier("logistic", Lags((-1, 0, 1))),
        "--method frame-logistic --context lags",
        named=True,
        not_for=frozenset(NO_METRIC | NO_PROBLEM),
    ),
    "boundaries": Row(
        lambda: BoundaryClassifier("logistic", widths=(3,)),
        "--method boundary-logistic",
        not_for=frozenset(NO_METRIC | UNSURE | NO_RULES | NO_PROBLEM | NAMELESS),
    ),
    "equal": Row(
        EqualSegments,
        "--method equal-segments",
        not_for=frozenset(NO_METRIC | UNSURE | NO_RULES | NO_PROBLEM | NAMELESS),
    ),
}

TRAIN, TEST = 6, 3
YS = [NAMES] * TRAIN


def recordings(n: int, seed: int) -> list[Any]:
    """Return recordings whose states are NAMES."""
    return recordings_of_states(n, np.random.default_rng(seed), 0.4)


@dataclass(frozen=True, eq=False)
class Case:
    """A fitted method, training and other recordings, and a folder to write into."""

    row: Row
    learner: Any
    Xs: list[Any]
    new: list[Any]
    folder: Path
    run: Callable[[str], str]
    """What a command prints, its errors raised again."""


VIEWS: dict[str, Callable[[Case], None]] = {}
view = entries_of(VIEWS)


@view("answers")
def answers(case: Case) -> None:
    learner = case.learner
    new = case.new
    ends = learner.predict_breakpoints(new)
    for label, last in zip(learner.predict(new), ends, strict=True):
        assert EquivalenceMatrix.from_labels(label).breakpoints == last
    assert [M.breakpoints for M in learner.predict_partitions(new)] == ends
    tables = learner.predict_segments(new)
    assert [[row["end"] for row in table] for table in tables] == ends


@view("so many segments")
def so_many(case: Case) -> None:
    found = case.learner.predict_partitions(case.new, [2, 3, 5])
    assert [M.n_clusters for M in found] == [2, 3, 5]


@view("forms")
def forms(case: Case) -> None:
    """A mapping of frames, with columns in another order, and a single recording."""
    names = list("abc")[: case.learner.n_features_in_]
    frames = {f"r{i}": pd.DataFrame(X, columns=names) for i, X in enumerate(case.Xs)}
    learner = case.row.learner().fit(frames, dict.fromkeys(frames, NAMES))
    ends = case.learner.predict_breakpoints(case.Xs)
    assert learner.predict_breakpoints(frames) == dict(zip(frames, ends, strict=True))
    turned = frames["r0"][names[::-1]]
    with pytest.raises(StructSVMError, match="a"):
        learner.predict(turned)
    assert learner.predict_breakpoints(frames["r0"]) == ends[0]
    assert learner.feature_names_in_.tolist() == names


@view("prepared samples")
def prepared(case: Case) -> None:
    instances = prepare(case.learner, case.new)
    assert case.learner.predict_breakpoints(instances) == case.learner.predict_breakpoints(case.new)


@view("recordings on demand")
def on_demand(case: Case) -> None:
    learner = case.row.learner().fit(OnDemand(case.Xs), YS)
    assert learner.predict_breakpoints(OnDemand(case.new)) == case.learner.predict_breakpoints(
        case.new
    )


@view("a training set")
def training_set(case: Case) -> None:
    data = TrainingSet.of(ChangePoint(), case.Xs, YS, groups=list("aabbcc"))
    one = case.row.learner().fit(data)
    other = case.row.learner()
    other.fit(case.Xs, YS, groups=list("aabbcc"))
    assert one.predict_breakpoints(case.new) == other.predict_breakpoints(case.new)


@view("labels in part")
def in_part(case: Case) -> None:
    half = NAMES.astype(object)
    half[20:] = None
    learner = case.row.learner().fit(case.Xs, [NAMES] * 4 + [PartialLabels(labels=half)] * 2)
    assert len(learner.predict(case.new)) == TEST


@view("weights")
def weights(case: Case) -> None:
    left_out = case.row.learner().fit(case.Xs, YS, sample_weight=[1, 1, 1, 1, 0, 0])
    alone = case.row.learner().fit(case.Xs[:4], YS[:4])
    assert left_out.predict_breakpoints(case.new) == alone.predict_breakpoints(case.new)


@view("copies")
def copies(case: Case) -> None:
    ends = case.learner.predict_breakpoints(case.new)
    assert pickle.loads(pickle.dumps(case.learner)).predict_breakpoints(case.new) == ends
    assert clone(case.learner).fit(case.Xs, YS).predict_breakpoints(case.new) == ends


@view("names of states")
def names(case: Case) -> None:
    learner = case.row.learner().fit(case.Xs, YS, baselines=["frame-lda"])
    found = learner.predict_states(case.new)
    assert np.mean([name == NAMES for name in found]) > 0.8
    for row in learner.predict_segments(case.new)[0]:
        assert row["state"] in NAMES
        assert 0 < row["probability"] <= 1


@view("margins")
def margins(case: Case) -> None:
    for table in case.learner.predict_segments(case.new, margins=True):
        assert table[0]["margin"] is None
        assert all(row["margin"] >= 0 for row in table[1:])


@view("margin rates")
def rates(case: Case) -> None:
    learner = clone(case.learner).fit(case.Xs, YS)
    learner.margin_rates_ = margin_rates(learner, case.Xs, YS, cv=3)
    for table in learner.predict_segments(case.new):
        assert all(0 < row["rate"] < 1 for row in table[1:])


@view("what is known")
def known(case: Case) -> None:
    said = np.where(np.arange(30) < 25, 0, -1)
    (found,) = case.learner.predict_partitions(case.new[:1], known=[said])
    assert not {*range(1, 25)} & {*found.breakpoints}


@view("least length")
def least_length(case: Case) -> None:
    for M in case.learner.predict_partitions(case.new, min_length=7):
        assert min(M.sizes) >= 7


@view("score")
def score(case: Case) -> None:
    assert case.learner.score(case.new, [NAMES] * TEST) <= 0


@view("file")
def file(case: Case) -> None:
    save(case.learner, case.folder / "copy.structsvm")
    again = load(case.folder / "copy.structsvm")
    assert again.predict_segments(case.new) == case.learner.predict_segments(case.new)
    assert again.get_params().keys() == case.learner.get_params().keys()
    assert again.training_data_ == case.learner.training_data_
    assert again.baselines_.keys() == case.learner.baselines_.keys()
    assert str(again) == str(case.learner)


@view("evaluate")
def evaluation(case: Case) -> None:
    for count in (None, "true", 3):
        found = evaluate(case.learner, case.new, [NAMES] * TEST, count)
        assert {"learned", "untrained", "one-part"} <= set(found.scores)
        assert found.verdict.evidence.method in str(found.verdict)
        json.dumps(found.to_dict(), allow_nan=False)
    assert ("learned" in found.confusion) == case.row.named


@view("diagnose")
def diagnosis(case: Case) -> None:
    assert "certificate" in diagnose(case.learner).checked
    json.dumps(diagnose(case.learner, case.new, [NAMES] * TEST).to_dict())


@view("report")
def report(case: Case) -> None:
    page = report_page(case.learner, case.new, [NAMES] * TEST)
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert len(data["recordings"]) == TEST
    assert (data["metric"] is None) == (case.learner.sees is None)


@view("baselines")
def baselines(case: Case) -> None:
    learner = case.row.learner().fit(case.Xs, YS, baselines=["rca", "frame-lda"])
    assert list(learner.baselines_) == ["untrained", "rca", "frame-lda"]
    for baseline in learner.baselines_.values():
        assert len(baseline.predict_breakpoints(case.new)) == TEST
    scores = evaluate(learner, case.new, [NAMES] * TEST).scores
    assert {"rca", "frame-lda"} <= set(scores)


@view("a candidate")
def candidate(case: Case) -> None:
    search = MetricLearnerCV(candidates={"mine": case.row.learner()}, lams=[0.1], cv=2)
    search.fit(case.Xs, YS)
    assert [c.name for c in search.candidates_] == ["mine", "untrained"]
    assert search.best_estimator_.training_data_.n_samples == (30,) * TRAIN
    assert len(search.predict(case.new)) == TEST
    assert search.best_estimator_.called in str(search.verdict_)
    save(search.best_estimator_, case.folder / "best.structsvm")


@view("in words")
def words(case: Case) -> None:
    assert str(TRAIN) in str(case.learner)
    assert case.learner.summary() == str(case.learner)
    assert "(" in str(case.row.learner())


@view("without a column")
def lost(case: Case) -> None:
    assert len(without(case.learner, "x1").predict(case.new)) == TEST


@view("distances")
def distances(case: Case) -> None:
    size = len(case.learner.metric_.factor) if case.learner.sees is not None else 2
    assert distance_function(case.learner)(np.zeros(size), np.zeros(size)) == 0.0


@view("exported metric")
def exported(case: Case) -> None:
    export_metric(case.learner, case.folder / "metric.npz")


@view("weight stability")
def stability(case: Case) -> None:
    assert weight_stability(case.learner, case.Xs, YS, n_resamples=2).to_dict()["feature"]


@view("plot_segmentation")
def segmentation(case: Case) -> None:
    assert plotting.plot_segmentation(case.learner, case.new[0], NAMES).has_data()
    assert plotting.plot_segmentation(case.learner, case.new[0]).has_data()


@view("plot_weights")
def plot_weights(case: Case) -> None:
    plotting.plot_weights(case.learner)


@view("plot_metric")
def plot_metric(case: Case) -> None:
    plotting.plot_metric(case.learner)


@view("plot_spectrum")
def plot_spectrum(case: Case) -> None:
    plotting.plot_spectrum(case.learner)


@view("plot_gap")
def plot_gap(case: Case) -> None:
    plotting.plot_gap(case.learner)


@view("wrong input")
def wrong(case: Case) -> None:
    for X in (np.zeros((30, 5)), np.full((30, 2), np.nan), np.zeros((0, 2))):
        with pytest.raises(StructSVMError):
            case.learner.predict([X])
    with pytest.raises(StructSVMError):
        case.row.learner().fit(case.Xs, YS[:2])
    for what in ({"resume": 3}, {"callback": 3}) if case.learner.sees is None else ():
        with pytest.raises(StructSVMError, match="leave it out"):
            case.row.learner().fit(case.Xs, YS, **what)


@view("a recording of one sample")
def one_sample(case: Case) -> None:
    assert case.learner.predict_breakpoints([np.zeros((1, case.learner.n_features_in_))]) == [[1]]


@view("cli")
def command_line(case: Case) -> None:
    model = case.folder / "typed.structsvm"
    case.run(f"fit change-point {case.folder}/learn {case.row.typed} -q -o {model}")
    learner = load(model)
    assert type(learner) is type(case.learner)
    shown = json.loads(case.run(f"show {model} --json"))
    assert shown["method"] == type(learner).__name__
    (found, *_) = json.loads(case.run(f"predict {model} {case.folder}/new --json"))["recordings"]
    assert found["breakpoints"] == learner.predict_breakpoints(case.new)[0]
    assert json.loads(case.run(f"evaluate {model} {case.folder}/new --json"))["learned"]
    case.run(f"evaluate {model} {case.folder}/new -o {case.folder}/page.html --force")
    case.run(f"diagnose {model} {case.folder}/new")
    case.run(f"plot {model} {case.folder}/new/r0.csv -o {case.folder}/one.png --force")


@view("cli predict --margins")
def typed_margins(case: Case) -> None:
    model = case.folder / "margins.structsvm"
    save(case.learner, model)
    assert "margin" in case.run(f"predict {model} {case.folder}/new --margins --json")


# ---- tests


def write(folder: Path, Xs: list[Any]) -> None:
    folder.mkdir()
    for i, X in enumerate(Xs):
        table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(label=NAMES)
        table.to_csv(folder / f"r{i}.csv", index=False)


@pytest.fixture(scope="module", params=METHODS)
def fitted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return each method, fitted, with its data, also in files."""
    row = METHODS[request.param]
    folder = tmp_path_factory.mktemp("method")
    Xs = list(map(row.seen, recordings(TRAIN, 0)))
    new = list(map(row.seen, recordings(TEST, 1)))
    write(folder / "learn", Xs)
    write(folder / "new", new)
    return row, row.learner().fit(Xs, YS), Xs, new, folder


@pytest.fixture
def case(fitted: Any, capsys: Any) -> Case:
    """Return the case, with what runs commands."""

    def run(line: str) -> str:
        from structsvm.cli import main

        code = main(line.split())
        printed = capsys.readouterr()
        if code:
            raise StructSVMError(printed.err)
        return str(printed.out)

    return Case(*fitted, run)


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_of_every_method_works_or_is_refused_with_a_reason(
    name: str, case: Case
) -> None:
    if name not in case.row.not_for:
        VIEWS[name](case)
        return
    with pytest.raises(StructSVMError) as refused:
        VIEWS[name](case)
    assert len(str(refused.value)) > 20


def test_views_that_a_method_has_no_use_for_exist() -> None:
    for name, row in METHODS.items():
        assert row.not_for <= set(VIEWS), name


def test_every_method_can_be_typed() -> None:
    assert set(TYPED) == set(LEARNERS)
