"""``structsvm demo``: learn from real data, and see what it is worth on other people's."""

from __future__ import annotations

import argparse
from pathlib import Path

from structsvm.cli.evaluate import readable
from structsvm.cli.predict import check_outputs
from structsvm.cli.show import new_figure, save_figure
from structsvm.cli.terminal import Terminal
from structsvm.datasets.digits import digits_recordings
from structsvm.errors import MissingExtraError
from structsvm.evaluation.evaluate import evaluate
from structsvm.io.files import write_recording
from structsvm.io.recording import arrays_and_labels
from structsvm.learner.files import save
from structsvm.learner.learner import MetricLearner
from structsvm.plotting import plot_segmentation
from structsvm.problems.change_point import ChangePoint

INTRODUCTION = """\
The recordings are sequences of handwritten digits (from scikit-learn, 8 x 8 pixels): the digit
changes from time to time, and the handwriting with every image. The task is to find the changes of
the digit in the handwriting of other people.
"""

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


def run_demo(args: argparse.Namespace, terminal: Terminal) -> int:
    """Learn, compare, draw, and say what to try next."""
    folder: Path = args.output
    model, figure = folder / "digits.structsvm", folder / "digits.png"
    earlier = [*folder.glob("train/digits_*.npz"), *folder.glob("test/digits_*.npz")]
    check_outputs(args, [model, figure, *earlier])
    for path in earlier:
        path.unlink()
    train = digits_recordings(args.recordings, split="train", random_state=0)
    test = digits_recordings(args.recordings, split="test", random_state=1)
    for part, recordings in (("train", train), ("test", test)):
        (folder / part).mkdir(parents=True, exist_ok=True)
        for recording in recordings:
            write_recording(recording, folder / part / f"{recording.name}.npz")
    terminal.note(INTRODUCTION)
    with terminal.working("learning"):
        learner = MetricLearner(ChangePoint(), metric="diagonal")
        learner.fit(train, baselines="quick")
    save(learner, model)
    result = evaluate(learner, *arrays_and_labels(test), names=[r.name for r in test])
    plain = result.to_dict() | {"model": str(model), "figure": str(figure)}
    notes = [f"figure      {figure}", NEXT.format(folder=folder, model=model)]
    try:
        drawn = new_figure()
        plot_segmentation(learner, test[0].X, test[0].y, ax=drawn.subplots())
        save_figure(drawn, figure)
    except MissingExtraError as error:
        terminal.warn(str(error))
        plain["figure"] = None
        notes = notes[1:]
    terminal.note(f"learned a weight for each pixel. {learner.solution_.summary()}")
    terminal.report(plain, *readable(result))
    terminal.note("\n".join(notes))
    return 0
