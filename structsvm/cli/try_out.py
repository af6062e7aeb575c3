"""``structsvm try``: a model, its report and its predictions in one command, within a minute.

A part of the data is held out. The first answer is given by the quick method that is best for
labels of this kind. Then candidates are compared on the rest by cross-validation, until the time is
over, and the best one gives the answer; if it is late, the first answer is kept. The verdict comes
from the part that was held out; if that is too little, from cross-validation on the rest, if that
is enough.
"""

import math
import time
from argparse import Namespace
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from structsvm.cli.allowed_time import A_FEW, Time
from structsvm.cli.answer import Answer, Told
from structsvm.cli.guard import Guard, places
from structsvm.cli.input_data import InputData
from structsvm.cli.inputs import Reading, folders_of
from structsvm.cli.parts import (
    Part,
    about_parts,
    n_items,
    split_in_parts,
    split_of,
    warn_of_copies,
)
from structsvm.cli.predict import tell_names
from structsvm.cli.request import Request, typed_problem
from structsvm.cli.terminal import Terminal
from structsvm.cli.thinning import (
    FEWER_ROWS,
    FIRST_SAMPLES,
    SAMPLES_A_SECOND,
    about_time,
    images_in_time,
    thinned,
)
from structsvm.cli.try_plan import ALL, TryPlan
from structsvm.errors import (
    DataError,
    DataWarning,
    SettingsError,
    VerdictWarning,
    parameter,
    without_warnings,
)
from structsvm.io.folders import MODEL_NAME, PREDICTED, READ, TRIED_NAME
from structsvm.learner import Learner, Menu, MetricLearner, TrainingSet
from structsvm.learner.files import load_learner
from structsvm.learner.methods import menu_of
from structsvm.learner.training_set import CLUSTERS, ROWS
from structsvm.learner.truths import check_truths
from structsvm.model_selection import MetricLearnerCV
from structsvm.model_selection.search import WHOLE_TABLES
from structsvm.partitions import PartitionProblem
from structsvm.partitions.plugins import problem_name
from structsvm.plotting.words import training_in_words
from structsvm.support import (
    Interrupts,
    OutOfTimeError,
    fingerprint,
    share,
    until,
    write_atomically,
)

LONG_SAMPLES, LONG_ROWS, LONG_VALUES = 40, 1_000, 500_000
"""Instances to learn from, rows of a table, or values, from which on there is time for three folds
alone: five take twice as long."""
FEW_VALUES = 100_000
"""The first answer is compared with baselines if there are at most so many values."""
JUDGING, MORE = 5.0, 2.0
"""Seconds that judging is expected to take, if no answer was judged before; and the factor for the
last answer, which has more methods."""
LEARNED_BY = 0.8
"""About this part of the time of the first answer is for learning, and the rest for judging."""
AT_LEAST, FEWEST_SAMPLES = 3.0, 1_000
"""Seconds that a first answer takes, however few its samples, and the fewest that it has."""
LIMIT, WORTH_LESS = 0.7, 4
"""The first answer has this part of the time that is left. If it takes longer, it is learned from
the fewest samples, unless it has less than so many times these, as fewer take hardly less time."""


def run_try(args: Namespace, terminal: Terminal) -> int:
    """Answer for each layer of labels; or learn the model of an earlier run from all data."""
    if not args.minutes >= 0:
        raise SettingsError(f"--minutes must be a number >= 0, got {args.minutes}")
    allowed = Time(args.began, args.began + 60.0 * args.minutes)
    request = Request.of(args)
    how = args.split, args.jobs, args.resume, args.refit
    plan = TryPlan(args.output, Guard.of(args), allowed, *how)
    plan.check()
    problem = typed_problem(request)
    try:
        layers = _read(request, terminal, problem, plan)
    except OutOfTimeError:
        _tell_earlier(terminal, plan)
        return 0
    if len(layers) == 1:
        _try_layer(next(iter(layers.values())), plan)
        return 0
    return _try_each(layers, plan, terminal)


def _tell_earlier(terminal: Terminal, plan: TryPlan) -> None:
    """Tell the answer of an earlier run again, as it was told then."""
    output = plan.output
    told = Told.earlier(output)
    terminal.note(f"there was no time to judge it again: this was the answer in {output}")
    if told is None:  # of an earlier version, or damaged
        terminal.report({"model": str(output / MODEL_NAME)})
        return
    told.tell(terminal, can_refit=not plan.refit)


def _read(
    request: Request, terminal: Terminal, problem: PartitionProblem, plan: TryPlan
) -> dict[str, InputData]:
    """Read the files that there is time for, or those that an earlier run has read."""
    state_file = plan.output / READ
    reading = Reading(request, terminal, problem, blanks=True)
    if plan.resume or plan.is_chosen:
        only = state_file.read_text().splitlines() if plan.resume and state_file.is_file() else ()
        with until(plan.end_again):
            return replace(reading, only=only).layers()
    state_file.unlink(missing_ok=True)
    layers = replace(reading, end=plan.allowed.of_reading).layers()
    if read := next(iter(layers.values())).read:
        state_file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(state_file, "\n".join(read).encode())
    return layers


def _try_each(layers: Mapping[str, InputData], plan: TryPlan, terminal: Terminal) -> int:
    """Try each of several layers of labels, in a folder of its own and a part of the time."""
    results: dict[str, Any] = {}
    folders = folders_of(plan.output, list(layers))
    own = {name: replace(plan, output=folder) for name, folder in folders.items()}
    for one in own.values():
        one.check()
    for number, (name, inputs) in enumerate(layers.items()):
        its_plan = replace(own[name], allowed=plan.allowed.part(len(layers) - number))
        terminal.note(f"\n{name}: looked for in {inputs.words.wholes(len(inputs))}")
        part = replace(terminal, parts=[])
        files = {**inputs.request.files, "window": inputs.window}
        request = replace(inputs.request, files=files)
        try:
            layer = replace(inputs, request=request, terminal=part)
            _try_layer(layer, its_plan)
            results[name] = {}
            for reported in part.parts or ():
                results[name] |= reported
        except DataError as error:
            terminal.warn(f"{name}: " + error.message)
    terminal.note(f"\n{len(results)} of {len(layers)} layers were learned:")
    terminal.report({"layers": results}, *(_in_a_line(*one) for one in results.items()))
    return 0 if results else 1


def _in_a_line(name: str, plain: Mapping[str, Any]) -> str:
    """The result of a layer in a line."""
    if "verdict" not in plain:
        return f"{name}: {plain['model']}"
    answer = plain["verdict"]["sentence"].partition(". ")[0]
    methods = [one for one in dict.fromkeys((plain["predicted_with"], "untrained")) if one in plain]
    losses = " and ".join(f"{plain[one]['loss']:.3f} ({one})" for one in methods)
    return f"{name}: loss {losses}. {answer}. {plain['report']}"


def _try_layer(inputs: InputData, plan: TryPlan) -> None:
    """Answer for one layer of labels."""
    terminal = inputs.terminal
    model = plan.output / MODEL_NAME
    is_chosen = plan.is_chosen
    try:
        with until(plan.end_again):
            whole = _checked(inputs, plan.allowed)
    except OutOfTimeError:
        _tell_earlier(terminal, plan)
        return
    split = split_of(whole.inputs, plan.split)
    if not is_chosen:
        _try_out(whole, split, plan)
    if plan.refit:
        _learn_from_all(whole, split, load_learner(model), plan.output)
        if is_chosen:
            terminal.report({"model": str(plan.output / ALL)})


def _checked(inputs: InputData, allowed: Time) -> Part:
    """The training set of the files; labels without a change are refused."""
    problem = inputs.problem
    if problem.traits.words.of_graphs:
        least = min(allowed.whole, A_FEW)
        inputs = images_in_time(inputs, max(allowed.left, least))
    inputs = inputs.labelled_in_part()
    with inputs.named(), inputs.terminal.working("checking"):
        about = (inputs.Xs, inputs.ys, inputs.features)
        data = TrainingSet.of(problem, *about, groups=inputs.groups())
        data = replace(data, called=inputs.names)
        with without_warnings(DataWarning):
            try:
                check_truths(problem.traits, data.parts.truths)
            except DataError as error:
                if not inputs.n_unlabelled or not problem.traits.contiguous:
                    raise
                raise DataError(
                    f"no change is between labelled samples, and {inputs.n_unlabelled} samples are "
                    "unlabelled: label some of these, or name their state if they have one, "
                    + parameter("outside", "rest")
                ) from error
    return Part(inputs, data)


def _try_out(whole: Part, split: str | None, plan: TryPlan) -> None:
    """Give a first answer, choose a better one while there is time, and tell about the last one."""
    parts = split_in_parts(whole, split)
    terminal = whole.inputs.terminal
    output = plan.output
    plan.check_files(places(whole.inputs.problem, output / PREDICTED, parts[1].inputs.names))
    terminal.note(about_parts(whole, *parts, split))
    if split in (ROWS, CLUSTERS):
        warn_of_copies(*parts)
    if not plan.resume:
        (output / TRIED_NAME).unlink(missing_ok=True)
    is_answered = plan.is_answered
    search = Search(parts, split, plan)
    answer: Answer | None = None
    try:
        if not is_answered:
            answer = search.first_answer()
            is_answered = True
            terminal.note(answer.in_short(time.monotonic() - plan.allowed.start))
        answer = search.chosen_answer(is_first=answer is not None) or answer
    except KeyboardInterrupt as interrupt:
        if not is_answered:
            raise
        raise KeyboardInterrupt(
            f"{output} holds the answer so far; the same command with --resume goes on"
        ) from interrupt
    except OutOfTimeError:
        terminal.note(f"there was no time to choose: {output} holds the answer so far")
    if answer is None:
        _tell_earlier(terminal, plan)
        return
    tell_names(answer.held_out.learner, terminal)
    answer.told(output).tell(terminal, can_refit=not plan.refit)


class Search:
    """The search for an answer on one part of the data, judged by the other part."""

    def __init__(self, parts: tuple[Part, Part], split: str | None, plan: TryPlan) -> None:
        self.parts = parts
        self.train, self.test = parts
        self.terminal = self.train.inputs.terminal
        self.output = plan.output
        self.allowed = plan.allowed
        problem = self.train.data.problem
        self.search = MetricLearnerCV(problem, split=split, n_jobs=plan.jobs, random_state=0)
        self.judging = JUDGING
        """The seconds that judging took."""
        self.most = FIRST_SAMPLES
        """The most samples that the first answer is learned from."""
        self.first: dict[str, Learner] = {}
        """The learner of the first answer, by its name, if it was compared with no other."""
        self.of_first = (0, 0)
        """The numbers of columns and samples that it was learned from."""
        self.whole = fingerprint([x.data for x in thinned(parts, FIRST_SAMPLES)[0].data.instances])

    def thin(self, most: int) -> None:
        """Keep about ``most`` samples to learn from, and fewer to judge by."""
        before = n_items(self.train)
        train, self.test = thinned(self.parts, most)
        self.train = replace(train, data=replace(train.data, part_of=self.whole))
        if (train.is_thinned or self.test.is_thinned) and n_items(train) != before:
            self.terminal.note(about_time(self.parts, (train, self.test)))

    def first_answer(self) -> Answer:
        """The first answer, from as many samples as a busy machine has time for, but not few."""
        allowed = self.allowed
        if allowed.whole > 0:
            in_time = round(SAMPLES_A_SECOND * (allowed.left / allowed.slowness() - AT_LEAST))
            self.most = min(FIRST_SAMPLES, max(FEWEST_SAMPLES, in_time))
        while True:
            self.thin(self.most)
            limit = math.inf
            if min(self.most, n_items(self.train)) > WORTH_LESS * FEWEST_SAMPLES:
                limit = allowed.over - (1 - LIMIT) * (allowed.over - time.monotonic())
            try:
                with self.terminal.working("first answer", allowed.over, at_most=True):
                    answer = self._answer(0.0, LEARNED_BY, limit, limit)
                answer.write(self.train, self.output)
                return answer
            except OutOfTimeError:
                self.most = FEWEST_SAMPLES

    def chosen_answer(self, is_first: bool) -> Answer | None:
        """The answer of the best candidate, if there is time; or a better one of an earlier run."""
        allowed = self.allowed
        to_judge = MORE * self.judging
        left = allowed.left - to_judge
        if left <= 0:
            return None
        most = max(self.most, round(SAMPLES_A_SECOND * left * self.most / FIRST_SAMPLES))
        n_judged = n_items(self.test)
        self.thin(most // FEWER_ROWS if self.train.data.asks else most)
        # Judging by more samples than at first takes longer, and an answer that is late is lost.
        longer = to_judge * (n_items(self.test) / n_judged - 1)
        more_time = max(0.0, min(longer, (left - to_judge) / 2))
        to_judge += more_time
        left -= more_time
        with self.terminal.working("trying", allowed.likely, slice(0, 3, 2)):
            learned_by = left / (left + to_judge)
            answer = self._answer(left, learned_by, allowed.over - to_judge, allowed.over)
            if not is_first:
                with until(allowed.over):
                    earlier = self._judged(load_learner(self.output / MODEL_NAME), self.search)
                if not answer.replaces(earlier):
                    return earlier
        answer.write(self.train, self.output)
        return answer

    def _answer(self, seconds: float, learned_by: float, late: float, over: float) -> Answer:
        """Choose in about so many seconds until ``late``, and judge until ``over``, or raise."""
        search: MetricLearnerCV | None = self.search
        with share("learning", 0.0, learned_by), until(late):
            if seconds or not self._first_is_alone:
                self._choose(seconds)
                learner = self.search.best_estimator_
            else:
                search = None
                learner = self._first()
        start = time.monotonic()
        with share("comparing on what was held out", learned_by, 1.0), until(over):
            answer = self._judged(learner, search)
        self.judging = time.monotonic() - start
        return answer

    def _judged(self, learner: Learner, search: MetricLearnerCV | None) -> Answer:
        """The answer of a learner, judged by the held-out part."""
        return Answer.of(self.train, self.test, self.output, learner, search)

    def _choose(self, seconds: float) -> None:
        """Compare candidates for so many seconds; for 0 seconds, only the first one."""
        data = self.train.data
        rows = n_items(self.train)
        size = rows * data.n_features
        is_long = len(data) >= LONG_SAMPLES or size >= LONG_VALUES
        self.search.cv = 3 if is_long or (data.asks and rows >= LONG_ROWS) else None
        self.search.max_seconds = seconds
        quick = "quick" if size <= FEW_VALUES else None
        options: dict[str, Any] = {"baselines": "all" if seconds else quick}
        # The verdict on the held-out part is told, and not the one of the search.
        with without_warnings(VerdictWarning), self.train.inputs.named():
            models = self.first if self.of_first >= (data.n_features, rows) else {}
            self.search.fit(data, resume=self.output / TRIED_NAME, models=models, **options)

    @property
    def _first_is_alone(self) -> bool:
        """Whether there is no time to compare the first answer in folds.

        That is so for images, of which each scale takes seconds, and for tables of many rows, where
        a classifier learns from all rows in the meantime.
        """
        data = self.train.data
        is_large = n_items(self.train) > FIRST_SAMPLES // FEWER_ROWS
        return not data.problem.traits.convex or (self.search.split == ROWS and is_large)

    def _first(self) -> Learner:
        """The learner of the first answer, the first of the menu, learned from all of the part."""
        data = replace(self.train.data, question=self.search.split or WHOLE_TABLES)
        like = MetricLearner(data.problem, random_state=0)
        menu: Menu = menu_of(data, like)
        first = menu.first
        learner: Learner = copy(first.learner)
        with self.train.inputs.named():
            learner.fit(data)
        self.first = {first.name: learner}
        self.of_first = (data.n_features, n_items(self.train))
        return learner


def _learn_from_all(whole: Part, split: str | None, learner: Learner, output: Path) -> None:
    """Learn the method of a learner from all data, also those held out, and save it."""
    whole = whole.with_columns_of(learner).in_pieces
    inputs = whole.inputs
    path = output / ALL
    if (own := problem_name(learner.problem_)) != inputs.request.problem:
        raise SettingsError(
            f"the model in {output} is of {own}, which --refit cannot learn from these files: "
            "leave it out, or name another --output"
        )
    data = replace(whole.data, question=split or WHOLE_TABLES)
    names = [*learner.baselines_]
    with inputs.named(), inputs.terminal.working("learning from all"):
        learner.fit(data, baselines=names[1:])
    with Interrupts():
        inputs.save(learner, path)
    inputs.terminal.note(
        f"learned from {training_in_words(learner)}; saved in {path}; "
        "nothing was held out, so that what it gains over the chosen model is not known"
    )
