"""``structsvm predict``: partition recordings, tables or images with a model."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from structsvm.cli.inputs import Given, measured, names_before_reading, read_for
from structsvm.cli.outputs import (
    Answer,
    Writer,
    check_folder_name,
    check_output,
    check_outputs,
    writer_for,
)
from structsvm.cli.partial import labels_of as labels_of_regions
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
from structsvm.learner.states import segment_tables
from structsvm.learner.steps import Rules, decode_with, labels_of
from structsvm.partitions.candidates import CONSENSUS
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.interrupts import Interrupts
from structsvm.support.plain import counted


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Partition the samples, and write or print their partitions."""
    learner, output = load_metric_learner(args.model), args.output
    writer = writer_for(learner.problem_, args.maps)
    one_file = output is not None and output.suffix.lower() in writer.suffixes
    into_folder = output is not None and not one_file
    if one_file:
        check_output(args, output)
    if into_folder:
        check_folder_name(output, writer.suffixes)
    names = names_before_reading(args, learner) if into_folder else None
    if names is not None:
        check_outputs(args, writer.places(output, names))
    given = read_for(learner, args, terminal, need_labels=False)
    if into_folder and names is None:
        check_outputs(args, writer.places(output, given.names))
    if one_file and writer.one_each and len(given) > 1:
        raise SettingsError(
            f"{output} is one file for {given.words.wholes(len(given))}: name a folder"
        )
    samples = measured(learner, given, terminal)
    if args.baseline is None:
        with given.named():
            warn_of_dead_features(learner, samples)
    with given.named(), terminal.working("partitioning"):
        rules = _rules(args, given, learner.problem_)
        answers = answers_of(
            learner, writer, given, samples, args.baseline, args.n_clusters, rules, args.margins
        )
    others = estimators_in(learner.baselines_)
    if args.n_clusters is None and args.baseline not in others:
        _tell_counts(answers, given, learner, terminal)
    if output is not None:
        with Interrupts():  # all the files or none
            if one_file:
                writer.write_file(output, answers)
            else:
                writer.write_folder(output, given.items, answers)
        terminal.note(writer.written(output, given.words, len(answers), one_file))
    plain = [answer.to_dict() for answer in answers]
    lines = [str(answer) for answer in answers]
    terminal.report({f"{given.words.whole}s": plain}, *(lines if output is None else ()))
    return 0


def _tell_counts(
    answers: Sequence[Answer], given: Given, learner: MetricLearner, terminal: Terminal
) -> None:
    """Say how many clusters were found where nobody said how many there are."""
    if learner.problem_.traits.contiguous:
        return
    counts = [answer.M.n_clusters for answer in answers]
    fewest, most = min(counts), max(counts)
    found = counted(most, given.words.part) if fewest == most else f"{fewest} to {most} clusters"
    where = f"each {given.words.whole}" if len(counts) > 1 else answers[0].name
    reason = "as in the training data"
    if learner.metric_.price is not None:
        reason = "by the learned price"
    terminal.note(f"{found} in {where}, {reason}; --n-clusters N finds N")


def answers_of(
    learner: MetricLearner,
    writer: Writer,
    given: Given,
    measured: list[Sample],
    baseline: str | None = None,
    n_clusters: Counts = None,
    rules: Rules | None = None,
    margins: bool = False,
    prepared: list[Sample] | None = None,
) -> list[Answer]:
    rules = {} if rules is None else rules
    if baseline is not None and (margins or (rules and baseline in other_methods(learner))):
        raise SettingsError(
            f"--baseline {baseline}: margins are those of the learned metric, and only metrics "
            "keep rules: leave out --baseline, or --margins and the rules"
        )
    samples = learner.inputs_(measured) if prepared is None else prepared
    changes: list[Any] = [None] * len(samples)
    if margins:  # which are those of the changes that are found
        tables = learner.predict_segments(samples, n_clusters, **rules)
        changes = [table[1:] for table in tables]
        partitions = [_between(*pair) for pair in zip(changes, samples, strict=True)]
    else:
        partitions = _partitions(learner, measured, samples, baseline, n_clusters, rules)
    labels = labels_of(learner.problem_, partitions, samples)
    states = _states(learner, measured, samples, partitions, baseline, n_clusters)
    rows = zip(given.names, partitions, labels, states, given.times, changes, strict=True)
    return [writer.answer(*row) for row in rows]


def _between(changes: Sequence[Mapping[str, Any]], sample: Sample) -> EquivalenceMatrix:
    """The segments between changes."""
    starts = [change["start"] for change in changes]
    return EquivalenceMatrix.from_breakpoints([*starts, sample.n_samples])


def _rules(args: argparse.Namespace, given: Given, problem: PartitionProblem) -> Rules:
    """Which partitions were allowed on the command line."""
    rules: Rules = {}
    if args.min_length is not None:
        rules["min_length"] = args.min_length
    if args.max_length is not None:
        rules["max_length"] = args.max_length
    links = args.must_link or args.cannot_link
    if links and (problem.traits.contiguous or len(given) != 1):
        raise SettingsError(
            "--must-link and --cannot-link name rows of one table, got "
            f"{given.words.wholes(len(given))}: give one table at a time"
        )
    if args.must_link:
        rules["must_link"] = args.must_link
    if args.cannot_link:
        rules["cannot_link"] = args.cannot_link
    if args.regions is not None:
        if not problem.traits.contiguous:
            raise SettingsError(f"--regions is for recordings, not {problem.traits.words.whole}s")
        recordings = [item for item in given.items if isinstance(item, Recording)]
        unlabelled = [replace(recording, y=None, chunks=None) for recording in recordings]
        rules["known"] = labels_of_regions(Given.of(unlabelled, problem), args.regions)
    return rules


def _states(
    learner: MetricLearner,
    given: list[Sample],
    samples: list[Sample],
    partitions: list[EquivalenceMatrix],
    baseline: str | None,
    n_clusters: Counts,
) -> list[list[dict[str, Any]]]:
    """State and probability of each segment, by the metric's scores or by the baseline itself."""
    others = estimators_in(learner.baselines_)
    if baseline not in others:
        naming, states = samples, learner.classes_
        if baseline == CONSENSUS:
            naming, states = samples_with_states(learner, given, samples)
        return segment_tables(partitions, naming, states)
    if not hasattr(others[baseline], "predict_segments"):
        return [[] for _ in samples]
    return list(ask(others[baseline], "predict_segments", given, n_clusters))


def _partitions(
    learner: MetricLearner,
    given: list[Sample],
    samples: list[Sample],
    baseline: str | None,
    n_clusters: Counts,
    rules: Rules,
) -> list[EquivalenceMatrix]:
    """Partitions in the learned metric, or by a tuned baseline."""
    if baseline in other_methods(learner):
        return partitions_with(learner, baseline, given, samples, n_clusters)
    metric = learner.metric_ if baseline is None else metrics_in(learner.baselines_).get(baseline)
    if metric is None:
        known = ", ".join(sorted({*learner.baselines_, *other_methods(learner)}))
        raise SettingsError(
            f"--baseline {baseline}: the model has {known}; fit --baselines all tunes all there are"
        )
    return decode_with(learner, metric, samples, n_clusters, **rules)
