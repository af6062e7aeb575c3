"""Recordings that are mapped from files: the same answers, and no copy of them in memory."""

import os
import resource
import subprocess
import sys
import tempfile
import textwrap
import tracemalloc

import numpy as np
import pytest

from structsvm import MetricLearner
from structsvm.data.samples import Standardizer, centred
from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels
from structsvm.support.blocks import ROWS, by_rows, largest, mapping_of, mean_and_spread, release

RECORDINGS = relevant_changes(4, n_samples=400, n_features=3, n_relevant=2, random_state=0)
T = 2 * ROWS + 100


@pytest.fixture(scope="module")
def long_recording():
    rng = np.random.default_rng(0)
    levels = 3.0 * rng.normal(size=(T // 500 + 1, 3)) + 40.0
    return np.repeat(levels, 500, axis=0)[:T] + rng.normal(size=(T, 3))


@pytest.fixture
def mapped(long_recording, tmp_path):
    np.save(tmp_path / "long.npy", long_recording)
    return np.load(tmp_path / "long.npy", mmap_mode="r")


@pytest.mark.parametrize("standardize", ["recording", "training", None])
def test_a_mapped_recording_is_segmented_as_one_in_memory(mapped, long_recording, standardize):
    learner = MetricLearner(standardize=standardize).fit(*arrays_and_labels(RECORDINGS))
    known = learner.predict_breakpoints([long_recording])
    assert len(known[0]) > 100
    assert learner.predict_breakpoints([mapped]) == known
    transformed = learner.transform([mapped])[0]
    assert mapping_of(transformed) is not None
    np.testing.assert_allclose(transformed, learner.transform([long_recording])[0], atol=1e-12)


def test_single_precision_on_disk_is_read_block_by_block(long_recording, tmp_path):
    np.save(tmp_path / "single.npy", long_recording.astype(np.float32))
    single = np.load(tmp_path / "single.npy", mmap_mode="r")
    learner = MetricLearner().fit(*arrays_and_labels(RECORDINGS))
    assert learner.predict_breakpoints([single]) == learner.predict_breakpoints([np.array(single)])


def test_what_a_mapped_recording_must_not_hold_is_found(tmp_path, long_recording):
    bad = long_recording.copy()
    bad[ROWS + 7, 1] = np.nan
    np.save(tmp_path / "bad.npy", bad)
    learner = MetricLearner().fit(*arrays_and_labels(RECORDINGS))
    with pytest.raises(ValueError, match=f"recording 0 has nan in row {ROWS + 7}, column 1"):
        learner.predict([np.load(tmp_path / "bad.npy", mmap_mode="r")])


def test_blocks_give_what_the_whole_array_gives(mapped, long_recording):
    mean, spread = mean_and_spread(mapped)
    np.testing.assert_allclose(mean, long_recording.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(spread, long_recording.std(axis=0), rtol=1e-13)
    assert np.array_equal(largest(mapped), np.abs(long_recording).max(axis=0))
    assert np.array_equal(by_rows(lambda rows: rows[:, :2] ** 2, mapped, 2), mapped[:, :2] ** 2)


@pytest.mark.parametrize("P", [1, 2, 5])
@pytest.mark.parametrize("far", [0.0, 1e3])
@pytest.mark.parametrize("T", [3, 253, 467, T])
def test_what_is_mapped_is_scaled_to_the_last_bit(tmp_path, T, P, far):
    X = np.random.default_rng(T + P).normal(size=(T, P)) * np.arange(1, P + 1) + far
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for kind in ("recording", "training"):
        known, found = (Standardizer.fit(kind, [Z])(Z) for Z in (X, mapped))
        assert np.array_equal(known, found)
        assert np.array_equal(centred(known), centred(found))
    assert np.array_equal(centred(X), centred(mapped))


def test_what_was_written_to_a_private_mapping_is_kept(mapped):
    private = np.load(mapped.filename, mmap_mode="c")
    private[5] = -1.0
    release(private)
    assert (private[5] == -1.0).all()
    assert (largest(private) >= 1.0).all()
    assert (private[5] == -1.0).all()


def test_predicting_holds_the_table_of_scores_in_memory_and_no_copy_of_the_samples(mapped):
    learner = MetricLearner().fit(*arrays_and_labels(RECORDINGS))
    learner.predict_breakpoints([mapped[:1000]])
    peaks = []
    for X in (mapped, np.array(mapped)):
        tracemalloc.start()
        learner.predict_breakpoints([X])
        peaks.append(tracemalloc.get_traced_memory()[1] / mapped.nbytes)
        tracemalloc.stop()
    assert peaks[0] < 4.0  # prefix sums, and vectors of T: with three features they weigh much
    assert peaks[0] < peaks[1] - 1.5


def test_temporary_files_have_no_name(mapped, tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    made = by_rows(lambda rows: rows, mapped, 3)
    assert mapping_of(made).filename is None or str(folder) not in str(mapping_of(made).filename)
    assert not os.listdir(folder)
    assert np.array_equal(made, mapped)


def test_a_disk_without_room_is_an_error_that_says_so(mapped):
    code = f"""
    import resource
    import numpy as np
    from structsvm.errors import DataError
    from structsvm.support.blocks import by_rows
    X = np.load({str(mapped.filename)!r}, mmap_mode="r")
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, {resource.RLIM_INFINITY}))
    try:
        by_rows(lambda rows: rows, X, 3)
    except DataError as error:
        print(error)
    """
    program = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert "no room for a temporary file of 0.0 GB" in done.stdout
    assert "set TMPDIR" in done.stdout
