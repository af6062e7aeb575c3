"""Names, frames and files as people type them first, and what they are told."""

import numpy as np
import pandas as pd
import pytest

from structsvm import DataError, MetricLearner, PartialLabels, SettingsError
from structsvm.io import read_recordings


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    ys = [np.repeat([0, 1, 2], 20) for _ in range(3)]
    return [np.eye(3)[y] * 4 + rng.normal(size=(60, 3)) for y in ys], ys


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "cuttingplane"}, "did you mean 'cutting-plane'"),
        ({"lam": "cv"}, "lam must be > 0, got 'cv': MetricLearnerCV chooses it"),
    ],
)
def test_a_name_that_is_known_elsewhere_says_where(data, settings, message):
    with pytest.raises(SettingsError, match=message):
        MetricLearner(**settings).fit(*data)


def test_frames_that_hold_their_labels_are_pointed_to(data):
    Xs, ys = data
    frames = {
        name: pd.DataFrame(X).assign(label=y) for name, X, y in zip("abc", Xs, ys, strict=True)
    }
    with pytest.raises(DataError, match=r"frame 'a' has a column 'label': give y apart"):
        MetricLearner().fit(frames)
    with pytest.raises(DataError, match=r"frame 0 has a column 'label': give y apart"):
        MetricLearner().fit(list(frames.values()))
    labels = {name: frame.pop("label") for name, frame in frames.items()}
    assert MetricLearner().fit(frames, labels).predict(frames).keys() == frames.keys()


def test_what_is_known_of_some_recordings_is_given_by_their_names(data):
    Xs, ys = data
    learner = MetricLearner().fit(Xs, ys)
    by_name = dict(zip("abc", Xs, strict=True))
    found = learner.predict_breakpoints(by_name, known={"b": PartialLabels(regions=[(0, 30, 0)])})
    assert found["a"] == learner.predict_breakpoints(Xs[0])
    assert min(found["b"]) >= 30
    with pytest.raises(DataError, match="samples and what is known are given by different names"):
        learner.predict(by_name, known={"d": PartialLabels(n_clusters=2)})


def test_times_that_come_again_are_a_sign_of_several_recordings(tmp_path):
    path = tmp_path / "people.csv"
    t = np.tile(np.arange(10.0), 3)
    frame = pd.DataFrame({"t": t, "x": np.sin(t), "label": np.repeat([0, 1, 0], 10)})
    frame.to_csv(path, index=False)
    with pytest.warns(UserWarning, match="Most times occur more than once.*recording_column="):
        read_recordings(path, time_column="t")
    frame.assign(t=np.arange(30)[::-1]).to_csv(path, index=False)
    with pytest.warns(UserWarning, match="samples are counted in it$"):
        read_recordings(path, time_column="t")


def test_measurements_in_the_place_of_labels_are_named(data):
    Xs, _ = data
    measured = [np.sin(np.arange(60.0) * k) for k in (1, 2, 3)]
    with pytest.warns(UserWarning, match=r"nearly every sample \(180 segments of 180 samples\)"):
        MetricLearner().fit(Xs, measured)


def test_what_is_infinite_is_not_called_missing(data):
    Xs, ys = data
    wrong = Xs[0].copy()
    wrong[3, 1] = np.inf
    with pytest.raises(DataError, match="has inf in row 3, column 1: give a number there, or NaN"):
        MetricLearner().fit([wrong, *Xs[1:]], ys)
    unknown = np.where(ys[0] == 2, np.nan, ys[0])
    with pytest.raises(DataError, match=r"sample 40 is missing \(NaN, 20 in all\)"):
        MetricLearner().fit(Xs, [unknown, *ys[1:]])
