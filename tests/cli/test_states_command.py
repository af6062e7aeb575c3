"""Named states on the command line: what is found is named, and the names are judged."""

import csv
import json

import numpy as np
import pytest
from cases import cases

from structsvm import MetricLearner, save
from structsvm.features import Lags, StateScores, Union
from structsvm.io import Recording, write_recording
from structsvm.learner import AsMeasured, Learned
from structsvm.learner.files import load
from structsvm.partitions import Metric

NAMES = np.repeat(["rest", "walk", "turn", "rest"], [12, 15, 10, 8])
LEVELS = {"rest": (0.0, 0.0), "walk": (2.0, 0.0), "turn": (0.0, 2.0), "[red]sit": (-2.0, -2.0)}


def recording(name, names, seed):
    levels = np.array([LEVELS[state] for state in names])
    X = levels + np.random.default_rng(seed).normal(scale=0.5, size=levels.shape)
    return Recording(name, X, np.asarray(names), ("a", "b"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a model of states, recordings, and one with a state of its own."""
    folder = tmp_path_factory.mktemp("states")
    train = [recording(f"r{i}", NAMES, i) for i in range(5)]
    features = Union(Lags((-1, 0, 1)), StateScores("logistic", lags=(-1, 0, 1)))
    learner = MetricLearner(metric="diagonal", features=features)
    Xs = [r.X for r in train]
    ys = [r.y for r in train]
    learner.fit(Xs, ys, feature_names=("a", "b"), baselines="quick")
    save(learner, folder / "m.structsvm")
    new = np.where(NAMES == "turn", "[red]sit", NAMES)
    people = [f"p{i % 3}_{i}" for i in range(6)]
    files = {"test": ("t", NAMES), "new": ("t", new), "walks": ("p", NAMES)}
    for kind, (who, labels) in files.items():
        (folder / kind).mkdir()
        names = people if who == "p" else [f"t{i}" for i in range(5)]
        for i, name in enumerate(names):
            walk = recording(name, labels, 10 + i)
            rows = [[*x, y] for x, y in zip(walk.X.tolist(), walk.y, strict=True)]
            with (folder / kind / f"{name}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([["a", "b", "label"], *rows])
    return folder


def test_predict_prints_and_writes_the_states_of_segments(run, done, folder):
    out, _ = done("predict m.structsvm test/t0.csv")
    assert out == "t0: rest until 12, walk until 27, turn until 37, rest until 45\n"
    _, out, _ = run("predict m.structsvm test/t0.csv --json")
    (found,) = json.loads(out)["recordings"]
    assert [row["state"] for row in found["segments"]] == ["rest", "walk", "turn", "rest"]
    assert all(0.5 < row["probability"] <= 1 for row in found["segments"])


def test_predict_writes_a_table_with_the_state_of_each_segment(done, folder):
    done("predict m.structsvm test -o segments.csv --force")
    rows = list(csv.DictReader((folder / "segments.csv").read_text().splitlines()))
    assert list(rows[0]) == ["recording", "segment", "start", "end", "state", "probability"]
    assert [(r["end"], r["state"]) for r in rows[:2]] == [("12", "rest"), ("27", "walk")]


def test_predict_writes_a_folder_with_the_state_of_each_sample(done, folder):
    done("predict m.structsvm test -o out --force")
    rows = list(csv.DictReader((folder / "out" / "t1_segments.csv").read_text().splitlines()))
    assert list(rows[0]) == ["a", "b", "label", "segment", "state", "probability"]
    assert np.mean([r["state"] == r["label"] for r in rows]) > 0.9


def test_evaluate_shows_accuracy_and_what_states_are_taken_for(run, done):
    out, _ = done("evaluate m.structsvm test")
    assert "accuracy" in out
    assert "macro F1" in out
    assert "taken for" in out
    _, out, _ = run("evaluate m.structsvm test --json")
    plain = json.loads(out)
    assert plain["confusion"]["learned"]["states"] == ["rest", "turn", "walk"]
    assert plain["learned"]["accuracy"] > 0.9


def test_unseen_states_are_refused_with_the_option_to_count_them(done, refused, folder):
    message = refused("evaluate m.structsvm new")
    assert "name states that training did not: '[red]sit' (new/t0.csv)" in message
    assert "with --set unseen_states=count" in message
    out, _ = done("evaluate m.structsvm new --set unseen_states=count")
    assert "[red]sit" in out
    assert refused("evaluate m.structsvm new -o page.html").startswith("the labels name")
    done("evaluate m.structsvm new -o page.html --set unseen_states=count")


def test_a_frame_classifier_names_its_own_segments(run, done):
    done("fit change-point walks --method frame-logistic -o frames.structsvm --force")
    out, _ = done("predict frames.structsvm test/t0.csv --json")
    (found,) = json.loads(out)["recordings"]
    assert [row["state"] for row in found["segments"]] == ["rest", "walk", "turn", "rest"]
    done("fit change-point walks --method boundary-logistic -o bounds.structsvm --force")
    _, out, _ = run("predict bounds.structsvm test/t0.csv")
    assert "rest" not in out  # a classifier of boundaries knows no names


STATES = np.repeat(["rest", "walk", "turn", "rest"], [16, 20, 14, 10])
MEANS = {"rest": (0.0, 0.0), "walk": (2.0, 0.0), "turn": (0.0, 2.0)}


@pytest.fixture(scope="module")
def state_files(tmp_path_factory):
    """Return a folder with state_model recordings, and a model of them."""
    folder = tmp_path_factory.mktemp("state_files")
    rng = np.random.default_rng(0)
    means = np.array([MEANS[name] for name in STATES])
    for kind, n in (("train", 5), ("test", 6)):
        (folder / kind).mkdir()
        for i in range(n):
            X = means + rng.normal(scale=1.0, size=means.shape)
            recording = Recording(f"walk{i}", X, STATES, ("a", "b"))
            write_recording(recording, folder / kind / f"walk{i}.npz")
    return folder


@pytest.fixture
def state_model(state_files, run, tmp_path):
    """Return the model file of the state_model recordings."""
    line = f"fit change-point {state_files / 'train'} --metric diagonal --quiet -o"
    assert run(line, tmp_path / "m") == (0, "", "")
    return tmp_path / "m"


def test_fit_tunes_quick_baselines_and_evaluate_shows_them(state_files, state_model, run, done):
    found = list(load(state_model).baselines_)[4:]
    assert found == ["equal-segments", "frame-lda", "frame-logistic", "boundary-logistic"]
    out, _ = done(f"evaluate {state_model} {state_files / 'test'}")
    assert "frame-logistic" in out
    _, out, _ = run(f"evaluate {state_model} {state_files / 'test'} --json")
    plain = json.loads(out)
    assert plain["frame-logistic"]["loss"] >= 0
    assert {"frame-logistic", "boundary-logistic"} < set(plain["verdict"]["contrasts"])
    assert plain["verdict"]["use"] in (None, "frame-logistic", "boundary-logistic")


@pytest.mark.parametrize("method", ["states", "frame-logistic", "boundary-logistic", "rca"])
def test_every_method_of_states_fits_saves_and_predicts(method, state_files, run, done, tmp_path):
    model = tmp_path / "m"
    test = state_files / "test"
    train = state_files / "train"
    settings = "--set estimators=['lda']" if method == "states" else ""
    fitted = [
        "fit",
        "change-point",
        train,
        "--method",
        method,
        *settings.split(),
        "-q",
        "-o",
        model,
    ]
    assert run(" ".join(map(str, fitted))) == (0, "", "")
    learner = load(model)
    with np.load(test / "walk0.npz", allow_pickle=False) as stored:
        X = stored["X"]
    _, out, _ = run(f"predict {model} {test / 'walk0.npz'} --json")
    (found,) = json.loads(out)["recordings"]
    assert found["breakpoints"] == learner.predict_breakpoints(X)
    _, out, _ = run(f"predict {model} {test / 'walk0.npz'} --n-clusters 3 --json")
    assert json.loads(out)["recordings"][0]["n_clusters"] == 3
    out, _ = done(f"show {model}")
    assert method in out.lower() or type(learner).__name__ in out
    out, _ = done(f"evaluate {model} {test} -o {tmp_path / 'page.html'}")
    assert "untrained" in out
    assert (tmp_path / "page.html").stat().st_size > 1000


def test_options_of_a_metric_are_refused_for_other_methods(state_files, refused, tmp_path):
    line = f"fit change-point {state_files / 'train'} -o {tmp_path / 'm'} --method states"
    assert refused(f"{line} --metric full").startswith("--metric is of --method metric")
    assert refused(f"{line} --lam 0.1").startswith("--lam is of --method metric")
    assert "the method states has no such parameter" in refused(f"{line} --set whiten=0.5")


@pytest.mark.parametrize("asked", ["none", "all"])
def test_fit_tunes_no_baselines_or_all_if_asked(state_files, run, tmp_path, monkeypatch, asked):
    from structsvm import StateSegmenter
    from structsvm.baselines import BoundaryClassifier, FrameClassifier

    def learn(learner, data, how):
        learner.models_ = []
        return Learned(AsMeasured(), Metric(np.eye(2), 1.0))

    for kind in (BoundaryClassifier, FrameClassifier, StateSegmenter):
        monkeypatch.setattr(kind, "_learn", learn)
    line = (
        f"fit change-point {state_files / 'train'} --metric diagonal --quiet --baselines {asked} -o"
    )
    assert run(line, tmp_path / "m") == (0, "", "")
    learner = load(tmp_path / "m")
    assert len(learner.baselines_) == (11 if asked == "all" else 1)


def test_a_model_of_states_is_learned_with_people_kept_apart(run, done, monkeypatch):
    seen = []
    original = StateScores.fit_transform

    def watched(self, Xs, ys=None, groups=None):
        seen.append(groups)
        return original(self.set_params(estimator="logistic"), Xs, ys, groups)

    monkeypatch.setattr(StateScores, "fit_transform", watched)
    context = "--context lags,scores --groups ^p[0-9] --metric diagonal --baselines none"
    done(f"fit change-point walks -o context.structsvm {context} --force")
    assert seen == [["p0", "p0", "p1", "p1", "p2", "p2"]]
    stages = load("context.structsvm").inputs_.features.stages_
    assert [type(stage) for _, stage in stages] == [Lags, StateScores]
    _, out, _ = run("predict context.structsvm walks/p0_0.csv --json")
    (found,) = json.loads(out)["recordings"]
    assert [row["state"] for row in found["segments"]] == ["rest", "walk", "turn", "rest"]


@cases(
    ("change-point walks --context lags,echoes", "lags, statistics, moments, scores"),
    ("change-point walks --context regions", "got 'regions'"),
    ("change-point walks --context moments --set features.n_moments=0", "n_moments must be"),
    ("change-point walks --context moments --set features.few=1", "Invalid parameter 'few'"),
    ("change-point walks --set spam=1", "the method metric has no such parameter, it has backend"),
    ("clustering walks/p0_0.csv --context lags", "is for recordings and images"),
    ("change-point walks --groups ^q", "finds nothing in the name 'p0_0'"),
    ("change-point walks --groups (", "is no regular expression"),
)
def test_options_that_do_not_fit_a_method_of_states_are_refused(refused, typed, message):
    assert message in " ".join(refused(f"fit {typed} -o none.structsvm").split())
