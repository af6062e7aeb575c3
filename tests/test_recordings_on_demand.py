"""Recordings that are read when they are needed: the same bits as in memory, wherever they are."""

import os
import pickle
import shutil

import numpy as np
import pandas as pd
import pytest
import xarray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import structsvm
from structsvm import (
    Alternation,
    Clustering,
    MetricLearner,
    MetricLearnerCV,
    PartialLabels,
    evaluate,
)
from structsvm.datasets import relevant_changes
from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.features import (
    Chain,
    HermiteMoments,
    Lags,
    MovingStatistics,
    StateScores,
)
from structsvm.io import Recording, RecordingFiles, arrays_and_labels
from structsvm.learner.baselines import metrics_in
from structsvm.learner.steps import read_training
from structsvm.parallel import Dask, Processes, Serial, Threads
from structsvm.solvers import CuttingPlane, Stopping
from structsvm.storage import limits

RECORDINGS = relevant_changes(6, n_samples=220, n_features=4, n_relevant=2, random_state=0)
XS, YS = arrays_and_labels(RECORDINGS)


class Sequence:
    """Gives one recording at a time, and remembers how often it was asked."""

    def __init__(self, held, broken=None):
        self.held, self.broken, self.asked = held, broken or {}, 0

    def __len__(self):
        return len(self.held)

    def __getitem__(self, i):
        if not 0 <= i < len(self.held):
            raise IndexError(i)
        self.asked += 1
        found = self.held[i]
        if i in self.broken and self.asked > len(self.held) + 1:
            return self.broken[i](found)
        return found.copy() if isinstance(found, np.ndarray) else found


@pytest.fixture(scope="module")
def in_memory():
    return MetricLearner(metric="diagonal").fit(XS, YS)


def same(learner, other):
    """Whether two learners learned the same, to the last bit."""
    mine, theirs = learner.solution_, other.solution_
    return (
        np.array_equal(learner.metric_.factor, other.metric_.factor)
        and learner.metric_.price == other.metric_.price
        and np.array_equal(learner.calibration_.losses, other.calibration_.losses)
        and (mine.lower, mine.upper, mine.n_iter) == (theirs.lower, theirs.upper, theirs.n_iter)
        and learner.training_data_ == other.training_data_
        and learner.baselines_["untrained"].price == other.baselines_["untrained"].price
    )


@pytest.fixture
def backend(request):
    def of(name):
        kinds = {"serial": Serial(), "threads": Threads(2), "processes": Processes(2)}
        return Dask(request.getfixturevalue("client")) if name == "dask" else kinds[name]

    return of


@pytest.mark.parametrize("name", ["serial", "threads", "processes", "dask"])
@pytest.mark.parametrize(
    "settings",
    [
        {"metric": "diagonal"},
        {"metric": "full", "standardize": "training", "whiten": 0.3},
        {"metric": "diagonal", "features": Chain(Lags((-1, 0)), MovingStatistics((5,)))},
        {"metric": "diagonal", "features": HermiteMoments(2)},
    ],
    ids=["diagonal", "full", "features", "moments"],
)
def test_the_bits_are_those_of_arrays_in_memory(name, settings, backend):
    expected = MetricLearner(**settings).fit(XS, YS)
    learner = MetricLearner(**settings, backend=backend(name)).fit(Sequence(XS), YS)
    assert same(learner, expected)
    for mine, theirs in zip(learner.predict(Sequence(XS)), expected.predict(XS), strict=True):
        assert np.array_equal(mine, theirs)


def test_no_more_than_a_few_are_in_memory(monkeypatch):
    """Without room to keep any, each round reads each recording once more."""
    monkeypatch.setattr(limits, "KEPT", 1)
    asked = []
    for max_iter in (3, 8):
        learner = MetricLearner(solver=CuttingPlane(Stopping(1e-9, max_iter)))
        sequence = Sequence(XS)
        with pytest.warns(ConvergenceWarning):
            expected = clone(learner).fit(XS, YS)
        with pytest.warns(ConvergenceWarning):
            assert same(learner.fit(sequence, YS), expected)
        asked.append(sequence.asked)
    assert asked[1] - asked[0] == 5 * len(XS)


def files(folder, kind):
    """The recordings with their labels as files of a kind, and the labels where they are apart."""
    paths = [folder / f"{i:02}.{kind}" for i in range(len(XS))]
    for path, X, y in zip(paths, XS, YS, strict=True):
        if kind == "npz":
            np.savez(path, X=X, y=y)
        elif kind == "npy":
            np.save(path, X)
        else:
            frame = pd.DataFrame(X, columns=list("abcd"))
            frame.assign(label=y).to_parquet(path)
    return paths, YS if kind == "npy" else None


@pytest.mark.parametrize("kind", ["npz", "npy", "parquet"])
@pytest.mark.parametrize("text", [False, True], ids=["paths", "texts"])
def test_paths_of_files(kind, text, tmp_path, in_memory):
    paths, ys = files(tmp_path, kind)
    given = [str(path) for path in paths] if text else tuple(paths)
    learner = MetricLearner(metric="diagonal").fit(given, ys)
    assert same(learner, in_memory)
    if kind == "parquet":
        assert learner.feature_names_in_.tolist() == list("abcd")


def test_files_of_all_kinds_that_are_read(tmp_path, in_memory):
    """Columns, labels and names are as read_recordings has them."""
    for i, (X, y) in enumerate(zip(XS, YS, strict=True)):
        frame = pd.DataFrame(X, columns=list("abcd")).assign(state=y, noise=0.5)
        frame.to_csv(tmp_path / f"{i:02}.csv", index=False)
    recordings = RecordingFiles(tmp_path, label_column="state", ignore=["noise"])
    assert len(recordings) == 6
    learner = MetricLearner(metric="diagonal", n_jobs=2, backend="processes").fit(recordings)
    expected = [pd.read_csv(path)[list("abcd")] for path in sorted(tmp_path.glob("*.csv"))]
    assert same(learner, MetricLearner(metric="diagonal").fit(expected, YS))
    assert learner.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(DataError, match=r"recording 0: .*00.csv.*nothing"):
        MetricLearner().fit(RecordingFiles(tmp_path, features=["nothing"], label_column="state"))


def test_mapped_arrays_have_the_bits_of_memory(tmp_path):
    paths, ys = files(tmp_path, "npy")
    held = [np.load(path) for path in paths]
    expected = MetricLearner(metric="diagonal").fit(held, ys)
    mapped = [np.load(path, mmap_mode="r") for path in paths]
    assert same(MetricLearner(metric="diagonal").fit(mapped, ys), expected)
    single = [X.astype(np.float32) for X in held]
    np.save(tmp_path / "single.npy", single[0])
    assert np.array_equal(
        expected.predict([np.load(tmp_path / "single.npy", mmap_mode="r")])[0],
        expected.predict(single[:1])[0],
    )


def test_items_with_labels(in_memory):
    """Pairs, recordings with names, mappings with X and y: labels come with them."""
    pairs = list(zip(XS, YS, strict=True))
    named = [
        Recording(f"r{i}", X[:, ::-1], y, ("d", "c", "b", "a"))
        if i
        else Recording("r0", X, y, ("a", "b", "c", "d"))
        for i, (X, y) in enumerate(pairs)
    ]
    for items in (pairs, named, [{"X": X, "y": y} for X, y in pairs]):
        learner = MetricLearner(metric="diagonal").fit(Sequence(items))
        assert same(learner, in_memory)
        with pytest.warns(DataWarning, match="learned from 2 of these 2 recordings"):
            found = evaluate(learner, Sequence(items[:2]))
        with pytest.warns(DataWarning):
            assert found.scores == evaluate(in_memory, XS[:2], YS[:2]).scores


def test_groups_and_stacks_of_xarray(in_memory):
    """A variable for each recording, by name, and a stack of recordings of one length."""
    variables = {f"r{i}": (("time", "feature"), X) for i, X in enumerate(XS)}
    group, stack = xarray.Dataset(variables), xarray.DataArray(np.stack(XS))
    labels = dict(zip(group, YS, strict=True))
    assert same(MetricLearner(metric="diagonal").fit(group, labels), in_memory)
    learner = MetricLearner(metric="diagonal").fit(stack, YS)
    assert same(learner, in_memory)
    found = learner.predict_breakpoints(group)
    assert found == dict(zip(group, learner.predict_breakpoints(XS), strict=True))
    assert learner.predict_breakpoints(stack) == learner.predict_breakpoints(XS)
    named = stack.assign_coords(dim_2=[f"x{j}" for j in range(stack.shape[2])])
    of_names = MetricLearner(metric="diagonal").fit(named, YS)
    assert of_names.feature_names_in_.tolist() == named.dim_2.values.tolist()
    with pytest.raises(DataError, match="recording 0 has features x3, x2, x1"):
        of_names.predict(named[:, :, ::-1])


def test_tables():
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 20)
    tables = [rng.normal(size=(60, 3)) + 6 * np.eye(3)[y] for _ in range(3)]
    for settings in ({"oracle": "relaxed"}, {"oracle": "rounded", "cluster_count": "unknown"}):
        expected = MetricLearner(Clustering(**settings)).fit(tables, [y] * 3)
        learner = MetricLearner(Clustering(**settings)).fit(Sequence(tables), [y] * 3)
        assert same(learner, expected)


STRETCHES = [np.where(np.arange(y.size) % 97 < 60, y, -1) for y in YS]
REGIONS = [PartialLabels(regions=[(0, 50, 1)]), *YS[1:3], *STRETCHES[3:]]


@pytest.mark.parametrize("name", ["serial", "threads", "processes", "dask"])
@pytest.mark.parametrize("ys", [STRETCHES, REGIONS], ids=["stretches", "regions"])
def test_partial_labels_have_the_bits_of_arrays_in_memory(name, ys, backend):
    """Stretches are learned from, and labels completed, by the workers that read the recordings."""
    settings = {"metric": "diagonal", "standardize": "training"}
    expected = MetricLearner(**settings).fit(XS, ys)
    learner = MetricLearner(**settings, backend=backend(name)).fit(Sequence(XS), ys)
    assert same(learner, expected)


def test_partial_labels_of_whitened_features_and_of_tables():
    settings = {"metric": "full", "whiten": 0.3}
    some = [PartialLabels(regions=[(10, 60, "1+"), (70, 150, "1+")])] * len(XS)
    expected = MetricLearner(**settings).fit(XS, some, alternation=Alternation(1))
    learner = MetricLearner(**settings).fit(Sequence(XS), some, alternation=Alternation(1))
    assert same(learner, expected)
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 20)
    tables = [rng.normal(size=(60, 3)) + 6 * np.eye(3)[y] for _ in range(3)]
    rows = [np.where(rng.random(60) < 0.7, y, -1) for _ in tables]
    problem = Clustering(cluster_count="unknown", oracle="rounded")
    expected = MetricLearner(problem).fit(tables, rows)
    assert same(MetricLearner(problem).fit(Sequence(tables), rows), expected)


def test_baselines_that_are_metrics():
    expected = MetricLearner().fit(XS, YS, baselines=["pca", "rca", "lda"])
    learner = MetricLearner().fit(Sequence(XS), YS, baselines=["pca", "rca", "lda"])
    for name, metric in metrics_in(expected.baselines_).items():
        assert np.array_equal(learner.baselines_[name].factor, metric.factor)
        assert learner.baselines_[name].price == metric.price


def test_the_model_file_holds_no_data(tmp_path):
    class Large(Sequence):
        def __reduce__(self):
            raise TypeError("it is not to be stored")

    learner = MetricLearner(metric="diagonal").fit(Large(XS), YS)
    assert len(pickle.dumps(learner)) < XS[0].nbytes * len(XS) + 20_000
    structsvm.save(learner, tmp_path / "m.structsvm")
    again = structsvm.load(tmp_path / "m.structsvm")
    assert again.predict_breakpoints(XS) == learner.predict_breakpoints(XS)


def test_a_run_is_resumed(tmp_path, in_memory):
    """Wherever the recordings are by now, as long as they are the same."""
    paths, _ = files(tmp_path, "npz")
    state = tmp_path / "state.npz"
    short = CuttingPlane(Stopping(1e-2, 2))
    with pytest.warns(match="max_iter"):
        MetricLearner(metric="diagonal", solver=short).fit(Sequence(XS), YS, resume=state)
    usual = CuttingPlane(Stopping(1e-2))
    learner = MetricLearner(metric="diagonal", solver=usual).fit(paths, resume=state)
    assert same(learner, MetricLearner(metric="diagonal", solver=usual).fit(XS, YS))
    with pytest.raises(structsvm.errors.CheckpointError):
        MetricLearner(metric="diagonal", solver=usual).fit(paths[1:], resume=state)


class TestRefusals:
    """What cannot be learned from is named, with its number, its place and the way out."""

    @pytest.fixture(autouse=True)
    def nothing_is_kept(self, monkeypatch):
        monkeypatch.setattr(limits, "KEPT", 1)

    def test_an_empty_sequence(self):
        with pytest.raises(DataError, match="the sequence is empty"):
            MetricLearner().fit(Sequence([]), [])

    def test_a_function_that_makes_recordings(self):
        def recordings():
            yield from XS

        with pytest.raises(DataError, match=r"'recordings' makes them only .* __len__"):
            MetricLearner().fit(recordings, YS)

    def test_other_names_of_features(self):
        frames = [
            pd.DataFrame(X, columns=list("abcd" if i < 4 else "dcba")) for i, X in enumerate(XS)
        ]
        with pytest.raises(DataError, match="recording 4 has features d, c, b, a, expected a, b"):
            MetricLearner().fit(Sequence(frames), YS)

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda X: X[:, :3], r"recording 1 has changed .*\(220, 4\) then, \(220, 3\) now"),
            (lambda X: X[:-1], "recording 1 has changed"),
            (lambda X: np.full_like(X, np.nan), "recording 1 has nan in row 0"),
            (lambda X: X[99999], "recording 1 cannot be read: IndexError"),
            (lambda X: "gone", "recording 1 has .*'gone'.* not a number"),
        ],
        ids=["width", "length", "missing", "shorter sequence", "text"],
    )
    def test_a_recording_that_changes_between_rounds(self, change, said):
        with pytest.raises(DataError, match=said):
            MetricLearner().fit(Sequence(XS, {1: change}), YS)

    def test_files_that_vanish_and_files_that_change(self, tmp_path):
        paths, _ = files(tmp_path, "npz")
        read = read_training(MetricLearner(), paths, None)
        os.utime(paths[1], ns=(0, 0))
        with pytest.raises(DataError, match=r"recording 1 \(.*01.npz\) has changed"):
            MetricLearner().fit(read)
        paths[1].unlink()
        with pytest.raises(DataError, match=r"recording 1 \(.*01.npz\) cannot be read: FileNotF"):
            MetricLearner().fit(read)
        with pytest.raises(DataError, match=r"recording 1 \(.*01.npz\) cannot be read"):
            MetricLearner().fit(paths)

    def test_on_a_worker_too(self, tmp_path, client):
        paths, _ = files(tmp_path, "npz")
        read = read_training(MetricLearner(), paths, None)
        shutil.move(paths[3], tmp_path / "elsewhere")
        for backend in (Dask(client), Processes(2)):
            with pytest.raises(DataError, match=r"recording 3 \(.*03.npz\) cannot be read"):
                MetricLearner(backend=backend).fit(read)

    def test_what_cannot_be_sent(self, client):
        class Open(Sequence):
            def __reduce__(self):
                raise TypeError("an open file")

        for backend in (Processes(2), Dask(client)):
            with pytest.raises(SettingsError, match=r"cannot be sent to .* use backend='threads'"):
                MetricLearner(backend=backend).fit(Open(XS), YS)

    def test_files_of_other_kinds(self, tmp_path):
        with pytest.raises(DataError, match=r"'a.csv' is not a kind .*RecordingFiles"):
            MetricLearner().fit(["a.csv"])
        np.savez(tmp_path / "b.npz", Z=XS[0])
        with pytest.raises(DataError, match=r"recording 0 \(.*b.npz\): no array 'X'; it holds Z"):
            MetricLearner().fit([tmp_path / "b.npz"])

    def test_rows_of_tables_that_are_held_out(self):
        """Identical rows are held out together, in whatever table they are."""
        tables = [np.random.default_rng(k).normal(size=(40, 2)) for k in range(2)]
        search = MetricLearnerCV(Clustering(), split="rows")
        with pytest.raises(DataError, match=r"needs all tables at once, .* give some of them as"):
            search.fit(Sequence(tables), [np.repeat([0, 1], 20)] * 2)


def test_classifiers_see_what_they_can(in_memory):
    """A model whose features know states names those of recordings that are read one at a time."""
    names = [np.where(y % 2 == 0, "rest", "walk") for y in YS]
    learner = MetricLearner(metric="diagonal", features=StateScores("logistic", lags=(0,)))
    learner.fit(XS, names)
    expected = learner.predict_segments(XS)
    assert learner.predict_segments(Sequence(XS)) == expected


def test_model_selection_reads_one_at_a_time_too():
    search = MetricLearnerCV(candidates=("untrained", "diagonal"), lams=(0.1, 0.3), cv=3)
    found = clone(search).choose(read_training(MetricLearner(), Sequence(XS), YS))
    assert found.lam in search.lams
