"""Labels of a folder are on the disk after every change, and every state of them can be undone."""

import json
import os

import numpy as np
import pytest

from structsvm.errors import DataError
from structsvm.io import Recording, read_intervals, with_labels
from structsvm.labelling.kept import NOTHING, KeptLabels

T = 40
DATES = np.datetime64("2024-03-01T12:00") + np.arange(T) * np.timedelta64(250, "ms")
TIMES = {"samples": None, "seconds": 5.5 + 0.1 * np.arange(T), "dates": DATES}
NAMES = ["walk", "<b>rest</b>", "=1+1", "NA", "-1", "3", 'a "b", c', "Straße"]


def recordings(time=None, names=("ann/walk.1", "ben/walk.1", "<i>cy</i>")):
    return [Recording(name, np.zeros((T, 2)), None, ("x", "y"), time=time) for name in names]


def kept_in(folder, some):
    folder.mkdir(exist_ok=True)
    return KeptLabels(folder, some)


@pytest.mark.parametrize("time", TIMES.values(), ids=TIMES)
def test_kept_labels_are_restored_and_read_by_fit(tmp_path, time):
    some = recordings(time)
    marked = {one.name: [(5 * k, 5 * k + 4, name) for k, name in enumerate(NAMES)] for one in some}
    kept_in(tmp_path, some).change(marked)
    again = kept_in(tmp_path, some)
    assert {name: list(map(tuple, some)) for name, some in again.segments.items()} == marked
    for one in with_labels(some, tmp_path, blanks=True):
        for start, end, name in marked[one.name]:
            assert set(one.y[start:end].tolist()) == {name}
            assert set(one.y[end : end + 1].tolist()) == {-1}


def test_unlabelled_samples_differ_from_samples_without_behaviour(tmp_path):
    some = recordings()
    kept_in(tmp_path, some).change({some[0].name: [(0, 10, "walk"), (20, 30, NOTHING)]})
    first, second, _ = with_labels(some, tmp_path, blanks=True)
    assert first.y.tolist() == ["walk"] * 10 + [-1] * 10 + [NOTHING] * 10 + [-1] * 10
    assert second.y.tolist() == [-1] * T


def test_stretches_without_names_are_numbered_if_none_has_a_name(tmp_path):
    some = recordings()
    kept = kept_in(tmp_path, some)
    kept.change({some[0].name: [(0, 10, ""), (10, 30, ""), (30, 40, NOTHING)]})
    assert not kept.are_named
    (first, *_) = with_labels(some, tmp_path, blanks=True)
    assert np.flatnonzero(first.y[1:] != first.y[:-1]).tolist() == [9, 29]
    kept.change({some[1].name: [(0, 10, "walk")]})
    assert kept.are_named
    (first, *_) = with_labels(some, tmp_path, blanks=True)
    assert first.y.tolist() == [-1] * 30 + [NOTHING] * 10
    assert [tuple(one) for one in kept_in(tmp_path, some).segments[some[0].name]] == [
        (0, 10, ""),
        (10, 30, ""),
        (30, 40, NOTHING),
    ]


def test_undo_reaches_every_earlier_state_of_the_labels(tmp_path):
    some = recordings()
    name = some[0].name
    kept = kept_in(tmp_path, some)
    shown = [kept.segments[name]]
    rng = np.random.default_rng(0)
    for k in range(60):
        move = rng.choice(["change", "undo", "redo", "again"], p=[0.5, 0.3, 0.1, 0.1])
        if move == "change":
            kept.change({name: [(k % 30, k % 30 + 5, f"state {k}")]})
        elif move == "again":  # the page is closed, and opened again
            kept = kept_in(tmp_path, some)
        elif kept.can[move]:
            kept.step(-1 if move == "undo" else 1)
        shown.append([tuple(one) for one in kept.segments[name]])
    while kept.can["redo"]:
        kept.step(1)
    reached = [[tuple(one) for one in kept.segments[name]]]
    while kept.can["undo"]:
        kept.step(-1)
        reached.append([tuple(one) for one in kept.segments[name]])
    assert all(state in reached for state in shown)
    with pytest.raises(DataError, match="nothing to undo"):
        kept.step(-1)


@pytest.mark.parametrize(
    ("segments", "said"),
    [
        ([(0, 10, "a"), (9, 20, "b")], "overlap"),
        ([(10, 20, "a"), (0, 5, "b")], "overlap"),
        ([(0, T + 1, "a")], "no samples"),
        ([(-1, 5, "a")], "no samples"),
        ([(5, 5, "a")], "overlap"),
        ([(0, 5, "segment 3")], "cannot be a name"),
        ([(0, 5, "a" * 201)], "cannot be a name"),
    ],
)
def test_an_impossible_change_of_labels_is_refused_and_changes_nothing(tmp_path, segments, said):
    some = recordings()
    kept = kept_in(tmp_path, some)
    before = kept.table.read_bytes()
    with pytest.raises(DataError, match=said):
        kept.change({some[0].name: segments})
    assert kept.table.read_bytes() == before
    assert kept.segments[some[0].name] == []
    with pytest.raises(DataError, match="no recording is called"):
        kept.change({"somebody else": []})


def test_a_change_between_samples_of_one_time_is_refused(tmp_path):
    some = recordings(np.repeat(np.arange(T / 2), 2))
    kept = kept_in(tmp_path, some)
    kept.change({some[0].name: [(0, 4, "a")]})
    with pytest.raises(DataError, match="one time"):
        kept.change({some[0].name: [(0, 5, "a")]})
    assert [tuple(one) for one in kept.segments[some[0].name]] == [(0, 4, "a")]


def test_labels_of_a_recording_of_one_sample_are_kept(tmp_path):
    one = Recording("short", np.zeros((1, 2)), None, ("x", "y"))
    kept = kept_in(tmp_path, [one])
    kept.change({"short": [(0, 1, "walk")]})
    assert with_labels([one], tmp_path)[0].y.tolist() == ["walk"]


def test_labels_of_another_recording_are_refused_and_kept(tmp_path):
    ours, others = recordings(), recordings(names=("dan",))
    kept_in(tmp_path, others).change({"dan": [(0, 5, "walk")]})
    before = (tmp_path / "labels.csv").read_bytes()
    with pytest.raises(DataError, match="labels of dan, and no recording is called so"):
        kept_in(tmp_path, ours)
    longer = [Recording("dan", np.zeros((3, 2)), None, ("x", "y"))]
    with pytest.raises(DataError, match="where it has no samples"):
        kept_in(tmp_path, longer)
    assert (tmp_path / "labels.csv").read_bytes() == before


def test_a_recording_without_labels_may_go_and_others_may_come(tmp_path):
    some = recordings()
    kept_in(tmp_path, some).change({some[0].name: [(0, 5, "walk")]})
    fewer = [some[0], *recordings(names=("dan",))]
    kept = kept_in(tmp_path, fewer)
    assert [tuple(one) for one in kept.segments[some[0].name]] == [(0, 5, "walk")]
    assert set(read_intervals(kept.table)) >= {"dan"}


def test_labels_of_files_that_changed_meanwhile_are_refused(tmp_path):
    source = tmp_path / "walk.csv"
    source.write_text("x\n1\n")
    one = Recording("walk", np.zeros((T, 1)), None, ("x",), source=str(source))
    kept = kept_in(tmp_path / "labels", [one])
    kept.change({"walk": [(0, 5, "walk")]})
    source.write_text("x\n1\n2\n")
    with pytest.raises(DataError, match=r"walk\.csv has changed since it was read"):
        kept.change({"walk": [(0, 6, "walk")]})
    kept.table.write_text(kept.table.read_text().replace("walk,walk", "walk,run"))
    with pytest.raises(DataError, match="changed by another program"):
        kept.step(-1)
    again = kept_in(tmp_path / "labels", [one])
    assert [tuple(s) for s in again.segments["walk"]] == [(0, 5, "run")]
    again.step(-1)
    assert [tuple(s) for s in again.segments["walk"]] == [(0, 5, "walk")]


def test_a_process_killed_at_any_call_leaves_old_or_new_labels(tmp_path, monkeypatch):
    """Every call that touches the disk is the last one, once."""
    some = recordings()
    name = some[0].name
    states = [[], [(0, 5, "walk")], [(0, 5, "walk"), (5, 9, "rest")]]

    class Killed(BaseException):
        pass

    for number in range(40):
        folder = tmp_path / str(number)
        kept = kept_in(folder, some)
        kept.change({name: states[1]})
        left = [number]

        def dying(of, left=left):
            def call(*args, **kwargs):
                left[0] -= 1
                if left[0] < 0:
                    raise Killed
                return of(*args, **kwargs)

            return call

        with monkeypatch.context() as patched:
            for what in ("open", "fsync", "replace", "stat"):
                patched.setattr(os, what, dying(getattr(os, what)))
            try:
                kept.change({name: states[2]})
                is_done = True
            except Killed:
                is_done = False
        again = kept_in(folder, some)
        there = [tuple(one) for one in again.segments[name]]
        assert there == states[2] if is_done else there in states[1:]
        while again.can["undo"]:
            again.step(-1)
        assert again.segments[name] == []
        if is_done:
            return
    pytest.fail("a change touches the disk more often than was tried")


def test_a_torn_line_of_the_history_is_left_out(tmp_path):
    some = recordings()
    kept = kept_in(tmp_path, some)
    kept.change({some[0].name: [(0, 5, "walk")]})
    kept.keep({"learned": {"found": {}, "labelled": 0.1}})
    with kept._log.open("ab") as log:
        log.write(b'\n{"labels": {"ann/wa')
    again = kept_in(tmp_path, some)
    again.change({some[1].name: [(0, 5, "rest")]})
    third = kept_in(tmp_path, some)
    assert third.segments == json.loads(json.dumps(again.segments))
    assert third.learned == [{"found": {}, "labelled": 0.1}]
