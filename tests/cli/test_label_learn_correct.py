"""Labels go out to a tool and come back: nothing is lost, and the same is learned from them."""

import json

import numpy as np
import pandas as pd
import pytest

import structsvm
from structsvm import MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.io import Recording, intervals_of, with_labels, write_intervals

NAMES = np.array(["rest", "walk (fast)", "Straße"])
TRUTHS = {}
RECORDINGS = []
for one in relevant_changes(3, n_samples=200, n_features=4, n_relevant=2, random_state=0):
    TRUTHS[one.name] = NAMES[one.y % 3].tolist()
    seconds = 0.1 * np.arange(200)
    RECORDINGS.append(Recording(one.name, one.X, None, one.features, time=seconds))
MARKED = {one.name: intervals_of(TRUTHS[one.name], one.time) for one in RECORDINGS}


def to_a_file(folder, ending):
    path = folder / f"labels{ending}"
    write_intervals(path, MARKED)
    return path


def to_a_track_each(folder, _):
    for name, intervals in MARKED.items():
        write_intervals(folder / f"{name}.txt", {name: intervals})
    return folder


@pytest.mark.parametrize("ending", [".json", ".boris", ".csv", ".tsv", ".txt"])
def test_labels_written_for_a_tool_are_read_again_and_give_the_same_metric(tmp_path, ending):
    write = to_a_track_each if ending == ".txt" else to_a_file
    back = with_labels(RECORDINGS, write(tmp_path, ending))
    assert {one.name: one.y.tolist() for one in back} == TRUTHS
    Xs = [one.X for one in RECORDINGS]
    there = MetricLearner(metric="diagonal").fit(Xs, list(TRUTHS.values()))
    here = MetricLearner(metric="diagonal").fit([one.X for one in back], [one.y for one in back])
    assert np.array_equal(here.metric_.matrix, there.metric_.matrix)
    assert here.metric_.price == there.metric_.price


def test_predictions_go_to_label_studio_as_predictions_and_return_as_annotations(tmp_path):
    """Label Studio exports what was accepted as annotations, which are read."""
    shown = tmp_path / "found.json"
    write_intervals(shown, MARKED, predictions=True)
    tasks = json.loads(shown.read_text())
    assert all("annotations" not in task for task in tasks)
    for task in tasks:
        task["annotations"] = task.pop("predictions")
    shown.write_text(json.dumps(tasks))
    assert {one.name: one.y.tolist() for one in with_labels(RECORDINGS, shown)} == TRUTHS


def test_fit_reads_what_predict_writes_as_labels(tmp_path, done):
    """The whole round on the command line: labels of some, predictions for the others, learn."""
    folder = tmp_path / "recordings"
    folder.mkdir()
    for one in RECORDINGS:
        frame = pd.DataFrame(one.X, columns=one.features).assign(time=one.time.values)
        frame.to_csv(folder / f"{one.name}.csv", index=False)
    labels = to_a_file(tmp_path, ".json")
    first = tmp_path / "first.structsvm"
    found = tmp_path / "found.csv"
    line = f"fit change-point {folder} --time-column time --metric diagonal --quiet"
    done(f"{line} --labels {labels} -o {first}")
    done(f"predict {first} {folder} --margins -o {found} --quiet")
    done(f"{line} --labels {found} -o {tmp_path / 'second.structsvm'}")
    second = structsvm.load(tmp_path / "second.structsvm")
    assert len(second.predict_breakpoints([one.X for one in RECORDINGS])) == 3
