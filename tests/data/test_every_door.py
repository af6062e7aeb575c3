"""Checks of columns, order and labels are the same for every container."""

import numpy as np
import pandas as pd
import pytest
from cases import cases
from PIL import Image, ImageFilter

from structsvm import DataError, MetricLearner, MetricLearnerCV, NormalizedCut, evaluate
from structsvm.data.instance import Instance
from structsvm.data.words import GRAPHS
from structsvm.errors import DataWarning, VerdictWarning
from structsvm.io import Recording, RecordingFiles, from_long, read_recordings
from structsvm.training_labels import labels_of_each

Y = np.repeat([0, 1, 0], [20, 15, 25])
NAMES = np.array(["rest", "walk"])[Y]
LEARNER = MetricLearner(metric="diagonal")
SEARCH = MetricLearnerCV(lams=(0.1,), candidates=("untrained", "diagonal"), cv=2, random_state=0)


def frames(n=3, **columns):
    found = []
    for seed in range(n):
        X = np.random.default_rng(seed).normal(size=(60, 2)) + 3 * Y[:, None]
        found.append(pd.DataFrame(X, columns=["a", "b"]).assign(**columns))
    return found


def marks(at, mark=1.0, usual=0.0):
    column = np.full(60, usual)
    column[at] = mark
    return column


# ---- columns that hold the changes, beside a label of something else


AS_FRAMES = (lambda xs, folder: (xs, [Y] * 3), "changepoint")
AS_ARRAYS = (lambda xs, folder: ([x.to_numpy() for x in xs], [NAMES] * 3), "x2")
AS_RECORDINGS = (
    lambda xs, folder: ([Recording("r", x.to_numpy(), Y, tuple(x.columns)) for x in xs], None),
    "changepoint",
)
IN_PART = (lambda xs, folder: (xs, [np.where(np.arange(60) < 5, -1, Y)] * 3), "changepoint")


def of_files(xs, folder):
    for k, x in enumerate(xs):
        x.assign(label=NAMES).to_csv(folder / f"{k}.csv", index=False)
    return read_recordings(folder), None


HOLDERS = {
    "frames": AS_FRAMES,
    "arrays": AS_ARRAYS,
    "recordings": AS_RECORDINGS,
    "files": (of_files, "changepoint"),
    "partial": IN_PART,
}


@pytest.mark.parametrize(("holder", "name"), HOLDERS.values(), ids=HOLDERS)
@cases(marks([20, 35]), marks([19, 34]), marks([20, 35], -1.0, 7.0), marks([19, 20, 34, 35]))
@pytest.mark.filterwarnings("ignore:15 of 180 samples are without a label")
def test_a_feature_that_marks_the_changes_is_named(tmp_path, holder, name, column):
    """As ``changepoint`` stands beside ``anomaly`` in a public set of sensors."""
    Xs, ys = holder(frames(changepoint=column), tmp_path)
    said = f"{name}: another value than elsewhere only where the labels change"
    with pytest.warns(DataWarning, match=said):
        learner = LEARNER.fit(Xs, ys)
    if ys is not None and (np.asarray(ys) == -1).any():
        return  # the others need labels in full
    with pytest.warns(DataWarning, match=said), pytest.warns(VerdictWarning):
        SEARCH.fit(Xs, ys)
    with pytest.warns(DataWarning) as told:
        evaluate(learner, Xs, ys)
    assert any(said in str(one.message) for one in told)


@cases(marks([20, 50]), marks([5, 20, 35]), marks([20, 21, 22, 35]), np.sin(np.arange(60.0)))
def test_a_feature_that_is_one_elsewhere_as_well_is_a_measurement(column):
    LEARNER.fit(frames(beep=column), [Y] * 3)


# ---- the index of a frame says whose rows are and when, in files too


def stored(folder, shuffled=True, **levels):
    frame = frames(1)[0].assign(label=NAMES)
    frame.index = pd.date_range("2024-03-01", periods=60, freq="s", name="t")
    if levels:
        frame = pd.concat([frame, frame], keys=["ann", "ben"], names=["who", "t"])
    frame = frame.sample(frac=1, random_state=0) if shuffled else frame
    frame.to_parquet(folder / "walk.parquet")
    return folder / "walk.parquet", frame


class TestIndex:
    def test_rows_of_a_file_are_in_the_order_of_its_times(self, tmp_path):
        path, frame = stored(tmp_path)
        with pytest.warns(DataWarning, match="not in the order of 't': they are sorted by it"):
            (found,) = read_recordings(path)
        assert found.y.tolist() == NAMES.tolist()
        assert found.time.text(20) == "2024-03-01T00:00:20"
        with pytest.warns(DataWarning, match="not in the order of time"):
            w = LEARNER.fit([path] * 2).solution_.w
        with pytest.warns(DataWarning, match="not in the order of time"):
            again = LEARNER.fit([frame[["a", "b"]]] * 2, [frame["label"]] * 2).solution_.w
        np.testing.assert_array_equal(w, again)

    def test_a_file_of_several_recordings_is_not_read_as_one(self, tmp_path):
        path, frame = stored(tmp_path, shuffled=False, several=True)
        found = read_recordings(path)
        assert [(one.name, one.y.tolist()) for one in found] == [
            ("ann", NAMES.tolist()),
            ("ben", NAMES.tolist()),
        ]
        assert [one.X.tolist() for one in found] == [
            one.X.tolist() for one in from_long(frame, label="label")
        ]
        with pytest.raises(DataError, match="holds 2 recordings"):
            RecordingFiles(path)[0]
        with pytest.raises(DataError, match="holds 2 recordings by its index, 'ann', 'ben'"):
            LEARNER.fit([path, path])
        with pytest.raises(DataError, match="frame 0 holds 2 recordings by its index"):
            LEARNER.fit([frame[["a", "b"]]], [frame["label"]])

    def test_a_multi_index_of_three_levels_names_recordings_by_two(self, tmp_path):
        frame = frames(1)[0].assign(label=NAMES)
        keys = pd.MultiIndex.from_product([["ann", "ben"], [1, 2], range(15)])
        frame.set_index(keys).to_parquet(tmp_path / "days.parquet")
        found = read_recordings(tmp_path / "days.parquet")
        here = from_long(frame.set_index(keys), label="label")
        names = [[one.name for one in recordings] for recordings in (found, here)]
        assert names == [["ann 1", "ann 2", "ben 1", "ben 2"]] * 2

    def test_an_index_that_counts_rows_does_not_reorder_labels(self, tmp_path):
        frames(1)[0].assign(label=NAMES).to_parquet(tmp_path / "walk.parquet")
        (found,) = read_recordings(tmp_path / "walk.parquet")
        assert found.time is None


# ---- labels of pixels with soft edges


ROWS, COLUMNS = np.mgrid[:96, :128]
DISC = np.uint8((ROWS - 48) ** 2 + (COLUMNS - 60) ** 2 < 500) * 255
SOFT = np.array(Image.fromarray(DISC).filter(ImageFilter.GaussianBlur(0.6)))


@cases(SOFT, SOFT.tolist(), SOFT / 255.0, SOFT.astype(np.int64) + 7)
def test_soft_edges_in_arrays_get_the_nearest_level(tmp_path, y):
    """A disc had 26 parts."""
    instances = [Instance(np.zeros((4, 1)))]
    with pytest.warns(DataWarning, match="labels of graph 0: 24 of its 26 values, .* soft edges"):
        (found,) = labels_of_each([y], instances, GRAPHS)
    assert np.unique(found).size == 2
    assert ((found != found[0, 0]) == (DISC > 0)).mean() > 0.98
    np.save(tmp_path / "mask.npy", np.asarray(y).astype(np.int64))
    if np.asarray(y).max() > 1:
        with pytest.warns(DataWarning, match="are those of soft edges"):
            (again,) = labels_of_each([tmp_path / "mask.npy"], instances, GRAPHS)
        assert np.array_equal(again, found)


def test_pixels_without_a_label_are_no_level_of_a_mask():
    y = np.where(ROWS == 10, -1, SOFT.astype(int))
    with pytest.warns(DataWarning, match="soft edges"):
        (found,) = labels_of_each([y], [Instance(np.zeros((4, 1)))], GRAPHS)
    assert np.array_equal(found == -1, y == -1)


@cases(DISC, np.where(DISC, 3, ROWS // 40), np.arange(12.0).reshape(3, 4))
def test_label_maps_without_soft_edges_are_left_as_they_are(y):
    (found,) = labels_of_each([y], [Instance(np.zeros((4, 1)))], GRAPHS)
    assert np.array_equal(found, y)


def test_a_label_255_beside_small_ones_is_warned_of_in_arrays():
    y = np.where(ROWS < 10, 255, np.where(DISC, 2, COLUMNS // 100)).astype(np.uint8)
    with pytest.warns(DataWarning, match="255 is a label beside 0 to 2: .* give -1 there"):
        labels_of_each([y], [Instance(np.zeros((4, 1)))], GRAPHS)


def test_images_and_their_soft_masks_are_learned_from():
    rng = np.random.default_rng(0)
    pictures = [
        (100 + 60 * (DISC > 0)[..., None] + rng.normal(size=(96, 128, 3))).astype(np.uint8)
        for _ in range(2)
    ]
    with pytest.warns(DataWarning) as told:
        MetricLearner(NormalizedCut(), metric="diagonal").fit(pictures, [SOFT] * 2)
    assert sum("soft edges" in str(one.message) for one in told) == 2


# ---- a hint that an array is transposed is followed only by those whose labels then fit


@cases(([40, 80], 2), ([30, 60, 90], 3), ([7], 1), (np.array([1, 2], dtype=np.uint8), 2))
def test_changes_without_the_length_are_not_transposed(y, P):
    X = np.random.default_rng(0).normal(size=(120, P))
    with pytest.raises(DataError, match=r"breakpoints, integers in 1\.\.120 that end with 120"):
        LEARNER.fit([X] * 2, [y] * 2)


@cases(Y, NAMES, np.arange(60) // 7)
def test_transposed_recordings_are_refused_by_their_shape(y):
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(DataError, match=r"has shape \(2, 60\) and 60 labels: it is transposed"):
        LEARNER.fit([X.T] * 2, [y] * 2)
    LEARNER.fit([X] * 2, [y] * 2)
