"""Paired differences of losses on held-out instances, and the choice that they support."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from structsvm.evaluation.sentences import baseline_in_words
from structsvm.support import Floats, Ints, half_interval, standard_error, two_digits

CONFIDENCE = 0.95
LEARNED = "learned"
MIN_UNITS = 5
"""The least number of independent recordings, or groups, for a verdict: with four, learning wins on
all or loses on all by chance once in eight."""
FEW_UNITS = 6
"""Number of units below which the candidate that is best on them is seldom the best on others: on
five recordings of activities, the best of 26 candidates was up to seven standard errors ahead of
the default, and worse on other people."""
EQUAL_LOSSES = 1e-9  # differences up to which losses are equal but for rounding


def unit_means(values: Floats, units: Ints, weights: Floats) -> Floats:
    """The weighted mean of the values of each unit, (G,); 0 for a unit without weight."""
    totals = np.bincount(units, weights)
    sums = np.bincount(units, weights * values)
    return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)


def chosen(
    losses: Floats,
    units: Ints,
    names: Sequence[str],
    weights: Floats | None = None,
    draws: float = 1,
    first: str = "",
) -> int:
    """Index of the candidate to take, given losses on held-out instances, (N, n_candidates).

    Candidates are in the order of preference; one with a NaN loss cannot be taken. The default is
    the candidate of least mean loss among those of the first name, which differ only in the
    strength of their regularizer, and the one called ``first``. The best of all is taken instead if
    it is better beyond chance: with fewer than :data:`FEW_UNITS` independent units, beyond the
    chance of the best of so many candidates. ``draws`` are those of :meth:`Contrast.of`.
    """
    usable = np.flatnonzero(~np.isnan(losses).any(axis=0)).tolist()
    means = np.average(losses, axis=0, weights=weights)
    of_default = [j for j in usable if names[j] in (names[usable[0]], first)]
    best, default = (min(js, key=lambda j: float(means[j])) for js in (usable, of_default))
    gain = Contrast.of("", losses[:, best] - losses[:, default], units, weights, draws)
    n = len(usable) if gain.units < FEW_UNITS else 1
    return best if gain.one_of(n).high < 0 else default


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
    """Number of recordings."""
    units: int
    """Number of independent units: groups where recordings are grouped, else recordings."""
    won: int
    lost: int
    """Numbers of recordings on which the learned metric is better, and worse; others are ties."""
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
        draws: float = 1,
        inflation: float = 1.0,
    ) -> "Contrast":
        """Mean, interval and counts.

        There are ``draws`` times as many units as are independent. The variance of the mean is
        ``inflation`` times that of independent differences, which those of cross-validation are
        not.
        """
        weights = np.ones(differences.size) if weights is None else weights
        mean = float(np.average(differences, weights=weights))
        se, freedom = standard_error(differences, units, weights, draws)
        se *= float(np.sqrt(inflation))
        G = round(np.unique(units[weights > 0]).size / draws)
        half = np.inf
        if G >= 2 and se > EQUAL_LOSSES * max(1.0, abs(mean)):
            half = half_interval(se, freedom, 1.0 - CONFIDENCE)
        won, lost = _wins(differences[weights > 0])
        of_units = _wins(np.bincount(units, weights=weights * differences))
        chance = float(stats.binomtest(of_units[0], sum(of_units)).pvalue) if sum(of_units) else 1.0
        n = int((weights > 0).sum())
        return cls(baseline, mean, se, mean - half, mean + half, n, G, won, lost, freedom, chance)

    def one_of(self, n: int) -> "Contrast":
        """The contrast of the best of ``n`` baselines, its upper end by Bonferroni's correction.

        The best of many beats a metric by chance more often than a single one does. The lower end
        stays: a metric that beats all of them beats each.
        """
        if n < 2 or not np.isfinite(self.high):
            return self
        half = half_interval(self.se, self.freedom, (1.0 - CONFIDENCE) / n)
        return replace(self, high=self.mean + half)

    @property
    def told(self) -> "Contrast":
        """The contrast without its interval if too few units support one."""
        return self if self.units >= MIN_UNITS else replace(self, low=-np.inf, high=np.inf)

    @property
    def is_constant(self) -> bool:
        """Whether all differences are the same, though there are several."""
        return self.units >= 2 and self.se <= EQUAL_LOSSES * max(1.0, abs(self.mean))

    @property
    def is_equal(self) -> bool:
        """Whether there are several differences, and all of them are 0."""
        return self.is_constant and abs(self.mean) <= EQUAL_LOSSES

    @property
    def is_beaten(self) -> bool:
        """Whether the learned metric is better beyond chance, or by the same on each of them."""
        return self.low > 0 or (self.is_constant and self.mean > EQUAL_LOSSES)

    def __str__(self) -> str:
        """The difference in words, with the name of the baseline."""
        who = baseline_in_words(self.baseline)
        if self.is_equal or (self.n == 1 and self.won == self.lost == 0):
            return f"the same as that of {who}{' on each of them' if self.n > 1 else ''}"
        counts = f"better on {self.won}, worse on {self.lost}"
        if self.is_constant:
            counts = f"the same on each of them: {counts}"
        elif np.isfinite(self.told.low):
            interval = f"{two_digits(self.low)} to {two_digits(self.high)}"
            counts = f"95 % interval of the gain {interval}; {counts}"
        word = "lower" if self.mean >= 0 else "higher"
        return f"{two_digits(abs(self.mean))} {word} than that of {who} ({counts})"


def _wins(differences: Floats | Ints) -> tuple[int, int]:
    return int((differences > EQUAL_LOSSES).sum()), int((differences < -EQUAL_LOSSES).sum())
