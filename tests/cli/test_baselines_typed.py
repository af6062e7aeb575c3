"""The classifiers on the command line: tuned by fit, compared by evaluate, used by predict."""

import json
import re

import numpy as np
import pytest

from structsvm.io import Recording, write_recording
from structsvm.learner.baselines import partition_with
from structsvm.learner.files import load
from structsvm.learner.steps import decode_with

NAMES = np.repeat(["rest", "walk", "turn", "rest"], [16, 20, 14, 10])
MEANS = {"rest": (0.0, 0.0), "walk": (2.0, 0.0), "turn": (0.0, 2.0)}


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """Return a folder with named recordings, and a model of them."""
    folder, rng = tmp_path_factory.mktemp("states"), np.random.default_rng(0)
    means = np.array([MEANS[name] for name in NAMES])
    for kind, n in (("train", 5), ("test", 6)):
        (folder / kind).mkdir()
        for i in range(n):
            X = means + rng.normal(scale=1.0, size=means.shape)
            recording = Recording(f"walk{i}", X, NAMES, ("a", "b"))
            write_recording(recording, folder / kind / f"walk{i}.npz")
    return folder


@pytest.fixture
def named(states, run, tmp_path):
    """Return the model file of the named recordings."""
    line = f"fit change-point {states / 'train'} --metric diagonal --quiet -o"
    assert run(line, tmp_path / "m") == (0, "", "")
    return tmp_path / "m"


def test_fit_tunes_the_quick_ones_and_evaluate_names_them(states, named, run):
    found = list(load(named).baselines_)[3:]
    assert found == ["equal-segments", "frame-logistic", "boundary-logistic"]
    code, out, _ = run(f"evaluate {named} {states / 'test'}")
    assert code == 0
    assert "frame-logistic" in out
    _, out, _ = run(f"evaluate {named} {states / 'test'} --json")
    plain = json.loads(out)
    assert plain["frame-logistic"]["loss"] >= 0
    assert {"frame-logistic", "boundary-logistic"} < set(plain["verdict"]["contrasts"])
    assert plain["verdict"]["use"] in (None, "frame-logistic", "boundary-logistic")


def test_show_lists_what_a_model_is_compared_with(named, run):
    _, out, _ = run(f"show {named}")
    assert "untrained, pca, rca, equal-segments, frame-logistic, boundary-logistic" in out
    assert json.loads(run(f"show {named} --json")[1])["baselines"][-1] == "boundary-logistic"


def test_predict_partitions_as_a_baseline_does(states, named, run):
    test = states / "test" / "walk0.npz"
    learner = load(named)
    with np.load(test, allow_pickle=False) as stored:
        X = stored["X"]
    for name in ("frame-logistic", "boundary-logistic", "rca"):
        out = run(f"predict {named} {test} --quiet --baseline {name}")[1]
        if name == "rca":
            (expected,) = decode_with(learner, learner.baselines_["rca"], [X])
        else:
            (expected,) = partition_with(learner, name, [X])
        assert list(map(int, re.findall(r"\b\d+\b", out))) == expected.breakpoints
    out = run(f"predict {named} {test} --quiet --baseline boundary-logistic --n-clusters 3")[1]
    assert len(out.split()) == 4


def test_a_baseline_that_was_not_tuned_is_refused_with_those_that_were(states, named, refused):
    message = refused(f"predict {named} {states / 'test'} --baseline frame-boosting")
    assert message.startswith(
        "--baseline frame-boosting: the model has boundary-logistic, equal-seg"
    )
    assert "fit --baselines all" in message


@pytest.mark.parametrize("asked", ["none", "all"])
def test_baselines_may_be_left_out_or_be_all(states, run, tmp_path, monkeypatch, asked):
    from structsvm.baselines import BoundaryClassifier, FrameClassifier

    for kind in (BoundaryClassifier, FrameClassifier):
        monkeypatch.setattr(kind, "fit", lambda self, *_, **__: self)
    line = f"fit change-point {states / 'train'} --metric diagonal --quiet --baselines {asked} -o"
    assert run(line, tmp_path / "m") == (0, "", "")
    learner = load(tmp_path / "m")
    assert len(learner.baselines_) == (8 if asked == "all" else 1)
