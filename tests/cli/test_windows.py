"""Recordings that are sampled much finer than their segments last are averaged to windows."""

import json

import numpy as np
import pandas as pd
import pytest

from structsvm import load
from structsvm.data.times import TimeAxis
from structsvm.io import FileOptions, read_recordings
from structsvm.io.cleaning import MANY_SAMPLES, WINDOWS_OF_A_SEGMENT, cleaned, window_for
from structsvm.io.files import RecordingFiles
from structsvm.io.recording import Recording
from structsvm.partitions import EquivalenceMatrix, partition_loss

W = 12  # of segments of 300 samples


@pytest.fixture(scope="module")
def fine(tmp_path_factory):
    """Return a folder with six tables, of 10 samples a second, and a model of four of them."""
    from structsvm.cli import main

    folder = tmp_path_factory.mktemp("fine")
    rng = np.random.default_rng(0)
    for k in range(6):
        y = np.repeat(["rest", "walk", "rest"], [300 + 3 * k, 301, 317])
        X = rng.normal(size=(y.size, 2)) * np.where(y == "walk", 4.0, 1.0)[:, None]
        table = pd.DataFrame({"t": np.arange(y.size) / 10, "a": X[:, 0], "b": X[:, 1], "label": y})
        table.to_csv(folder / f"r{k}.csv", index=False)
    train = [str(folder / f"r{k}.csv") for k in range(4)]
    options = ["--time-column", "t", "--method", "olda", "--baselines", "none"]
    assert main(["fit", "change-point", *train, *options, "-o", str(folder / "m.structsvm")]) == 0
    return folder


def recordings_of(*lengths):
    y = np.repeat(np.arange(len(lengths)), lengths)
    return [Recording("r", np.zeros((y.size, 1)), y, ("x",))]


def test_short_segments_decide_whether_samples_are_averaged():
    assert window_for(recordings_of(MANY_SAMPLES, MANY_SAMPLES, 5000)) == (
        MANY_SAMPLES // WINDOWS_OF_A_SEGMENT,
        MANY_SAMPLES,
    )
    assert window_for(recordings_of(MANY_SAMPLES - 1, MANY_SAMPLES - 1, 5000))[0] == 1
    assert window_for(recordings_of(7, *[1000] * 20)) == (1000 // WINDOWS_OF_A_SEGMENT, 1000)


def test_features_of_windows_are_statistics_of_their_samples():
    rng = np.random.default_rng(1)
    X = 1e6 + rng.normal(size=(53, 2))
    y = np.repeat([-1, "b", "a"], [11, 20, 22]).astype(object)
    y[:11] = -1
    X[:10, 1] = np.nan
    X[17, 1] = np.nan
    (found,) = cleaned([Recording("r", X, y, ("p", "q"))], FileOptions(window=10))
    parts = np.split(X, [10, 20, 30, 40])
    with pytest.warns(RuntimeWarning):  # of the window without a value
        expected = [np.hstack([np.nanmean(x, 0), np.nanstd(x, 0)]) for x in parts]
    np.testing.assert_allclose(found.X, expected, rtol=0, atol=1e-8)
    assert found.features == ("p", "q", "p spread", "q spread")
    assert found.y.tolist() == [-1, "b", "b", "a", "a"]
    assert found.edges.tolist() == [0, 10, 20, 30, 40, 53]


def test_predictions_for_windows_are_in_samples_rows_and_times_of_the_file(run, fine, tmp_path):
    model = load(fine / "m.structsvm")
    assert model.columns_["window"] == W
    assert model.n_features_in_ == 4
    code, out, _ = run(f"predict {fine}/m.structsvm {fine}/r5.csv --json")
    (found,) = json.loads(out)["recordings"]
    assert code == 0
    assert found["breakpoints"] == pytest.approx([315, 616, 933], abs=W)
    assert [end % W for end in found["breakpoints"][:-1]] == [0, 0]
    times = [segment["start_time"] for segment in found["segments"]]
    assert times == [f"{end / 10:.15g}" for end in (0, *found["breakpoints"][:-1])]
    run(f"predict {fine}/m.structsvm {fine}/r5.csv -o {tmp_path}/out")
    own, written = (pd.read_csv(p) for p in (fine / "r5.csv", tmp_path / "out/r5_segments.csv"))
    assert written[list(own)].equals(own)
    assert (
        written["segment"].value_counts().sort_index().tolist()
        == np.diff([0, *found["breakpoints"]]).tolist()
    )
    code, out, _ = run(
        f"predict {fine}/m.structsvm {fine}/r5.csv --json --set problem.min_length={10 * W + 1}"
    )
    assert np.diff([0, *json.loads(out)["recordings"][0]["breakpoints"]]).min() >= 10 * W + 1


def test_windows_are_scored_by_the_samples_of_the_file(run, fine):
    files = f"{fine}/r4.csv {fine}/r5.csv"
    _, out, _ = run(f"evaluate {fine}/m.structsvm {files} --json")
    scores = json.loads(out)["recordings"]
    _, out, _ = run(f"predict {fine}/m.structsvm {files} --json")
    for k, found, scored in zip((4, 5), json.loads(out)["recordings"], scores, strict=True):
        truth = EquivalenceMatrix.from_breakpoints(np.cumsum([300 + 3 * k, 301, 317]))
        loss = partition_loss(truth, EquivalenceMatrix.from_breakpoints(found["breakpoints"]))
        assert scored["learned"]["loss"] == pytest.approx(loss)


def test_features_of_windows_are_scored_as_well(done, fine, tmp_path):
    train = " ".join(f"{fine}/r{k}.csv" for k in range(4))
    options = f"--method olda --baselines none --context lags --set files.window={W}"
    done(f"fit change-point {train} --time-column t {options} -o {tmp_path}/m.structsvm")
    out, _ = done(f"evaluate {tmp_path}/m.structsvm {fine}/r4.csv {fine}/r5.csv --json")
    assert len(json.loads(out)["recordings"]) == 2


def test_a_recording_shorter_than_a_window_is_one_segment(done, fine, tmp_path):
    pd.DataFrame({"t": [0.0, 0.1], "a": [0.0, 1.0], "b": [1.0, 0.0]}).to_csv(tmp_path / "s.csv")
    out, _ = done(f"predict {fine}/m.structsvm {tmp_path}/s.csv --json")
    assert json.loads(out)["recordings"][0]["breakpoints"] == [2]


@pytest.mark.parametrize("window", [100_000, 10**7])
@pytest.mark.parametrize("verb", ["try", "fit"])
def test_windows_longer_than_recordings_are_refused_as_such(refused, fine, tmp_path, verb, window):
    line = f"{verb} change-point {fine} --time-column t -o {tmp_path}/o --set files.window={window}"
    said = refused(line)
    assert f"windows of {window:,} samples, --set files.window={window}, show no change" in said
    assert "give fewer" in said


def test_files_that_are_read_later_give_the_same_windows(fine):
    options = {"time_column": "t", "window": 25}
    for one, again in zip(
        read_recordings(fine, **options), RecordingFiles(fine, **options), strict=True
    ):
        assert np.array_equal(one.X, again.X)
        assert one.time.text(1) == again.time.text(1) == "2.5"


def test_windows_of_dates_keep_the_time_of_each_sample():
    dates = np.datetime64("2024-05-01T12:00") + np.arange(50) * np.timedelta64(20, "ms")
    whole = Recording("r", np.zeros((50, 1)), None, ("x",), time=TimeAxis("when", dates))
    (found,) = cleaned([whole], FileOptions(window=20, need_labels=False))
    assert [found.time.text(t)[-6:] for t in range(3)] == ["00.000", "00.400", "00.800"]
    assert (found.time.edges - dates[0]).astype("m8[ms]").astype(int).tolist() == [0, 400, 800]
    assert found.time.sample_at("2024-05-01 12:00:00.5") == 1


def test_regions_in_samples_are_refused_where_samples_are_averaged(done, refused, fine, tmp_path):
    (tmp_path / "regions.csv").write_text("recording,start,end,changes\nr5,0,100,0\n")
    told = refused(f"predict {fine}/m.structsvm {fine}/r5.csv --regions {tmp_path}/regions.csv")
    assert "files.window=1" in told
    assert "no order" in refused(f"fit clustering {fine} --set files.window=5 --ignore t")
    assert "'0'" not in refused(f"fit change-point {fine} --set files.window=0")
    for typed in ("--set files.window=1", "--set problem.min_length=20"):
        _, err = done(
            f"fit change-point {fine} --time-column t --method olda {typed} --baselines "
            f"none --force -o {tmp_path}/n.structsvm"
        )
        assert "averaged" not in err


def test_predict_does_without_a_lost_or_dead_sensor(run, refused, fine, tmp_path):
    table = pd.read_csv(fine / "r5.csv")
    table.drop(columns="b").to_csv(tmp_path / "lost.csv", index=False)
    table.assign(b=3.0).to_csv(tmp_path / "dead.csv", index=False)
    line = f"predict {fine}/m.structsvm {tmp_path}"
    assert "--without b predicts without" in refused(f"{line}/lost.csv")
    _, out, _ = run(f"{line}/lost.csv --without b --json")
    _, same, err = run(f"{line}/dead.csv --json")
    assert "predicted --without 'b', 'b spread'" in err
    ends = [json.loads(text)["recordings"][0]["breakpoints"] for text in (out, same)]
    assert ends[0] == ends[1] == pytest.approx([315, 616, 933], abs=2 * W)
    assert "no column is called 'x*'" in refused(f"{line}/dead.csv --without x*")
