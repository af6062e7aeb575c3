"""Whether learning a metric pays: a code, the figures behind it, and what they say in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from structsvm.data.words import RECORDINGS, Words
from structsvm.evaluation.contrast import LEARNED, MIN_UNITS, Contrast
from structsvm.evaluation.sentences import (
    ANSWERS,
    NAMED_TOO,
    NOTES,
    TO_USE,
    baseline_in_words,
)
from structsvm.partitions.comparison import BLIND, CONSENSUS
from structsvm.support.arrays import Floats, Ints
from structsvm.support.plain import counted, finite

__all__ = ["Verdict"]

UNSUPPORTED = ("nothing-held-out", "learned-from", "too-few")
PAYS = ("pays", "pays-together", "pays-use", "pays-level", "pays-less")


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
    """By name, against the untrained metric, the tuned baselines, the best first, and the consensus
    of the metric and classifiers."""
    loss: float
    """Mean held-out loss of the learned metric, ``|M - M_i|_F^2``."""
    named: str | None = None
    """The baseline that the answer names, if it names one."""
    use: str | None = None
    """The classifier, or the consensus, that the answer says to use; None for neither."""
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
    question: str = ""
    """What is answered, and what is not, in a sentence; "" where that goes without saying."""
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
        words: Words = RECORDINGS,
        measure: str = "loss",
        *,
        units: Ints | None = None,
        draws: int = 1,
        classifiers: Iterable[str] = (),
        **about: Any,
    ) -> Verdict:
        """Judge by the losses of recordings, by metric, nothing having been chosen.

        ``units`` are the numbers of their groups; without these, recordings are independent.
        """
        N = losses[LEARNED].size
        contrasts = {
            name: Contrast.paired(name, losses, np.arange(N) if units is None else units, draws)
            for name in losses
            if name != LEARNED
        }
        about |= {"words": words, "measure": measure, "grouped": units is not None}
        return cls.against(contrasts, classifiers, loss=float(losses[LEARNED].mean()), **about)

    @classmethod
    def against(
        cls,
        contrasts: Mapping[str, Contrast],
        classifiers: Iterable[str] = (),
        *,
        loss: float,
        **about: Any,
    ) -> Verdict:
        """Judge by contrasts, that against "untrained" among them.

        ``classifiers`` are the baselines that are no metrics. One of a user that is called as the
        consensus of the metric is a baseline like others.
        """
        others = {n: c for n, c in contrasts.items() if n != "untrained" and not np.isnan(c.mean)}
        joint = None if CONSENSUS in classifiers else others.pop(CONSENSUS, None)
        n = len(others.keys() - BLIND)
        tuned = [c if c.baseline in BLIND else c.one_of(n) for c in others.values()]
        tuned.sort(key=lambda c: c.mean)
        untrained = contrasts["untrained"]
        found = _decided(untrained, tuned, joint, frozenset(classifiers), loss, about)
        ordered = {c.baseline: c for c in (untrained, *tuned, *([joint] if joint else []))}
        return cls(found.code, ordered, loss, found.named, found.use, **about)

    @property
    def untrained(self) -> Contrast:
        """Against the identity with its best price."""
        return self.contrasts["untrained"]

    @property
    def baseline(self) -> Contrast | None:
        """Against the best of the tuned baselines; None when none was tuned."""
        return next(iter(self._tuned), None)

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
        return self.is_supported and self.untrained.is_harm

    @property
    def beats_baseline(self) -> bool | None:
        """Whether it beats all tuned baselines beyond chance; None when there are none."""
        if self.baseline is None:
            return None
        return self.is_supported and all(c.is_beaten for c in self._tuned)

    @property
    def answer(self) -> str:
        """The verdict without the figures that it rests on."""
        said = ANSWERS[self.code].format_map(self._fields)
        if self.use is None or self.code not in NAMED_TOO:
            return said
        use = baseline_in_words(self.use)
        return f"{said} {TO_USE.format(Use=use[0].upper() + use[1:])}"

    @property
    def found(self) -> str:
        """The figures that the answer rests on, and what to do next."""
        level = next((c for c in self._tuned if not c.is_beaten), None)
        names = ("untrained", self.named, *(c.baseline for c in (self.baseline, level) if c))
        unique = filter(None, dict.fromkeys([*names, self.use]))
        told = [str(self.contrasts[name]) for name in unique]
        *others, last = told
        against = f"{', '.join(others)}, and {last}" if others else last
        loss = f"the {self.measure} of the learned metric is {self.loss:.2g}"
        return " ".join([f"On {self._judged_on}, {loss}: {against}.", *self.notes, *self._advice])

    def __str__(self) -> str:
        """One plain sentence, the figures, what to do, and what was asked."""
        return " ".join(filter(None, (self.answer, self.found, self.question)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; what is not a number becomes None."""
        return {
            "code": self.code,
            "pays": self.pays,
            "beats_baseline": self.beats_baseline,
            "is_supported": self.is_supported,
            "loss": self.loss,
            "measure": self.measure,
            "best": self.best,
            "baseline": None if self.baseline is None else self.baseline.baseline,
            "named": self.named,
            "use": self.use,
            "copies": self.copies,
            "question": self.question,
            "sentence": str(self),
            "contrasts": {name: finite(asdict(c)) for name, c in self.contrasts.items()},
        }

    def with_notes(self, notes: Iterable[str], **fields: Any) -> Verdict:
        """The same with sentences of ``structsvm.evaluation.sentences.NOTES``, by their keys."""
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
        if best is None or best not in available or self._is_beaten(best):
            return NOTES["predict"], None
        note = NOTES["diagnose" if best in BLIND else "chosen"]
        return note.format(method=baseline_in_words(best)), best

    def _is_beaten(self, name: str) -> bool:
        return name in self.contrasts and self.contrasts[name].is_gain

    @property
    def _tuned(self) -> Sequence[Contrast]:
        """Against the baselines beside the untrained metric, the best of them first."""
        return [c for name, c in self.contrasts.items() if name not in ("untrained", CONSENSUS)]

    @property
    def _fields(self) -> dict[str, Any]:
        """What sentences are filled with."""
        words, c = self.words, self.untrained
        n, whole = c.units, words.whole
        units = counted(n, "independent group") + f" of {whole}s"
        named, use = (self.contrasts.get(name or "") for name in (self.named, self.use))
        better = {True: "better", False: "as well"}
        return {
            "whole": whole,
            "part": words.part,
            "measure": self.measure,
            "seen": self.seen,
            "were": "was" if self.seen == 1 else "were",
            "units": units if self.grouped else words.wholes(n, "independent"),
            "least": MIN_UNITS,
            "named": named and baseline_in_words(named.baseline),
            "use": use and baseline_in_words(use.baseline),
            "well": use and better[use.is_harm],
            "but": f"but {baseline_in_words(named.baseline)} does {better[named.is_harm]}, "
            if named
            else "",
            "won": c.won,
            "decided": c.won + c.lost,
            "chance": c.chance,
        }

    @property
    def _judged_on(self) -> str:
        n, G = self.untrained.n, self.untrained.units
        held_out = "" if self.seen or self.cross_validated else "held-out"
        told = self.words.wholes(n, held_out)
        if self.grouped:
            told = f"{told} in {G} groups"
        if self.code == "nothing-held-out":
            told = f"{told} that {'was' if n == 1 else 'were'} learned from"
        elif self.seen:
            told = f"{told}, some of them learned from"
        elif self.cross_validated:
            told = f"{told}, each held out once"
        if not self.copies:
            return told
        copies = f"{self.copies} cop{'y' if self.copies == 1 else 'ies'}"
        if self.grouped:
            return f"{told}, {copies} of others among them"
        does = "does" if self.copies == 1 else "do"
        return f"{told} ({copies} of {'it' if n == 1 else 'them'} {does} not count again)"

    @property
    def _advice(self) -> list[str]:
        """What the figures are about, and what to do."""
        n, whole = self.untrained.units, "group" if self.grouped else self.words.whole
        notes = []
        if not self.seen and n < MIN_UNITS:
            these = f"this one {whole}" if n == 1 else f"these {n} {whole}s"
            notes.append(NOTES["few"].format(these=these))
        chosen = self.use if self.best is not None else None
        if chosen is None and self.best in self.contrasts and not (self.seen or self.pays):
            chosen = self.best
        if chosen is not None:
            way = f"{self.way} {chosen}" if self.way else self._way(chosen)
            return [*notes, NOTES["way"].format(way=way, method=baseline_in_words(chosen))]
        is_told = self.seen or self.pays or self.code == "solved"
        if is_told or (self.best is None and self.untrained.is_harm):
            return notes
        if self.best is not None and self.untrained.mean >= 0:
            notes.append(NOTES["best"])
        if self.best is None and self.code == "blind" and self.words.part == RECORDINGS.part:
            notes.append(NOTES["moments"])
        wholes = f"{self.words.whole}s"
        more = f"{wholes} of more groups" if self.grouped else f"more {wholes}"
        return [*notes, NOTES["label"].format(more=more)]

    def _way(self, name: str) -> str:
        """How Python partitions with a baseline."""
        return "choose_from='all'" if name == self.best else f"partition_with({name!r}, ...)"


class _Decided(NamedTuple):
    code: str
    named: str | None = None
    use: str | None = None


def _decided(
    untrained: Contrast,
    tuned: Sequence[Contrast],
    joint: Contrast | None,
    classifiers: Collection[str],
    loss: float,
    about: Mapping[str, Any],
) -> _Decided:
    """The code of the figures, the first that applies, and the baselines that it is about."""
    seen, copies, best = (about.get(name) for name in ("seen", "copies", "best"))
    if seen:
        is_all = seen >= untrained.n + (copies or 0)
        return _Decided("nothing-held-out" if is_all else "learned-from")
    if untrained.units < MIN_UNITS:
        return _Decided("too-few")
    if loss <= 1e-9 and all(c.is_equal for c in (untrained, *tuned)):
        return _Decided("solved")
    if untrained.is_constant and not untrained.is_equal:
        return _Decided("constant")
    enough = _as_good(tuned, classifiers)
    better = enough.baseline if enough is not None and enough.is_harm else None
    blind = next((c for c in tuned if c.baseline in BLIND and not c.is_beaten), None)
    if blind is not None:
        if enough is not None and better and enough.mean < blind.mean:
            return _Decided("blind-metric", blind.baseline, better)
        return _Decided("blind", blind.baseline)
    if untrained.is_gain:
        level = next((c for c in tuned if not c.is_beaten), None)
        together = joint if best in (None, CONSENSUS) else None
        return _how_it_pays(level, enough, together)
    if untrained.is_harm:
        return _Decided("harms", use=better)
    return _Decided("mostly" if untrained.is_mostly_better else "chance", use=better)


def _how_it_pays(
    level: Contrast | None, enough: Contrast | None, joint: Contrast | None
) -> _Decided:
    """Whether something else is to be used all the same."""
    if joint is not None and not joint.is_gain:
        named = None if enough is None else enough.baseline
        return _Decided("pays-together", named, joint.baseline)
    if enough is not None and (level is None or level == enough or not level.is_harm):
        return _Decided("pays-use", use=enough.baseline)
    if level is None:
        return _Decided("pays")
    return _Decided("pays-less" if level.is_harm else "pays-level", level.baseline)


def _as_good(tuned: Sequence[Contrast], classifiers: Collection[str]) -> Contrast | None:
    """The best classifier, if its loss is at most one standard error above that of the metric."""
    names = set(classifiers) - BLIND
    best = next((c for c in tuned if c.baseline in names), None)
    return best if best is not None and best.mean <= best.se + 1e-12 else None
