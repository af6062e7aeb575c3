"""Scores of partitions, and their means over instances."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from structsvm.data import Instance, TimeAxis, Words
from structsvm.evaluation.confusion import Confusion, Names
from structsvm.evaluation.contrast import LEARNED
from structsvm.evaluation.sentences import baseline_title
from structsvm.evaluation.verdict import Evidence, Remarks, Verdict
from structsvm.graphs.labelled_nodes import limit_of
from structsvm.partitions import EquivalenceMatrix, PartitionProblem
from structsvm.partitions.comparison import name_of_disagreement
from structsvm.partitions.losses import time_errors
from structsvm.support import Floats, ShortTable
from structsvm.training_labels import Known

__all__ = ["Confusion", "Evaluation", "InstanceScores", "Scores"]


SECONDS_OF_UNITS = {
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "days": 86400.0,
    "months": 2629746.0,
    "years": 31556952.0,
}
"""Units of time in seconds; a month and a year are those of the calendar, on average."""
NEARLY_A_UNIT = 0.97  # a step of so much of a unit counts in it: 30 days as a month
Scores = Mapping[str, float | None]
"""Scores by name, None where one does not apply: the loss, the adjusted Rand index, what verdicts
go by ("disagreement", 0 is perfect), those of the problem, such as "covering" and "f1", and, where
states were named, "accuracy" and "macro F1"."""


class Score(NamedTuple):
    """Title, perfect value and meaning of a score, with fields for words such as ``{part}``."""

    title: str
    perfect: int
    meaning: str


SCORES = {
    "loss": Score(
        "loss",
        0,
        "K + K' - 2 Σ |A ∩ B|² / (|A| |B|) over the K true {part}s A and the K' found ones B, "
        "so that one single {part} costs K - 1",
    ),
    "jaccard": Score(
        "Jaccard distance",
        0,
        "the share of the union of the true and the found object that is not in both",
    ),
    "covering": Score("covering", 1, "how well the true {part}s are overlapped by those found"),
    "adjusted_rand": Score("adj. Rand", 1, "agreement on pairs of {item}s, 0 by chance"),
    "f1": Score(
        "F1",
        1,
        "the harmonic mean of the share of changes that are found and of the share of found "
        "changes that are right",
    ),
    "time_error": Score(
        "time error",
        0,
        "the median time between a true change and the found one, over all changes of which each "
        "is the nearest of the other",
    ),
    "time_error_90": Score("90 % of errors", 0, "what nine in ten of these times are at most"),
    "accuracy": Score("accuracy", 1, "the share of {item}s with the right name"),
    "macro F1": Score("macro F1", 1, "the mean over all {named}s of the F1 of their {item}s"),
}
"""Scores with titles and meanings; tables show another score of a plugin under its own name."""


@dataclass(frozen=True)
class InstanceScores:
    """The scores of one instance in each metric."""

    name: str
    n_clusters: int
    """K of the truth."""
    scores: Mapping[str, Scores]
    """By name of the metric: "learned", "untrained", and the baselines that were tuned."""


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Scores of the learned metric and of the methods it is compared with, on the same data."""

    instances: tuple[InstanceScores, ...]
    tolerance: int
    """A predicted change is a hit within so many samples of a true one."""
    verdict: Verdict
    """The verdict on whether learning paid, ready to print."""
    confusion: Mapping[str, Confusion] = field(default_factory=dict)
    """Counts of true and predicted states over all recordings, by metric or baseline; empty where
    none names states, or the labels have no names."""
    learned_again: bool | None = None
    """Whether the metric of each part of a table was learned from the rest of it; None if instances
    are whole."""
    truths: Sequence[EquivalenceMatrix] = field(default=(), compare=False)
    guesses: Mapping[str, Sequence[EquivalenceMatrix]] = field(default_factory=dict, compare=False)
    """The partitions that were scored, by name of the metric or baseline."""
    states: Mapping[str, Sequence[Names]] = field(default_factory=dict, compare=False)
    """The names that were scored, by the metric or baseline that gave them."""
    errors: Mapping[str, Floats] = field(default_factory=dict, compare=False)
    """How far changes are from true ones, over all instances; empty where there are no changes."""
    unit: str = "samples"
    """The unit of these distances."""
    measured: Sequence[Instance] = field(default=(), compare=False)
    """The instances as they were read; empty for parts of a table, as the following are."""
    prepared: Sequence[Instance] = field(default=(), compare=False)
    """The instances as the metric sees them."""
    labels: Sequence[Any] = field(default=(), compare=False)
    """The labels as they were given."""
    times: Sequence[TimeAxis | None] = field(default=(), compare=False)
    """When the samples of each recording were measured; empty if it is known of none."""

    @classmethod
    def of(
        cls,
        problem: PartitionProblem,
        names: Sequence[str],
        labels: Sequence[Known],
        guesses: Mapping[str, Sequence[EquivalenceMatrix]],
        tolerance: int,
        *,
        confusions: Mapping[str, Sequence[Confusion]] | None = None,
        times: Sequence[TimeAxis | None] = (),
        shown: Mapping[str, Any] | None = None,
        evidence: Evidence,
        question: str = "",
        **about: Any,
    ) -> "Evaluation":
        """Score the partitions of each method, "learned" and "untrained" among them.

        Partitions are scored on the items with known ``labels``; every instance must have some.
        ``confusions`` are those of the states of each instance, by method; ``evidence`` and
        ``about`` are passed to :meth:`Verdict.of`, and ``shown`` are further fields. If no instance
        has two parts, there is nothing to find, and names alone are scored.
        """
        truths: list[Any] = [one.scored for one in labels]
        flat = all(truth.n_clusters < 2 for truth in truths)
        confusions = confusions or {}
        unit, clocks = _clocks(times, labels)
        errors = dict[str, Floats]()
        scores = dict[str, list[dict[str, float | None]]]()
        for metric, partitions in guesses.items():
            scored = [one.of_scored(M) for one, M in zip(labels, partitions, strict=True)]
            pairs = zip(truths, scored, strict=True)
            scores[metric] = rows = [dict(problem.scores(*pair, tolerance)) for pair in pairs]
            if flat:
                scores[metric] = rows = [dict.fromkeys(row) for row in rows]
            if problem.traits.contiguous:
                off = list(map(time_errors, truths, scored, clocks))
                errors[metric] = np.concatenate(off)
                for row, of_one in zip(rows, off, strict=True):
                    row |= _quantiles(of_one)
            if confusions:
                named = confusions.get(metric, [None] * len(rows))
                for row, table in zip(rows, named, strict=True):
                    row["accuracy"] = None if table is None else table.accuracy
        losses: dict[str, Any] = {
            metric: np.array([row["disagreement"] for row in rows], dtype=np.float64)
            for metric, rows in scores.items()
        }
        instances = [
            InstanceScores(
                name, truth.n_clusters, {metric: scores[metric][i] for metric in guesses}
            )
            for i, (name, truth) in enumerate(zip(names, truths, strict=True))
        ]
        confusion = {
            metric: Confusion(parts[0].states, np.sum([part.counts for part in parts], axis=0))
            for metric, parts in confusions.items()
        }
        fields = {"truths": truths, "guesses": guesses, "errors": errors, "unit": unit}
        accuracies = {name: table.accuracy for name, table in confusion.items()}
        verdict = Verdict.of(
            losses,
            accuracies=accuracies if problem.traits.contiguous else None,
            evidence=replace(evidence, measure=name_of_disagreement(problem, truths[0])),
            remarks=Remarks(limit=limit_of(truths), question=question),
            **about,
        )
        return cls(tuple(instances), tolerance, verdict, confusion, **fields | dict(shown or {}))

    @property
    def scores(self) -> dict[str, dict[str, float | None]]:
        """Means over the instances, by name of the metric and of the score.

        Over the instances to which a score applies, :attr:`counts`; accuracy and macro F1 of states
        are those of all items together, :attr:`confusion`, and errors in time, in the unit
        :attr:`unit`, those of all changes together.
        """
        means: dict[str, dict[str, float | None]] = {}
        for metric in self.instances[0].scores:
            rows = [row.scores[metric] for row in self.instances]
            confusion = self.confusion.get(metric)
            means[metric] = mean = {}
            for name in rows[0]:
                values = [value for row in rows if (value := row[name]) is not None]
                mean[name] = float(np.mean(values)) if values else None
            if metric in self.errors:
                mean |= _quantiles(self.errors[metric])
            if self.confusion:
                mean["accuracy"] = None if confusion is None else confusion.accuracy
                mean["macro F1"] = None if confusion is None else confusion.macro_f1
        return means

    @property
    def counts(self) -> dict[str, int]:
        """The number of instances to which each score applies."""
        rows = [row.scores for row in self.instances]
        counts = {
            score: sum(any(scores[score] is not None for scores in row.values()) for row in rows)
            for score in next(iter(rows[0].values()))
        }
        if self.confusion:
            counts["macro F1"] = counts["accuracy"]
        return counts

    @property
    def learned(self) -> dict[str, float | None]:
        """The means over the instances of the scores in the learned metric."""
        return self.scores[LEARNED]

    @property
    def untrained(self) -> dict[str, float | None]:
        """The same means in the untrained metric, with its best price on the training labels."""
        return self.scores["untrained"]

    def summary(self) -> str:
        """The mean scores of each metric, and the verdict, as printing them shows it."""
        return f"{score_table(self, baseline_title)}\n{self.verdict}"

    __repr__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: the scores of each metric, verdict and instances."""
        plain: dict[str, Any] = dict(self.scores)
        if self.confusion:
            plain["confusion"] = {
                metric: {"states": list(table.states), "counts": table.counts.tolist()}
                for metric, table in self.confusion.items()
            }
        plain["counts"] = self.counts
        if self.errors:
            plain["time_unit"] = self.unit
        if self.learned_again is not None:
            plain |= {
                "question": self.verdict.remarks.question,
                "learned_again": self.learned_again,
            }
        plain["verdict"] = self.verdict.to_dict()
        plain[f"{self.verdict.evidence.words.whole}s"] = [
            {"name": row.name, "n_clusters": row.n_clusters, **row.scores} for row in self.instances
        ]
        return plain


def _clocks(times: Sequence[TimeAxis | None], labels: Sequence[Known]) -> tuple[str, list[Floats]]:
    """The unit of time, and the time in it of each labelled sample of each recording."""
    axes = [axis for axis in times if axis is not None]
    units = {"" if axis.holds_dates else axis.name for axis in axes}
    if len(axes) < len(labels) or len(units) > 1:
        return "samples", [one.rows.astype(np.float64) for one in labels]
    steps = [axis.usual_step for axis in axes if axis.usual_step]
    unit = units.pop()
    seconds = 1.0
    if not unit:
        step = min(steps, default=1.0)
        *_, unit = ["s", *(u for u, s in SECONDS_OF_UNITS.items() if step >= NEARLY_A_UNIT * s)]
        seconds = SECONDS_OF_UNITS[unit]
    clocks = [np.concatenate(([0.0], np.cumsum(axis.steps / seconds))) for axis in axes]
    return unit, [clock[one.rows] for clock, one in zip(clocks, labels, strict=True)]


def _quantiles(errors: Floats) -> dict[str, float | None]:
    """The median and the ninth decile; None where no change was matched."""
    deciles = np.quantile(errors, (0.5, 0.9)).tolist() if errors.size else (None, None)
    return {"time_error": deciles[0], "time_error_90": deciles[1]}


def score_table(evaluation: Evaluation, called: Callable[[str], str]) -> ShortTable:
    """The mean scores of each metric or baseline, by what it is called."""
    titles = score_titles(evaluation)
    n = len(evaluation.instances)
    means = sorted(evaluation.scores.items(), key=lambda item: item[0] == LEARNED)
    rows = tuple((called(name), *(scores[t] for t in titles)) for name, scores in means)
    title = f"{'' if n == 1 else 'Mean scores of '}{evaluation.verdict.evidence.words.wholes(n)}"
    return ShortTable(title, ("metric", *titles.values()), rows)


def score_titles(evaluation: Evaluation) -> dict[str, str]:
    """Titles of the scores of an evaluation, with the number of instances if not all have one."""
    within = f" (within {evaluation.tolerance})"
    unit = f" ({evaluation.unit})"
    more = {"f1": within, "time_error": unit, "time_error_90": unit}
    titles = {}
    for name, count in evaluation.counts.items():
        if name == "disagreement" or not count:
            continue
        title = SCORES[name].title if name in SCORES else name.replace("_", " ")
        is_of_all = count == len(evaluation.instances)
        suffix = "" if is_of_all else f", of {evaluation.verdict.evidence.words.wholes(count)}"
        titles[name] = f"{title}{more.get(name, '')}{suffix}"
    return titles


def meanings_in_words(titles: Mapping[str, str], words: Words) -> str:
    """Sentences on what these scores measure, and their perfect values; "" if none is known."""
    about = {"part": words.part, "item": words.item, "named": words.named}
    scores = [score for name, score in SCORES.items() if name in titles]
    sentences = [
        f"{s.title}: {s.meaning.format_map(about)}; {s.perfect} is perfect." for s in scores
    ]
    return " ".join(text[0].upper() + text[1:] for text in sentences)
