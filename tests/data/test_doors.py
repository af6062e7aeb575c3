"""Input that is refused or warned of: missing labels, masked values, odd containers, images."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from PIL import Image
from recording_cases import recordings_of_four_segments as recordings

from structsvm import (
    ChangePoint,
    Clustering,
    DataError,
    MetricLearner,
    NormalizedCut,
    PartialLabels,
)
from structsvm.data.instance import Instance
from structsvm.errors import DataWarning
from structsvm.features import HermiteMoments
from structsvm.graphs import FeatureGraph, node_labels
from structsvm.graphs.images import from_image
from structsvm.graphs.label_maps import pixels_of
from structsvm.interop import risk_of
from structsvm.io import read_recordings
from structsvm.partial_labels import as_partial

T = 40


XS, YS = recordings()
WORDS = ["a"] * 5 + [None] * 15 + ["b"] * 20
STAMPS = pd.to_datetime(["2020-01-01"] * 5 + [None] * 15 + ["2021-01-01"] * 20)
MISSING = {
    "None in a list": WORDS,
    "None in an array": np.array(WORDS, dtype=object),
    "NaN beside text in a list": [float("nan") if w is None else w for w in WORDS],
    "NaN beside text": np.array([np.nan if w is None else w for w in WORDS], dtype=object),
    "NaN": np.array([np.nan if w is None else ord(w) for w in WORDS]),
    "blank text": np.array(["" if w is None else w for w in WORDS]),
    "a series": pd.Series(WORDS),
    "a series of strings": pd.Series(WORDS, dtype="string"),
    "a categorical": pd.Categorical(WORDS),
    "a series of categories": pd.Series(WORDS, dtype="category"),
    "integers that may be missing": pd.Series(
        [pd.NA if w is None else ord(w) for w in WORDS], dtype="Int64"
    ),
    "times": STAMPS,
    "times of numpy": STAMPS.to_numpy(),
    "times as objects": np.array(list(STAMPS), dtype=object),
    "polars text": pl.Series(WORDS),
    "polars integers": pl.Series([None if w is None else ord(w) for w in WORDS]),
}


@pytest.mark.parametrize("y", MISSING.values(), ids=MISSING)
class TestMissingLabels:
    """They are refused by name in every problem, and PartialLabels takes them for unlabelled."""

    @pytest.mark.parametrize("problem", [ChangePoint(), Clustering()], ids=["changes", "clusters"])
    @pytest.mark.parametrize("features", [None, HermiteMoments()], ids=["columns", "moments"])
    def test_missing_labels_in_vectors_are_refused(self, y, problem, features):
        words = problem.traits.words
        place = f"{words.whole} 1: the label of {words.item} 5 is missing"
        learner = MetricLearner(problem, features=features)
        with pytest.raises(DataError, match=f"{place} .*15 in all.*PartialLabels"):
            learner.fit(XS, [YS[0], y, *YS[2:]])
        with pytest.raises(DataError, match="5 is missing"):
            risk_of(learner, XS, [YS[0], y, *YS[2:]])
        with pytest.raises(DataError, match="5 is missing"):
            problem.encode(y, Instance(XS[1]))

    def test_graphs_refuse_missing_labels(self, y):
        graph = FeatureGraph(np.arange(T)[:, None])
        with pytest.raises(DataError, match=r"the label of node 5 is .* \(15 in all"):
            node_labels(y, graph)
        said = r"graph 1: the label of node 5 .*15 in all.*PartialLabels"
        with pytest.raises(DataError, match=said):
            MetricLearner(NormalizedCut()).fit([graph, graph], [np.arange(T) % 2, y])

    def test_partial_labels_take_missing_labels_for_unknown(self, y):
        expected = [0] * 5 + [-1] * 15 + [1] * 20
        np.testing.assert_array_equal(PartialLabels(labels=y).codes, expected)


class TestMinusOne:
    def test_minus_one_is_unlabelled_in_any_container(self):
        numbers = [-1, 1, 2, -1]
        for y in (
            numbers,
            np.array(numbers, dtype=np.int8),
            np.array(numbers, dtype=object),
            pd.Series(numbers, dtype="Int64"),
            np.array(numbers, dtype=float),
            [-1, "a", "b", -1],
        ):
            np.testing.assert_array_equal(as_partial(y, 4).codes, [-1, 0, 1, -1])

    @pytest.mark.parametrize("kind", [int, float, object])
    def test_graphs_refuse_minus_one_as_a_label(self, kind):
        y = np.array([0, 1, -1, 1], dtype=kind)
        with pytest.raises(DataError, match=r"the label of node 2 is -1(\.0)? \(1 in all"):
            node_labels(y, FeatureGraph(np.arange(4)[:, None]))


def masked(X, where=(7, 1)):
    mask = np.zeros(np.shape(X), dtype=bool)
    mask[where] = True
    return np.ma.masked_array(X, mask)


BAD_RECORDINGS = {
    "masked": (masked(XS[1]), "recording 1 is masked in row 7, column 1"),
    "masked rows": (list(masked(XS[1])), "recording 1 is masked in row 7"),
    "complex": (XS[1] + 1j * np.eye(T, 3), "recording 1 holds complex128 values"),
    "sparse": (sp.csr_array(XS[1]), r"recording 1 is a sparse matrix: give X.toarray\(\)"),
    "lazy": (pl.DataFrame(XS[1]).lazy(), r"recording 1 is a LazyFrame: .* X.collect\(\)"),
    "text": ("walk.csv", "recording 1 is 'walk.csv', a text: .*read_recordings"),
    "mapping": ({"a": 1}, "recording 1 is a dict"),
    "times": (XS[1].astype("M8[s]"), "recording 1 holds datetime64.* not real numbers"),
    "ragged": ([[1.0, 2.0], [3.0]], r"recording 1 is not a numeric array of shape \(T, P\)"),
    "huge": ([[10**400, 1, 1]] * T, "recording 1 has 1000.* in row 0"),
}


@pytest.mark.parametrize(("X", "message"), BAD_RECORDINGS.values(), ids=BAD_RECORDINGS)
class TestHiddenValues:
    def test_recordings_and_labels_of_different_numbers_are_refused(self, X, message):
        with pytest.raises(DataError, match=message):
            MetricLearner().fit([XS[0], X, *XS[2:]], YS)


def test_masked_arrays_of_labels_or_weights_are_refused():
    with pytest.raises(DataError, match="recording 0: the label of sample 3 is masked"):
        MetricLearner().fit(XS, [masked(YS[0], 3), *YS[1:]])
    with pytest.raises(DataError, match="sample_weight is masked in row 2"):
        MetricLearner().fit(XS, YS, sample_weight=masked(np.ones(4), 2))
    with pytest.raises(DataError, match="sample_weight holds complex128 values"):
        MetricLearner().fit(XS, YS, sample_weight=np.ones(4) * 1j)
    with pytest.raises(DataError, match="labels are complex"):
        MetricLearner().fit(XS, [YS[0] + 1j, *YS[1:]])


def test_graphs_refuse_hidden_values_too():
    y = [0, 0, 1, 1]
    for X in (masked(np.arange(4.0)[:, None], (2, 0)), np.arange(4)[:, None] * 1j):
        with pytest.raises(DataError, match="the feature matrix"):
            FeatureGraph(X)
        with pytest.raises(DataError, match="graph 0: the feature matrix"):
            MetricLearner(NormalizedCut()).fit([(np.ones((4, 4)), X)], [y])
    with pytest.raises(DataError, match="the feature matrix is a sparse matrix"):
        MetricLearner(NormalizedCut()).fit([(np.ones((4, 4)), sp.csr_array(np.ones((4, 1))))], [y])
    with pytest.raises(DataError, match="masked pixels"):
        MetricLearner(NormalizedCut()).fit([masked(np.zeros((8, 8)))], [np.zeros((8, 8))])


# ---- what people type first


def test_repeated_times_are_named_as_a_sign_of_several_recordings(tmp_path):
    path = tmp_path / "people.csv"
    t = np.tile(np.arange(10.0), 3)
    frame = pd.DataFrame({"t": t, "x": np.sin(t), "label": np.repeat([0, 1, 0], 10)})
    frame.to_csv(path, index=False)
    with pytest.warns(UserWarning, match="of several recordings, recording_column="):
        read_recordings(path, time_column="t")
    frame.assign(t=np.arange(30)[::-1]).to_csv(path, index=False)
    with pytest.warns(UserWarning, match="sorted by it, and samples are counted in that order"):
        read_recordings(path, time_column="t")


def test_measurements_given_as_labels_are_named():
    measured = [np.sin(np.arange(40.0) * k) for k in (1, 2, 3, 4)]
    with pytest.warns(UserWarning, match=r"nearly every sample \(160 segments of 160 samples\)"):
        MetricLearner().fit(XS, measured)


def test_infinite_values_are_not_called_missing():
    wrong = XS[0].copy()
    wrong[3, 1] = np.inf
    with pytest.raises(DataError, match="has inf in row 3, column 1: give a number there, or NaN"):
        MetricLearner().fit([wrong, *XS[1:]], YS)
    unknown = np.where(YS[0] == 2, np.nan, YS[0])
    with pytest.raises(DataError, match=r"sample 20 is missing \(10 in all\)"):
        MetricLearner().fit(XS, [unknown, *YS[1:]])


# ---- pixels whose white nobody knows


IMAGE = np.random.default_rng(0).integers(0, 256, (16, 16, 3))


@pytest.mark.parametrize("kind", [np.int64, np.int16])
def test_an_image_of_wide_integers_is_not_black(kind):
    """Over the range of its type, 255 is 1 of 36 thousand million million."""
    with pytest.raises(DataError, match=r"an image of u?int\d\d values: give uint8"):
        from_image(IMAGE.astype(kind))


def test_a_photograph_is_rotated_by_its_exif_orientation(tmp_path):
    """A phone held upright stores pixels that lie, and says so; masks are drawn on what is seen."""
    image = Image.fromarray(np.uint8(IMAGE[:8]))
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn clockwise
    path = tmp_path / "photo.png"
    image.save(path, exif=exif)
    np.testing.assert_array_equal(pixels_of(path), np.rot90(IMAGE[:8], -1))
    with Image.open(path) as opened:
        np.testing.assert_array_equal(pixels_of(opened), np.rot90(IMAGE[:8], -1))


def test_an_image_of_16_bits_that_uses_few_of_them_is_not_black(tmp_path):
    """A camera of 8 or of 12 bits, whose microscope saves 16."""
    path = tmp_path / "cells.tif"
    Image.fromarray(IMAGE[..., 0].astype(np.uint16)).save(path)
    with pytest.raises(
        DataError, match=r"cells.tif: greys from 1 to 254 of 65535 are 1 of the 256"
    ):
        pixels_of(path)
    Image.fromarray((IMAGE[..., 0] * 16).astype(np.uint16)).save(path)
    with pytest.warns(
        DataWarning, match=r"cells.tif: greys from 16 to 4064 of 65535 are 16 of the 256"
    ):
        pixels_of(path)
    Image.fromarray((IMAGE[..., 0] * 257).astype(np.uint16)).save(path)
    np.testing.assert_array_equal(pixels_of(path), IMAGE[..., 0])


def test_the_first_page_of_a_tiff_is_read_with_a_warning(tmp_path):
    pages = [Image.fromarray(np.uint8(IMAGE[..., channel])) for channel in range(3)]
    pages[0].save(tmp_path / "stack.tif", save_all=True, append_images=pages[1:])
    with pytest.warns(DataWarning, match="stack.tif: of its 3 pages the first is read"):
        np.testing.assert_array_equal(pixels_of(tmp_path / "stack.tif"), IMAGE[..., 0])
