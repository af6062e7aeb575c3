"""``structsvm predict``: partitions of new files, printed or written."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.cli.follow import follow
from structsvm.cli.guard import Guard, places
from structsvm.cli.input_data import InputData
from structsvm.cli.inputs import read_for
from structsvm.cli.outputs import Prediction, clusters, parts, segments, write_file, write_folder
from structsvm.cli.request import Request, assigned
from structsvm.cli.terminal import Terminal
from structsvm.data import Counts, Instance
from structsvm.errors import SettingsError
from structsvm.learner import Learner
from structsvm.learner.feature_weights import metric_of
from structsvm.learner.files import load_learner
from structsvm.learner.lost_columns import dead_columns, warn_of_dead_features, without
from structsvm.learner.rules import Rules
from structsvm.learner.segments import names_of_items, segment_table
from structsvm.learner.steps import labels_of, partition_each
from structsvm.partial_labels import PartialLabels
from structsvm.support import Interrupts, counted, listed, refuse_below, some_of

Pairs = Sequence[tuple[int, int]]


def answers_of(
    learner: Learner,
    inputs: InputData,
    measured: list[Instance],
    *,
    n_clusters: Counts = None,
    rules: Rules | None = None,
    margins: bool = False,
    level: float | None = None,
    prepared: list[Instance] | None = None,
) -> list[Prediction]:
    """The partitions of instances by a learner of any method."""
    rules = rules or {}
    instances = learner.inputs_(measured) if prepared is None else prepared
    problem = learner.problem_
    label = inputs.label
    if margins or level is not None:
        about: Any = {"margins": True, "level": level, **rules}
        tables = learner.predict_segments(instances, n_clusters, **about)
        return [segments(*pair, label) for pair in zip(inputs.items, tables, strict=True)]
    predictions, _ = partition_each(learner, instances, n_clusters, rules)
    partitions = [one.partition for one in predictions]
    if problem.traits.words.of_graphs:
        maps = labels_of(problem, partitions, instances)
        return [parts(name, each) for name, each in zip(inputs.names, maps, strict=True)]
    if problem.traits.contiguous:
        pairs = zip(predictions, instances, strict=True)
        tables = [segment_table(one, x, learner.classes_) for one, x in pairs]
        return [segments(*pair, label) for pair in zip(inputs.items, tables, strict=True)]
    classes: Sequence[Any] = [None] * len(instances)
    who, namer = _namer(learner)
    if namer is not None:
        seen = instances if who == "" else namer.inputs_(measured)
        named = predictions if who == "" else partition_each(namer, seen, None, {})[0]
        names = np.asarray(namer.classes_)
        classes = [names_of_items(*pair, names) for pair in zip(named, seen, strict=True)]
    triples = zip(inputs.items, partitions, classes, strict=True)
    return [clusters(*triple, label) for triple in triples]


def _namer(learner: Learner) -> tuple[str, Learner | None]:
    """The learner that names clusters of rows: this one, called "", or a baseline, or None."""
    problem = learner.problem_
    if problem.traits.contiguous or problem.traits.words.of_graphs:
        return "", None
    if learner.sees is None and learner.classes_ is not None:
        return "", learner
    baselines = learner.baselines_.items()
    naming = [
        (name, one) for name, one in baselines if one.sees is None and one.classes_ is not None
    ]
    return next(iter(naming), ("", None))


def tell_names(learner: Learner, terminal: Terminal) -> None:
    """Say which baseline has named clusters, if one has."""
    who, _ = _namer(learner)
    if who:
        terminal.note(f"each cluster has the name of the class that {who} gives most of its rows")


def _is_one_file(output: Path, guard: Guard, of_images: bool) -> bool:
    """Whether predictions are written into one file, which is checked, or into a folder."""
    kinds = (".png", ".npy") if of_images else (".csv",)
    if output.suffix.lower() in kinds:
        guard.check_file(output)
        return True
    if output.suffix[1:].isalpha() and not output.is_dir():
        ways = f"name a file that ends with {' or '.join(kinds)}, or a folder"
        raise SettingsError(f"{output}: {output.suffix} files are not written: {ways}")
    return False


def _check_followed(args: Namespace) -> None:
    """Refuse options that cannot be used with --follow."""
    paths = [str(path) for path in args.paths]
    if paths != ["-"]:
        raise SettingsError(f"--follow reads standard input: give - in place of {some_of(paths)}")
    asked = {"--output": args.output, "--n-clusters": args.n_clusters}
    asked |= {"--level": args.level, "--regions": args.regions, "--margins": args.margins}
    asked |= {"--must-link": args.must_link, "--cannot-link": args.cannot_link}
    asked |= {"--set": args.set, "--without": args.without}
    others = [name for name, value in asked.items() if value]
    if others:
        raise SettingsError(f"--follow reads standard input as it comes, without {some_of(others)}")


def run_predict(args: Namespace, terminal: Terminal) -> int:
    """Partition files, or samples from standard input, and write or print the partitions."""
    learner = load_learner(args.model)
    if args.follow:
        _check_followed(args)
        return follow(learner, terminal, args.false_alarm_every)
    if args.false_alarm_every:
        raise SettingsError("--false-alarm-every is for samples as they arrive: add --follow")
    output = args.output
    request = Request.of(args)
    guard = Guard.of(args)
    of_images = learner.problem_.traits.words.of_graphs
    one_file = output is not None and _is_one_file(output, guard, of_images)
    if args.without:
        learner = without(learner, args.without)
    inputs = read_for(learner, args.model, request, terminal, may_lack=True, need_labels=False)
    words = inputs.words
    if output is not None and not one_file:
        guard.check_files(places(learner.problem_, output, inputs.names))
    if one_file and of_images and len(inputs) > 1:
        raise SettingsError(f"{output} is one file for {words.wholes(len(inputs))}: name a folder")
    learner, answers = _answers(learner, inputs, args, terminal)
    decides = args.n_clusters is None and learner.sees is not None
    if decides and not learner.problem_.traits.contiguous:
        counts = sorted({answer.plain["n_clusters"] for answer in answers})
        numbers = " or ".join(counted(n, words.part) for n in counts)
        reason = "training data" if metric_of(learner).price is None else "learned price"
        terminal.note(f"the {reason} led to {numbers}; --n-clusters N finds N")
    tell_names(learner, terminal)
    if output is not None:
        with Interrupts():  # all the files or none
            if one_file:
                write_file(output, answers)
            else:
                write_folder(output, inputs, answers)
        terminal.note(f"{words.part}s of {words.wholes(len(answers))} are in {output}")
    plain = [{"name": answer.name, **answer.plain} for answer in answers]
    lines = [f"{answer.name}: {answer.line}" for answer in answers] if output is None else []
    terminal.report({f"{words.whole}s": plain}, *lines)
    return 0


def _answers(
    learner: Learner, inputs: InputData, args: Namespace, terminal: Terminal
) -> tuple[Learner, list[Prediction]]:
    """The predictions, and the learner, without columns that are constant in all instances."""
    instances = inputs.measured(learner)
    links = (args.must_link or [], args.cannot_link or [])
    with inputs.named():
        for lost, where, share in dead_columns(learner, instances):
            if len(where) == len(instances) and share < 1.0:
                reason = "constant here, and in nothing before"
                terminal.warn(f"predicted --without {listed(lost, 3)}: {reason}", reason)
                learner = without(learner, lost)
        warn_of_dead_features(learner, instances)
        with terminal.working("partitioning"):
            answers = answers_of(
                learner,
                inputs,
                instances,
                n_clusters=args.n_clusters,
                rules=_rules(inputs, args.model, links),
                margins=args.margins,
                level=args.level,
            )
    return learner, answers


def _rules(inputs: InputData, model: Path, links: tuple[Pairs, Pairs]) -> Rules:
    """Constraints on partitions from the command line; pairs of rows linked, and kept apart."""
    request = inputs.request
    contiguous = inputs.problem.traits.contiguous
    words = inputs.words
    several = words.wholes(len(inputs))
    origin = inputs.items[0].origin
    W = inputs.window
    lengths = ("min_length", "max_length")
    rules: dict[str, Any] = assigned(request.settings, "problem", lengths, "predict")
    for name, value in rules.items():  # in windows, and so that samples obey them too
        refuse_below(1, name, value)
        rules[name] = -(-value // W) if name == "min_length" else max(value // W, 1)
    if any(links):
        one_table = not contiguous and len(inputs) == 1
        rows = "--must-link and --cannot-link name rows of one table"
        if not one_table:
            raise SettingsError(f"{rows}, got {several}: give one table at a time")
        left_out: list[int] = [] if origin is None else origin.left_out.tolist()
        for row in np.ravel([*links[0], *links[1]]).tolist():
            if row in left_out:
                raise SettingsError(
                    f"row {row} is left out, as values are missing in it: link others"
                )
        together, apart = (
            [tuple((pair - np.searchsorted(left_out, pair)).tolist()) for pair in pairs]
            for pairs in links
        )
        rules["known"] = [PartialLabels(must_link=together, cannot_link=apart)]
    if request.regions is not None:
        if not contiguous:
            raise SettingsError(f"--regions is for recordings, not {words.whole}s")
        learned = f"{model} was learned from windows of {W}: learn with "
        if W > 1:
            raise SettingsError(f"--regions counts samples, and {learned}fit --set files.window=1")
        unlabelled = [replace(item, y=None, chunks=None) for item in inputs.items]
        rules["known"] = replace(inputs, items=unlabelled, labels=None).partial_labels()
    return rules  # type: ignore[return-value]
