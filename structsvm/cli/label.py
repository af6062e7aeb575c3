"""``structsvm label``: a page in the browser to label, learn and correct."""

import warnings
import webbrowser
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from structsvm.cli.fit import FitPlan, learn_from
from structsvm.cli.input_data import InputData
from structsvm.cli.inputs import Reading
from structsvm.cli.predict import answers_of
from structsvm.cli.request import Request, learner_of, typed_problem
from structsvm.cli.terminal import Terminal
from structsvm.errors import DataError
from structsvm.evaluation import split_instances
from structsvm.io import Recording
from structsvm.io.folders import MODEL_NAME
from structsvm.labelling.kept import KeptLabels
from structsvm.learner import Learner
from structsvm.learner.preparing import read_training
from structsvm.support import alone_on, require, share

LABELS_FOLDER = "labels"  # the folder for all outputs, in that of the recordings
METHOD_BY_NAMES = {True: "states-quick", False: "metric"}
"""The method that is learned, by whether segments have names."""
FOLDS = 3


def run_label(args: Namespace, terminal: Terminal) -> int:
    """Open the page of a folder of recordings, and serve it until Ctrl-C."""
    for library in ("starlette", "uvicorn"):
        require(library, "label", "structsvm label")
    from structsvm.labelling.server import Server

    folder = Path(args.paths[0])
    labels = folder / LABELS_FOLDER
    request = replace(Request.of(args), problem="change-point", labels=labels)
    recordings = recordings_of(request, terminal)
    labels.mkdir(exist_ok=True)
    taken = DataError(f"{folder} is open in another structsvm label: go on there, or end it first")
    with alone_on(labels / "labels.csv", taken):
        server = Server(KeptLabels(labels, recordings), partial(learn, request))
        terminal.report({"address": server.address, "labels": str(labels)}, server.address)
        terminal.out.file.flush()  # whoever reads the address waits for it
        terminal.note(f"labels are kept in {labels}; Ctrl-C ends the page")
        if terminal.out.is_terminal:
            webbrowser.open(server.address)
        server.run()
    return 0


def recordings_of(request: Request, terminal: Terminal) -> Sequence[Recording]:
    """The recordings with the labels of their own files, if any, and without windows."""
    unlabelled = replace(request, labels=None, files={**request.files, "window": 1})
    problem = typed_problem(request)
    learner = learner_of(request)  # with a learner, files are read as for a prediction
    return Reading(unlabelled, terminal, problem, learner, need_labels=False).whole().items


def learn(request: Request, are_named: bool, tell_page: Callable[[dict[str, Any]], None]) -> None:
    """Learn as ``fit`` does, save, segment every recording, and judge on held-out recordings."""
    learner = learner_of(request, METHOD_BY_NAMES[are_named])
    plan = FitPlan(Path(request.paths[0]) / LABELS_FOLDER / MODEL_NAME, None, "none", None, False)
    with warnings.catch_warnings(record=True) as caught:
        with share("learning", 0.0, 0.5):
            problem = typed_problem(request)
            reading = Reading(request, Terminal(quiet=True), problem, blanks=True)
            inputs = reading.whole().labelled_in_part()
            learn_from(learner, inputs, plan)
            answers = answers_of(learner, inputs, inputs.measured(learner), margins=True)
        segments_by_name = {answer.name: answer.plain["segments"] for answer in answers}
        messages = list(dict.fromkeys(str(one.message) for one in caught))
        labelled = 1 - inputs.n_unlabelled / sum(len(one.X) for one in inputs.items)
        tell_page({"learned": {"found": segments_by_name, "said": messages, "labelled": labelled}})
        with share("held-out recordings", 0.5, 1.0):
            tell_page({"judged": _held_out_loss(learner, inputs)})


def _held_out_loss(learner: Learner, inputs: InputData) -> dict[str, Any]:
    """The mean loss on recordings that are held out in turn, or the reason why there is none."""
    about: Any = {"feature_names": inputs.features, "groups": inputs.groups()}
    data = read_training(learner, inputs.Xs, inputs.ys, **about)
    try:
        return {"loss": split_instances(None, data, FOLDS, 0).loss_of(learner), "why": ""}
    except DataError as error:
        return {"loss": None, "why": str(error.message)}
