"""``structsvm decode``: named segments of all files, from their scores and the labels of some."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from structsvm.cli.fit import FitPlan, learn_from
from structsvm.cli.guard import Guard, places
from structsvm.cli.input_data import InputData
from structsvm.cli.inputs import Reading, folders_of
from structsvm.cli.outputs import Prediction, write_file, write_folder
from structsvm.cli.predict import answers_of
from structsvm.cli.request import Request, learner_of, typed_problem
from structsvm.cli.terminal import Terminal
from structsvm.support import Interrupts

DECODER_FILE = "decoder.structsvm"
BOUTS_FILE = "bouts.csv"


def run_decode(args: Namespace, terminal: Terminal) -> int:
    """Learn a decoder from the files that have labels, and decode them all."""
    guard = Guard.of(args)
    request = replace(Request.of(args), problem="change-point", some=True)
    request = replace(
        request, files={"window": 1, **request.files}
    )  # scores are of samples, not windows
    problem = typed_problem(request)
    guard.check_files([args.output / DECODER_FILE])
    layers = Reading(request, terminal, problem, blanks=True).layers()
    folders = folders_of(args.output, list(layers))
    segments: dict[str, list[dict[str, Any]]] = {}
    for name, inputs in layers.items():
        out = folders[name]
        outputs = [out / DECODER_FILE, out / BOUTS_FILE, *places(problem, out, inputs.names)]
        guard.check_files(outputs)
        answers = _decoded(inputs, out, bool(args.margins))
        segments[name] = [{"name": answer.name, **answer.plain} for answer in answers]
        several = inputs.words.wholes(len(answers))
        terminal.note(f"segments of {several} are in {out}, one a row in {out / BOUTS_FILE}")
    recordings = next(iter(segments.values()))
    terminal.report({"layers": segments} if len(segments) > 1 else {"recordings": recordings})
    return 0


def _decoded(inputs: InputData, out: Path, margins: bool) -> list[Prediction]:
    """Learn a decoder from recordings with labels, decode all, and write decoder and segments."""
    learner = learner_of(inputs.request, "decoder")
    plan = FitPlan(out / DECODER_FILE, False, "quick", None, rates=False)
    out.mkdir(parents=True, exist_ok=True)
    quiet = replace(inputs, terminal=replace(inputs.terminal, as_json=False))
    labelled = [one for one in inputs.items if one.y is not None]
    learn_from(learner, replace(quiet, items=labelled).labelled_in_part(), plan)
    with inputs.named():
        answers = answers_of(learner, inputs, inputs.measured(learner), margins=margins)
    with Interrupts():
        write_folder(out, inputs, answers)
        write_file(out / BOUTS_FILE, answers)
    return answers
