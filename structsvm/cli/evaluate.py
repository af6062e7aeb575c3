"""``structsvm evaluate`` and ``report``: what learning is worth on held-out data."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from structsvm.cli.inputs import (
    InputData,
    groups_of,
    measured,
    read_for,
    taken_to_be_independent,
    takes_images,
)
from structsvm.cli.outputs import check_output
from structsvm.cli.terminal import Terminal
from structsvm.data.sample import Sample
from structsvm.errors import DataWarning, SettingsError, printable
from structsvm.evaluation.contrast import LEARNED, MIN_UNITS
from structsvm.evaluation.evaluate import Evaluation, evaluate, perfect_in_words, score_titles
from structsvm.evaluation.splits import fewest_rows
from structsvm.learner.files import load_metric_learner
from structsvm.learner.learner import MetricLearner
from structsvm.learner.training_set import STATES
from structsvm.partitions.problem import PartitionProblem, has_rows
from structsvm.plotting import report_page
from structsvm.plotting.words import confused_states
from structsvm.storage.atomic import write_atomically
from structsvm.storage.codec import Unstored
from structsvm.storage.limits import amount
from structsvm.support.quiet import without_warnings
from structsvm.support.tables import ShortTable


def run_evaluate(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compare, and print the table and the verdict."""
    learner, inputs, samples = _read(args, terminal)
    if can_be_split(learner, samples, inputs.ys):
        refuse_groups(args.groups)
        _evaluate_rows(args, terminal, learner, inputs, samples[0])
        return 0
    result: Evaluation = _judged(evaluate, args, terminal, learner, inputs, samples)
    if args.groups is None and result.verdict.is_supported:
        terminal.note(taken_to_be_independent(inputs))
    terminal.report(result.to_dict(), *readable(result))
    return 0


def run_report(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compare, and write the page."""
    check_output(args, args.output, (".html", ".htm"))
    learner, inputs, samples = _read(args, terminal)
    learner.training_data_.warn_if_among([sample.data for sample in samples], inputs.words)
    about = {"title": f"What {args.model.stem} is worth", "times": inputs.times}
    page = _judged(report_page, args, terminal, learner, inputs, samples, **about)
    if args.groups is None and len(inputs) >= MIN_UNITS:
        terminal.note(taken_to_be_independent(inputs))
    encoded = printable(page).encode()
    write_atomically(args.output, encoded)
    size = amount(len(encoded))
    terminal.note(f"the page is in {args.output}, {size}: open it in a browser")
    if terminal.as_json:
        terminal.report({"page": str(args.output)})
    return 0


def _read(
    args: argparse.Namespace, terminal: Terminal
) -> tuple[MetricLearner, InputData, list[Sample]]:
    learner = load_metric_learner(args.model)
    inputs = read_for(learner, args, terminal, need_labels=True)
    return learner, inputs, measured(learner, inputs, terminal)


def _judged(
    judge: Any,
    args: argparse.Namespace,
    terminal: Terminal,
    learner: MetricLearner,
    inputs: InputData,
    samples: list[Sample],
    **about: Any,
) -> Any:
    groups = groups_of(inputs, args.groups)
    with inputs.named(), terminal.working("partitioning"):
        return judge(
            learner,
            inputs.Xs,
            inputs.ys,
            n_clusters=args.n_clusters,
            tolerance=args.tolerance,
            names=inputs.names,
            unseen_states=args.unseen_states,
            groups=groups,
            measured=samples,
            **about,
        )


def _evaluate_rows(
    args: argparse.Namespace,
    terminal: Terminal,
    learner: MetricLearner,
    inputs: InputData,
    sample: Sample,
) -> None:
    """Compare by groups of rows, or of clusters, of a single table."""
    (name,), (y,), n_clusters = inputs.names, inputs.ys, args.n_clusters
    with inputs.named(), terminal.working("clustering parts of the table"):
        rows = evaluate(learner, inputs.Xs, [y], n_clusters, measured=[sample], split="auto")
    shown, plain = rows, rows.to_dict()
    kind = rows.words.whole.removesuffix(" group")
    what = f"mean of {len(rows.samples)} groups of {kind}s of {name}"
    if not rows.learned_again:
        # Warnings about the table were given with those about its rows.
        with inputs.named(), terminal.working("clustering"), without_warnings(DataWarning):
            shown = evaluate(learner, inputs.Xs, [y], n_clusters, names=[name], measured=[sample])
        plain = {**shown.to_dict(), "verdict": rows.verdict.to_dict()}
        what = f"the table {name}"
    plain |= {"question": rows.question, "learned_again": rows.learned_again}
    terminal.report(plain, _about_scores(what, shown), _score_table(shown), str(rows.verdict))


def refuse_split(split: str, name: str, problem: PartitionProblem) -> None:
    """Refuse a question that samples of another kind answer."""
    contiguous = problem.traits.contiguous
    if split == STATES and not contiguous:
        raise SettingsError(f"--split states is for recordings, not for {name}: leave it out")
    if split != STATES and (contiguous or takes_images(problem)):
        raise SettingsError(
            f"--split {split} is for tables, whose rows have no order, not for {name}: leave it "
            f"out{', or ask about new states, --split states' if contiguous else ''}"
        )


def refuse_groups(groups: object) -> None:
    """Refuse groups of a single table."""
    if groups is not None:
        raise SettingsError("--groups is for several files: a single table has one name")


def can_be_split(learner: MetricLearner, samples: Sequence[Sample], ys: Sequence[Any]) -> bool:
    """Whether a verdict can be about the rows of a table, the only one."""
    if not has_rows(learner.problem_, samples) or len(samples) != 1:
        return False
    if samples[0].data in learner.training_data_:
        unstored = any(isinstance(value, Unstored) for value in learner.get_params(False).values())
        if unstored or len(learner.training_data_) > 1:
            return False  # nothing can be learned again, or other tables would be missing
    return fewest_rows(ys[0]) <= samples[0].n_samples


def readable(result: Evaluation) -> tuple[str, ...]:
    n = len(result.samples)
    about = f"{'' if n == 1 else 'mean of '}{result.words.wholes(n)}"
    states = (state_table(result),) if result.confusion else ()
    return _about_scores(about, result), _score_table(result), *states, str(result.verdict)


def _about_scores(what: str, result: Evaluation) -> str:
    perfect = perfect_in_words(score_titles(result)).rstrip(".")
    return f"{what} ({perfect[0].lower()}{perfect[1:]})\n" if perfect else what


def _score_table(result: Evaluation) -> str:
    """The mean scores of each metric, called as ``--baseline`` calls it."""
    titles = score_titles(result)
    means = sorted(result.scores.items(), key=lambda item: item[0] == LEARNED)
    rows = tuple((metric, *(scores[name] for name in titles)) for metric, scores in means)
    columns = (title.replace(" (", "\n(") for title in titles.values())
    return f"{ShortTable('', ('metric', *columns), rows)}\n"


def state_table(result: Evaluation) -> str:
    who = LEARNED if LEARNED in result.confusion else next(iter(result.confusion))
    columns = (f"{result.words.named} ({who})", result.words.bearers, "named right", "taken for")
    rows = tuple(
        (state, n, f"{share:.1%}", others)
        for state, n, share, others in confused_states(result.confusion[who])
    )
    return f"{ShortTable('', columns, rows)}\n"
