"""structsvm fit from files that are read one at a time, here or by the workers of a cluster."""

import json
from dataclasses import replace
from pathlib import Path

import distributed
import numpy as np
import pytest
from cli_kit import TRAIN

import structsvm
from structsvm.io import write_recording


@pytest.fixture(scope="module")
def scheduler():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster.scheduler_address


LINE = "fit change-point train --metric diagonal --baselines none --quiet -o"


def test_the_model_is_that_of_files_read_here(run, tmp_path, scheduler):
    assert run(f"{LINE} {tmp_path}/here")[0] == 0
    there = f"{LINE} {tmp_path}/there --json --scheduler {scheduler}"
    code, out, err = run(there)
    assert (code, err) == (0, "")
    assert '"unlabelled_samples": 0' in out
    here, there = (structsvm.load(tmp_path / name) for name in ("here", "there"))
    assert np.array_equal(here.metric_.factor, there.metric_.factor)
    assert here.metric_.price == there.metric_.price
    assert here.training_data_ == there.training_data_
    assert here.feature_names_in_.tolist() == there.feature_names_in_.tolist()
    assert run(f"evaluate {tmp_path}/there test --quiet")[0] == 0


def test_files_are_read_one_at_a_time_here_too(run, tmp_path):
    assert run(f"{LINE} {tmp_path}/here")[0] == 0
    assert run(f"{LINE} {tmp_path}/lazy --lazy --jobs 2 --set backend=processes") == (0, "", "")
    here, lazy = (structsvm.load(tmp_path / name) for name in ("here", "lazy"))
    assert np.array_equal(here.metric_.factor, lazy.metric_.factor)
    assert here.metric_.price == lazy.metric_.price
    assert here.training_data_ == lazy.training_data_


def test_more_than_the_memory_holds_is_read_one_at_a_time(run, tmp_path, monkeypatch):
    size = sum(path.stat().st_size for path in Path("train").iterdir())
    for bytes_, told in ((size - 1, True), (size, False)):
        monkeypatch.setattr("structsvm.cli.cluster.memory_bytes", lambda found=bytes_: found)
        line = f"fit change-point train --metric diagonal --baselines none -o {tmp_path}/{bytes_}"
        code, _, err = run(line)
        assert code == 0
        assert ("read one at a time, whenever needed" in err) == told
    models = [structsvm.load(tmp_path / str(bytes_)) for bytes_ in (size - 1, size)]
    assert np.array_equal(*(model.metric_.factor for model in models))


def test_labels_in_part_are_counted_once_they_are_read(run, tmp_path):
    folder = tmp_path / "some"
    folder.mkdir()
    for k, recording in enumerate(TRAIN):
        y = np.where(np.arange(len(recording.y)) < 20 * k, -1, recording.y)
        write_recording(replace(recording, y=y), folder / f"{recording.name}.npz")
    line = f"fit change-point {folder} --metric diagonal --baselines none --quiet --json"
    outcomes = [run(f"{line} -o {tmp_path}/{name}") for name in ("a", "b --lazy")]
    found = [json.loads(out)["unlabelled_samples"] for _, out, _ in outcomes]
    assert found == [20 * sum(range(len(TRAIN)))] * 2
    a, b = (structsvm.load(tmp_path / name) for name in ("a", "b"))
    assert np.array_equal(a.metric_.factor, b.metric_.factor)


def test_errors_name_the_file(run, tmp_path, scheduler):
    folder = tmp_path / "broken"
    folder.mkdir()
    for recording in TRAIN:
        write_recording(recording, folder / f"{recording.name}.npz")
    (folder / f"{TRAIN[1].name}.npz").write_bytes(b"PK")
    line = f"fit change-point {folder} -o {tmp_path}/m --scheduler {scheduler}"
    code, _, err = run(line)
    assert code == 1
    assert f"{TRAIN[1].name}.npz" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            "--scheduler nowhere://1",
            "--scheduler nowhere://1: no scheduler answers",
        ),
        ("--lazy --recording-column who", "in memory, and with --lazy they are read one at a time"),
        (
            "--scheduler tcp://127.0.0.1:1 --recording-column who",
            "--recording-column needs all recordings in memory",
        ),
    ],
)
def test_what_cannot_be(run, tmp_path, options, said):
    code, _, err = run(f"{LINE} {tmp_path}/m {options}")
    assert code == 1
    assert said in " ".join(err.split())
