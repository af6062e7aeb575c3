"""Whether learning a metric pays, from losses on recordings that were held out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from structsvm.data.words import RECORDINGS, Words
from structsvm.partitions.candidates import CONSENSUS
from structsvm.support.arrays import Floats, Ints
from structsvm.support.plain import finite

__all__ = [
    "EQUAL",
    "LEARNED",
    "MIN_UNITS",
    "Contrast",
    "Verdict",
    "baseline_in_words",
    "baseline_title",
    "chosen",
    "once_each",
    "standard_error",
]

CONFIDENCE = 0.95
LEARNED = "learned"
EQUAL = "equal-segments"
"""The baseline that does not look at recordings: segments of equal length."""
SHOWN_BY = " If the spread changes and not the mean, use features=HermiteMoments()."
"""What to try where one kind of metric found nothing in the features; a search has tried it."""
MIN_UNITS = 5
"""Recordings, or groups of them, below which no verdict is given: even if learning won on all of
four, a fair coin does so too once in eight."""


def once_each(values: Floats, numbers: Ints, weights: Floats | None = None) -> Floats:
    """The mean over the copies of each recording.

    Parameters
    ----------
    values : array of shape (N,)
    numbers : array of shape (N,)
        As from :func:`structsvm.data.copies.contents`.
    weights : array of shape (N,), optional
        Of the copies in their mean; where all of them are 0, the mean is 0.
    """
    weights = np.ones(numbers.size) if weights is None else weights
    totals = np.bincount(numbers, weights)
    sums = np.bincount(numbers, weights * values)
    return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)


def standard_error(
    differences: Floats, units: Ints, weights: Floats | None = None, draws: int = 1
) -> float:
    """Standard error of the mean when only different units are independent; NaN for a single one.

    With a unit for each recording this is the usual one, ``std / sqrt(N)``.

    Parameters
    ----------
    differences : array of shape (N,)
    units : array of shape (N,)
        Number of the unit of each, 0, 1, ...
    weights : array of shape (N,), optional
        Of the weighted mean; units of weight 0 are none.
    draws : int
        How often everything is among the units: the mean over several draws of them is taken to be
        no more certain than that over a single one.
    """
    weights = np.ones(differences.size) if weights is None else weights
    deviations = weights * (differences - np.average(differences, weights=weights))
    sums = np.bincount(units, weights=deviations)
    G = _count(units, weights)
    if G < 2:
        return float("nan")
    return float(np.sqrt(draws * (sums**2).sum() * G / (G - 1)) / weights.sum())


def _count(units: Ints, weights: Floats) -> int:
    return int(np.unique(units[weights > 0]).size)


def chosen(
    losses: Floats,
    units: Ints,
    rule: str,
    weights: Floats | None = None,
    kinds: Sequence[str] | None = None,
) -> int:
    """Index of the candidate to take, given losses on held-out recordings.

    Parameters
    ----------
    losses : array of shape (N, n_candidates)
        The simplest candidate first. A column with NaN is out of the question.
    units : array of shape (N,)
        As in :func:`standard_error`.
    rule : {"one_se", "min"}
        The simplest whose loss exceeds the smallest by at most one standard error of their paired
        difference (Breiman et al., 1984), or the one of smallest loss.
    weights : array of shape (N,), optional
        Of the recordings.
    kinds : sequence of str, optional
        Kind of each candidate. One standard error is for how strongly a kind is regularized, and
        for candidates of no kind (""), which need no learning; two kinds are compared by their
        means, because neither is a simpler form of the other.
    """
    usable = np.flatnonzero(~np.isnan(losses).any(axis=0))
    means = np.average(losses[:, usable], axis=0, weights=weights)
    best = int(usable[means.argmin()])
    if rule == "min":
        return best
    for j in usable.tolist():
        if kinds is not None and kinds[j] not in ("", kinds[best]):
            continue
        excess = losses[:, j] - losses[:, best]
        error = standard_error(excess, units, weights)
        if np.average(excess, weights=weights) <= (0.0 if np.isnan(error) else error) + 1e-12:
            return int(j)
    return best


@dataclass(frozen=True)
class Contrast:
    """The loss of a baseline minus that of the learned metric, paired over held-out recordings."""

    baseline: str
    mean: float
    """Positive when the learned metric is better."""
    se: float
    """Standard error of the mean; NaN for a single unit."""
    low: float
    high: float
    """Ends of the 95 % interval of the mean (Student's t); infinite where there is none: for a
    single unit, and where all differences are the same, so that their spread is not known. Of one
    of several baselines in a verdict, the upper end is further away, see :meth:`one_of`."""
    n: int
    """Recordings."""
    units: int
    """Independent ones: groups where recordings are grouped, else recordings."""
    won: int
    lost: int
    """Recordings on which the learned metric is better, and worse; the others are ties."""
    freedom: float = np.nan
    """Degrees of freedom of the interval: one less than there are units, and fewer where some of
    them weigh more than others; NaN for a single unit."""

    @classmethod
    def of(
        cls,
        baseline: str,
        differences: Floats,
        units: Ints,
        weights: Floats | None = None,
        draws: int = 1,
    ) -> Contrast:
        """Mean, interval and counts; arguments as those of :func:`standard_error`."""
        weights = np.ones(differences.size) if weights is None else weights
        mean = float(np.average(differences, weights=weights))
        se, freedom = _spread(differences, units, weights, draws)
        G = _count(units, weights) // draws
        half = np.inf
        if G >= 2 and not _no_wider_than_rounding(se, mean):
            half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)) * se
        counted = differences[weights > 0]
        won, lost = int((counted > 1e-9).sum()), int((counted < -1e-9).sum())
        return cls(
            baseline, mean, se, mean - half, mean + half, counted.size, G, won, lost, freedom
        )

    @classmethod
    def paired(
        cls, baseline: str, losses: Mapping[str, Floats], units: Ints, draws: int = 1
    ) -> Contrast:
        """Compare the losses of recordings, by metric, :data:`LEARNED` among them."""
        return cls.of(baseline, losses[baseline] - losses[LEARNED], units, draws=draws)

    def one_of(self, n: int) -> Contrast:
        """The same against one of ``n`` baselines, of which the best is looked at.

        The best of many beats a metric by chance more often than one that was named before. With
        the upper end of the interval where Bonferroni puts it, any of them does so no more often
        than a single one. The lower end stays: a metric that beats all of them beats each.
        """
        if n < 2 or not np.isfinite(self.high):
            return self
        share = (1.0 - CONFIDENCE) / 2
        half = float(stats.t.ppf(1.0 - share / n, self.freedom)) * self.se
        return replace(self, high=self.mean + half)

    @property
    def told(self) -> Contrast:
        """The same without an interval that no verdict rests on, as of two groups: -12 to 55."""
        if self.units >= MIN_UNITS:
            return self
        return replace(self, low=-np.inf, high=np.inf)

    @property
    def is_constant(self) -> bool:
        """Whether all differences are the same, though there are several."""
        return self.units >= 2 and _no_wider_than_rounding(self.se, self.mean)

    @property
    def is_equal(self) -> bool:
        """Whether there are several differences, and all of them are 0."""
        return self.is_constant and abs(self.mean) <= 1e-9

    @property
    def is_gain(self) -> bool:
        """Whether the whole interval is above zero."""
        return self.low > 0

    @property
    def is_harm(self) -> bool:
        """Whether the whole interval is below zero."""
        return self.high < 0

    def __str__(self) -> str:
        """In words, the baseline included."""
        if self.is_equal:
            return f"the same as that of {baseline_in_words(self.baseline)} on each of them"
        if self.n == 1 and self.won == self.lost == 0:
            return f"the same as that of {baseline_in_words(self.baseline)}"
        word = "lower" if self.mean >= 0 else "higher"
        counts = f"better on {self.won}, worse on {self.lost}"
        if self.is_constant:
            counts = f"the same on each of them: {counts}"
        elif np.isfinite(self.told.low):
            counts = f"95 % interval of the gain {self.low:.2g} to {self.high:.2g}; {counts}"
        who = baseline_in_words(self.baseline)
        return f"{abs(self.mean):.2g} {word} than that of {who} ({counts})"


def _spread(differences: Floats, units: Ints, weights: Floats, draws: int) -> tuple[float, float]:
    """Standard error of the mean, and the degrees of freedom of its interval."""
    mean, total = np.average(differences, weights=weights), weights.sum()
    sums = np.bincount(units, weights=weights * (differences - mean)) / total
    shares = np.bincount(units, weights=weights) / total
    if _count(units, weights) < 2 or shares.max() >= 1.0:
        return np.nan, np.nan
    se = float(np.sqrt(draws * np.sum(sums**2 / (1.0 - shares))))
    if draws > 1:
        return se, _count(units, weights) // draws - 1.0
    pull = shares**2 / (1.0 - shares)
    return se, float(1.0 / (np.sum(shares**2) + pull.sum() ** 2 - np.sum(pull**2)))


def _no_wider_than_rounding(se: float, mean: float) -> bool:
    return se <= 1e-9 * max(1.0, abs(mean))


ACRONYMS = frozenset({"pca", "rca", "lda", "mmc", "lmnn", "nca", "itml"})
"""Names of metrics that sentences write in capitals."""

WORDS = {
    "untrained": "the untrained metric",
    "grid": "the grid",
    "rca-plain": "plain RCA",
    "frame-logistic": "a frame classifier (logistic)",
    "frame-boosting": "a frame classifier (boosting)",
    "boundary-logistic": "a boundary classifier (logistic)",
    "boundary-boosting": "a boundary classifier (boosting)",
    EQUAL: "segments of equal length",
    "region-forest": "a classifier of regions (random forest)",
    CONSENSUS: "the consensus of the metric and classifiers",
    "lda-classifier": "a classifier of rows (LDA)",
    "nearest-centroid": "a classifier of rows (nearest centre)",
    "forest-classifier": "a classifier of rows (random forest)",
}
"""How sentences call what has another name."""


def baseline_in_words(baseline: str) -> str:
    """A baseline as sentences name it."""
    if baseline in ACRONYMS:
        return baseline.upper()
    return WORDS.get(baseline, baseline)


def baseline_title(baseline: str) -> str:
    """A metric or baseline as tables name it."""
    if baseline == "untrained":
        return baseline
    return baseline_in_words(baseline).removeprefix("a ").removeprefix("the ")


@dataclass(frozen=True)
class Verdict:
    """Whether the learned metric beats those that need no structured learning.

    Every recording was segmented by a metric learned without it; where the kind of metric and
    ``lam`` were chosen, they were chosen without it too.
    """

    untrained: Contrast
    """Against the identity with its best penalty."""
    baseline: Contrast | None
    """Against the best of all tuned baselines, which need no structured learning: principal or
    relevant component analysis, for cuts the grid, or a classifier; None when none was tuned."""
    loss: float
    """Mean held-out loss of the learned metric, ``|M - M_i|_F^2``."""
    best: str | None
    """The name of the candidate that ``predict(..., use="best")`` uses; None if none was chosen."""
    grouped: bool
    """Whether the independent units are groups of recordings."""
    words: Words = RECORDINGS
    measure: str = "loss"
    """What losses are called: "disagreement" where agreement is an index, such as Rand's."""
    others: tuple[Contrast, ...] = ()
    """Against the other tuned baselines."""
    copies: int = 0
    """Recordings that are copies of others, value by value; they do not count again."""
    seen: int = 0
    """Recordings that the metric was learned from, copies included: they are not held out."""
    question: str = ""
    """What is answered, and what is not, in a sentence; "" where that goes without saying."""
    classifiers: frozenset[str] = frozenset()
    """Names of the baselines that are no metrics."""
    together: Contrast | None = None
    """Against the consensus of the metric and classifiers, which is no baseline because it needs
    the metric; None where there is none. Without ``best``, it was chosen when the metric was
    learned."""
    way: str = ""
    """The command that partitions with a baseline, but for its name at the end; "" in Python."""

    @classmethod
    def of(
        cls,
        losses: Mapping[str, Floats],
        words: Words,
        measure: str,
        copies: int = 0,
        seen: int = 0,
        *,
        units: Ints | None = None,
        draws: int = 1,
        question: str = "",
        classifiers: Iterable[str] = (),
    ) -> Verdict:
        """Judge by the losses of recordings, by metric, nothing having been chosen.

        ``units`` are the numbers of their groups; without these, recordings are independent.
        """
        grouped = units is not None
        units = np.arange(losses[LEARNED].size) if units is None else units
        baselines_of = (name for name in losses if name != LEARNED)
        contrasts = {name: Contrast.paired(name, losses, units, draws) for name in baselines_of}
        return cls.against(
            contrasts,
            loss=float(losses[LEARNED].mean()),
            best=None,
            grouped=grouped,
            words=words,
            measure=measure,
            copies=copies,
            seen=seen,
            question=question,
            classifiers=frozenset(classifiers),
        )

    @classmethod
    def against(cls, contrasts: Mapping[str, Contrast], **told: Any) -> Verdict:
        """The verdict of contrasts by name, that against "untrained" among them, and the rest.

        One of a user that is called as the consensus of the metric is a baseline like others.
        """
        known = {name: c for name, c in contrasts.items() if not np.isnan(c.mean)}
        together = None if CONSENSUS in told["classifiers"] else known.pop(CONSENSUS, None)
        found = [c for name, c in known.items() if name != "untrained"]
        tuned = sorted((c.one_of(len(found)) for c in found), key=lambda c: c.mean)
        baseline = tuned[0] if tuned else None
        others = tuple(tuned[1:])
        return cls(contrasts["untrained"], baseline, others=others, together=together, **told)

    @property
    def contrasts(self) -> dict[str, Contrast]:
        """Against the untrained metric, the baselines, best first, and the consensus, by name."""
        joint = () if self.together is None else (self.together,)
        return {c.baseline: c for c in (self.untrained, *self._baselines, *joint)}

    @property
    def _baselines(self) -> list[Contrast]:
        """Against every tuned baseline, the best of them first."""
        return [c for c in (self.baseline, *self.others) if c is not None]

    @property
    def _level(self) -> Contrast | None:
        """The best of the baselines that are not beaten beyond chance; None if all are."""
        return next((c for c in self._baselines if not c.is_gain), None)

    @property
    def enough(self) -> Contrast | None:
        """Against the best classifier, if it does as well as the learned metric; else None.

        Then its loss is at most one standard error of the difference above that of the metric.
        """
        names = self.classifiers - {EQUAL}
        best = next((c for c in self._baselines if c.baseline in names), None)
        if best is None or not self.is_supported:
            return None
        return best if best.mean <= best.se + 1e-12 else None

    @property
    def use(self) -> str | None:
        """The classifier, or the consensus, that :attr:`answer` says to use; None for neither."""
        enough, level = self.enough, self._level
        if self.pays and self._joint is not None:
            return CONSENSUS
        if enough is None or self._is_undecided:
            return None
        if self.untrained.is_gain and not (self._blind and not enough.is_harm):
            named = level is None or level == enough or not level.is_harm
        else:
            named = enough.is_harm
        return enough.baseline if named else None

    @property
    def _joint(self) -> Contrast | None:
        """Against the consensus, if it was chosen and the metric is not better beyond chance."""
        joint = self.together if self.best in (None, CONSENSUS) else None
        return None if joint is None or joint.is_gain else joint

    @property
    def _is_undecided(self) -> bool:
        return self.untrained.is_constant and not self.untrained.is_equal

    @property
    def _blind(self) -> Contrast | None:
        """Against segments of equal length, if they are not beaten beyond chance; else None."""
        equal = self.contrasts.get(EQUAL)
        return None if equal is None or equal.is_gain else equal

    @property
    def is_supported(self) -> bool:
        """Whether there are enough recordings, or groups, to tell, and all were held out."""
        return self.untrained.units >= MIN_UNITS and not self.seen

    @property
    def _nothing_held_out(self) -> bool:
        return self.seen >= self.untrained.n + self.copies

    @property
    def pays(self) -> bool:
        """Whether learning beats the untrained metric and equal segments beyond chance."""
        return self.is_supported and self.untrained.is_gain and self._blind is None

    @property
    def harms(self) -> bool:
        """Whether the untrained metric beats learning beyond chance."""
        return self.is_supported and self.untrained.is_harm

    @property
    def beats_baseline(self) -> bool | None:
        """Whether it beats all tuned baselines beyond chance; None when there are none."""
        return None if self.baseline is None else self.is_supported and self._level is None

    def __str__(self) -> str:
        """One plain sentence, what to do, and what was asked."""
        return " ".join(filter(None, (self.answer, self.found, self.question)))

    @property
    def found(self) -> str:
        """The figures that the answer rests on, and what to do next."""
        told = (self.untrained, self._blind, self.baseline, self._level, self.enough, self._joint)
        *baselines, last = map(str, {c.baseline: c for c in told if c is not None}.values())
        against = f"{', '.join(baselines)}, and {last}" if baselines else last
        found = f"the {self.measure} of the learned metric is {self.loss:.2g}: {against}"
        return f"On {self._judged_on}, {found}.{self._reach}{self._advice}"

    @property
    def _reach(self) -> str:
        n = self.untrained.units
        if self.seen or n >= MIN_UNITS:
            return ""
        noun = "group" if self.grouped else self.words.whole
        these = f"this one {noun}" if n == 1 else f"these {n} {noun}s"
        return f" The figures describe {these} only."

    @property
    def _judged_on(self) -> str:
        n, G = self.untrained.n, self.untrained.units
        told = self.words.wholes(n, "" if self.seen else "held-out")
        if self.grouped:
            told = f"{told} in {G} groups"
        if self._nothing_held_out:
            told = f"{told} that {'was' if n == 1 else 'were'} learned from"
        elif self.seen:
            told = f"{told}, some of them learned from"
        if not self.copies:
            return told
        copies = f"{self.copies} cop{'y' if self.copies == 1 else 'ies'}"
        if self.grouped:
            return f"{told}, {copies} of others among them"
        does = "does" if self.copies == 1 else "do"
        return f"{told} ({copies} of {'it' if n == 1 else 'them'} {does} not count again)"

    @property
    def answer(self) -> str:
        """The verdict without the figures that it rests on."""
        if self._nothing_held_out:
            whole = self.words.whole
            return f"No verdict: nothing was held out, and what counts is the gain on new {whole}s."
        if self.seen:
            whole = self.words.whole
            told = f"{self.seen} of these {whole}s {'was' if self.seen == 1 else 'were'}"
            return f"No verdict: {told} learned from; leave these out."
        if not self.is_supported:
            n, whole = self.untrained.units, self.words.whole
            what = f"group{'' if n == 1 else 's'} of {whole}s"
            units = (
                f"{n} independent {what}" if self.grouped else self.words.wholes(n, "independent")
            )
            return (
                f"Too few to tell: {units} cannot support a verdict "
                f"(at least {MIN_UNITS} are needed)."
            )
        if self._is_undecided:
            return (
                f"Cannot tell: the difference is the same on every {self.words.whole}, so that its "
                "variation is unknown."
            )
        blind, part = self._blind, self.words.part
        if blind is not None and (self.enough is None or not self.enough.is_harm):
            whole = self.words.whole
            return (
                f"There is no evidence that the {part}s follow from the features: {part}s of equal "
                f"length, whatever is in a {whole}, may do as well."
            )
        if self.pays:
            return f"Learning pays{self._but}."
        if self.untrained.is_harm:
            said = "Learning harms."
        elif blind is not None:
            does = "do better" if blind.is_harm else "may do as well"
            said = f"There is no evidence that learning pays: {part}s of equal length {does}."
        else:
            said = "There is no evidence that learning pays: the difference may be chance."
        if self.use is None:
            return said
        name = baseline_in_words(self.use)
        return f"{said} {name[0].upper()}{name[1:]} does better: use it."

    @property
    def _but(self) -> str:
        """The baseline that a metric that pays does not beat, if there is one."""
        level, enough, joint = self._level, self.enough, self._joint
        if joint is not None:
            told = "" if enough is None else f" but {_as_well(enough)},"
            return f",{told} and {_as_well(joint)}: use the consensus"
        if self.use is not None and enough is not None:
            return f", but {_as_well(enough)}: use it"
        if level is None:
            return ""
        name = baseline_in_words(level.baseline)
        return f", but {name} {'pays more' if level.is_harm else 'may do as well'}"

    @property
    def _advice(self) -> str:
        if self.seen:
            return ""
        if self.use is not None and self.best is not None:
            return self._way_to(self.use)
        if self.pays or (self.best is None and self.untrained.is_harm):
            return ""
        if self.best is not None and self.best in self.contrasts:
            return self._way_to(self.best)
        tried = self.best is not None or not self.is_supported
        shown = "" if tried or self._blind is None else SHOWN_BY
        best = self.best is not None and self.untrained.mean >= 0
        guess = " It is still the best choice." if best else ""
        wholes = f"{self.words.whole}s"
        more = f"{wholes} of more groups" if self.grouped else f"more {wholes}"
        return f"{guess}{shown} Label {more} to find out."

    def _way_to(self, baseline: str) -> str:
        way = f"partition_with({baseline!r}, ...)"
        if self.way:
            way = f"{self.way} {baseline}"
        elif baseline == self.best:
            way = "predict(..., use='best')"
        return f" {way} uses {baseline_in_words(baseline)}."

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; what is not a number becomes None."""
        return {
            "pays": self.pays,
            "beats_baseline": self.beats_baseline,
            "is_supported": self.is_supported,
            "loss": self.loss,
            "measure": self.measure,
            "best": self.best,
            "baseline": None if self.baseline is None else self.baseline.baseline,
            "use": self.use,
            "enough": None if self.enough is None else self.enough.baseline,
            "copies": self.copies,
            "question": self.question,
            "sentence": str(self),
            "contrasts": {name: finite(asdict(c)) for name, c in self.contrasts.items()},
        }


def _as_well(contrast: Contrast) -> str:
    return (
        f"{baseline_in_words(contrast.baseline)} does {'better' if contrast.is_harm else 'as well'}"
    )
