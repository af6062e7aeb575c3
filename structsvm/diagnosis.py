"""What makes a fit poor, and what to do about it.

A function for each kind of finding, which is called as the function is.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from sklearn.preprocessing import StandardScaler

from structsvm.data.checks import one_each
from structsvm.data.constant import is_constant
from structsvm.data.copies import contents
from structsvm.data.missing import filled
from structsvm.data.sample import Sample, is_prepared
from structsvm.errors import SettingsError
from structsvm.evaluation.contrast import MIN_UNITS
from structsvm.evaluation.evaluate import fitted_learner
from structsvm.learner.columns import (
    Said,
    changes_in,
    codes_in,
    column_names,
    divided,
    explained,
    labels_in,
    words_of,
)
from structsvm.learner.form import Form
from structsvm.learner.learner import Learner
from structsvm.learner.metric_learner import MetricLearner
from structsvm.learner.steps import measured
from structsvm.messages import Code, parameter
from structsvm.model_selection import MetricLearnerCV
from structsvm.partial_labels import labels_of_each, read_labels
from structsvm.partitions.equivalence import runs_of
from structsvm.status import Status
from structsvm.support.arrays import Floats
from structsvm.support.checks import counted, finite, some_of

__all__ = ["Diagnosis", "Finding"]

WIDTH = 80  # of a table of findings
OPEN = 0.05  # a certified gap that is worth a word, as a share of the best possible gain
DOMINATES = 0.5  # a share of the squared distances, of one feature out of several,
TIMES = 10.0  # and how much larger it is than that of the median feature
SPIKY = 0.5  # a share of the variance of a feature that is due to its few largest values,
FEW_VALUES = 5e-3  # and how many of the values are few
SAME = 1 - 1e-4  # a correlation from which on two features say the same
ROTATIONS = 39  # labels at other places, to compare the labelled places with
BY_CHANCE = 0.05  # a share of these that do as well from which on labels explain nothing
FEWEST_TO_EXCHANGE = 4  # different labellings that can be exchanged often enough to compare with
WINDOW = 8  # consecutive items that two samples must share to have a stretch in common
SHARED = 0.1  # a part of the shorter sample from which on an overlap is one
FINE = 100  # samples to which recordings are scaled to see whether their labels differ

OF_STOPPING = " of the solver's Stopping"
WAYS_OUT = {
    Status.MAX_ITER: "allow more iterations, " + parameter("max_iter") + OF_STOPPING,
    Status.MAX_SECONDS: "allow more time, " + parameter("max_seconds") + OF_STOPPING,
    Status.MAX_CALLS: "allow more oracle calls, " + parameter("max_calls") + OF_STOPPING,
    Status.INTERRUPTED: "let it run to the end; "
    + parameter("resume")
    + " continues a stopped run",
    Status.STALLED: "scale the features ("
    + parameter("standardize", "recording")
    + "), or use another master",
    Status.MASTER_FAILED: "scale the features or the constraints, or use another master",
    Status.NOTHING_TO_LEARN: "check that the labels belong to these features, or lower lam",
}

Found = Iterator[Said]
"""What a check finds: what it is, what to do, and the values behind the sentence."""


@dataclass(frozen=True)
class Finding:
    """Something that makes a fit poor, or its figures better than they will be on new samples."""

    kind: str
    """One of :attr:`Diagnosis.checked`."""
    found: str
    """What it is, with its numbers."""
    remedy: str
    """What to do."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The numbers and names behind the sentence."""


@dataclass(frozen=True)
class Diagnosis:
    """What was found, and what was looked for; ``print`` it."""

    findings: tuple[Finding, ...]
    """The worst first, in the order of what was looked for."""
    checked: tuple[str, ...]
    """What was looked for."""

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What was found, each kind once."""
        return tuple(dict.fromkeys(finding.kind for finding in self.findings))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: the findings, and what was looked for."""
        return dict(finite(asdict(self)))

    def __str__(self) -> str:
        """A table: what was found, and below each what to do."""
        if not self.findings:
            return f"nothing was found; looked for: {', '.join(self.checked)}"
        fill = partial(textwrap.fill, width=WIDTH, break_on_hyphens=False)  # names of files
        lines: list[str] = []
        for finding in self.findings:
            lines.append(fill(finding.kind + ": " + finding.found, subsequent_indent="    "))
            lines.append(fill("  -> " + finding.remedy, subsequent_indent="     "))
        return "\n".join(lines)

    def spelled(self, words: Callable[[str], str]) -> Diagnosis:
        """The same in other words for parameters, as the command line has them."""
        findings = [
            replace(finding, found=words(finding.found), remedy=words(finding.remedy))
            for finding in self.findings
        ]
        return replace(self, findings=tuple(findings))


# ---- what a fitted learner says of itself, without any samples


def certificate(learner: Learner) -> Found:
    solution = learner.solution_
    if solution is None:
        return
    status = solution.status
    gap = float(solution.gap)
    wide = learner.problem_.traits.convex and np.isfinite(solution.lower) and gap > OPEN
    if wide or not status.converged or status is Status.NOTHING_TO_LEARN:
        far = f", and {100 * gap:.2g} % of the best possible gain may be missing" if wide else ""
        yield (
            f"{status.value}{far}",
            WAYS_OUT.get(status, "lower the tolerance, " + parameter("tol") + OF_STOPPING),
            {"status": status.name, "gap": gap, "lower": solution.lower, "upper": solution.upper},
        )


def price(learner: MetricLearner) -> Found:
    calibration = learner.calibration_
    part = learner.problem_.traits.words.part
    prices = calibration.penalties
    margin = calibration.smoothing
    if not learner.problem_.traits.convex or prices.size < 2 * margin + 2:
        return
    is_low = calibration.best <= margin
    if not is_low and calibration.best < prices.size - 1 - margin:
        return
    end, meaning = ("lowest", "nearly every") if is_low else ("highest", "hardly any")
    yield (
        f"the price of a {part}, {calibration.penalty:.3g}, is among the {end} of those that were "
        f"tried ({prices[0]:.3g} to {prices[-1]:.3g}): in this metric {meaning} change is worth it",
        f"check that the labels belong to these samples, use features that distinguish the {part}s "
        f"of the labels (docs/features.md), or give the number of {part}s when predicting",
        {"price": calibration.penalty, "tried": [float(prices[0]), float(prices[-1])]},
    )


def few_labels(learner: MetricLearner) -> Found:
    data = learner.training_data_
    traits = learner.problem_.traits
    P = len(learner.metric_.factor)
    N = len(data)
    words = traits.words
    weights = P if learner.metric == "diagonal" else P * (P + 1) // 2
    parts = sum(data.n_clusters) if traits.contiguous else sum(data.n_samples)
    unit = f"{words.part if traits.contiguous else words.item}s"
    if traits.contiguous and N < MIN_UNITS:
        yield (
            f"learned from {words.wholes(N)}: the metric may fit the peculiarities of "
            f"{'it' if N == 1 else 'them'}, and cross-validation needs at least {MIN_UNITS}",
            f"label more {words.whole}s; a few labelled stretches of many are worth more than all "
            "of one (docs/weak-labels.md)",
            {f"n_{words.whole}s": N, "needed": MIN_UNITS},
        )
    if parts < weights:
        is_full = learner.metric != "diagonal"
        less = parameter("metric", "diagonal") if is_full else "fewer features"
        yield (
            f"a {learner.metric} metric of {P} features has {weights} weights, and was learned "
            f"from {parts} {unit}",
            "learn with "
            + less
            + " or a larger lam, compare both with MetricLearnerCV, or label more",
            {"weights": weights, unit: parts},
        )


def path(search: MetricLearnerCV) -> Found:
    lam = search.best_lam_
    kind = search.best_candidate_
    assert lam is not None
    lams = sorted(c.lam for c in search.candidates_ if c.name == kind and c.lam is not None)
    if len(lams) < 2 or lams[0] < lam < lams[-1]:
        return
    further = lam / 5
    meaning = "the smallest: weaker regularization may be better"
    if lam > lams[0]:
        further = lam * 5
        meaning = "the largest: the labels support little more than the untrained metric"
    yield (
        parameter("lam", Code(f"{lam:g}"))
        + f" was chosen, of {len(lams)} from {lams[0]:g} to {lams[-1]:g} {meaning}",
        f"try further ones: lams=({', '.join(f'{x:g}' for x in sorted([*lams, further]))})",
        {"lam": float(lam), "tried": [float(x) for x in lams]},
    )


# ---- features and labels that make a fit poor


class Examined:
    """Samples that were given to look at, as they were measured and as the metric sees them."""

    def __init__(
        self,
        learner: Learner,
        measured: Sequence[Sample],
        ys: Any,
        groups: Any = None,
        names: Sequence[str] | None = None,
        prepared: Sequence[Sample] | None = None,
    ) -> None:
        N = len(measured)
        self.words = words_of(learner.problem_, measured)
        self.learner = learner
        self.measured = measured
        self.has_labels = ys is not None
        self.groups = None if groups is None else one_each(groups, N, self.words, "group")
        called = map(str, range(N)) if names is None else names
        self.names = one_each(called, N, self.words, "name")
        prepared = learner.inputs_(measured) if prepared is None else prepared
        self.prepared = [sample.with_features(filled(sample.X)) for sample in prepared]
        problem = learner.problem_
        labels = []
        if ys is not None:
            given = labels_of_each(ys, prepared, problem.traits.words)
            labels = read_labels(problem, prepared, given)
        self.known = divided([known.truth for known in labels])
        # As measured, without gaps: what is made of these has copies and constants of its own.
        self.columns = [filled(sample.X) for sample in measured]
        self.column_names = np.array(column_names(learner), dtype=object)
        self.numbers = contents([sample.data for sample in measured])  # the same for copies


def scale(given: Examined) -> Found:
    """A feature that decides alone which partition is best, because of its unit."""
    inputs: Any = given.learner.inputs_
    if inputs.features is not None and inputs.features.scaled:
        return
    squares = sum(((s.X - s.X.mean(axis=0)) ** 2).sum(axis=0) for s in given.prepared)
    shares = np.asarray(squares) / max(float(np.sum(squares)), 1e-300)
    largest = int(shares.argmax())
    others = np.delete(shares, largest)
    others = others[others > 0]
    if not others.size or shares[largest] <= max(DOMINATES, TIMES * np.median(others)):
        return
    name = given.learner.metric_feature_names_[largest]
    kind = inputs.standardizer.kind
    scaled = "not scaled" if kind is None else "scaled by " + parameter("standardize", kind)
    yield (
        f"feature {name} makes {100 * shares[largest]:.0f} % of the squared distances of the "
        f"untrained metric, {shares[largest] / np.median(others):.2g} times the median of the "
        "others: features are " + scaled + ", and the regularizer assumes features in one unit",
        "learn with "
        + parameter("standardize", "recording")
        + " (or 'training'), or give the feature in another unit",
        {"feature": name, "share": float(shares[largest]), "standardize": kind},
    )


def spikes(given: Examined) -> Found:
    """Columns whose variance is that of a few values."""
    centred = np.vstack([X - np.median(X, axis=0) for X in given.columns])
    n = int(np.ceil(FEW_VALUES * len(centred)))
    if len(centred) < 2 * n or len(centred) < 100:
        return
    squares = np.sort(centred**2, axis=0)
    total = squares.sum(axis=0)
    top = squares[-n:].sum(axis=0)
    share = np.divide(top, total, out=np.zeros_like(top), where=total > 0)
    found = np.flatnonzero(share > SPIKY)
    if found.size:
        names = given.column_names[found].tolist()
        yield (
            f"{n} of {len(centred)} {given.words.item}s {'makes' if n == 1 else 'make'} most of "
            f"the variance of feature {some_of(names)}: standardised, all other values are small",
            "clip or interpolate the outliers, or use ranks or a robust transformation",
            {"shares": dict(zip(names, share[found].tolist(), strict=True))},
        )


def codes(given: Examined) -> Found:
    """Numbers that stand for missing values: the same again and again, far from all others."""
    data = [sample.data for sample in given.measured]
    names = given.column_names.tolist()
    yield from codes_in(data, names, given.words.item, given.names.__getitem__)


def constant(given: Examined) -> Found:
    """Columns that do not vary, in all samples or in many."""
    flat = np.array([is_constant(X) for X in given.columns])
    N = len(flat)
    times = flat.sum(axis=0)
    often = np.flatnonzero(2 * times >= N)
    if often.size:
        counts = dict(zip(given.column_names[often].tolist(), times[often].tolist(), strict=True))
        said = [f"{name} in {n} of {given.words.wholes(N)}" for name, n in counts.items()]
        yield (
            f"constant: feature {some_of(said)}",
            "check whether the sensor was off; what never varies has no influence",
            {"constant_in": counts},
        )


def copied_features(given: Examined) -> Found:
    """Columns that say the same as others."""
    Z = np.vstack([StandardScaler().fit_transform(X) for X in given.columns])
    with np.errstate(invalid="ignore"):  # of what is constant everywhere
        correlation = np.nan_to_num(np.atleast_2d(np.corrcoef(Z, rowvar=False)))
    pairs = given.column_names[np.argwhere(np.triu(np.abs(correlation) > SAME, 1))].tolist()
    # two categories of one column cannot do otherwise
    pairs = [pair for pair in pairs if len({name.partition("=")[:2] for name in pair}) > 1]
    if pairs:
        yield (
            f"always move together: {some_of([' and '.join(pair) for pair in pairs])}; one may "
            "take the weight of both",
            "leave out one of each pair, or do not interpret which of them has the weight",
            {"pairs": pairs},
        )


def copies(given: Examined) -> Found:
    """Samples that are the same, to the last value."""
    places = defaultdict(list)
    for name, number in zip(given.names, given.numbers.tolist(), strict=True):
        places[number].append(name)
    same = [names for names in places.values() if len(names) > 1]
    if same:
        n = sum(len(names) - 1 for names in same)
        yield (
            f"{n} of {given.words.wholes(len(given.names))} "
            f"{'is a copy of another one' if n == 1 else 'are copies of others'}: "
            f"{some_of([' = '.join(names) for names in same])}",
            f"keep one of each, because a copy counts twice; to weight a {given.words.whole}, use "
            "sample_weight=",
            {"copies": same},
        )


def leakage(given: Examined) -> Found:
    """Samples that were learned from, overlap across groups, or are of too few groups."""
    data = given.learner.training_data_
    N = len(given.measured)
    groups = given.groups
    words = given.words
    whole = given.words.whole
    seen = [given.names[i] for i, sample in enumerate(given.measured) if sample.data in data]
    # All of them: these are the samples that were learned from, and nothing is held out.
    if 0 < len(seen) < N:
        yield (
            f"{given.learner.called} was learned from {len(seen)} of these {words.wholes(N)}: "
            f"{some_of(seen)}",
            "evaluate it on the others alone",
            {"learned_from": seen},
        )
    across = [
        {"first": given.names[a], "second": given.names[b], "share": share}
        for (a, b), share in _shared_stretches(given).items()
        if groups is None or groups[a] != groups[b]
    ]
    if across:
        said = [f"{pair['first']} and {pair['second']}" for pair in across]
        different = " of different groups" if groups is not None else ""
        yield (
            f"stretches of the same values in {counted(len(across), 'pair')} of {whole}s"
            f"{different}: {some_of(said)}",
            f"cut {whole}s that do not overlap, or put overlapping ones in the same group: a "
            "held-out one is not independent of the other",
            {"pairs": across},
        )
    n = MIN_UNITS if groups is None else len(set(map(str, groups)))
    if n < MIN_UNITS:
        yield (
            f"the {words.wholes(N)} are of {counted(n, 'group')}: the gain on further groups "
            f"cannot be estimated from fewer than {MIN_UNITS}",
            "label a little of further groups rather than more of these groups",
            {"groups": n, "needed": MIN_UNITS},
        )


def _shared_stretches(given: Examined) -> dict[tuple[int, int], float]:
    """The part of the shorter of two samples that is in the other, if it is large."""
    window = WINDOW if given.learner.problem_.traits.contiguous else 1
    Xs = [sample.X for sample in given.measured]
    N = len(given.measured)
    owners = np.repeat(np.arange(N), [len(X) for X in Xs])
    last = owners[window - 1 :]
    first = owners[: last.size]
    whole = first == last  # stretches of one sample
    if not whole.any():
        return {}
    rows = np.unique(np.vstack(Xs), axis=0, return_inverse=True)[1].reshape(-1)
    views = np.lib.stride_tricks.sliding_window_view(rows, window)[whole]
    numbers = np.unique(views, axis=0, return_inverse=True)[1].reshape(-1)
    times = coo_array((np.ones(numbers.size), (first[whole], numbers))).tocsr()
    once = (times == 1).astype(np.int64)  # what repeats itself says nothing
    pairs = (once @ once.T).tocoo()
    n = np.bincount(first[whole], minlength=N)
    found = {}
    for a, b, shared in sorted(zip(*pairs.coords, pairs.data, strict=True)):
        share = float(shared / min(n[a], n[b]))
        may_differ = given.numbers[a] != given.numbers[b] or given.groups is not None
        if a < b and may_differ and share >= SHARED:
            found[int(a), int(b)] = share
    return found


def unrelated_labels(given: Examined) -> Found:
    """Labels that explain no feature better than others, which belong to none of the samples."""
    if not given.known:
        return
    rng = np.random.default_rng(0)
    contiguous = given.learner.problem_.traits.contiguous
    arrays = [given.prepared[i].X for i, _ in given.known]
    labels: list[Any] = [truth.labels for _, truth in given.known]

    def moved() -> list[Any]:
        if not contiguous:
            return [rng.permutation(y) for y in labels]
        return [_scaled(np.roll(y, int(rng.integers(1, y.size))), y.size) for y in labels]

    def exchanged() -> list[Any]:
        order = rng.permutation(len(labels))
        of_another = np.roll(order, 1)[np.argsort(order)]
        return [_scaled(labels[k], len(X)) for k, X in zip(of_another, arrays, strict=True)]

    where = "shifted in time" if contiguous else f"in another order of {given.words.item}s"
    others = {f"the same labels {where}": moved}
    different = {_scaled(y, FINE).tobytes() for y in labels}
    if contiguous and len(different) >= max(FEWEST_TO_EXCHANGE, len(labels) / 2):
        others[f"the labels of other {given.words.whole}s, scaled to its length,"] = exchanged
    here = _shares(arrays, labels)
    for what, draw in others.items():
        elsewhere = np.array([_shares(arrays, draw()) for _ in range(ROTATIONS)])
        centre = elsewhere.mean(axis=0)
        spread = elsewhere.std(axis=0) + 1e-12
        score = float(((here - centre) / spread).max())
        beaten = float(np.mean(((elsewhere - centre) / spread).max(axis=1) >= score))
        if beaten > BY_CHANCE:
            yield (
                f"no feature differs between the labelled {given.words.part}s more than by chance: "
                f"{what} do as well in {100 * beaten:.0f} % of {ROTATIONS} trials",
                "check that labels and samples belong together and start at the same time, or use "
                "features that show the changes (docs/features.md)",
                {"chance": beaten, "explained": float(here.max())},
            )
            return


def _shares(arrays: Sequence[Floats], labels: Sequence[Any]) -> Floats:
    """The mean share of the scatter of each feature that is between the parts, (P,)."""
    found = [explained(X, y) for X, y in zip(arrays, labels, strict=True)]
    shares = [np.divide(b, t, out=np.zeros_like(b), where=t > 0) for b, t in found]
    return np.asarray(np.mean(shares, axis=0))


def _scaled(labels: Any, T: int) -> Any:
    """Segments of a recording, numbered in their order and scaled to T samples."""
    labels = labels[np.arange(T) * labels.size // T]
    return runs_of(labels).labels


def labels_among_features(given: Examined) -> Found:
    """Columns that hold the labels: they do not vary within any labelled part."""
    parts = [(given.columns[i], M) for i, M in given.known]
    for holding in (labels_in, changes_in):
        yield from holding(parts, given.column_names.tolist(), given.words)


OF_THE_FIT = (certificate,)
OF_A_METRIC = (price, few_labels)
OF_A_SEARCH = (path,)
OF_DISTANCES = (scale,)
OF_FEATURES = (spikes, codes, constant, copied_features, copies, leakage)
OF_LABELS = (unrelated_labels, labels_among_features)


# ---- the door


def diagnose(
    learner: Learner | MetricLearnerCV,
    Xs: Any = None,
    ys: Any = None,
    *,
    groups: Any = None,
    names: Sequence[str] | None = None,
) -> Diagnosis:
    """Look for causes of a poor fit, and say what to do about each finding.

    Parameters
    ----------
    learner : MetricLearner, StateSegmenter or another learner, or MetricLearnerCV
        Fitted. Of what is no metric nothing is said about prices, weights and scales.
    Xs : samples, as for :meth:`MetricLearner.fit`, optional
        Training samples, or others. Without them only the learner is examined.
    ys : their labels, optional
        Full or partial. Without them nothing that needs labels is examined.
    groups : sequence of length N, optional
        Group of each sample (person, machine, ...). Samples of different groups must not overlap.
    names : sequence of str, optional
        Names of the samples in findings; by default their own names, or else their numbers.

    Returns
    -------
    Diagnosis
        The findings, which ``print`` shows. A metric without any can still be poor;
        :func:`structsvm.evaluate` measures how good it is.

    Raises
    ------
    NotFittedError
        If the learner is not fitted.
    DataError, SettingsError
        For a sample or a parameter that cannot be used.

    Examples
    --------
    >>> from structsvm import MetricLearner, diagnose
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> recordings = relevant_changes(6, n_samples=200, n_features=4, n_relevant=1, random_state=0)
    >>> Xs, ys = arrays_and_labels(recordings)
    >>> in_mm = [X * [1.0, 1.0, 1.0, 1000.0] for X in Xs]
    >>> learner = MetricLearner(metric="diagonal", standardize=None).fit(in_mm, ys)
    >>> found = diagnose(learner, in_mm, ys)
    >>> found.kinds, found.findings[0].values["feature"]
    (('scale',), 'x3')
    """
    fitted = fitted_learner(learner, "diagnose")
    given = [name for name, value in (("ys", ys), ("groups", groups)) if value is not None]
    if Xs is None:
        if given:
            raise SettingsError(f"{given[0]} of no samples: give Xs as well")
        return diagnosis_of(learner)
    if is_prepared(Xs):
        raise SettingsError("give the original samples: prepared ones have lost their scale")
    form = Form.given_to(fitted, Xs)
    ys = form.labels(ys)
    groups = form.in_order(groups, "groups")
    names = form.names if names is None else names
    examined = Examined(fitted, measured(fitted, form.samples), ys, groups, names)
    return diagnosis_of(learner, examined)


def diagnosis_of(learner: Learner | MetricLearnerCV, given: Examined | None = None) -> Diagnosis:
    """As :func:`diagnose`, of samples that were checked already."""
    fitted = fitted_learner(learner, "diagnose")
    is_metric = fitted.sees is not None
    of_fit = (*OF_THE_FIT, *(OF_A_METRIC if is_metric else ()))
    checks: list[tuple[Any, Any]] = [(check, fitted) for check in of_fit]
    if fitted is not learner and is_metric and fitted.is_learned:
        checks += [(check, learner) for check in OF_A_SEARCH]
    if given is not None:
        of_samples = (*(OF_DISTANCES if is_metric else ()), *OF_FEATURES)
        of_samples += OF_LABELS if given.has_labels else ()
        checks += [(check, given) for check in of_samples]
    found = {check.__name__.replace("_", " "): list(check(of)) for check, of in checks}
    findings = [Finding(kind, *parts) for kind, each in found.items() for parts in each]
    return Diagnosis(tuple(findings), tuple(found))
