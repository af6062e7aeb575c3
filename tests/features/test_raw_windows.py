"""Windows of raw signals and back, and wrapped transformers of other libraries."""

import numpy as np
import pandas as pd
import pytest
from cases import cases
from recording_cases import changes
from sklearn.base import BaseEstimator, clone

from structsvm import MetricLearner, save
from structsvm.errors import DataError, LearningError, ModelFileError, SettingsError
from structsvm.features import Chain, Lags, OfWindows, Series, Union, windows
from structsvm.interop import labels_to_breakpoints

XS, YS = changes(3, n_features=3)


class TestWindows:
    def test_a_learner_takes_windows_with_their_feature_names(self, rng):
        signals = [np.repeat([0.0, 5.0, 1.0], 100) + rng.normal(size=300) for _ in range(3)]
        cut = [windows(x, rate=10, window=1.0, names=["acc"]) for x in signals]
        ys = [w.labels(np.repeat([0, 1, 2], 100)) for w in cut]
        learner = MetricLearner().fit(cut[:2], ys[:2])
        assert list(learner.feature_names_in_) == ["acc mean", "acc spread"]
        np.testing.assert_array_equal(learner.predict(cut[2]), learner.predict([cut[2].X])[0])
        assert repr(cut[0]) == "<59 windows of 1 s at 10 Hz, 2 features>"

    def test_statistics_of_raw_windows_are_those_of_their_samples(self, rng):
        X = rng.normal(size=(101, 2))
        names = ("mean", "spread", "min", "max", "rms")
        found = windows(X, rate=10, window=2.0, hop=0.7, statistics=names, names=["a", "b"])
        assert found.starts.tolist() == list(range(0, 82, 7))
        for row, start in zip(found.X, found.starts, strict=True):
            w = X[start : start + 20]
            parts = [w.mean(0), w.std(0), w.min(0), w.max(0), np.sqrt((w**2).mean(0))]
            np.testing.assert_allclose(row, np.concatenate(parts))
        assert found.columns[:3] == ("a mean", "b mean", "a spread")
        np.testing.assert_allclose(found.times, found.starts / 10 + 1.0)

    def test_powers_of_bands_distinguish_frequencies(self):
        t = np.arange(2000) / 100
        slow = np.sin(2 * np.pi * 2 * t)
        fast = np.sin(2 * np.pi * 20 * t)
        found = windows(
            np.column_stack([slow, fast]), 100, 1.0, statistics=(), bands=[(1, 4), (15, 25)]
        )
        assert found.columns[0] == "x0 power 1-4 Hz"
        low = found.X[:, :2]
        high = found.X[:, 2:]
        assert (low[:, 0] > 100 * low[:, 1]).all()
        assert (high[:, 1] > 100 * high[:, 0]).all()

    @pytest.mark.parametrize(("window", "hop"), [(2.0, 1.0), (2.0, 0.3), (0.5, 2.0), (0.1, 0.1)])
    def test_labels_survive_windows_up_to_half_a_window_and_a_hop(self, rng, window, hop):
        y = np.repeat([3, 1, 2, 1], [60, 55, 70, 65])
        found = windows(rng.normal(size=(250, 1)), 10, window, hop)
        labels = found.labels(y)
        ends = found.breakpoints(labels_to_breakpoints(labels))
        slack = 10 * hop / 2 + 0.5 + 10 * max(0, hop - window) / 2
        assert np.abs(np.array(ends) - labels_to_breakpoints(y)).max() <= slack

    def test_breakpoints_of_windows_give_each_sample_its_nearest_window(self, rng):
        found = windows(rng.normal(size=(57, 1)), 1, 8, 5)
        nearest = np.abs(np.arange(57)[:, None] - (found.starts + 3.5)).argmin(axis=1)
        ends = found.breakpoints(range(1, len(found) + 1))
        assert ends == labels_to_breakpoints(nearest)

    @cases(
        ({"rate": 0}, SettingsError, "rate must be a finite number > 0"),
        ({"window": 1e-9}, DataError, "the signal has 50 samples, a window 0, and a hop 0"),
        ({"window": 1e9}, DataError, "the signal has 50 samples, a window 1"),
        ({"bands": [(6, 7)]}, SettingsError, "no frequency of a window is from 6"),
        ({"statistics": ["mode"]}, SettingsError, "statistics must be some of mean"),
        ({"statistics": []}, SettingsError, "statistics must be some of"),
        ({"statistics": [np.sum]}, DataError, "a row of finite numbers is needed"),
    )
    def test_impossible_windows_are_refused(self, given, error, message):
        with pytest.raises(error, match=message):
            windows(np.arange(50.0), **{"rate": 10, "window": 1.0, **given})


class Differences(BaseEstimator):
    """As a transformer of series in sktime: a row for each sample, data frames come out."""

    def __init__(self, lag=1):
        self.lag = lag

    def fit(self, X, y=None):
        self.columns_ = [f"d{j}" for j in range(X.shape[1])]
        return self

    def transform(self, X, y=None):
        made = X - np.roll(X, self.lag, axis=0)
        made[: self.lag] = 0
        return pd.DataFrame(made, columns=self.columns_)

    def fit_transform(self, X, y=None):
        return self.fit(X, y).transform(X, y)


class AcrossColumns(Differences):
    """As one in aeon: a column for each sample."""

    def fit_transform(self, X, y=None, axis=1):
        assert axis == 1
        return super().fit_transform(X.T).to_numpy().T


class Halves(Differences):
    """Returns fewer samples than it was given."""

    def fit_transform(self, X, y=None):
        return X[::2]


class Summary(BaseEstimator):
    """As a transformer of collections: (windows, columns, samples) in, a table out."""

    def fit(self, X, y=None):
        assert X.ndim == 3
        self.n_channels_ = X.shape[1]
        return self

    def transform(self, X, y=None):
        assert X.shape[1] == self.n_channels_
        return pd.DataFrame(np.hstack([X.mean(axis=2), X.max(axis=2)]))


class TestTransformersOfOthers:
    def test_series_transformers_of_either_axis_are_applied_to_each_recording(self):
        rows = Series(Differences()).fit_transform(XS)
        columns = Series(AcrossColumns(), axis=1).fit_transform(XS)
        for X, a, b in zip(XS, rows, columns, strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(a[1:], np.diff(X, axis=0))
        names = Series(Differences()).fit(XS).get_feature_names_out(["a", "b", "c"])
        assert names.tolist() == ["a differences", "b differences", "c differences"]

    @pytest.mark.parametrize(("width", "hop"), [(9, 1), (9, 4), (500, 1), (1, 1)])
    def test_transformers_of_collections_see_a_window_about_each_sample(self, width, hop):
        (F,) = OfWindows(Summary(), width, hop).fit_transform(XS[:1])
        X = XS[0]
        assert F.shape == (200, 6)
        for t in (0, 100, 199):
            anchor = min((t + hop // 2) // hop, (199 // hop)) * hop
            start = min(max(anchor - (width - 1) // 2, 0), max(200 - width, 0))
            rows = np.minimum(np.arange(start, start + width), 199)
            np.testing.assert_allclose(F[t], np.r_[X[rows].mean(0), X[rows].max(0)])

    @cases(
        OfWindows(Summary(), 7, 2),
        Union(Lags((0,)), Series(Differences())),
        Union(Lags((0,)), Series(AcrossColumns(), axis=1)),
    )
    def test_a_metric_is_learned_from_features_of_other_libraries(self, tmp_path, features):
        learner = MetricLearner(metric="diagonal", features=features).fit(XS, YS)
        assert clone(learner).fit(XS, YS).predict_breakpoints(XS) == learner.predict_breakpoints(XS)
        assert len(learner.metric_feature_names_) == len(learner.metric_.factor)
        with pytest.raises(ModelFileError, match="which a model file cannot hold"):
            save(learner, tmp_path / "m")

    def test_transformers_that_fail_or_return_wrong_shapes_are_named(self):
        class Broken(Summary):
            def transform(self, X, y=None):
                raise RuntimeError("no such kernel")

        for stage, message in (
            (Series(Differences), "Series needs a transformer of another library"),
            (Series(Differences(), axis=2), "axis of Series must be 0 or 1"),
            (OfWindows(Summary(), width=0), "width of OfWindows must be an integer >= 1"),
        ):
            with pytest.raises(SettingsError, match=message):
                stage.fit(XS)
        with pytest.raises(LearningError, match="no such kernel"):
            OfWindows(Broken()).fit(XS)
        with pytest.raises(DataError, match="must return one row for each"):
            Chain(Series(Halves())).fit_transform(XS)
