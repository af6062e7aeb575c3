"""Which method to use: the chosen one, else the one that names most items right or loses least."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from structsvm.data import Words
from structsvm.evaluation.contrast import EQUAL_LOSSES, LEARNED
from structsvm.evaluation.sentences import NOTES, baseline_in_words
from structsvm.learner.methods import BLIND
from structsvm.support import Floats, two_digits


@dataclass(frozen=True)
class Ranking:
    """Mean losses of methods on held-out instances, and the shares of items they name right.

    A blind method ignores the instances; its name is in ``BLIND``.
    """

    losses: Mapping[str, float]
    """The mean loss of each method by name: "learned", the baselines, and the blind methods."""
    accuracies: Mapping[str, float] = field(default_factory=dict)
    """The share of items that each naming method names right; empty where names are not scored, and
    where no method names more items right than the most frequent name alone would."""
    are_named_by_chance: bool = False
    """Whether names are scored, and no method beats the most frequent name."""
    like_blind: frozenset[str] = frozenset()
    """Methods whose loss equals that of a blind method on every instance."""
    cross_validated: bool = False
    preferred: str = LEARNED  # the method to take among equally good ones
    is_chosen: bool = False
    """Whether model selection took ``preferred`` by these figures: any better ones are chance."""

    @classmethod
    def of(
        cls,
        losses: Mapping[str, Floats],
        weights: Floats,
        accuracies: Mapping[str, float | None],
        cross_validated: bool,
        preferred: str | None,
    ) -> "Ranking":
        """Rank by the losses of each method on the same instances, (N,), NaN if it failed."""
        tried = {name: values for name, values in losses.items() if not np.isnan(values).any()}
        blind = [values for name, values in tried.items() if name in BLIND]
        alike = [
            name
            for name, values in tried.items()
            if values.max() > EQUAL_LOSSES  # a method without any loss equals the truth
            and any(np.abs(values - other).max() <= EQUAL_LOSSES for other in blind)
        ]
        named = {name: share for name, share in accuracies.items() if share is not None}
        frequent = max((named.pop(name) for name in BLIND & named.keys()), default=0.0)
        is_known = any(share > frequent for share in named.values())
        return cls(
            {name: float(np.average(values, weights=weights)) for name, values in tried.items()},
            named if is_known else {},
            bool(named) and not is_known,
            frozenset(alike),
            cross_validated,
            preferred if preferred in tried else LEARNED,
        )

    @property
    def order(self) -> list[str]:
        """Methods from the best to the worst; those that equal a blind method come last."""

        def place(name: str) -> tuple[bool, bool, float, float, bool]:
            share = self.accuracies.get(name, -1.0)
            loss = self.losses[name]
            is_other = name != self.preferred
            is_late = self.is_chosen and is_other
            return is_late, name in self.like_blind, -round(share, 9), round(loss, 9), is_other

        return sorted((name for name in self.losses if name not in BLIND), key=place)

    @property
    def best_blind(self) -> str | None:
        """The blind method of least loss; None if there is none."""
        blind = [name for name in self.losses if name in BLIND]
        return min(blind, key=self.losses.__getitem__, default=None)

    @property
    def beats_blind(self) -> bool:
        """Whether some method has a smaller loss than every blind one."""
        blind = self.best_blind
        return blind is None or self.losses[self._least] < self.losses[blind] - EQUAL_LOSSES

    def among(self, available: Collection[str]) -> "Ranking":
        """The ranking of the available methods, the learned metric and the blind methods alone."""
        kept = {LEARNED, *BLIND, *available}
        losses = {name: loss for name, loss in self.losses.items() if name in kept}
        named = {name: share for name, share in self.accuracies.items() if name in kept}
        return replace(self, losses=losses, accuracies=named)

    def sentence(self, words: Words, measure: str, learned: str) -> str:
        """Sentences on which method to use, and why; ``learned`` is the learned one in words."""

        def called(name: str) -> str:
            return learned if name == LEARNED else baseline_in_words(name)

        first = self.order[0]
        blind = self.best_blind
        is_named = first in self.accuracies
        has_less = self.losses[self._least] < self.losses[first] - EQUAL_LOSSES
        best = max(self.accuracies, key=self.accuracies.__getitem__, default=first)
        names_fewer = is_named and self.accuracies[best] > self.accuracies[first] + EQUAL_LOSSES
        notes = ["use-names" if is_named else "use"]
        if names_fewer:
            notes = ["use-chosen-names"]
        elif has_less and not is_named:
            notes = ["use-chosen"]
        elif blind and not is_named and self.losses[blind] < self.losses[first] - EQUAL_LOSSES:
            notes = ["use-seeing"]
        if is_named and has_less:
            notes.append("use-else")
        if self.accuracies and not is_named:
            notes.append("use-for-names")
        if self.are_named_by_chance:
            notes.append("names-by-chance")
        if not self.beats_blind and self.losses[first] > EQUAL_LOSSES:
            notes.append("blind-less")
        about = {
            "method": called(first),
            "loss": two_digits(self.losses[first]),
            "share": f"{self.accuracies.get(first, np.nan):.0%}",
            "best": called(best),
            "more": f"{self.accuracies.get(best, np.nan):.0%}",
            "lost": two_digits(self.losses[best]),
            "other": called(self._least),
            "least": two_digits(self.losses[self._least]),
            "blind": called(blind or ""),
            "less": two_digits(self.losses[blind]) if blind else "",
            "measure": measure,
            "words": words,
            "where": " in cross-validation" if self.cross_validated else "",
        }
        return " ".join(NOTES[note].format_map(about) for note in notes)

    @property
    def _least(self) -> str:
        """The method of least loss, of those that equal no blind method if there are any."""
        seeing = [name for name in self.order if name not in self.like_blind]
        return min(seeing or self.order, key=self.losses.__getitem__)
