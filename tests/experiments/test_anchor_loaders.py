"""Loaders of data sets that other methods are measured on, tried on files written here."""

import hashlib
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from structsvm.errors import DataError

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from experiments.sets import conversions, has2023, read_has2023
from experiments.sets.fetch import MOCAP86
from experiments.sets.has2023 import SENSORS


def series(rng, ts_id, subject, split, ends, activities, **other):
    """A row of has2023_master.csv."""
    row = {
        "ts_id": ts_id,
        "ts_challenge_id": 249 - ts_id,
        "group": "indoor",
        "subject": subject,
        "routine": 1,
        "change_points": str(list(ends[:-1])),
        "activities": str(list(activities)),
        "split": split,
    }
    row |= {sensor: str(rng.normal(size=ends[-1]).round(4).tolist()) for sensor in SENSORS}
    return row | {"lat": "[]", "lon": "[]", "speed": "[]"} | other


@pytest.fixture
def write(tmp_path):
    def write(*rows):
        path = tmp_path / "has2023_master.csv.zip"
        pd.DataFrame(list(rows)).to_csv(path, index=False)
        return path

    return write


class TestHAS2023:
    def test_series_of_has2023_are_read_with_their_split(self, rng, write):
        path = write(
            series(rng, 0, 1, "private", [30, 50, 90], ["rest", "sit ups", "rest"]),
            series(rng, 1, 12, "public", [40], ["runner's lunge"]),
        )
        both = read_has2023(path, verify=False)
        assert [r.name for r in both] == ["s01_000", "s12_001"]
        assert [r.X.shape for r in both] == [(90, 9), (40, 9)]
        assert both[0].features == SENSORS
        assert both[0].y.tolist() == ["rest"] * 30 + ["sit ups"] * 20 + ["rest"] * 40
        (public,) = read_has2023(path, "public", verify=False)
        assert set(public.y) == {"runner's lunge"}

    def test_a_file_of_another_version_is_refused_by_its_git_hash(self, rng, write, monkeypatch):
        path = write(series(rng, 0, 1, "public", [5], ["a"]))
        with pytest.raises(DataError, match="is not the file of the challenge: git hash-object"):
            read_has2023(path)
        content = path.read_bytes()
        name = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        monkeypatch.setattr(has2023, "GIT_OBJECT", name)
        assert len(read_has2023(path)) == 1


def test_the_experiment_learns_on_public_series_and_judges_the_private_ones(rng, write):
    from experiments.studies.has2023 import measured, table

    rows = []
    for ts_id in range(6):
        ends = [200, 450 + 25 * ts_id, 750]
        row = series(rng, ts_id, ts_id, "private" if ts_id < 2 else "public", ends, "aba")
        for scale, sensor in ((3.0, "x-acc"), (2.0, "z-gyro")):
            noise = rng.normal(size=750)
            noise[ends[0] : ends[1]] *= scale
            row[sensor] = str(noise.round(3).tolist())
        rows.append(row)
    path = write(*rows)
    learn, test = (read_has2023(path, split, verify=False) for split in ("public", "private"))
    found = measured(learn, test)
    assert [row["method"] for row in found] == [
        "untrained metric, best penalty",
        "learned, diagonal",
        "learned, full",
    ]
    assert found[1]["covering"] > 0.8
    assert found[1]["loss"] <= found[0]["loss"]
    assert all(set(row) == set(found[0]) for row in table(found))


def test_a_session_of_motion_capture_is_read(rng, tmp_path):
    values = rng.normal(size=(8, 4)).round(4)
    y = np.array([0, 0, 1, 1, 0, 2, 2, 2])
    frame = pd.DataFrame(values, columns=list("0123")).assign(state=y)
    frame.to_csv(tmp_path / "amc_86_01.csv", index=False)
    asked = []

    def fetch(path):
        asked.append(path)
        return tmp_path / "amc_86_01.csv"

    recording = conversions.session("amc_86_01", fetch)
    assert asked == ["dataset/MoCap/amc_86_01.csv"]
    assert asked[0] in MOCAP86.checksums
    assert len(MOCAP86.checksums) == 9
    np.testing.assert_array_equal(recording.X, values)
    np.testing.assert_array_equal(recording.y, y)
    assert recording.features == ("channel 0", "channel 1", "channel 2", "channel 3")
