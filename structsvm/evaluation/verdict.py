"""Whether learning a metric pays, by paired differences of losses, and what that says in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from structsvm.data.sample import RECORDINGS, Words, joined
from structsvm.evaluation.contrast import LEARNED, MIN_UNITS, TINY, Contrast, once_each
from structsvm.evaluation.sentences import ANSWERS, NAMED_TOO, NOTES, baseline_in_words
from structsvm.partitions.problem import BLIND
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import counted, finite

__all__ = ["Verdict"]

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
    """What the figures say, a key of ``structsvm.evaluation.sentences.ANSWERS``: "pays", "harms",
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
        """The verdict with sentences of ``structsvm.evaluation.sentences.NOTES``, by their keys."""
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
