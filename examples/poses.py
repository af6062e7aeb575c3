"""From poses to bouts of behaviour: what an observer marked in some videos, found in others.

The poses are generated: mice with three keypoints that walk, rest or turn about themselves.
`pip install 'structsvm-partitioning[behaviour,files]'`, and then `python examples/poses.py`.
"""

import tempfile
from itertools import chain
from pathlib import Path

import numpy as np
import xarray as xr

from structsvm import StateSegmenter
from structsvm.interop import nwb_intervals, pose_recordings, with_behaviour
from structsvm.io import arrays_and_labels, intervals_of, with_labels, write_intervals

RATE, T = 10.0, 400  # frames per second, and of a video
TIMES = np.arange(T) / RATE
MICE = ["ann", "ben"]
rng = np.random.default_rng(0)


def track(states):
    """Return the positions (T, 2, 3) of nose, centre and tail."""
    speed = np.where(states == "walk", 5.0, 0.3) * rng.uniform(0.7, 1.3, T)
    heading = np.cumsum(np.where(states == "turn", 2.0, 0.1)) / RATE + rng.uniform(0, 2 * np.pi)
    ahead = np.column_stack([np.cos(heading), np.sin(heading)])
    centre = np.cumsum(speed[:, None] * ahead, axis=0) / RATE
    body = ahead[..., None] * [1.0, 0.0, -1.0]
    return centre[..., None] + body + 0.03 * rng.normal(size=(T, 2, 3))


def video(name):
    """Return a dataset as `movement` makes it, and the states (T,) of its mice."""
    states = [
        np.repeat(rng.permutation(np.resize(["walk", "rest", "turn"], 20)), rng.integers(20, 50))[
            :T
        ]
        for _ in MICE
    ]
    position = np.stack([track(one) for one in states], axis=-1)
    coords = {"time": TIMES, "space": ["x", "y"], "keypoints": ["nose", "centre", "tail"]}
    coords |= {"individuals": MICE}
    about = {"source_file": f"{name}.h5", "time_unit": "seconds"}
    return xr.Dataset({"position": (tuple(coords), position)}, coords, about), states


videos = [video(f"video{i}") for i in range(4)]
with tempfile.TemporaryDirectory() as folder:
    # What an observer marked in three videos, as a project of BORIS.
    marked = {}
    for i, (_, states) in enumerate(videos[:3]):
        for mouse, of_one in zip(MICE, states, strict=True):
            marked[f"video{i}/{mouse}"] = intervals_of(of_one, TIMES)
    write_intervals(Path(folder) / "marked.boris", marked)
    poses = list(chain.from_iterable(pose_recordings(dataset) for dataset, _ in videos[:3]))
    labelled = with_labels(poses, Path(folder) / "marked.boris")
learner = StateSegmenter().fit(*arrays_and_labels(labelled))

# The fourth video: the states of its mice, along its poses and as a table of NWB.
dataset, states = videos[3]
recordings = pose_recordings(dataset)
predicted = learner.predict_states([one.X for one in recordings])
dataset = with_behaviour(dataset, predicted)
for recording, found, real in zip(recordings, predicted, states, strict=True):
    bouts = intervals_of(found, recording.time)
    print(f"{recording.name}: {len(bouts)} bouts, {np.mean(found == real):.1%} of frames right")
    print(nwb_intervals(bouts).to_dataframe().head(3))
print("frames in which both rest:", int((dataset.behaviour == "rest").all("individuals").sum()))
