"""Whether learning a metric pays: paired differences of losses, and what they say in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from structsvm.data.sample import RECORDINGS, Words, joined
from structsvm.partitions.problem import ACRONYMS, BLIND
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import counted, finite

__all__ = ["Verdict"]

# ---- what verdicts say: one sentence for each code, shared by Python, command line and report

WORDS = {
    "untrained": "the untrained metric",
    "scores-untrained": "the untrained metric on the scores of a classifier",
    "grid": "the grid",
    "rca-plain": "plain RCA",
    "frame-logistic": "a frame classifier (logistic)",
    "frame-boosting": "a frame classifier (boosting)",
    "boundary-logistic": "a boundary classifier (logistic)",
    "boundary-boosting": "a boundary classifier (boosting)",
    "equal-segments": "segments of equal length",
    "fixed-times": "the times of the training labels",
    "one-part": "one single part",
    "most-frequent": "the most frequent name alone",
    "region-forest": "a classifier of regions (random forest)",
    "pixel-forest": "a classifier of pixels (random forest)",
    "states": "a segmenter of states",
    "frame-lda": "a frame classifier (LDA)",
    "lda-classifier": "a classifier of rows (LDA)",
    "nearest-centroid": "a classifier of rows (nearest centre)",
    "forest-classifier": "a classifier of rows (random forest)",
}
"""How sentences call what has another name."""

ANSWERS = {
    "nothing-held-out": "No verdict: nothing was held out, and what counts is the gain on new "
    "{words.whole}s.",
    "learned-from": "No verdict: the metric was learned from {verdict.seen} of these "
    "{words.whole}s; leave these out.",
    "too-few": "Too few to tell: {units} cannot support a verdict (at least {least} are needed).",
    "solved": "Nothing is left to learn: every method has the {verdict.measure} 0.",
    "constant": "Cannot tell: the difference is the same on every {words.whole}, so that its "
    "variation is unknown.",
    "blind": "There is no evidence that the {words.part}s follow from the features: {named}, "
    "whatever is in the {words.whole}, may do as well.",
    "blind-metric": "There is no evidence that learning pays: {named} may do as well.",
    "pays": "Learning pays.",
    "pays-use": "Learning pays, but {use} does {well}: use it.",
    "pays-level": "Learning pays, but {named} may do as well.",
    "pays-less": "Learning pays, but {named} pays more.",
    "harms": "Learning harms.",
    "mostly": "Learning helps more often than not, on {c.won} of {decided} {words.whole}s, which "
    "chance does in {c.chance:.1%} of cases; on average, the difference may be chance.",
    "chance": "There is no evidence that learning pays: the difference may be chance.",
}
"""What a verdict of each code says first."""

NAMED_TOO = frozenset({"blind-metric", "harms", "mostly", "chance"})
"""Codes whose answer ends with the method to use, if there is one."""

NOTES = {
    "few": "The figures describe {these} only.",
    "label": "Label {more} to find out.",
    "way": "{way} uses {method}.",
    "wanted": "With {enough} independent {wholes} in all, those that are learned from support a "
    "verdict, by cross-validation.",
    "cross-validated": "Too little is held out for a verdict; this one is that of the "
    "cross-validation on the training data.",
    "of parts": "The verdict is that of the cross-validation on the training data.",
    "other way": "The few held-out data point the other way: there the {measure} of the learned "
    "metric is {contrast}.",
    "predict": "Partition new data with",
    "names": "Methods are chosen by the loss of their partitions; in cross-validation most "
    "{item}s were named right by {method}, {share:.0%}.",
    "chosen": "What was chosen is {method}; partition new data with it",
    "diagnose": "What was chosen is {method}, whatever the features; look for the cause with",
}
"""What follows the figures, and what comes before a command."""


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


# ---- paired differences of losses on held-out samples, and the choice that they support

CONFIDENCE = 0.95
LEARNED = "learned"
MIN_UNITS = 5
"""Recordings, or groups of them, below which no verdict is given: even if learning won on all of
four, a fair coin does so too once in eight."""
FEW = 6
"""Units below which the best of many candidates is seldom the best of others: chosen on five
recordings of activities, the best of 26 was up to seven standard errors ahead of the default, and
worse on other people."""
TINY = 1e-9
"""Differences up to which losses are equal but for rounding."""


def once_each(values: Floats, units: Ints, weights: Floats) -> Floats:
    """The weighted mean of each unit, (G,), from values of recordings, (N,); 0 without weight."""
    totals = np.bincount(units, weights)
    sums = np.bincount(units, weights * values)
    return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)


def chosen(losses: Floats, units: Ints, names: Sequence[str], weights: Floats | None = None) -> int:
    """Index of the candidate to take, given losses on held-out samples, (N, n_candidates).

    Candidates come in the order of preference; a column with NaN is out of the question. Those of
    one name differ in their strength only, and are compared by their means. The first name is the
    default. The best of all is taken instead if it is better beyond chance or, where fewer than
    :data:`FEW` units are independent, beyond the chance of the best of so many.
    """
    usable = np.flatnonzero(~np.isnan(losses).any(axis=0)).tolist()
    means = np.average(losses, axis=0, weights=weights)
    of_default = [j for j in usable if names[j] == names[usable[0]]]
    best, default = (min(js, key=lambda j: float(means[j])) for js in (usable, of_default))
    found = Contrast.of("", losses[:, best] - losses[:, default], units, weights)
    n = len(usable) if found.units < FEW else 1
    return best if found.one_of(n).high < 0 else default


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
    single unit, and where all differences are the same, so that their spread is not known."""
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
    chance: float = 1.0
    """Probability that a fair coin divides the units at least as unevenly (sign test)."""

    @classmethod
    def of(
        cls,
        baseline: str,
        differences: Floats,
        units: Ints,
        weights: Floats | None = None,
        draws: int = 1,
        inflation: float = 1.0,
    ) -> Contrast:
        """Mean, interval and counts.

        The variance of the mean is ``inflation`` times that of independent differences, which
        those of cross-validation are not.
        """
        weights = np.ones(differences.size) if weights is None else weights
        mean = float(np.average(differences, weights=weights))
        se, freedom = standard_error(differences, units, weights, draws)
        se *= float(np.sqrt(inflation))
        G = np.unique(units[weights > 0]).size // draws
        half = np.inf
        if G >= 2 and se > TINY * max(1.0, abs(mean)):
            half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)) * se
        won, lost = _wins(differences[weights > 0])
        of_units = _wins(np.bincount(units, weights=weights * differences))
        chance = float(stats.binomtest(of_units[0], sum(of_units)).pvalue) if sum(of_units) else 1.0
        n = int((weights > 0).sum())
        return cls(baseline, mean, se, mean - half, mean + half, n, G, won, lost, freedom, chance)

    def one_of(self, n: int) -> Contrast:
        """The contrast of the best of ``n`` baselines, the upper end where Bonferroni puts it.

        The best of many beats a metric by chance more often than one that was named before. The
        lower end stays: a metric that beats all of them beats each.
        """
        if n < 2 or not np.isfinite(self.high):
            return self
        share = (1.0 - CONFIDENCE) / 2
        half = float(stats.t.ppf(1.0 - share / n, self.freedom)) * self.se
        return replace(self, high=self.mean + half)

    @property
    def told(self) -> Contrast:
        """The contrast without its interval if too few units support one."""
        return self if self.units >= MIN_UNITS else replace(self, low=-np.inf, high=np.inf)

    @property
    def is_constant(self) -> bool:
        """Whether all differences are the same, though there are several."""
        return self.units >= 2 and self.se <= TINY * max(1.0, abs(self.mean))

    @property
    def is_equal(self) -> bool:
        """Whether there are several differences, and all of them are 0."""
        return self.is_constant and abs(self.mean) <= TINY

    @property
    def is_beaten(self) -> bool:
        """Whether the learned metric is better beyond chance, or by the same on each of them."""
        return self.low > 0 or (self.is_constant and self.mean > TINY)

    def __str__(self) -> str:
        """The difference in words, with the name of the baseline."""
        who = baseline_in_words(self.baseline)
        if self.is_equal or (self.n == 1 and self.won == self.lost == 0):
            return f"the same as that of {who}{' on each of them' if self.n > 1 else ''}"
        counts = f"better on {self.won}, worse on {self.lost}"
        if self.is_constant:
            counts = f"the same on each of them: {counts}"
        elif np.isfinite(self.told.low):
            counts = f"95 % interval of the gain {self.low:.2g} to {self.high:.2g}; {counts}"
        word = "lower" if self.mean >= 0 else "higher"
        return f"{abs(self.mean):.2g} {word} than that of {who} ({counts})"


def _wins(differences: Floats | Ints) -> tuple[int, int]:
    return int((differences > TINY).sum()), int((differences < -TINY).sum())


def standard_error(
    differences: Floats, units: Ints, weights: Floats, draws: int = 1
) -> tuple[float, float]:
    """That of the mean when only different units are independent, and its degrees of freedom.

    NaN for a single unit. The mean over several draws of the same units is taken to be no more
    certain than that of one.
    """
    mean, total = np.average(differences, weights=weights), weights.sum()
    sums = np.bincount(units, weights=weights * (differences - mean)) / total
    shares = np.bincount(units, weights=weights) / total
    G = np.unique(units[weights > 0]).size
    if G < 2 or shares.max() >= 1.0:
        return np.nan, np.nan
    se = float(np.sqrt(draws * np.sum(sums**2 / (1.0 - shares))))
    if draws > 1:
        return se, G // draws - 1.0
    pull = shares**2 / (1.0 - shares)
    return se, float(1.0 / (np.sum(shares**2) + pull.sum() ** 2 - np.sum(pull**2)))


# ---- the verdict

UNSUPPORTED = ("nothing-held-out", "learned-from", "too-few")
PAYS = ("pays", "pays-use", "pays-level", "pays-less")
SIGNIFICANT = 0.05
"""Chance of a count of wins below which it is no accident."""

Decision = tuple[str, str | None, str | None]
"""The code, the baseline that the answer names, and the one that it says to use."""


@dataclass(frozen=True)
class Verdict:
    """Whether the learned metric beats what needs no structured learning; ``print`` it.

    Every sample was partitioned by a metric learned without it; where the kind of metric and
    ``lam`` were chosen, they were chosen without it too.
    """

    code: str
    """What the figures say, a key of ``structsvm.evaluation.verdict.ANSWERS``: "pays", "harms",
    "chance", "blind", "too-few", ..."""
    contrasts: Mapping[str, Contrast]
    """By name, against the untrained metric, and the tuned baselines, the best first."""
    loss: float
    """Mean held-out loss of the learned metric, ``|M - M_i|_F^2``."""
    named: str | None = None
    """The baseline that the answer names, if it names one."""
    use: str | None = None
    """The classifier that the answer says to use, if any."""
    best: str | None = None
    """The name of the candidate that was chosen from all; None if none was chosen."""
    grouped: bool = False
    """Whether the independent units are groups of recordings."""
    words: Words = RECORDINGS
    measure: str = "loss"
    """What losses are called: "disagreement" where agreement is an index, such as Rand's."""
    copies: int = 0
    """Recordings that are copies of others; they do not count again."""
    seen: int = 0
    """Recordings that the metric was learned from, copies included: they are not held out."""
    limit: str = ""
    """What no partition of the items can do, in a sentence, such as to follow masks by
    superpixels that are too large for them; "" for nothing."""
    question: str = ""
    """What is answered, and what is not, in a sentence; "" where that goes without saying."""
    naming: str = ""
    """What names the states best, in a sentence; "" where nothing names them."""
    cross_validated: bool = False
    """Whether each sample was held out once, and learned from in the other folds."""
    notes: tuple[str, ...] = ()
    """Sentences that follow the figures."""
    way: str = ""
    """The command that partitions with a baseline, but for its name at the end; "" in Python."""

    @classmethod
    def of(
        cls,
        losses: Mapping[str, Floats],
        units: Ints | None = None,
        numbers: Ints | None = None,
        classifiers: Collection[str] = (),
        *,
        grouped: bool = False,
        weights: Floats | None = None,
        draws: int = 1,
        inflation: float = 1.0,
        **about: Any,
    ) -> Verdict:
        """Judge by the losses of each method on the same samples, (N,), "learned" among them.

        ``units`` are the groups of the samples, or the samples themselves; ``numbers`` are the same
        for copies, which count once, unless groups say themselves what counts how often.
        ``classifiers`` are the baselines that are no metrics; the others are those of
        :meth:`Contrast.of`, and fields.
        """
        every = np.arange(losses[LEARNED].size)
        numbers = every if numbers is None else numbers
        units = every if units is None else units
        weights = np.ones(every.size) if weights is None else weights
        units, heavy = joined(units, numbers), weights > 0
        copies = int(heavy.sum()) - np.unique(numbers[heavy]).size
        if copies and not grouped:
            losses = {name: once_each(values, units, weights) for name, values in losses.items()}
            weights = once_each(weights, units, weights)
            units = np.arange(weights.size)
        learned = losses[LEARNED]
        contrasts = {
            name: Contrast.of(name, values - learned, units, weights, draws, inflation)
            for name, values in losses.items()
            if name != LEARNED
        }
        untrained = contrasts.pop("untrained")
        others = {name: c for name, c in contrasts.items() if not np.isnan(c.mean)}
        n = len(others.keys() - BLIND)
        tuned = [c if name in BLIND else c.one_of(n) for name, c in others.items()]
        tuned.sort(key=lambda c: c.mean)
        ordered = {c.baseline: c for c in (untrained, *tuned)}
        loss = float(np.average(learned, weights=weights))
        undecided = cls("", ordered, loss, grouped=grouped, copies=copies, **about)
        code, named, use = undecided._decision(set(classifiers) - BLIND)
        return replace(undecided, code=code, named=named, use=use)

    @property
    def untrained(self) -> Contrast:
        """The contrast with the identity at its best price."""
        return self.contrasts["untrained"]

    @property
    def tuned(self) -> Sequence[Contrast]:
        """The contrasts with tuned baselines, the best of them first."""
        return [c for name, c in self.contrasts.items() if name != "untrained"]

    @property
    def is_supported(self) -> bool:
        """Whether there are enough recordings, or groups, to tell, and all were held out."""
        return self.code not in UNSUPPORTED

    @property
    def pays(self) -> bool:
        """Whether learning beats the untrained metric and all that is blind beyond chance."""
        return self.code in PAYS

    @property
    def harms(self) -> bool:
        """Whether the untrained metric beats learning beyond chance."""
        return self.is_supported and self.untrained.high < 0

    @property
    def beats_baseline(self) -> bool | None:
        """Whether it beats all tuned baselines beyond chance; None when there are none."""
        beaten = [c.is_beaten for c in self.tuned]
        return self.is_supported and all(beaten) if beaten else None

    @property
    def answer(self) -> str:
        """The verdict in a sentence, without figures."""
        c, words = self.untrained, self.words
        groups = f"{counted(c.units, 'independent group')} of {words.whole}s"
        use = baseline_in_words(self.use or "")
        said = ANSWERS[self.code].format(
            verdict=self,
            words=words,
            c=c,
            decided=c.won + c.lost,
            units=groups if self.grouped else words.wholes(c.units, "independent"),
            least=MIN_UNITS,
            named=baseline_in_words(self.named or ""),
            use=use,
            well="better" if use and self.contrasts[self.use or ""].high < 0 else "as well",
        )
        if not use or self.code not in NAMED_TOO:
            return said
        return f"{said} {use[0].upper()}{use[1:]} does better: use it."

    @property
    def found(self) -> str:
        """The figures of the verdict in words, and what to do next."""
        level = [c for c in self.tuned if not c.is_beaten]
        best = [c.baseline for c in (*self.tuned[:1], *level[:1])]
        names = filter(None, dict.fromkeys(["untrained", self.named, *best, self.use]))
        *others, last = [str(self.contrasts[name]) for name in names]
        against = f"{', '.join(others)}, and {last}" if others else last
        loss = f"the {self.measure} of the learned metric is {self.loss:.2g}"
        figures = f"On {self._samples_in_words()}, {loss}: {against}."
        return " ".join(filter(None, (self.limit, figures, *self.notes, *self._advice())))

    def __str__(self) -> str:
        """The answer, the figures, what to do, what names best, and the question."""
        return " ".join(filter(None, (self.answer, self.found, self.naming, self.question)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; what is not a number becomes None."""
        names = ("code", "pays", "beats_baseline", "is_supported", "loss", "measure", "best")
        others = ("named", "use", "copies", "limit", "question")
        return {name: getattr(self, name) for name in (*names, *others)} | {
            "baseline": self.tuned[0].baseline if self.tuned else None,
            "sentence": str(self),
            "contrasts": {name: finite(asdict(c)) for name, c in self.contrasts.items()},
        }

    def with_notes(self, notes: Iterable[str], **fields: Any) -> Verdict:
        """The verdict with sentences of ``structsvm.evaluation.verdict.NOTES``, by their keys."""
        whole = f"{self.words.whole}s"
        fields |= {"wholes": f"groups of {whole}" if self.grouped else whole}
        fields |= {"measure": self.measure}
        return replace(self, notes=tuple(NOTES[note].format_map(fields) for note in notes))

    def next_step(self, available: Collection[str], best: str | None) -> tuple[str, str | None]:
        """A sentence on how to partition new data, and the baseline to do it with.

        ``available`` are the baselines that a model has, ``best`` the candidate that was chosen.
        """
        if self.use in available:
            return NOTES["predict"], self.use
        if best is None or best not in available:
            return NOTES["predict"], None
        if best in self.contrasts and self.contrasts[best].low > 0:
            return NOTES["predict"], None
        note = NOTES["diagnose" if best in BLIND else "chosen"]
        return note.format(method=baseline_in_words(best)), best

    def _decision(self, classifiers: Collection[str]) -> Decision:
        """The first code that applies to the figures, and the baselines that it is about."""
        untrained, tuned = self.untrained, self.tuned
        if self.seen:
            is_all = self.seen >= untrained.n + self.copies
            return "nothing-held-out" if is_all else "learned-from", None, None
        if untrained.units < MIN_UNITS:
            return "too-few", None, None
        if self.loss <= TINY and all(c.is_equal for c in (untrained, *tuned)):
            return "solved", None, None
        if untrained.is_constant and not untrained.is_equal:
            return "constant", None, None
        # The best classifier, if its loss is at most one standard error above that of the metric.
        enough = next((c for c in tuned if c.baseline in classifiers), None)
        if enough is not None and enough.mean > enough.se + 1e-12:
            enough = None
        better = enough.baseline if enough is not None and enough.high < 0 else None
        blind = next((c for c in tuned if c.baseline in BLIND and not c.is_beaten), None)
        if blind is not None:
            if enough is not None and better and enough.mean < blind.mean:
                return "blind-metric", blind.baseline, better
            return "blind", blind.baseline, None
        if untrained.high < 0:
            return "harms", None, better
        if untrained.low <= 0:
            mostly = untrained.won > untrained.lost and untrained.chance < SIGNIFICANT
            return "mostly" if mostly else "chance", None, better
        level = next((c for c in tuned if not c.is_beaten), None)
        if enough is not None and (level is None or level == enough or level.high >= 0):
            return "pays-use", None, enough.baseline
        if level is None:
            return "pays", None, None
        return "pays-less" if level.high < 0 else "pays-level", level.baseline, None

    def _samples_in_words(self) -> str:
        """The number of samples in words, and how they were held out."""
        c = self.untrained
        on = self.words.wholes(c.n, "" if self.seen or self.cross_validated else "held-out")
        if self.grouped:
            on += f" in {counted(c.units, 'group')}"
        if self.cross_validated:
            on += ", each held out once"
        if self.copies and not self.grouped:
            on += f" (copies not counted: {self.copies})"
        return on

    def _advice(self) -> list[str]:
        """Sentences on what the figures describe, and on what to do."""
        n, whole = self.untrained.units, "group" if self.grouped else self.words.whole
        notes = []
        if not self.seen and n < MIN_UNITS:
            these = f"this one {whole}" if n == 1 else f"these {n} {whole}s"
            notes.append(NOTES["few"].format(these=these))
        is_told = self.seen or self.pays or self.code == "solved"
        chosen = self.use if self.best is not None else None
        if self.best in self.contrasts and not (self.seen or self.pays):
            chosen = chosen or self.best
        if chosen is not None:
            way = (
                "choose_from='all'"
                if chosen == self.best
                else f"baselines_[{chosen!r}].predict(...)"
            )
            way = f"{self.way} {chosen}" if self.way else way
            notes.append(NOTES["way"].format(way=way, method=baseline_in_words(chosen)))
        elif not is_told and (self.best is not None or self.untrained.high >= 0):
            more = f"{self.words.whole}s of more groups" if self.grouped else f"more {whole}s"
            notes.append(NOTES["label"].format(more=more))
        return notes
