"""Groups and stacks of zarr, whose arrays are read when they are needed."""

import numpy as np
import pytest
import zarr

from structsvm import MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels

XS, YS = arrays_and_labels(
    relevant_changes(4, n_samples=220, n_features=4, n_relevant=2, random_state=0)
)


@pytest.fixture(scope="module")
def expected():
    return MetricLearner(metric="diagonal").fit(XS, YS)


@pytest.mark.parametrize("backend", ["serial", "processes"])
def test_a_group_of_recordings_with_their_labels(tmp_path, expected, backend):
    root = zarr.open_group(tmp_path, mode="w")
    for i, (X, y) in enumerate(zip(XS, YS, strict=True)):
        group = root.create_group(f"r{i}")
        group.create_array("X", data=X)
        group.create_array("y", data=y)
    group = zarr.open_group(tmp_path, mode="r")
    learner = MetricLearner(metric="diagonal", n_jobs=2, backend=backend).fit(group)
    assert np.array_equal(learner.metric_.factor, expected.metric_.factor)
    found = learner.predict_breakpoints(group)
    assert list(found) == ["r0", "r1", "r2", "r3"]
    assert list(found.values()) == expected.predict_breakpoints(XS)


def test_a_group_of_arrays_and_a_stack_of_them(tmp_path, expected):
    root = zarr.open_group(tmp_path / "group", mode="w")
    for i, X in enumerate(XS):
        root.create_array(f"r{i}", data=X)
    stack = zarr.create_array(tmp_path / "stack", data=np.stack(XS), chunks=(1, 100, 4))
    labels = {f"r{i}": y for i, y in enumerate(YS)}
    for Xs, ys in ((root, labels), (stack, YS)):
        learner = MetricLearner(metric="diagonal").fit(Xs, ys)
        assert np.array_equal(learner.metric_.factor, expected.metric_.factor)
