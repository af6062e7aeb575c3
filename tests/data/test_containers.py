"""The same six recordings in every container: one rule of rows, one result to the last bit."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from recording_cases import OnDemand

from structsvm import DataError, MetricLearner
from structsvm.data.rows import columns_that_count
from structsvm.data.times import TimeAxis
from structsvm.errors import DataWarning
from structsvm.io import Recording, RecordingFiles, read_recordings, write_recording

T = 120
N = 6
NAMES = ["a", "b"]
TIMES = pd.date_range("2024-01-01", periods=T, freq="h", name="time")
ENDS = [(20 + 2 * seed, 50 + 3 * seed) for seed in range(N)]
YS = [np.repeat([0, 1, 0], [a, b - a, T - b]) for a, b in ENDS]
XS = [
    np.random.default_rng(seed).normal(size=(T, 2)) + 3.0 * y[:, None] * [1, 0]
    for seed, y in enumerate(YS)
]
SHUFFLED = np.random.default_rng(0).permutation(T)


def frames(order=None):
    made = [pd.DataFrame(X, columns=NAMES, index=TIMES) for X in XS]
    return made if order is None else [frame.iloc[order] for frame in made]


def series(order=None):
    made = [pd.Series(y, index=TIMES) for y in YS]
    return made if order is None else [y.iloc[order] for y in made]


def axis(order):
    return TimeAxis("time", TIMES.to_numpy()[order])


def recordings(order=slice(None)):
    return [
        Recording(f"r{i}", X[order], y[order], ("a", "b"), time=axis(order))
        for i, (X, y) in enumerate(zip(XS, YS, strict=True))
    ]


def arrays_of_xarray(order=slice(None)):
    return [xr.DataArray(X, [("time", TIMES), ("feature", NAMES)]).isel(time=order) for X in XS]


def pairs(Xs, ys):
    return OnDemand(list(zip(Xs, ys, strict=True)))


def taken(order):
    return [y[order] for y in YS]


def with_column(frame, name, values, at=0):
    frame = frame.copy()
    frame.insert(at, name, values)
    return frame


CONTAINERS = {
    "frames": (frames(), YS),
    "frames and series": (frames(), series()),
    "shuffled frames": (frames(SHUFFLED), taken(SHUFFLED)),
    "shuffled frames, series in order": (frames(SHUFFLED), series()),
    "shuffled frames, shuffled series": (frames(SHUFFLED), series(SHUFFLED)),
    "a panel": (pd.concat(dict(enumerate(frames()))), np.concatenate(YS)),
    "a shuffled panel": (
        pd.concat(dict(enumerate(frames(SHUFFLED)))),
        pd.concat(dict(enumerate(series()))),
    ),
    "xarray": (arrays_of_xarray(), YS),
    "shuffled xarray": (arrays_of_xarray(SHUFFLED), taken(SHUFFLED)),
    "one array of xarray": (xr.concat(arrays_of_xarray(), dim="recording"), YS),
    "arrow": ([pa.Table.from_pandas(frame, preserve_index=False) for frame in frames()], YS),
    "polars": ([pl.from_pandas(frame.reset_index()) for frame in frames()], YS),
    "shuffled polars": (
        [pl.from_pandas(frame.reset_index()) for frame in frames(SHUFFLED)],
        taken(SHUFFLED),
    ),
    "a column of dates": ([frame.reset_index() for frame in frames(SHUFFLED)], taken(SHUFFLED)),
    "a column that counts": ([with_column(f, "n", range(T)) for f in frames()], YS),
    "recordings": (recordings(), None),
    "shuffled recordings": (recordings(SHUFFLED), None),
    "shuffled recordings and labels": (recordings(SHUFFLED), taken(SHUFFLED)),
    "lazy frames": (pairs(frames(), YS), None),
    "lazy shuffled frames": (pairs(frames(SHUFFLED), series()), None),
    "lazy recordings": (OnDemand(recordings(SHUFFLED)), None),
    "lazy xarray": (pairs(arrays_of_xarray(SHUFFLED), taken(SHUFFLED)), None),
}


def fitted(Xs, ys=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return MetricLearner(metric="diagonal").fit(Xs, ys)


@pytest.fixture(scope="module")
def right():
    return fitted(XS, YS)


def assert_right(Xs, ys, right):
    learner = fitted(Xs, ys)
    assert np.array_equal(learner.metric_.factor, right.metric_.factor)
    assert learner.metric_.price == right.metric_.price
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        assert learner.predict_breakpoints(Xs) == right.predict_breakpoints(XS)


@pytest.mark.parametrize(("Xs", "ys"), CONTAINERS.values(), ids=CONTAINERS)
def test_every_container_of_recordings_gives_the_same_metric_to_the_bit(Xs, ys, right):
    assert_right(Xs, ys, right)


def test_weights_of_features_are_shown_in_notebooks_and_frames_of_either_library():
    learner = MetricLearner(metric="diagonal").fit(XS, YS)
    assert isinstance(weights := learner.to_frame("polars"), pl.DataFrame)
    assert weights["weight"].to_list() == learner.to_frame()["weight"].tolist()
    html = learner._repr_mimebundle_()["text/html"]
    assert "sk-top-container" in html
    assert "<th>weight</th>" in html


def test_a_pandas_series_is_a_recording_of_one_feature():
    one = fitted([pd.Series(X[:, 0], name="flow") for X in XS], YS)
    assert one.feature_names_in_.tolist() == ["flow"]
    known = fitted([X[:, :1] for X in XS], YS)
    assert np.array_equal(one.metric_.factor.T, known.metric_.factor.T)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for kind in ("csv", "parquet", "npz", "index"):
        (folder / kind).mkdir()
    for i, (frame, y) in enumerate(zip(frames(SHUFFLED), taken(SHUFFLED), strict=True)):
        table = frame.reset_index().assign(label=y)
        table.to_csv(folder / f"csv/{i}.csv", index=False)
        table.to_parquet(folder / f"parquet/{i}.parquet")
        frame.assign(label=y).to_parquet(folder / f"index/{i}.parquet")
        write_recording(recordings()[i], folder / f"npz/{i}.npz")
    return folder


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_files_give_the_same_metric_as_arrays_to_the_bit(files, kind, right):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        read = read_recordings(files / kind, time_column=None if kind == "npz" else "time")
        later = RecordingFiles(files / kind, time_column=None if kind == "npz" else "time")
    for Xs in (read, later):
        assert_right(Xs, None, right)


@pytest.mark.parametrize("kind", ["parquet", "index"])
def test_paths_of_tables_are_sorted_by_their_times(files, kind, right):
    assert_right(sorted(map(str, (files / kind).iterdir())), None, right)


class TestWhatIsTold:
    @pytest.mark.parametrize(
        "Xs",
        [frames(SHUFFLED), recordings(SHUFFLED), pairs(frames(SHUFFLED), YS)],
        ids=["frames", "recordings", "lazy"],
    )
    def test_rows_that_are_sorted_by_time_are_warned_of(self, Xs):
        with pytest.warns(DataWarning, match="not in the order of time: they are sorted"):
            MetricLearner(metric="diagonal").fit(Xs, None if isinstance(Xs, OnDemand) else series())

    def test_gaps_in_the_time_of_frames_are_told(self):
        holes = [frame.drop(frame.index[60:70]) for frame in frames()]
        with pytest.warns(DataWarning, match=r"sampled irregularly, with steps of frame 0 \("):
            MetricLearner(metric="diagonal").fit(holes, [y.drop(y.index[60:70]) for y in series()])

    def test_another_sampling_rate_than_in_training_is_warned_of(self, right):
        learner = MetricLearner(metric="diagonal").fit(frames(), YS)
        slow = [pd.DataFrame(X, pd.date_range("2024", periods=T, freq="D"), NAMES) for X in XS]
        with pytest.warns(DataWarning, match="different rates: .* what the model was learned from"):
            learner.predict(slow)

    def test_columns_that_are_times_or_counters_are_warned_of(self):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            MetricLearner(metric="diagonal").fit([f.reset_index() for f in frames()], YS)
        assert "frame 0: column 'time' is taken for the time of the rows" in str(told[0].message)
        with pytest.warns(DataWarning, match="1 column left out.* row numbers do: n"):
            MetricLearner(metric="diagonal").fit(
                [with_column(f, "n", range(T)) for f in frames()], YS
            )

    @pytest.mark.parametrize("rate", [7.0, 24.0, 29.97, 30.0, 60.0, 128.0, 1000 / 33])
    @pytest.mark.parametrize("decimals", [3, 4, 6])
    def test_rounded_times_are_times(self, rate, decimals):
        """A column of 0.033, 0.067, 0.1, 0.133 was learned from."""
        for start in (0.0, 1.7e9):
            times = np.round(start + np.arange(500) / rate, decimals)
            assert columns_that_count([pd.DataFrame({"t": times, "x": times % 1})]) == ["t"]
        energy = np.cumsum(np.random.default_rng(0).integers(2, 4, size=500))
        assert columns_that_count([pd.DataFrame({"a": energy})]) == []

    @pytest.mark.parametrize("lazy", [False, True])
    def test_labels_that_mark_single_changes_are_warned_of(self, lazy):
        marks = [np.isin(np.arange(T), ends).astype(int) for ends in ENDS]
        with pytest.warns(DataWarning, match=r"single samples with 1.*np.cumsum\(y\)"):
            MetricLearner(metric="diagonal").fit(
                *((pairs(XS, marks), None) if lazy else (XS, marks))
            )

    def test_joined_recordings_with_repeated_times_are_refused(self):
        frame = pd.concat([pd.DataFrame(X, columns=NAMES) for X in XS[:2]])
        with pytest.raises(DataError, match="falls after row 119, and has numbers twice"):
            MetricLearner().fit([frame], [np.concatenate(YS[:2])])

    def test_transposed_arrays_of_recordings_are_refused(self, right):
        turned = np.swapaxes(np.array(XS), 1, 2)
        with pytest.raises(DataError, match=r"\(2, 120\) and 120 labels: it is transposed"):
            MetricLearner().fit(turned, YS)
        with pytest.raises(DataError, match=r"if it is transposed, give X\.T"):
            right.predict([np.zeros((2, 50))])

    @pytest.mark.parametrize("ends", [[120], [60, 90], [9999]])
    def test_breakpoints_without_the_last_sample_are_refused(self, ends):
        """One column is as long as the list of one change."""
        with pytest.raises(DataError, match=r"integers in 1\.\.200 that end with 200"):
            MetricLearner().fit([np.zeros((200, 1))] * 2, [[50, 200], ends])


class TestMinusOne:
    X = np.repeat(XS[0], 1, axis=0)
    y = np.repeat([-1, 0, 1], 40)

    def test_samples_without_a_label_are_counted_in_the_message(self):
        with pytest.warns(DataWarning, match=r"40 of 120 samples are without a label \(-1\)"):
            MetricLearner(metric="diagonal").fit([self.X], [self.y])

    def test_minus_one_may_be_a_class_as_text(self):
        one = MetricLearner(metric="diagonal").fit([self.X] * 3, [self.y.astype(str)] * 3)
        other = fitted([self.X] * 3, [self.y + 1] * 3)
        assert np.array_equal(one.metric_.factor, other.metric_.factor)


@pytest.mark.parametrize("n", [1, 2])
def test_transform_of_few_rows_is_refused_with_advice(n, right):
    with pytest.raises(DataError, match=r"too few to standardise .* standardize='training'"):
        right.transform([XS[0][:n]])
    trained = MetricLearner(metric="diagonal", standardize="training").fit(XS, YS)
    together = trained.transform([XS[0]])[0]
    assert np.array_equal(trained.transform([XS[0][:n]])[0], together[:n])
