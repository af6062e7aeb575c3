"""structsvm fit from files that are read one at a time, here or by the workers of a cluster."""

from pathlib import Path

import distributed
import numpy as np
import pytest

import structsvm


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
        monkeypatch.setattr("structsvm.cli.fit.memory_bytes", lambda found=bytes_: found)
        line = f"fit change-point train --metric diagonal --baselines none -o {tmp_path}/{bytes_}"
        code, _, err = run(line)
        assert code == 0
        assert ("read one at a time, whenever needed" in err) == told
    models = [structsvm.load(tmp_path / str(bytes_)) for bytes_ in (size - 1, size)]
    assert np.array_equal(*(model.metric_.factor for model in models))


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
