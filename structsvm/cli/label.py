"""``structsvm label``: a page in the browser to label, learn and correct."""

from __future__ import annotations

import warnings
import webbrowser
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.cli.fit import Wanted, learn_from
from structsvm.cli.input_data import InputData
from structsvm.cli.inputs import read
from structsvm.cli.predict import answers_of
from structsvm.cli.request import FILE_OPTIONS, Request, learner_of
from structsvm.cli.terminal import Terminal
from structsvm.errors import DataError
from structsvm.evaluation.splits import split_instances
from structsvm.io.cleaning import cleaned
from structsvm.io.files import read_files
from structsvm.io.folders import MODEL, find_recordings
from structsvm.io.recording import FileOptions, Recording
from structsvm.labelling.kept import KeptLabels
from structsvm.learner.learner import Learner
from structsvm.learner.parameters import named_problem
from structsvm.learner.preparing import read_training
from structsvm.partitions.comparison import disagreement
from structsvm.partitions.constraint import UNCONSTRAINED
from structsvm.support.lazy import require
from structsvm.support.progress import share, stage
from structsvm.support.whole_files import TakenError, alone_on

LABELS = "labels"  # the folder that everything is written into
METHODS = {True: "states-quick", False: "metric"}
"""What is learned where segments have names, and where they have none."""
FOLDS = 3


def run_label(args: Namespace, terminal: Terminal) -> int:
    """Open the page of a folder, and answer it until Ctrl-C."""
    for library in ("starlette", "uvicorn"):
        require(library, "label", "structsvm label")
    from structsvm.labelling.server import Server

    folder = Path(args.paths[0])
    kept = folder / LABELS
    recordings = _recordings_in(folder, Request.of(args))
    kept.mkdir(exist_ok=True)
    learnt = Learnt(replace(Request.of(args), problem="change-point", labels=kept))
    try:
        with alone_on(kept / "labels.csv"):
            server = Server(folder.resolve().name, recordings, KeptLabels(kept, recordings), learnt)
            terminal.report({"address": server.address, "labels": str(kept)}, server.address)
            terminal.out.file.flush()  # whoever reads the address waits for it
            terminal.note(f"labels are kept in {kept}; Ctrl-C ends the page")
            if terminal.out.is_terminal:
                webbrowser.open(server.address)
            server.run()
    except TakenError:
        said = f"{folder} is open in another structsvm label: go on there, or end it first"
        raise DataError(said) from None
    return 0


def _recordings_in(folder: Path, request: Request) -> list[Recording]:
    """The recordings as they are, whatever labels they have."""
    labels = folder / LABELS if (folder / LABELS).is_dir() else None
    typed: Any = {name: value for name, value in request.files.items() if name in FILE_OPTIONS}
    options = FileOptions(**{**typed, "window": 1, "need_labels": False, "blanks": True})
    read, _ = read_files(find_recordings([folder], labels=labels)[0], options)
    return cleaned(read, options, ask=False)


@dataclass(frozen=True)
class Learnt:
    """Learns as ``fit`` does, from the same files with the same settings."""

    request: Request

    def __call__(self, are_named: bool, tell_page: Callable[[dict[str, Any]], None]) -> None:
        """Learn, save, segment every recording, and say how good it is on what is held out."""
        learner = learner_of(self.request, METHODS[are_named])
        labels: Any = self.request.labels
        wanted = Wanted(labels / MODEL, None, "none", None, False)
        with warnings.catch_warnings(record=True) as said, share("learning", 0.0, 0.5):
            problem = named_problem(learner.problem)
            inputs = read(self.request, Terminal(quiet=True), problem, blanks=True)
            inputs = inputs.labelled_in_part()
            learn_from(learner, inputs, wanted)
            answers = answers_of(learner, inputs, inputs.measured(learner), margins=True)
        found = {answer.name: answer.plain["segments"] for answer in answers}
        told = list(dict.fromkeys(str(one.message) for one in said))
        share_of = 1 - inputs.n_unlabelled / sum(len(one.X) for one in inputs.items)
        tell_page({"learned": {"found": found, "said": told, "labelled": share_of}})
        with warnings.catch_warnings(), share("held-out recordings", 0.5, 1.0):
            warnings.simplefilter("ignore")
            loss, why = _held_out_loss(learner, inputs)
        tell_page({"judged": {"loss": loss, "why": why}})


def _held_out_loss(learner: Learner, inputs: InputData) -> tuple[float | None, str]:
    """The mean loss on recordings that were held out in turn; or why there is none."""
    about: Any = {"feature_names": inputs.features, "groups": inputs.groups()}
    data = read_training(learner, inputs.Xs, inputs.ys, **about)
    problem = data.problem
    losses = []
    try:
        split = split_instances(None, data, FOLDS, 0)
        for k in stage("folds", range(len(split))):
            own = split.learned_without(k, learner)
            test = split.test_set(k)
            for instance, known in zip(own.inputs_(test.instances), test.labels, strict=True):
                guess = own.model_.partition(problem, instance, None, UNCONSTRAINED).partition
                losses.append(disagreement(problem, known.scored, known.of_scored(guess)))
    except DataError as error:
        return None, str(error.message)
    return float(np.mean(losses)), ""
