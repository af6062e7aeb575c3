"""``structsvm demo``: learn from real data, and see what it is worth on other people's."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from structsvm.cli.evaluate import readable
from structsvm.cli.fit import learn
from structsvm.cli.inputs import InputData
from structsvm.cli.outputs import check_outputs
from structsvm.cli.plot import new_figure, save_figure
from structsvm.cli.terminal import Terminal
from structsvm.datasets.digits import SIDE, digits_recordings
from structsvm.errors import MissingExtraError
from structsvm.evaluation.evaluate import evaluate
from structsvm.io.npz import write_recording
from structsvm.io.recording import Recording, arrays_and_labels
from structsvm.learner.learner import MetricLearner
from structsvm.learner.steps import read_training
from structsvm.plotting import plot_segmentation
from structsvm.plotting.words import certificate_in_words, feature_weights
from structsvm.problems.change_point import ChangePoint

INTRODUCTION = """\
The recordings are sequences of handwritten digits (from scikit-learn, 8 x 8 pixels): the digit
changes from time to time, and the handwriting with every image. The task is to find the changes of
the digit in the handwriting of other people."""

NEXT = """\
model       {model}
recordings  {folder}/train, {folder}/test

next
  structsvm show {model}
  structsvm evaluate {model} {folder}/test --n-clusters true
  structsvm predict {model} {folder}/test
  structsvm fit change-point {folder}/train -o {folder}/full.structsvm

on your own recordings (tables with a column of labels, in one folder)
  structsvm try change-point FOLDER -o tried"""


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Learn, compare, draw, and say what to try next."""
    folder: Path = args.output
    model, figure = folder / "digits.structsvm", folder / "digits.png"
    check_outputs(args, [model, figure, *_earlier(folder / "train"), *_earlier(folder / "test")])
    folder.mkdir(parents=True, exist_ok=True)
    train = digits_recordings(args.recordings, split="train", random_state=0)
    test = digits_recordings(args.recordings, split="test", random_state=1)
    for part, recordings in (("train", train), ("test", test)):
        (folder / part).mkdir(exist_ok=True)
        for earlier in _earlier(folder / part):
            earlier.unlink()
        for recording in recordings:
            write_recording(recording, folder / part / f"{recording.name}.npz")
    terminal.note(f"{INTRODUCTION}\n")

    learner = MetricLearner(ChangePoint(), metric="diagonal")
    inputs = InputData.of(train, ChangePoint())
    training = read_training(learner, inputs.Xs, inputs.ys, feature_names=inputs.features)
    learn(learner, training, terminal, inputs, output=model)
    result = evaluate(learner, *arrays_and_labels(test), names=[r.name for r in test])
    drawn = _draw(learner, test[0], figure, terminal)
    plain = result.to_dict() | {"model": str(model), "figure": str(figure) if drawn else None}
    terminal.note(f"learned a weight for each pixel: {certificate_in_words(learner.solution_)}")
    terminal.report(plain, *readable(result))
    lines = [f"figure      {figure}"] if drawn else []
    terminal.note("\n".join([*lines, NEXT.format(folder=folder, model=model)]))
    return 0


def _earlier(folder: Path) -> list[Path]:
    """The recordings of an earlier run."""
    return sorted(folder.glob("digits_*.npz")) if folder.is_dir() else []


def _draw(learner: MetricLearner, recording: Recording, path: Path, terminal: Terminal) -> bool:
    """Segmentations of a recording, and the weights where the pixels are."""
    try:
        figure = new_figure()
    except MissingExtraError as error:
        terminal.warn(str(error))
        return False
    left, right = figure.subplots(1, 2, width_ratios=(3, 1))
    plot_segmentation(learner, recording.X, recording.y, ax=left)
    left.set_title("A held-out recording", loc="left")
    pixels = np.zeros((SIDE, SIDE))  # those that never bear ink are no features
    for name, weight in zip(learner.feature_names_in_, feature_weights(learner), strict=True):
        _, row, column = name.split("_")
        pixels[int(row), int(column)] = weight
    image = right.imshow(pixels, cmap="cividis")
    right.set_title("Weight of each pixel")
    right.set_axis_off()
    figure.colorbar(image, ax=right, location="bottom", pad=0.03, label="1 = untrained")
    save_figure(figure, path)
    return True
