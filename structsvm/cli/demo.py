"""``structsvm demo``: learn from real data, and evaluate on those of other people."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from structsvm.cli.evaluate import run_evaluate
from structsvm.cli.fit import run_fit
from structsvm.cli.guard import Guard
from structsvm.cli.label import run_label
from structsvm.cli.plot import run_plot
from structsvm.cli.terminal import Terminal
from structsvm.cli.usage import build_parser
from structsvm.datasets import digits_recordings, relevant_changes
from structsvm.errors import MissingExtraError
from structsvm.io import write_recording

INTRODUCTION = """\
The recordings are sequences of handwritten digits (from scikit-learn, 8 x 8 pixels): the digit
changes from time to time, and the handwriting with every image. The task is to find the changes of
the digit in the handwriting of other people.
"""

TO_LABEL = """\
In these recordings, relevant_0 and relevant_1 change their level together from time to time: mark
the stretches between these changes in two or three recordings, press Learn, look at the others,
and correct. The other columns change at times of their own, which learning finds out.
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


def run_demo(args: Namespace, terminal: Terminal) -> int:
    """Write recordings, run other commands on them, and say what to try next."""
    folder: Path = args.output
    if args.label:
        return _label(folder / "to_label", args.recordings, terminal)
    parts = replace(terminal, parts=[])
    parser = build_parser()
    model = folder / "digits.structsvm"
    figure = folder / "digits.png"
    earlier = [*folder.glob("train/digits_*.npz"), *folder.glob("test/digits_*.npz")]
    Guard.of(args).check_files([model, figure, *earlier])
    for path in (model, figure, *earlier):
        path.unlink(missing_ok=True)
    for part, seed in (("train", 0), ("test", 1)):
        (folder / part).mkdir(parents=True, exist_ok=True)
        for recording in digits_recordings(args.recordings, split=part, random_state=seed):
            path = folder / part / f"{recording.name}.npz"
            write_recording(recording, path)
    terminal.note(INTRODUCTION)
    try:
        for run, *words in (
            (run_fit, "fit", "change-point", folder / "train", "-o", model, "--metric", "diagonal"),
            (run_evaluate, "evaluate", model, folder / "test"),
            (run_plot, "plot", model, path, "-o", figure),
        ):
            run(parser.parse_args(list(map(str, words))), parts)
    except MissingExtraError as error:  # the figure needs matplotlib
        terminal.warn(error.message)
    plain: dict[str, Any] = {}
    for part in parts.parts or ():
        plain |= part
    terminal.report(plain | {"model": str(model)})
    terminal.note(NEXT.format(folder=folder, model=model))
    return 0


def _label(folder: Path, n_recordings: int, terminal: Terminal) -> int:
    """Open the page of ``structsvm label`` on recordings without labels, made at the first call."""
    folder.mkdir(parents=True, exist_ok=True)
    shape: Any = {"n_samples": 400, "n_features": 5, "n_relevant": 2, "jump": 4.0}
    for recording in relevant_changes(n_recordings, **shape, random_state=0):
        path = folder / f"{recording.name}.npz"
        if not path.exists():
            write_recording(replace(recording, y=None), path)
    terminal.note(TO_LABEL)
    return run_label(build_parser().parse_args(["label", str(folder)]), terminal)
