"""Whether learning pays: a decision by paired differences of losses, and its sentences."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from structsvm.data import RECORDINGS, Words, joined
from structsvm.evaluation.advice import Ranking
from structsvm.evaluation.contrast import EQUAL_LOSSES, LEARNED, MIN_UNITS, Contrast, unit_means
from structsvm.evaluation.sentences import ANSWERS, NOTES, baseline_in_words
from structsvm.learner.methods import BLIND
from structsvm.support import Floats, Ints, counted, finite, two_digits

__all__ = ["Evidence", "Remarks", "Verdict"]
UNSUPPORTED = ("nothing-held-out", "learned-from", "nothing-to-find", "too-few")
PAYS = ("pays", "pays-level", "pays-less")
SIGNIFICANT = 0.05  # p-value of the sign test below which a majority of wins is no accident
Decision = tuple[str, str | None]  # the code, and the baseline that the answer names


@dataclass(frozen=True)
class Evidence:
    """How the figures of a verdict were measured, and what its sentences call things."""

    words: Words = RECORDINGS
    """Nouns for instances, clusters and items."""
    measure: str = "loss"
    """Noun for the loss: "disagreement" where agreement is an index, such as Rand's."""
    grouped: bool = False
    """Whether the independent units are groups of recordings."""
    copies: int = 0
    """Number of recordings that are copies of others, which do not count again."""
    seen: int = 0
    """Number of recordings that were learned from, copies included: they are not held out."""
    cross_validated: bool = False
    """Whether each instance was held out once, and learned from in the other folds."""
    method: str = "the learned metric"
    """What sentences call the judged method."""


@dataclass(frozen=True)
class Remarks:
    """Sentences that go with the figures of a verdict."""

    limit: str = ""
    """What no partition of the items can reach, such as masks that are finer than superpixels; ""
    for no limit."""
    question: str = ""
    """Which question the figures answer, and which they do not; "" if that is plain."""
    notes: tuple[str, ...] = ()
    """Sentences that follow the figures."""
    way: str | None = ""
    """The start of a command that learns a method, to be followed by its name; "" in Python, None
    if another place shows it."""
    more: str = ""
    """How to find out more; "" for the advice to label more."""


@dataclass(frozen=True)
class Verdict:
    """Whether the learned metric beats methods without structured learning; ``print`` it.

    Every instance was partitioned by a metric learned without it; where the kind of metric and
    ``lam`` were chosen, they were chosen without it too.
    """

    code: str
    """The decision, a key of ``structsvm.evaluation.sentences.ANSWERS``: "pays", "harms", "chance",
    "blind", "too-few", ..."""
    contrasts: Mapping[str, Contrast]
    """Contrasts by name: with the untrained metric, and with tuned baselines, the best first."""
    loss: float
    """Mean held-out loss of the learned metric, ``|M - M_i|_F^2``; NaN if there was nothing to
    find."""
    ranking: Ranking
    """The methods by loss and names, and which one to use."""
    evidence: Evidence = Evidence()
    remarks: Remarks = Remarks()
    named: str | None = None
    """The baseline that the answer names, if it names one."""
    best: str | None = None
    """The name of the candidate that was chosen from all; None if none was chosen."""

    @classmethod
    def of(
        cls,
        losses: Mapping[str, Floats],
        units: Ints | None = None,
        numbers: Ints | None = None,
        *,
        weights: Floats | None = None,
        draws: int = 1,
        inflation: float = 1.0,
        accuracies: Mapping[str, float | None] | None = None,
        evidence: Evidence | None = None,
        remarks: Remarks | None = None,
        best: str | None = None,
    ) -> "Verdict":
        """Judge by the losses of each method on the same instances, (N,), "learned" among them.

        Losses are NaN where there is nothing to find. ``units`` number the groups of the instances,
        by default each its own; ``numbers`` are equal for copies, which count once if there are no
        groups. ``accuracies`` are the shares of items that are named right, where names are scored.
        The other arguments are those of :meth:`Contrast.of`, and fields.
        """
        evidence = evidence or Evidence()
        every = np.arange(losses[LEARNED].size)
        numbers = every if numbers is None else numbers
        units = every if units is None else units
        weights = np.ones(every.size) if weights is None else weights
        units = joined(units, numbers)
        heavy = weights > 0
        copies = int(heavy.sum()) - np.unique(numbers[heavy]).size
        if copies and not evidence.grouped:
            losses = {name: unit_means(values, units, weights) for name, values in losses.items()}
            weights = unit_means(weights, units, weights)
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
        ranking = Ranking.of(losses, weights, accuracies or {}, evidence.cross_validated, best)
        undecided = cls(
            code="",
            contrasts={c.baseline: c for c in (untrained, *tuned)},
            loss=float(np.average(learned, weights=weights)),
            ranking=ranking,
            evidence=replace(evidence, copies=copies),
            remarks=remarks or Remarks(),
            best=best,
        )
        code, named = undecided._decision()
        return replace(undecided, code=code, named=named)

    @property
    def untrained(self) -> Contrast:
        """The contrast with the untrained metric at its best price."""
        return self.contrasts["untrained"]

    @property
    def tuned(self) -> Sequence[Contrast]:
        """The contrasts with tuned baselines, the best of them first."""
        return [c for name, c in self.contrasts.items() if name != "untrained"]

    @property
    def use(self) -> str | None:
        """The method to use in place of the learned metric; None if there is none."""
        first = self.ranking.order[:1] if self._advises else []
        return next((name for name in first if name != LEARNED), None)

    @property
    def is_supported(self) -> bool:
        """Whether there are enough recordings, or groups, to tell, and all were held out."""
        return self.code not in UNSUPPORTED

    @property
    def pays(self) -> bool:
        """Whether learning beats the untrained metric and all blind methods beyond chance."""
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
        c = self.untrained
        words = self.evidence.words
        groups = f"{counted(c.units, 'independent group')} of {words.whole}s"
        return ANSWERS[self.code].format(
            evidence=self.evidence,
            words=words,
            c=c,
            decided=c.won + c.lost,
            units=groups if self.evidence.grouped else words.wholes(c.units, "independent"),
            least=MIN_UNITS,
            named=baseline_in_words(self.named or ""),
        )

    @property
    def found(self) -> str:
        """The figures of the verdict in words, and what to do next."""
        remarks = self.remarks
        figures = (remarks.limit, self._figures(), *remarks.notes)
        return " ".join(filter(None, (*figures, *self._to_find_out(), self.advice, self._way())))

    @property
    def advice(self) -> str:
        """Which method to use, and why; "" where the figures do not tell."""
        if not self._advises:
            return ""
        words = self.evidence.words
        measure = self.evidence.measure
        method = self.evidence.method
        return self.ranking.sentence(words, measure, method)

    def _way(self) -> str:
        """A sentence with the code or command that uses the advised method."""
        if self.use is None or self.best in (None, self.use) or self.remarks.way is None:
            return ""
        way = f"baselines_[{self.use!r}].predict(...)"
        if self.remarks.way:
            way = f"{self.remarks.way} {self.use}"
        return NOTES["way"].format(way=way)

    def __str__(self) -> str:
        """The answer, the figures, the advice, and the question."""
        return " ".join(filter(None, (self.answer, self.found, self.remarks.question)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; what is not a number becomes None."""
        names = ("code", "pays", "beats_baseline", "is_supported", "best", "named", "use", "advice")
        return {name: getattr(self, name) for name in names} | {
            "loss": finite(self.loss),
            "measure": self.evidence.measure,
            "copies": self.evidence.copies,
            "limit": self.remarks.limit,
            "question": self.remarks.question,
            "baseline": self.tuned[0].baseline if self.tuned else None,
            "sentence": str(self),
            "contrasts": {name: finite(asdict(c)) for name, c in self.contrasts.items()},
        }

    def with_notes(self, notes: Iterable[str], **fields: Any) -> "Verdict":
        """The verdict with sentences of ``structsvm.evaluation.sentences.NOTES``, by their keys."""
        whole = f"{self.evidence.words.whole}s"
        fields |= {"wholes": f"groups of {whole}" if self.evidence.grouped else whole}
        fields |= {"measure": self.evidence.measure, "method": self.evidence.method}
        return self.remarking(notes=tuple(NOTES[note].format_map(fields) for note in notes))

    def remarking(self, **remarks: Any) -> "Verdict":
        """The verdict with other remarks."""
        return replace(self, remarks=replace(self.remarks, **remarks))

    def advised_by(self, ranking: Ranking) -> "Verdict":
        """The verdict with another ranking, such as that of a cross-validation."""
        is_found = self.code == "blind" and ranking.beats_blind
        return replace(self, ranking=ranking, code="blind-metric" if is_found else self.code)

    @property
    def _advises(self) -> bool:
        return bool(self.ranking.order) and not self.evidence.seen

    @property
    def _is_untrained(self) -> bool:
        """Whether the judged method is the untrained metric itself."""
        return self.evidence.method == baseline_in_words("untrained")

    def _decision(self) -> Decision:
        """The first code that applies, and the baseline that its sentence names."""
        untrained = self.untrained
        tuned = self.tuned
        evidence = self.evidence
        if evidence.seen:
            is_all = evidence.seen >= untrained.n + evidence.copies
            return "nothing-held-out" if is_all else "learned-from", None
        if np.isnan(self.loss):
            return "nothing-to-find", None
        if untrained.units < MIN_UNITS:
            return "too-few", None
        others = [c for c in tuned if c.baseline not in BLIND]
        blinds = [c for c in tuned if c.baseline in BLIND]
        is_perfect = self.loss <= EQUAL_LOSSES and all(c.is_equal for c in (untrained, *others))
        if is_perfect and all(c.mean > EQUAL_LOSSES for c in blinds):
            return "solved", None
        if untrained.is_constant and not untrained.is_equal:
            return "constant", None
        blind = next((c for c in blinds if not c.is_beaten), None)
        if blind is not None:
            return "blind-metric" if self.ranking.beats_blind else "blind", blind.baseline
        if untrained.high < 0:
            return "harms", None
        if self._is_untrained:
            return "untrained", None
        if untrained.low <= 0:
            mostly = untrained.won > untrained.lost and untrained.chance < SIGNIFICANT
            return "mostly" if mostly else "chance", None
        level = next((c for c in tuned if not c.is_beaten), None)
        if level is None:
            return "pays", None
        return "pays-less" if level.high < 0 else "pays-level", level.baseline

    def _figures(self) -> str:
        """A sentence with the loss, and its differences from those of other methods."""
        if np.isnan(self.loss):
            return ""
        level = [c for c in self.tuned if not c.is_beaten]
        best = [c.baseline for c in (*self.tuned[:1], *level[:1])]
        names = dict.fromkeys(filter(None, ["untrained", self.named, *best, self.use]))
        if self._is_untrained:
            names.pop("untrained")
        differences = [str(self.contrasts[name]) for name in names if name in self.contrasts]
        ranked_loss = self.ranking.losses.get(LEARNED, self.loss)
        by_fold = self.evidence.cross_validated and self.ranking.is_chosen
        differs = by_fold and abs(ranked_loss - self.loss) > EQUAL_LOSSES
        method = "what is chosen without it" if differs else self.evidence.method
        loss = f"the {self.evidence.measure} of {method} is {two_digits(self.loss)}"
        if differences:
            *others, last = differences
            loss += ": " + (f"{', '.join(others)}, and {last}" if others else last)
        return f"On {self._samples_in_words()}, {loss}."

    def _samples_in_words(self) -> str:
        """The number of instances in words, and how they were held out."""
        c = self.untrained
        evidence = self.evidence
        is_plain = evidence.seen or evidence.cross_validated
        on = evidence.words.wholes(c.n, "" if is_plain else "held-out")
        if evidence.grouped:
            on += f" in {counted(c.units, 'group')}"
        if evidence.cross_validated:
            on += ", each held out once"
        if evidence.copies and not evidence.grouped:
            on += f" (copies not counted: {evidence.copies})"
        return on

    def _to_find_out(self) -> list[str]:
        """Sentences on how far the figures go, and on how to find out more."""
        n = self.untrained.units
        evidence = self.evidence
        whole = "group" if evidence.grouped else evidence.words.whole
        notes = []
        if not evidence.seen and n < MIN_UNITS and not np.isnan(self.loss):
            these = f"this one {whole}" if n == 1 else f"these {n} {whole}s"
            notes.append(NOTES["few"].format(these=these))
        if evidence.seen or self.pays or self.code in ("solved", "harms"):
            return notes
        if self.remarks.more:
            return [*notes, self.remarks.more]
        more = f"{evidence.words.whole}s of more groups" if evidence.grouped else f"more {whole}s"
        return [*notes, NOTES["label"].format(more=more)]
