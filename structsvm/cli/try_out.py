"""``structsvm try``: a model, its report and its predictions in one command, within a minute.

A part of the data is held out. The first answer is that of the quick method which is best for such
labels. Then candidates are compared on the others by cross-validation, until the time is over, and
the answer is that of the best; if the choice is late, the answer so far stays. The verdict comes
from the part that was held out; where that is too little, from the cross-validation on the others,
if they are enough.
"""

from __future__ import annotations

import math
import re
import shlex
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from structsvm.cli.evaluate import (
    ENOUGH,
    Part,
    about_parts,
    called,
    divided,
    readable,
    split_of,
    warn_of_copies,
)
from structsvm.cli.inputs import InputData, Request, read_layers, typed_problem
from structsvm.cli.outputs import Guard, places, write_folder
from structsvm.cli.predict import answers_of, tell_names
from structsvm.cli.terminal import Terminal
from structsvm.cli.usage import METHODS
from structsvm.errors import (
    DataError,
    DataWarning,
    LearningError,
    SettingsError,
    StructSVMError,
    VerdictWarning,
    printable,
    without_warnings,
)
from structsvm.evaluation.contrast import LEARNED
from structsvm.evaluation.evaluate import classifiers_in
from structsvm.evaluation.sentences import NOTES, baseline_in_words
from structsvm.evaluation.verdict import Verdict
from structsvm.io.files import MODEL, PREDICTED, TRIED
from structsvm.learner.files import load_learner
from structsvm.learner.learner import Learner
from structsvm.learner.menu import Menu
from structsvm.learner.methods import fit_methods, menu_of
from structsvm.learner.metric_learner import MetricLearner
from structsvm.learner.training_set import CLUSTERS, ROWS, TrainingSet
from structsvm.messages import parameter
from structsvm.model_selection import MetricLearnerCV
from structsvm.model_selection.search import WHOLE
from structsvm.partitions.plugins import problem_name
from structsvm.plotting.report import HeldOut, page_of
from structsvm.plotting.words import training_in_words
from structsvm.support.archive import write_atomically
from structsvm.support.interrupts import Interrupts
from structsvm.support.progress import OutOfTimeError, share, until

LONG_SAMPLES, LONG_ROWS, LONG_VALUES = 40, 1_000, 500_000
"""Samples to learn from, or rows of a table, or values, from which on three folds are what there is
time for: five take twice as long."""
ALL = "all.structsvm"  # the model that is learned from all that was read
CHEAP, FEW_VALUES = 1.0, 100_000
"""What baselines of the first answer cost at most, and values up to which there are any."""
JUDGING, MORE = 5.0, 2.0
"""Seconds that judging takes, if no answer was judged before; and how much more in the end, when
there are more methods."""
LEARNED_BY = 0.6
"""The part of the time of the first answer, about, after which it is learned."""
SPARE = 0.15
"""The part of the time by which the choice may be late before the answer so far is kept."""


@dataclass(frozen=True)
class Wanted:
    """Where what is found is written, and how it is looked for."""

    output: Path
    guard: Guard
    split: str | None
    jobs: int | None
    resume: bool
    refit: bool

    @property
    def is_chosen(self) -> bool:
        """Whether an earlier run has chosen what is to be learned from all."""
        return self.refit and not self.resume and (self.output / MODEL).is_file()

    def check(self) -> None:
        """Refuse to write over what is there, apart from predictions."""
        names = [] if self.is_chosen else [MODEL, "report.html", TRIED]
        names += [ALL] if self.refit else []
        self.check_files([self.output / name for name in names])

    def check_files(self, paths: Sequence[Path]) -> None:
        self.guard.check_files(paths, replaceable=self.resume)


def run_try(args: Namespace, terminal: Terminal) -> int:
    """Split, choose, compare, write, and say what to do; or learn from all what was chosen."""
    if not args.minutes >= 0:
        raise SettingsError(f"--minutes must be a number >= 0, got {args.minutes}")
    end = time.monotonic() + 60.0 * args.minutes
    request = Request.of(args)
    how = args.split, args.jobs, args.resume, args.refit
    wanted = Wanted(args.output, Guard.of(args), *how)
    wanted.check()
    layers = read_layers(request, terminal, typed_problem(request), blanks=True)
    if len(layers) == 1:
        _try_layer(next(iter(layers.values())), wanted, end)
        return 0
    return _try_each(layers, wanted, terminal, end)


def _try_each(
    layers: Mapping[str, InputData], wanted: Wanted, terminal: Terminal, end: float
) -> int:
    """Try each of several layers of labels, in a folder of its own and in its part of the time."""
    results: dict[str, Any] = {}
    own: dict[str, Wanted] = {}
    for name in layers:
        folder = wanted.output / (re.sub(r"[^\w-]", "_", name) or "_")
        while folder in [one.output for one in own.values()]:
            folder = folder.with_name(f"{folder.name}_")
        own[name] = replace(wanted, output=folder)
        own[name].check()
    for number, (name, inputs) in enumerate(layers.items()):
        now = time.monotonic()
        its_end = now + (end - now) / (len(layers) - number)
        terminal.note(f"\n{name}: looked for in {inputs.words.wholes(len(inputs))}")
        part = replace(terminal, parts=[])
        files = {**inputs.request.files, "window": inputs.window}
        request = replace(inputs.request, files=files)
        try:
            layer = replace(inputs, request=request, terminal=part)
            _try_layer(layer, own[name], its_end)
            results[name] = {k: v for one in part.parts or () for k, v in one.items()}
        except DataError as error:
            terminal.warn(f"{name}: " + error.message)
    terminal.note(f"\n{len(results)} of {len(layers)} layers were learned:")
    terminal.report({"layers": results}, *(_in_a_line(*one) for one in results.items()))
    return 0 if results else 1


def _in_a_line(name: str, plain: Mapping[str, Any]) -> str:
    if "verdict" not in plain:
        return f"{name}: {plain['model']}"
    answer = plain["verdict"]["sentence"].partition(". ")[0]
    methods = [one for one in dict.fromkeys((plain["predicted_with"], "untrained")) if one in plain]
    losses = " and ".join(f"{plain[one]['loss']:.3f} ({one})" for one in methods)
    return f"{name}: loss {losses}. {answer}. {plain['report']}"


def _try_layer(inputs: InputData, wanted: Wanted, end: float) -> None:
    """Try what was read, with the labels of one layer."""
    terminal = inputs.terminal
    problem = inputs.problem
    model = wanted.output / MODEL
    is_chosen = wanted.is_chosen
    inputs = inputs.labelled_in_part()
    with inputs.named(), terminal.working("checking"):
        about = (inputs.Xs, inputs.ys, inputs.features)
        data = TrainingSet.of(problem, *about, groups=inputs.groups())
        data = replace(data, called=inputs.names)
        with without_warnings(DataWarning):  # labels without a change are refused before the split
            try:
                problem.learning.check(data.parts.truths)
            except DataError as error:
                if not inputs.n_unlabelled or not problem.traits.contiguous:
                    raise
                raise DataError(
                    f"no change is between labelled samples, and {inputs.n_unlabelled} samples are "
                    "unlabelled: label some of these, or name their state if they have one, "
                    + parameter("outside", "rest")
                ) from error
    whole = Part(inputs, data)
    split = split_of(inputs, wanted.split)
    if not is_chosen:
        _try_out(whole, split, wanted, end)
    if wanted.refit:
        _learn_from_all(whole, split, load_learner(model), wanted.output)
        if is_chosen:
            terminal.report({"model": str(wanted.output / ALL)})


def _try_out(whole: Part, split: str | None, wanted: Wanted, end: float) -> None:
    """Answer at once, then choose on a part and judge by the rest while there is time."""
    started = time.monotonic()
    (train, test) = divided(whole, split)
    terminal = whole.inputs.terminal
    output = wanted.output
    resume = wanted.resume
    wanted.check_files(places(whole.inputs.problem, output / PREDICTED, test.inputs.names))
    terminal.note(about_parts(whole, train, test, split))
    if split in (ROWS, CLUSTERS):
        warn_of_copies(train, test)
    if not resume:
        (output / TRIED).unlink(missing_ok=True)
    is_answered = resume and (output / MODEL).is_file()
    judging = MORE * JUDGING
    spare = SPARE * max(end - started, 0.0)
    answer: Answer | None = None
    try:
        if not is_answered:
            with terminal.working("first answer", end):
                with share("learning", 0.0, LEARNED_BY):
                    learner = _learned_quickly(train, split)
                    learned = time.monotonic()
                with share("comparing on what was held out", LEARNED_BY, 1.0):
                    answer = Answer.of(train, test, output, learner)
                    is_answered = True
                judging = MORE * (time.monotonic() - learned)
            terminal.note(answer.in_short(time.monotonic() - started))
        left = end - time.monotonic() - judging
        if left > 0 or resume:
            chosen = max(left, 0.0) / (max(left, 0.0) + judging)
            with terminal.working("trying", end, slice(0, 3, 2)):
                with share("choosing", 0.0, chosen), until(end - judging + spare):
                    search = _chosen(train, split, wanted, left)
                with share("comparing on what was held out", chosen, 1.0):
                    answer = Answer.of(train, test, output, search.best_estimator_, search)
    except KeyboardInterrupt as interrupt:
        if not is_answered:
            raise
        raise KeyboardInterrupt(
            f"{output} holds the answer so far; the same command with --resume goes on"
        ) from interrupt
    except OutOfTimeError:
        terminal.note(f"there was no time to choose: {output} holds the answer so far")
    if answer is None:
        answer = Answer.of(train, test, output, load_learner(output / MODEL), is_written=True)
    answer.tell(terminal, output)
    if not wanted.refit:
        terminal.note("add --refit to learn what was chosen from all, the part held out as well\n")
    terminal.note(answer.advice)


def _chosen(train: Part, split: str | None, wanted: Wanted, seconds: float) -> MetricLearnerCV:
    data = train.data
    rows = sum(sample.n_samples for sample in data.samples)
    is_long = len(data) >= LONG_SAMPLES or rows * data.n_features >= LONG_VALUES
    search = MetricLearnerCV(
        data.problem,
        split=split,
        cv=3 if is_long or (data.asks and rows >= LONG_ROWS) else None,
        n_jobs=wanted.jobs,
        max_seconds=max(seconds, 0.0),
        random_state=0,
    )
    # The verdict is that on what is held out, not the one of choosing.
    with without_warnings(VerdictWarning), train.inputs.named():
        search.fit(data, baselines="all", resume=wanted.output / TRIED)
    return search


def _learned_quickly(train: Part, split: str | None) -> Learner:
    """What answers first, or the next simpler method that can learn from the labels."""
    data = replace(train.data, question=split or WHOLE)
    menu: Menu = menu_of(data, MetricLearner(data.problem, random_state=0))
    closed = reversed(data.problem.traits.baselines)  # the better one first
    methods = [menu.first, *(menu.of_metric(name, name) for name in closed)]
    cheap = [one for one in menu.baselines if one.is_metric or one.cost <= CHEAP]
    size = sum(sample.n_samples for sample in data.samples) * data.n_features
    failures: list[StructSVMError] = []
    with without_warnings(DataWarning, ConvergenceWarning), train.inputs.named():
        for method in methods:
            learner: Learner = copy(method.learner)
            try:
                learner.fit(data)
            except (DataError, LearningError) as error:
                failures.append(error)
                continue
            if size <= FEW_VALUES:
                learner._compare_with(fit_methods(cheap, data.counted(), named=False))
            return learner
    raise failures[0]


@dataclass(frozen=True, eq=False)
class Answer:
    """What was found, and what to do with it."""

    held_out: HeldOut
    search: MetricLearnerCV | None
    """None for the first answer."""
    verdict: Verdict
    advice: str
    """What to do, and the command that does it."""

    @classmethod
    def of(
        cls,
        train: Part,
        test: Part,
        output: Path,
        learner: Learner,
        search: MetricLearnerCV | None = None,
        is_written: bool = False,
    ) -> Answer:
        """Judge by what was held out, and write what was found: all the files or none."""
        inputs = test.inputs
        samples = inputs.scored(test.data.samples)
        model = output / MODEL
        with_counts = learner.problem_.traits.given_k and not learner.problem_.traits.contiguous
        predict = f"structsvm predict {model} NEW"
        if with_counts:  # for as many clusters as there were, or else their price decides
            numbers = set(learner.training_data_.n_clusters)
            predict += f" --n-clusters {numbers.pop() if len(numbers) == 1 else 'N'}"
        about: dict[str, Any] = {"times": inputs.times, "groups": test.data.groups}
        about["tolerance"] = 5 * inputs.window
        about["unseen_states"] = "count"  # the split is ours: a rare state may be held out only
        with inputs.named():
            learner.training_data_.warn_if_among([x.data for x in samples], inputs.words)
            held_out = HeldOut.of(
                learner, inputs.Xs, inputs.ys, names=inputs.names, measured=samples, **about
            )
            asked = inputs.request
            paths = " ".join(map(shlex.quote, asked.paths))
            way = f"structsvm fit {asked.problem} {paths} --method"
            judged = held_out.evaluation.verdict
            verdict = _verdict(search, judged, way, test.question)
            verdict = replace(verdict, ranking=verdict.ranking.among(METHODS))
            page = page_of(held_out, f"{called(inputs.request.paths)}: what was learned", verdict)
            guesses = held_out.evaluation.guesses[LEARNED]
            answers = answers_of(
                learner,
                inputs,
                samples,
                n_clusters=[M.n_clusters for M in guesses] if with_counts else None,
                prepared=list(held_out.evaluation.prepared),
            )
        if not is_written:
            with Interrupts():
                train.inputs.save(learner, model)
                write_atomically(output / "report.html", printable(page).encode())
                write_folder(output / PREDICTED, inputs, answers)
        advice = f"{verdict.answer} {verdict.advice}"
        if verdict.code == "blind":
            advice += f"\n  structsvm diagnose {model} LABELLED"
        elif verdict.use:
            advice += f" {NOTES['learn']}\n  {way} {verdict.use}"
        else:
            advice += f" {NOTES['predict']}\n  {predict}"
        return cls(held_out, search, verdict, advice)

    def in_short(self, seconds: float) -> str:
        scores = self.held_out.evaluation.scores
        learner = self.held_out.learner
        losses = ", ".join(
            f"{learner.called if name == LEARNED else baseline_in_words(name)} {loss:.3f}"
            for name in (LEARNED, "untrained", *classifiers_in(learner.baselines_))
            if (loss := scores[name]["loss"]) is not None
        )
        return f"first answer after {seconds:.0f} s; losses: {losses}"

    def tell(self, terminal: Terminal, output: Path) -> None:
        """Print scores and verdict, where the files are, and what was not tried."""
        evaluation = self.held_out.evaluation
        search = self.search
        chosen = self.held_out.learner.called
        untried = dict[str, float]()
        if search is not None:
            chosen = search.best_candidate_
            untried = search.untried_
            chosen += "" if search.best_lam_ is None else f", lam {search.best_lam_:g}"
            terminal.note(f"chosen by cross-validation: {chosen}")
        tell_names(self.held_out.learner, terminal)
        is_crossed = self.verdict.evidence.cross_validated
        written = {
            "model": str(output / MODEL),
            "report": str(output / "report.html"),
            "predictions": str(output / PREDICTED),
        }
        plain = {
            **evaluation.to_dict(),
            "chosen": chosen,
            "best": None if search is None else search.best_candidate_,
            "untried": untried,
            "verdict": self.verdict.to_dict(),
            "verdict_from": "cross-validation" if is_crossed else "held out",
            "findings": self.held_out.diagnosis.to_dict()["findings"],
            "predicted_with": LEARNED,
            **written,
        }
        *scores, _ = readable(evaluation)
        terminal.report(plain, *scores, str(self.verdict))
        terminal.note("\n" + "".join(f"{what:<13}{path}\n" for what, path in written.items()))
        if kinds := ", ".join(self.held_out.diagnosis.kinds):
            terminal.note(f"possible faults, of which the report says what to do: {kinds}\n")
        if search is None:
            terminal.note("nothing was compared with it: give more --minutes, or --resume\n")
        elif untried:
            names = ", ".join(untried)
            minutes = math.ceil(sum(untried.values()) / 60)
            terminal.note(
                f"there was no time for {names}: --resume --minutes {minutes} tries them, too\n"
            )


def _verdict(search: MetricLearnerCV | None, held_out: Verdict, way: str, question: str) -> Verdict:
    """The verdict by what was held out, or by cross-validation if that alone supports one."""
    held_out = held_out.remarking(question=question or held_out.remarks.question, way=way)
    if search is None:
        return held_out
    held_out = held_out.advised_by(search.verdict_.ranking)
    held_out = replace(held_out, best=search.verdict_.best)
    whole = search.split not in (ROWS, CLUSTERS)
    if held_out.is_supported or question or not search.verdict_.is_supported:
        notes = [] if held_out.is_supported or not whole else ["wanted"]
        return held_out.with_notes(notes, enough=ENOUGH)
    verdict = search.verdict_.remarking(way=way)
    gain = held_out.untrained
    notes = ["cross-validated" if whole else "of parts"]
    if (verdict.pays and gain.mean < 0) or (verdict.harms and gain.mean > 0):
        notes.append("other way")
    return verdict.with_notes(notes, contrast=gain.told)


def _learn_from_all(whole: Part, split: str | None, learner: Learner, output: Path) -> None:
    """Learn the same from all that was read, the part that was held out as well."""
    whole = whole.in_pieces
    inputs = whole.inputs
    path = output / ALL
    if (own := problem_name(learner.problem_)) != inputs.request.problem:
        raise SettingsError(
            f"the model in {output} is of {own}, which --refit cannot learn from these files: "
            "leave it out, or name another --output"
        )
    data = replace(whole.data, question=split or WHOLE)
    known = [*learner.baselines_]
    with inputs.named(), inputs.terminal.working("learning from all"):
        learner.fit(data, baselines=known[1:])
    with Interrupts():
        inputs.save(learner, path)
    inputs.terminal.note(
        f"learned from {training_in_words(learner)}; saved in {path}; "
        "nothing was held out, so that what it gains over the chosen model is not known"
    )
