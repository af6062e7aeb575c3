"""The door: what makes a fit poor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from structsvm.data.gaps import filled
from structsvm.data.sample import Sample, is_prepared
from structsvm.data.words import Words
from structsvm.diagnosis import fit, samples
from structsvm.diagnosis.findings import Diagnosis, Finding, Found
from structsvm.diagnosis.samples import Examined
from structsvm.errors import DataError, SettingsError
from structsvm.learner.columns import partition_of, unscaled, words_of
from structsvm.learner.form import Form
from structsvm.learner.learner import MetricLearner
from structsvm.learner.steps import as_measured
from structsvm.model_selection import MetricLearnerCV
from structsvm.partial_labels.complete import read_labels

OF_THE_FIT = (fit.certificate, fit.price, fit.few_labels)
OF_FEATURES = (
    samples.scale,
    samples.spikes,
    samples.codes,
    samples.constant,
    samples.copied_features,
    samples.copies,
    samples.leakage,
)
OF_LABELS = (samples.unrelated_labels, samples.labels_among_features)


def diagnose(
    learner: MetricLearner | MetricLearnerCV,
    Xs: Any = None,
    ys: Any = None,
    *,
    groups: Any = None,
    names: Sequence[str] | None = None,
) -> Diagnosis:
    """Look for causes of a poor fit, and say what to do about each finding.

    Parameters
    ----------
    learner : MetricLearner or MetricLearnerCV
        Fitted.
    Xs : samples, as for :meth:`MetricLearner.fit`, optional
        Training samples, or others. Without them only the learner is examined: certificate, price,
        path of ``lam``, and number of labels.
    ys : their labels, optional
        Full or partial. Without them nothing that needs labels is examined.
    groups : sequence of length N, optional
        Group of each sample (person, machine, ...). Samples of different groups must not overlap.
    names : sequence of str, optional
        Names of the samples in findings; by default their own names, or else their numbers.

    Returns
    -------
    Diagnosis
        The findings, which ``print`` shows. A metric without findings can still be poor;
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
    check_is_fitted(learner)
    fitted = learner.best_estimator_ if hasattr(learner, "best_estimator_") else learner
    beside = {"ys": ys, "groups": groups, "names": names}
    without = [name for name, value in beside.items() if value is not None]
    if Xs is None and without:
        raise SettingsError(f"{without[0]} of no samples: give Xs as well")
    if Xs is not None and is_prepared(Xs):
        raise SettingsError("give the original samples: prepared ones have lost their scale")
    if Xs is None:
        return diagnose_measured(learner, None)
    form = Form.given_to(fitted, Xs)
    ys, groups = form.labels_in_order(ys), form.in_order(groups, "groups")
    names = form.names if names is None else names
    return diagnose_measured(
        learner, as_measured(fitted, form.samples), ys, groups=groups, names=names
    )


def diagnose_measured(
    learner: MetricLearner | MetricLearnerCV,
    measured: Sequence[Sample] | None,
    ys: Any = None,
    *,
    groups: Any = None,
    names: Sequence[str] | None = None,
    prepared: Sequence[Sample] | None = None,
) -> Diagnosis:
    """As :func:`diagnose`, of samples that ``learner.measured`` has checked already."""
    fitted = learner.best_estimator_ if hasattr(learner, "best_estimator_") else learner
    checks: list[tuple[Callable[[Any], Found], Any]] = [(check, fitted) for check in OF_THE_FIT]
    if hasattr(learner, "best_estimator_"):
        checks.append((fit.path, learner))
    if measured is not None:
        given = _given(fitted, measured, ys, groups, names, prepared)
        which = OF_FEATURES if ys is None else OF_FEATURES + OF_LABELS
        checks += [(check, given) for check in which]
    found = {check.__name__.replace("_", " "): list(check(of)) for check, of in checks}
    findings = [Finding(kind, *parts) for kind, each in found.items() for parts in each]
    return Diagnosis(tuple(findings), tuple(found))


def _given(
    learner: MetricLearner,
    measured: Sequence[Sample],
    ys: Any,
    groups: Any,
    names: Sequence[str] | None,
    prepared: Sequence[Sample] | None,
) -> Examined:
    """Samples and what is known of them, checked."""
    words = words_of(learner.problem_, measured)
    prepared = learner.inputs_(measured) if prepared is None else prepared
    known = [] if ys is None else read_labels(learner.problem_, prepared, ys)
    truths = [None if one.truth is None else partition_of(one.truth) for one in known]
    return Examined(
        learner=learner,
        words=words,
        names=_one_each("names", names, measured, words) or [str(i) for i in range(len(measured))],
        measured=measured,
        prepared=[sample.with_features(filled(sample.X)) for sample in prepared],
        unscaled=[filled(X) for X in unscaled(learner, measured)],
        truths=truths or [None] * len(measured),
        groups=_one_each("groups", groups, measured, words),
    )


def _one_each(what: str, values: Any, samples: Sequence[Sample], words: Words) -> list[Any] | None:
    if values is None:
        return None
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise DataError(f"{what} must be a list, one for each {words.whole}, got {values!r}")
    each = list(values)
    if len(each) != len(samples):
        raise DataError(f"{words.wholes(len(samples))} but {len(each)} {what}: give one for each")
    return each
