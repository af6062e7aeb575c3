"""Groups and stacks of HDF5 files, whose arrays are read when they are needed."""

import h5py
import numpy as np
import pytest

from structsvm import MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.errors import DataError
from structsvm.io import arrays_and_labels

XS, YS = arrays_and_labels(
    relevant_changes(4, n_samples=220, n_features=4, n_relevant=2, random_state=0)
)


@pytest.fixture(scope="module")
def expected():
    return MetricLearner(metric="diagonal").fit(XS, YS)


@pytest.mark.parametrize("backend", ["serial", "threads"])
def test_a_group_of_recordings_with_their_labels_and_names(tmp_path, expected, backend):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for i, (X, y) in enumerate(zip(XS, YS, strict=True)):
            group = file.create_group(f"study/r{i}")
            group["X"], group["y"], group["features"] = X, y, list("abcd")
    with h5py.File(tmp_path / "a.h5", "r") as file:
        learner = MetricLearner(metric="diagonal", n_jobs=2, backend=backend).fit(file["study"])
        found = learner.predict_breakpoints(file["study"])
    assert np.array_equal(learner.metric_.factor, expected.metric_.factor)
    assert learner.feature_names_in_.tolist() == list("abcd")
    assert list(found) == ["r0", "r1", "r2", "r3"]
    assert list(found.values()) == expected.predict_breakpoints(XS)


@pytest.mark.parametrize("backend", ["serial", "threads"])
def test_a_file_of_arrays_and_a_stack_of_them(tmp_path, expected, backend):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for i, X in enumerate(XS):
            file[f"arrays/r{i}"] = X
        file.create_dataset("stack", data=np.stack(XS), chunks=(1, 100, 4))
    labels = {f"r{i}": y for i, y in enumerate(YS)}
    with h5py.File(tmp_path / "a.h5", "r") as file:
        for Xs, ys in ((file["arrays"], labels), (file["stack"], YS)):
            learner = MetricLearner(metric="diagonal", n_jobs=2, backend=backend).fit(Xs, ys)
            assert np.array_equal(learner.metric_.factor, expected.metric_.factor)
        one = learner.predict_breakpoints(file["arrays/r0"])
    assert one == expected.predict_breakpoints(XS[0])


def test_errors_name_the_member(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["good"], file["wide"] = XS[0], XS[1][:, :3]
    with (
        h5py.File(tmp_path / "a.h5", "r") as file,
        pytest.raises(DataError, match="recording 1 has 3 features, recording 0 has 4"),
    ):
        MetricLearner().fit(file, {"good": YS[0], "wide": YS[1]})
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        del file["wide"]
        file["wide"] = np.full((5, 4), b"text")
    with (
        h5py.File(tmp_path / "a.h5", "r") as file,
        pytest.raises(DataError, match=r"recording 1 \('wide'\) has .*: not a number"),
    ):
        MetricLearner().fit(file, {"good": YS[0], "wide": YS[1]})
