"""Recordings that are read when they are needed: the same bits as in memory, wherever they are."""

import os
import pickle
import shutil
from functools import cache

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray
import zarr
from cases import cases, refused
from recording_cases import OnDemand, changes, same_bits
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from structsvm import (
    Clustering,
    DataError,
    MetricLearner,
    MetricLearnerCV,
    PartialLabels,
    evaluate,
    load,
    save,
)
from structsvm.errors import CheckpointError
from structsvm.features import Chain, HermiteMoments, Lags, MovingStatistics, StateScores
from structsvm.io import Recording, RecordingFiles
from structsvm.learner.preparing import read_training
from structsvm.parallel import Dask, Processes, Serial
from structsvm.solvers import CuttingPlane, Stopping
from structsvm.support import limits

XS, YS = changes(6, n_samples=220)
NAMES = [f"r{i}" for i in range(6)]


@pytest.fixture(scope="module")
def in_memory():
    return of_arrays("diagonal", "full")


SETTINGS = {
    "diagonal": {"metric": "diagonal"},
    "full": {"metric": "full", "standardize": "training", "whiten": 0.3},
    "features": {"metric": "diagonal", "features": Chain(Lags((-1, 0)), MovingStatistics((5,)))},
    "moments": {"metric": "diagonal", "features": HermiteMoments(2)},
    "partial": {"metric": "diagonal", "standardize": "training"},
}
STRETCHES = [np.where(np.arange(y.size) % 97 < 60, y, -1) for y in YS]
LABELS_OF = {
    "full": YS,
    "stretches": STRETCHES,
    "regions": [PartialLabels(regions=[(0, 50, 1)]), *YS[1:3], *STRETCHES[3:]],
}


@cache
def of_arrays(settings, labels):
    """What all backends have to learn."""
    return MetricLearner(**SETTINGS[settings]).fit(XS, LABELS_OF[labels])


# Each setting as it is read, and each backend with a setting that keeps nothing and one that keeps
# what it has learned of all recordings.
@cases(
    *((settings, "serial") for settings in ("diagonal", "full", "features", "moments")),
    ("full", "processes"),
    ("features", "processes"),
    ("full", "dask"),
    ("moments", "dask"),
)
def test_recordings_on_demand_have_the_bits_of_arrays_in_memory(backend, settings, name):
    expected = of_arrays(settings, "full")
    learner = MetricLearner(**SETTINGS[settings], backend=backend(name)).fit(OnDemand(XS), YS)
    assert same_bits(learner, expected)
    for mine, theirs in zip(learner.predict(OnDemand(XS)), expected.predict(XS), strict=True):
        assert np.array_equal(mine, theirs)


@cases(
    ("stretches", "serial"),
    ("regions", "serial"),
    ("regions", "processes"),
    ("stretches", "dask"),
)
def test_partial_labels_have_the_bits_of_arrays_in_memory(backend, labels, name):
    """Stretches are learned from, and labels completed, by the workers that read the recordings."""
    learner = MetricLearner(**SETTINGS["partial"], backend=backend(name))
    learner.fit(OnDemand(XS), LABELS_OF[labels])
    assert same_bits(learner, of_arrays("partial", labels))


@pytest.mark.parametrize("known", [1.0, 0.7], ids=["labelled", "labelled in part"])
@cases(Clustering(oracle="relaxed"), Clustering("unknown", oracle="rounded"), ids=str)
def test_tables_on_demand_have_the_bits_of_tables_in_memory(known, problem):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 8)
    tables = [rng.normal(size=(24, 3)) + 6 * np.eye(3)[y] for _ in range(2)]
    ys = [np.where(rng.random(24) < known, y, -1) for _ in tables]
    expected = MetricLearner(problem).fit(tables, ys)
    assert same_bits(MetricLearner(problem).fit(OnDemand(tables), ys), expected)


def test_few_recordings_on_demand_are_in_memory_at_once(monkeypatch):
    """Without room to keep any, each round reads each recording once more."""
    monkeypatch.setattr(limits, "KEPT_BYTES", 1)
    asked = []
    for max_iter in (3, 8):
        learner = MetricLearner(solver=CuttingPlane(Stopping(1e-9, max_iter)))
        sequence = OnDemand(XS)
        with pytest.warns(ConvergenceWarning):
            expected = clone(learner).fit(XS, YS)
        with pytest.warns(ConvergenceWarning):
            assert same_bits(learner.fit(sequence, YS), expected)
        asked.append(sequence.asked)
    assert asked[1] - asked[0] == 5 * len(XS)


# ---- where recordings may be


def files(folder, kind):
    """The recordings as files of a kind, with their labels where these hold some."""
    paths = [folder / f"{i:02}.{kind}" for i in range(len(XS))]
    for path, X, y in zip(paths, XS, YS, strict=True):
        if kind == "npz":
            np.savez(path, X=X, y=y)
        elif kind == "npy":
            np.save(path, X)
        else:
            pd.DataFrame(X, columns=list("abcd")).assign(label=y).to_parquet(path)
    return paths


def named(i, order):
    return Recording(f"r{i}", XS[i][:, order], YS[i], tuple(np.array(list("abcd"))[order]))


def filled(root, write):
    """A group of recordings with labels and names, one of arrays, and a stack of them."""
    for i, (X, y) in enumerate(zip(XS, YS, strict=True)):
        for name, values in {"X": X, "y": y, "features": np.array(list("abcd"))}.items():
            write(root, f"study/r{i}/{name}", values)
        write(root, f"arrays/r{i}", X)
    write(root, "stack", np.stack(XS))
    return root


def in_hdf5(folder):
    def write(root, name, values):
        root[name] = values.tolist() if values.dtype.kind == "U" else values

    with h5py.File(folder / "a.h5", "w") as file:
        filled(file, write)
    return h5py.File(folder / "a.h5", "r")


def in_zarr(folder):
    def write(root, name, values):
        if values.dtype.kind != "U":
            root.create_array(name, data=values)

    return filled(zarr.open_group(folder, mode="w"), write)


LABELS = dict(zip(NAMES, YS, strict=True))
HOLDERS = {
    "texts of npz": lambda folder: (list(map(str, files(folder, "npz"))), None),
    "paths of npy": lambda folder: (tuple(files(folder, "npy")), YS),
    "paths of parquet": lambda folder: (files(folder, "parquet"), None),
    "mapped": lambda folder: ([np.load(p, mmap_mode="r") for p in files(folder, "npy")], YS),
    "pairs": lambda _: (OnDemand(list(zip(XS, YS, strict=True))), None),
    "mappings": lambda _: (OnDemand([{"X": X, "y": y} for X, y in zip(XS, YS, strict=True)]), None),
    "recordings": lambda _: (
        OnDemand([named(i, [3, 2, 1, 0] if i else [0, 1, 2, 3]) for i in range(6)]),
        None,
    ),
    "xarray, by name": lambda _: (
        xarray.Dataset({n: (("time", "feature"), X) for n, X in zip(NAMES, XS, strict=True)}),
        LABELS,
    ),
    "xarray, a stack": lambda _: (xarray.DataArray(np.stack(XS)), YS),
    "hdf5": lambda folder: (in_hdf5(folder)["study"], None),
    "hdf5, arrays": lambda folder: (in_hdf5(folder)["arrays"], LABELS),
    "hdf5, a stack": lambda folder: (in_hdf5(folder)["stack"], YS),
    "zarr": lambda folder: (in_zarr(folder)["study"], None),
    "zarr, arrays": lambda folder: (in_zarr(folder)["arrays"], LABELS),
    "zarr, a stack": lambda folder: (in_zarr(folder)["stack"], YS),
}
NAMED = {"paths of parquet", "recordings", "hdf5"}


@pytest.mark.parametrize("name", HOLDERS)
def test_recordings_in_any_store_have_the_bits_of_arrays_in_memory(name, tmp_path, in_memory):
    Xs, ys = HOLDERS[name](tmp_path)
    backend = "threads" if "hdf5" in name else "processes"
    learner = MetricLearner(metric="diagonal", n_jobs=2, backend=backend).fit(Xs, ys)
    assert same_bits(learner, in_memory)
    if name in NAMED:
        assert learner.feature_names_in_.tolist() == list("abcd")
    found = learner.predict_breakpoints(Xs)
    if isinstance(found, dict):
        assert list(found) == NAMES
        found = list(found.values())
    assert found == in_memory.predict_breakpoints(XS)


def test_files_of_every_kind_are_read_on_demand(tmp_path):
    """Columns, labels and names are as read_recordings has them."""
    for i, (X, y) in enumerate(zip(XS, YS, strict=True)):
        frame = pd.DataFrame(X, columns=list("abcd")).assign(state=y, noise=0.5)
        frame.to_csv(tmp_path / f"{i:02}.csv", index=False)
    recordings = RecordingFiles(tmp_path, label_column="state", ignore=["noise"])
    learner = MetricLearner(metric="diagonal", n_jobs=2, backend="processes").fit(recordings)
    expected = [pd.read_csv(path)[list("abcd")] for path in sorted(tmp_path.glob("*.csv"))]
    assert same_bits(learner, MetricLearner(metric="diagonal").fit(expected, YS))
    assert learner.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(DataError, match=r"recording 0: .*00.csv.*nothing"):
        MetricLearner().fit(RecordingFiles(tmp_path, features=["nothing"], label_column="state"))


@pytest.mark.filterwarnings("ignore:the model was learned from 2 of these")
def test_recordings_on_demand_are_evaluated_with_their_labels(in_memory):
    found = evaluate(in_memory, OnDemand(list(zip(XS[:2], YS[:2], strict=True))))
    assert found.scores == evaluate(in_memory, XS[:2], YS[:2]).scores


def test_the_model_file_holds_no_data_of_recordings_on_demand(tmp_path):
    class Large(OnDemand):
        def __reduce__(self):
            raise TypeError("it is not to be stored")

    learner = MetricLearner(metric="diagonal").fit(Large(XS), YS)
    assert len(pickle.dumps(learner)) < XS[0].nbytes * len(XS) + 20_000
    save(learner, tmp_path / "m.structsvm")
    again = load(tmp_path / "m.structsvm")
    assert again.predict_breakpoints(XS) == learner.predict_breakpoints(XS)


def test_a_run_is_resumed_wherever_its_recordings_are(tmp_path):
    """Wherever the recordings are by now, as long as they are the same."""
    paths = files(tmp_path, "npz")
    state = tmp_path / "state"
    short = CuttingPlane(Stopping(1e-2, 2))
    with pytest.warns(match="max_iter"):
        MetricLearner(metric="diagonal", solver=short).fit(OnDemand(XS), YS, resume=state)
    usual = MetricLearner(metric="diagonal", solver=CuttingPlane(Stopping(1e-2)))
    assert same_bits(clone(usual).fit(paths, resume=state), clone(usual).fit(XS, YS))
    with pytest.raises(CheckpointError):
        usual.fit(paths[1:], resume=state)


class TestRefusals:
    """What cannot be learned from is named, with its number, its place and the way out."""

    @pytest.fixture(autouse=True)
    def nothing_is_kept(self, monkeypatch):
        monkeypatch.setattr(limits, "KEPT_BYTES", 1)

    def test_a_function_that_makes_recordings_is_refused(self):
        def recordings():
            yield from XS

        with pytest.raises(DataError, match=r"'recordings' makes them only .* __len__"):
            MetricLearner().fit(recordings, YS)

    def test_recordings_on_demand_with_other_feature_names_are_refused(self):
        frames = [
            pd.DataFrame(X, columns=list("abcd" if i < 4 else "dcba")) for i, X in enumerate(XS)
        ]
        with pytest.raises(DataError, match="recording 4 has features d, c, b, a, expected a, b"):
            MetricLearner().fit(OnDemand(frames), YS)

    test_a_recording_that_changes_between_rounds_is_refused = refused(
        DataError,
        lambda change: MetricLearner().fit(OnDemand(XS, {1: change}), YS),
        (lambda X: X[:, :3], r"recording 1 has changed .*\(220, 4\) then, \(220, 3\) now"),
        (lambda X: X[:-1], "recording 1 has changed"),
        (lambda X: np.full_like(X, np.nan), "recording 1 has nan in row 0"),
        (lambda X: X[99999], "recording 1 cannot be read: IndexError"),
        (lambda X: "gone", "recording 1 has .*'gone'.* not a number"),
    )

    def test_files_that_vanish_or_change_are_named(self, tmp_path, client):
        paths = files(tmp_path, "npz")
        read = read_training(MetricLearner(), paths, None)
        os.utime(paths[1], ns=(0, 0))
        with pytest.raises(DataError, match=r"recording 1 \(.*01.npz\) has changed"):
            MetricLearner().fit(read)
        shutil.move(paths[1], tmp_path / "elsewhere")
        for backend in (Serial(), Dask(client), Processes(2)):
            with pytest.raises(DataError, match=r"recording 1 \(.*01.npz\) cannot be read: FileNo"):
                MetricLearner(backend=backend).fit(read)

    def test_files_of_unknown_kinds_are_refused_on_demand(self, tmp_path):
        with pytest.raises(DataError, match=r"'a.csv' is not a kind .*RecordingFiles"):
            MetricLearner().fit(["a.csv"])
        np.savez(tmp_path / "b.npz", Z=XS[0])
        with pytest.raises(DataError, match=r"recording 0 \(.*b.npz\): no array 'X'; it holds Z"):
            MetricLearner().fit([tmp_path / "b.npz"])

    @cases(
        (XS[1][:, :3], "recording 1 has 3 features, recording 0 has 4"),
        (np.full((5, 4), b"text"), r"recording 1 \('wrong'\) has .*: not a number"),
    )
    def test_a_missing_member_of_an_hdf5_file_is_named(self, tmp_path, spoiled, said):
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file["good"] = XS[0]
            file["wrong"] = spoiled
            with pytest.raises(DataError, match=said):
                MetricLearner().fit(file, {"good": YS[0], "wrong": YS[1]})

    def test_a_split_of_rows_is_refused_for_tables_on_demand(self):
        """Identical rows are held out together, in whatever table they are."""
        tables = [np.random.default_rng(k).normal(size=(40, 2)) for k in range(2)]
        search = MetricLearnerCV(Clustering(), split="rows")
        with pytest.raises(DataError, match=r"needs all tables at once, .* give some of them as"):
            search.fit(OnDemand(tables), [np.repeat([0, 1], 20)] * 2)


def test_classifiers_name_the_states_of_recordings_that_are_read_one_at_a_time():
    names = [np.where(y % 2 == 0, "rest", "walk") for y in YS]
    learner = MetricLearner(metric="diagonal", features=StateScores("logistic", lags=(0,)))
    learner.fit(XS, names)
    assert learner.predict_segments(OnDemand(XS)) == learner.predict_segments(XS)
