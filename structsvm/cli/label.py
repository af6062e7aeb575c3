"""``structsvm label``: a page in the browser to label, learn and correct."""

from __future__ import annotations

import warnings
import webbrowser
from argparse import Namespace
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.cli.fit import Wanted, learn_from
from structsvm.cli.input_data import InputData
from structsvm.cli.inputs import read
from structsvm.cli.outputs import segments
from structsvm.cli.request import FILE_OPTIONS, Request, learner_of
from structsvm.cli.terminal import Terminal
from structsvm.errors import DataError
from structsvm.evaluation.splits import split_samples
from structsvm.io.cleaning import cleaned
from structsvm.io.files import read_files
from structsvm.io.folders import MODEL, find_recordings
from structsvm.io.recording import FileOptions, Recording
from structsvm.labelling.kept import KeptLabels
from structsvm.labelling.learning import Tell
from structsvm.learner.learner import Learner
from structsvm.learner.parameters import named_problem
from structsvm.learner.preparing import read_training
from structsvm.partitions.comparison import disagreement
from structsvm.partitions.constraint import UNCONSTRAINED
from structsvm.support.archive import TakenError, alone_on
from structsvm.support.lazy import require
from structsvm.support.progress import share, stage

LABELS = "labels"  # the folder that everything is written into
METHODS = {True: "states-quick", False: "metric"}
"""What is learned where segments have names, and where they have none."""
FOLDS = 3


def run_label(args: Namespace, terminal: Terminal) -> int:
    """Open the page of a folder, and answer it until Ctrl-C."""
    for library in ("starlette", "uvicorn"):
        require(library, "label", "structsvm label")
    (path,) = args.paths
    folder = Path(path)
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder: name the one that holds the recordings")
    request = replace(Request.of(args), problem="change-point", labels=folder / LABELS)
    show_page(folder, request, terminal)
    return 0


def show_page(folder: Path, request: Request, terminal: Terminal) -> None:
    from structsvm.labelling.server import Server

    recordings = _recordings_in(folder, request)
    kept = folder / LABELS
    kept.mkdir(exist_ok=True)
    try:
        with alone_on(kept / "labels.csv"):
            server = Server(
                folder.resolve().name, recordings, KeptLabels(kept, recordings), Learnt(request)
            )
            about = f"labels are kept in {kept}; Ctrl-C ends it"
            terminal.report({"address": server.address, "labels": str(kept)}, server.address)
            terminal.note(about)
            if terminal.out.is_terminal:
                webbrowser.open(server.address)
            server.run()
    except TakenError:
        raise DataError(
            f"{folder} is open in another structsvm label: go on there, or end it first"
        ) from None


def _recordings_in(folder: Path, request: Request) -> list[Recording]:
    """The recordings as they are, whatever labels they have."""
    labels = folder / LABELS
    files, _ = find_recordings([folder], labels=labels if labels.is_dir() else None)
    typed: Any = {name: value for name, value in request.files.items() if name in FILE_OPTIONS}
    options = FileOptions(**{**typed, "window": 1, "need_labels": False, "blanks": True})
    return cleaned(read_files(files, options)[0], options, ask=False)


@dataclass(frozen=True)
class Learnt:
    """Learns as ``fit`` does, from the same files with the same settings."""

    request: Request

    def __call__(self, are_named: bool, tell_page: Tell) -> None:
        """Learn, save, segment every recording, and say how good it is on what is held out."""
        request = self.request
        terminal = Terminal(quiet=True)
        learner = learner_of(request, METHODS[are_named])
        labels: Any = request.labels
        wanted = Wanted(labels / MODEL, None, "none", None, False)
        with warnings.catch_warnings(record=True) as said, share("learning", 0.0, 0.5):
            problem = named_problem(learner.problem)
            inputs = read(request, terminal, problem, blanks=True).labelled_in_part()
            learn_from(learner, inputs, wanted)
            found = _found(learner, inputs)
        told = list(dict.fromkeys(str(one.message) for one in said))
        tell_page({"learned": {"found": found, "states": are_named, "said": told}})
        with warnings.catch_warnings(), share("held-out recordings", 0.5, 1.0):
            warnings.simplefilter("ignore")
            loss, why = _held_out_loss(learner, inputs)
        tell_page({"judged": {"loss": loss, "why": why}})


def _found(learner: Learner, inputs: InputData) -> dict[str, list[Any]]:
    """Start, end, name and margin of the segments of each recording, in its own samples."""
    samples = learner.inputs_(inputs.measured(learner))
    tables = learner.predict_segments(samples, margins=True)
    found = {}
    for item, table in zip(inputs.items, tables, strict=True):
        rows: Any = segments(item, table, inputs.label).plain["segments"]
        found[item.name] = [
            (row["start"], row["end"], str(row.get("state", "")), row["margin"]) for row in rows
        ]
    return found


def _held_out_loss(learner: Learner, inputs: InputData) -> tuple[float | None, str]:
    """The mean loss on recordings that were held out in turn; or why there is none."""
    about: Any = {"feature_names": inputs.features, "groups": inputs.groups()}
    data = read_training(learner, inputs.Xs, inputs.ys, **about)
    problem = data.problem
    losses = []
    try:
        split = split_samples(None, data, FOLDS, 0)
        for k in stage("folds", range(len(split))):
            own = split.learned_without(k, learner)
            test = split.test_set(k)
            for sample, known in zip(own.inputs_(test.samples), test.labels, strict=True):
                guess = own.model_.partition(problem, sample, None, UNCONSTRAINED).partition
                losses.append(disagreement(problem, known.scored, known.of_scored(guess)))
    except DataError as error:
        return None, str(error.message)
    return float(np.mean(losses)), ""
