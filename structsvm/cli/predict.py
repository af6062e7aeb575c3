"""``structsvm predict``: partition recordings, tables or images with a model."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from structsvm.cli.inputs import InputData, labels_with, measured, read_for, takes_images
from structsvm.cli.outputs import (
    Answer,
    check_folder_name,
    check_output,
    check_outputs,
    clusters,
    file_kinds,
    parts,
    places,
    segments,
    write_file,
    write_folder,
)
from structsvm.cli.terminal import Terminal
from structsvm.data.sample import Sample
from structsvm.data.samples import Counts
from structsvm.errors import SettingsError
from structsvm.io.recording import Recording
from structsvm.learner.baselines import (
    ask,
    estimators_in,
    metrics_in,
    other_methods,
    partitions_with,
    samples_with_states,
)
from structsvm.learner.columns import warn_of_dead_features
from structsvm.learner.files import load_metric_learner
from structsvm.learner.learner import MetricLearner
from structsvm.learner.states import segment_table, segment_tables
from structsvm.learner.steps import Rules, decode_with, labels_of
from structsvm.partitions.comparison import CONSENSUS
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.interrupts import Interrupts
from structsvm.support.plain import counted

Table = Sequence[Mapping[str, Any]]


def run_predict(args: argparse.Namespace, terminal: Terminal) -> int:
    """Partition the samples, and write or print their partitions."""
    learner, output = load_metric_learner(args.model), args.output
    kinds = file_kinds(learner.problem_)
    one_file = output is not None and output.suffix.lower() in kinds
    if one_file:
        check_output(args, output)
    elif output is not None:
        check_folder_name(output, kinds)
    inputs = read_for(learner, args, terminal, need_labels=False)
    words, images = inputs.words, takes_images(learner.problem_)
    if output is not None and not one_file:
        check_outputs(args, places(learner.problem_, output, inputs.names))
    if one_file and images and len(inputs) > 1:
        raise SettingsError(f"{output} is one file for {words.wholes(len(inputs))}: name a folder")
    samples = measured(learner, inputs, terminal)
    with inputs.named():
        if args.baseline is None:
            warn_of_dead_features(learner, samples)
        with terminal.working("partitioning"):
            answers = answers_of(
                learner,
                inputs,
                samples,
                baseline=args.baseline,
                n_clusters=args.n_clusters,
                rules=_rules(args, inputs),
                margins=args.margins,
            )
    if args.n_clusters is None and args.baseline not in estimators_in(learner.baselines_):
        _tell_counts(answers, inputs, learner, terminal)
    if output is not None:
        with Interrupts():  # all the files or none
            if one_file:
                write_file(output, answers)
            else:
                write_folder(output, inputs, answers)
        n = len(answers)
        about = f"{words.part}s of {words.wholes(n)} are"
        if images:
            about = "1 label map is" if n == 1 else f"{n} label maps are"
        elif n > 1 and not one_file:
            about = f"one file for each of {words.wholes(n)} is"
        terminal.note(f"{about} in {output}")
    plain = [answer.to_dict() for answer in answers]
    lines = map(str, answers) if output is None else ()
    terminal.report({f"{words.whole}s": plain}, *lines)
    return 0


def _tell_counts(
    answers: Sequence[Answer], inputs: InputData, learner: MetricLearner, terminal: Terminal
) -> None:
    """Say how many clusters were found where nobody said how many there are."""
    if learner.problem_.traits.contiguous:
        return
    counts = [answer.n_clusters for answer in answers]
    fewest, most = min(counts), max(counts)
    found = counted(most, inputs.words.part) if fewest == most else f"{fewest} to {most} clusters"
    where = f"each {inputs.words.whole}" if len(counts) > 1 else answers[0].name
    priced = learner.metric_.price is not None
    reason = "by the learned price" if priced else "as in the training data"
    terminal.note(f"{found} in {where}, {reason}; --n-clusters N finds N")


def answers_of(
    learner: MetricLearner,
    inputs: InputData,
    measured: list[Sample],
    *,
    baseline: str | None = None,
    n_clusters: Counts = None,
    rules: Rules | None = None,
    margins: bool = False,
    prepared: list[Sample] | None = None,
) -> list[Answer]:
    """The partitions of samples in the learned metric, or by a tuned baseline."""
    rules = {} if rules is None else rules
    if baseline is not None and (margins or (rules and baseline in other_methods(learner))):
        raise SettingsError(
            f"--baseline {baseline}: margins are those of the learned metric, and only metrics "
            "keep rules: leave out --baseline, or --margins and the rules"
        )
    samples = learner.inputs_(measured) if prepared is None else prepared
    tables: Sequence[Table]
    if margins:  # which are those of the changes that are found
        tables = learner.predict_segments(samples, n_clusters, **rules)
        ends = [[row["end"] for row in table] for table in tables]
        partitions = [EquivalenceMatrix.from_breakpoints(each) for each in ends]
    else:
        partitions = _partitions(learner, measured, samples, baseline, n_clusters, rules)
    problem, names = learner.problem_, inputs.names
    if takes_images(problem):
        labels = labels_of(problem, partitions, samples)
        return [parts(name, each) for name, each in zip(names, labels, strict=True)]
    if not problem.traits.contiguous:
        return [clusters(name, M) for name, M in zip(names, partitions, strict=True)]
    if not margins:
        tables = _states(learner, measured, samples, partitions, baseline, n_clusters)
    rows = zip(names, partitions, tables, samples, inputs.times, strict=True)
    return [
        segments(name, M, table or segment_table(M, sample, None), time)
        for name, M, table, sample, time in rows
    ]


def _rules(args: argparse.Namespace, inputs: InputData) -> Rules:
    """Which partitions were allowed on the command line."""
    contiguous, words = inputs.problem.traits.contiguous, inputs.words
    if (args.must_link or args.cannot_link) and (contiguous or len(inputs) != 1):
        raise SettingsError(
            "--must-link and --cannot-link name rows of one table, got "
            f"{words.wholes(len(inputs))}: give one table at a time"
        )
    typed = {
        name: getattr(args, name)
        for name in ("min_length", "max_length", "must_link", "cannot_link")
    }
    rules: Any = {name: value for name, value in typed.items() if value}
    if args.regions is not None:
        if not contiguous:
            raise SettingsError(f"--regions is for recordings, not {words.whole}s")
        recordings = [item for item in inputs.items if isinstance(item, Recording)]
        unlabelled = [replace(recording, y=None, chunks=None) for recording in recordings]
        rules["known"] = labels_with(InputData.of(unlabelled, inputs.problem), args.regions)
    return rules  # type: ignore[no-any-return]


def _states(
    learner: MetricLearner,
    measured: list[Sample],
    samples: list[Sample],
    partitions: list[EquivalenceMatrix],
    baseline: str | None,
    n_clusters: Counts,
) -> Sequence[Table]:
    """State and probability of each segment, by the metric's scores or by the baseline itself."""
    others = estimators_in(learner.baselines_)
    if baseline in others:
        if not hasattr(others[baseline], "predict_segments"):
            return [[] for _ in samples]
        return list(ask(others[baseline], "predict_segments", measured, n_clusters))
    naming, states = samples, learner.classes_
    if baseline == CONSENSUS:
        naming, states = samples_with_states(learner, measured, samples)
    return segment_tables(partitions, naming, states)


def _partitions(
    learner: MetricLearner,
    measured: list[Sample],
    samples: list[Sample],
    baseline: str | None,
    n_clusters: Counts,
    rules: Rules,
) -> list[EquivalenceMatrix]:
    """Partitions in the learned metric, or by a tuned baseline."""
    if baseline in other_methods(learner):
        return partitions_with(learner, baseline, measured, samples, n_clusters)
    metric = learner.metric_ if baseline is None else metrics_in(learner.baselines_).get(baseline)
    if metric is None:
        known = ", ".join(sorted({*learner.baselines_, *other_methods(learner)}))
        raise SettingsError(
            f"--baseline {baseline}: the model has {known}; fit --baselines all tunes all there are"
        )
    return decode_with(learner, metric, samples, n_clusters, **rules)
