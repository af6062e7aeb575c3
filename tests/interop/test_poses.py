"""Poses as recordings that do not depend on place and direction, and labels for other tools."""

import json

import numpy as np
import pytest
import xarray as xr

from structsvm.errors import DataError, DataWarning
from structsvm.interop import nwb_intervals, pose_recordings, with_behaviour
from structsvm.io import Interval, read_intervals, write_intervals

DIMS = ("time", "space", "keypoints", "individuals")
NAMES = {"keypoints": ["nose", "centre", "hip", "tail"], "individuals": ["ann", "ben"]}


def poses(position, times=None, **names):
    coords = {"time": np.arange(len(position)) / 50 if times is None else times} | NAMES | names
    about = {"source_file": "/lab/session.1.h5", "time_unit": "seconds", "fps": 50}
    return xr.Dataset({"position": (DIMS, position)}, coords, about)


def walk(space, T=30):
    return np.cumsum(np.random.default_rng(0).normal(size=(T, space, 4, 2)), axis=0)


@pytest.mark.parametrize("space", [2, 3])
def test_features_of_poses_do_not_depend_on_place_and_direction(space):
    rng = np.random.default_rng(1)
    position = walk(space)
    turn = np.linalg.qr(rng.normal(size=(space, space)))[0]
    moved = np.einsum("ds,tski->tdki", turn, position) + rng.normal(size=(1, space, 1, 1))
    found = pose_recordings(poses(position))
    again = pose_recordings(poses(moved))
    assert [one.name for one in found] == ["session.1/ann", "session.1/ben"]
    assert found[0].time.values.tolist() == (np.arange(30) / 50).tolist()
    for one, other in zip(found, again, strict=True):
        assert len(one.features) == one.X.shape[1] == 4 + 6 + 2 + 1
        np.testing.assert_allclose(one.X, other.X, atol=1e-9)
    order = poses(position).transpose("time", "individuals", "space", "keypoints")
    np.testing.assert_array_equal(pose_recordings(order)[0].X, found[0].X)


def test_speeds_distances_and_angles_of_poses_are_right():
    """A right angle that turns by a radian a second, and moves by three units."""
    t = np.arange(40) / 20
    ahead = np.stack([np.cos(t), np.sin(t)], axis=1)
    left = np.stack([-np.sin(t), np.cos(t)], axis=1)
    centre = np.stack([3 * t, 0 * t], axis=1)
    position = np.stack([centre + 2 * ahead, centre, centre + left], axis=2)[..., None]
    names = {"keypoints": ["nose", "centre", "hand"], "individuals": ["ann"]}
    (found,) = pose_recordings(poses(position, t, **names))
    columns = dict(zip(found.features, found.X[1:-1].T, strict=True))
    for name, value in {
        "centre speed": 3.0,
        "nose to centre": 2.0,
        "centre to hand": 1.0,
        "angle at centre": np.pi / 2,
        "turning": 1.0,
    }.items():
        np.testing.assert_allclose(columns[name], value, rtol=1e-3, err_msg=name)


def test_missing_positions_are_interpolated_and_unseen_keypoints_refused():
    position = np.repeat(np.arange(30.0), 16).reshape(30, 2, 4, 2)
    position[10:15, :, 1, 0] = np.nan
    with pytest.warns(DataWarning, match="session.1/ann: 5 of 120 positions are interpolated"):
        found, _ = pose_recordings(poses(position))
    np.testing.assert_allclose(found.X[:, 1], 50 * np.sqrt(2))
    position[:, :, 2, 1] = np.nan
    with pytest.warns(DataWarning), pytest.raises(DataError, match="keypoint 'hip' is never seen"):
        pose_recordings(poses(position))


def test_datasets_that_are_no_poses_are_refused():
    with pytest.raises(DataError, match="no position with the dimension 'keypoints'"):
        pose_recordings(poses(walk(2)).isel(keypoints=0))
    with pytest.raises(DataError, match="no position with the dimension 'time'"):
        pose_recordings(xr.Dataset())
    for times in ([0.0], [0.0, 0.0]):
        with pytest.raises(DataError, match="two times or more"):
            pose_recordings(poses(walk(2, len(times)), times))
    one = poses(walk(2)).sel(keypoints=["nose"])
    assert pose_recordings(one)[0].features == ("nose speed",)
    still = pose_recordings(poses(np.zeros((5, 2, 4, 2))))
    assert np.isfinite(still[0].X).all()


def test_behaviour_is_a_coordinate_of_time_and_individuals():
    labels = [["rest"] * 10 + ["walk"] * 20, ["walk"] * 29 + [None]]
    found = with_behaviour(poses(walk(2)), labels)
    assert found.behaviour.dims == ("time", "individuals")
    assert found.behaviour.sel(individuals="ben").values.tolist() == ["walk"] * 29 + [""]
    both = (found.behaviour == "walk").all("individuals")
    assert both.sum() == 19
    assert found.position.where(found.behaviour == "rest").notnull().any("space").sum() == 40
    for wrong in (labels[:1], [labels[0], ["rest"]]):
        with pytest.raises(DataError, match="30 times of 2 individuals"):
            with_behaviour(poses(walk(2)), wrong)


BOUTS = [Interval(0.0, 2.5, "rest"), Interval(2.5, 4.0, "walk"), Interval(4.0, 6.0, "rest")]


def test_bouts_are_written_into_a_file_of_nwb(tmp_path):
    from datetime import UTC, datetime

    pynwb = pytest.importorskip("pynwb")
    file = pynwb.NWBFile("mice", "one", datetime(2024, 5, 1, tzinfo=UTC))
    file.add_time_intervals(nwb_intervals(BOUTS))
    with pynwb.NWBHDF5IO(tmp_path / "session.nwb", "w") as disk:
        disk.write(file)
    with pynwb.NWBHDF5IO(tmp_path / "session.nwb", "r") as disk:
        table = disk.read().intervals["behaviour"].to_dataframe()
    columns = table[["start_time", "stop_time", "label"]]
    assert [tuple(row) for row in columns.itertuples(index=False)] == [
        (one.start, one.end, one.label) for one in BOUTS
    ]
    with pytest.raises(DataError, match="no dates"):
        nwb_intervals([Interval("2024-05-01", "2024-05-02", "rest")])


def test_bouts_are_written_into_a_project_of_boris(tmp_path):
    path = tmp_path / "found.boris"
    both = {"ann": BOUTS, "ben": BOUTS[1:]}
    write_intervals(path, both)
    assert read_intervals(path) == both
    project = json.loads(path.read_text())
    assert [one["code"] for one in project["behaviors_conf"].values()] == ["rest", "walk"]
    with pytest.raises(DataError, match="no dates"):
        write_intervals(path, {"ann": [Interval("2024-05-01", "2024-05-02", "rest")]})
