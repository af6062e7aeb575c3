"""Labels that are not known stay so beside names, whatever holds them."""

import numpy as np
import pandas as pd
import pytest

from structsvm.baselines.recordings import baselines_of_recordings
from structsvm.errors import DataError
from structsvm.features import windows
from structsvm.features.boundaries import read_boundaries
from structsvm.partitions import EquivalenceMatrix, Sample

X = np.zeros((6, 1))


@pytest.mark.parametrize("unknown", [None, np.nan, pd.NA, "", -1])
@pytest.mark.parametrize("holder", [list, lambda y: np.array(y, dtype=object), pd.Series])
def test_an_unknown_name_is_no_boundary(unknown, holder):
    """numpy would make the text "nan" of a NaN beside text, and "-1" of the number."""
    (codes,) = read_boundaries([holder(["a", "a", unknown, unknown, "b", "c"])], [X], "it").codes
    assert codes.tolist() == [-1, 0, -1, -1, -1, 1]


def test_windows_have_no_label_that_nobody_gave():
    found = windows(X, rate=1.0, window=2.0, hop=2.0)
    assert found.labels(["a", "a", "", "", "b", "b"]).tolist() == ["a", "", "b"]
    with pytest.raises(DataError, match=r"labels do not compare .* for unknown ones"):
        found.labels(["a", "a", np.nan, np.nan, "b", "b"])


@pytest.mark.parametrize("unknown", [None, np.nan, "", -1])
def test_a_recording_with_unknown_names_is_not_labelled_in_full(unknown):
    """Boundaries, and segments of equal length, need change points in full."""
    y = ["a", "a", unknown, unknown, "b", "b"]
    names = [baseline.name for baseline in baselines_of_recordings([Sample(X)] * 2, [y, y])]
    assert names == ["frame-logistic", "frame-boosting"]


def test_a_partition_of_labels_that_do_not_compare():
    with pytest.raises(DataError, match="labels of several kinds do not compare: int, str"):
        EquivalenceMatrix.from_labels(np.array(["a", 1], dtype=object))
    with pytest.raises(DataError, match="the label of sample 1 is missing"):
        EquivalenceMatrix.from_labels(["a", None])
