"""The door: what makes a fit poor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from structsvm.data.gaps import filled
from structsvm.data.sample import Sample, is_prepared
from structsvm.diagnosis.checks import OF_A_SEARCH, OF_FEATURES, OF_LABELS, OF_THE_FIT, Examined
from structsvm.diagnosis.findings import Diagnosis, Finding
from structsvm.errors import DataError, SettingsError
from structsvm.learner.columns import partition_of, unscaled, words_of
from structsvm.learner.form import Form
from structsvm.learner.learner import MetricLearner
from structsvm.learner.steps import as_measured
from structsvm.model_selection import MetricLearnerCV
from structsvm.partial_labels.complete import read_labels


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
    fitted: Any = getattr(learner, "best_estimator_", learner)
    beside = {"ys": ys, "groups": groups, "names": names}
    without = [name for name, value in beside.items() if value is not None]
    if Xs is None and without:
        raise SettingsError(f"{without[0]} of no samples: give Xs as well")
    if Xs is None:
        return diagnose_measured(learner, None)
    if is_prepared(Xs):
        raise SettingsError("give the original samples: prepared ones have lost their scale")
    form = Form.given_to(fitted, Xs)
    ys, groups = form.labels_in_order(ys), form.in_order(groups, "groups")
    names = form.names if names is None else names
    measured = as_measured(fitted, form.samples)
    return diagnose_measured(learner, measured, ys, groups=groups, names=names)


def diagnose_measured(
    learner: MetricLearner | MetricLearnerCV,
    measured: Sequence[Sample] | None,
    ys: Any = None,
    *,
    groups: Any = None,
    names: Sequence[str] | None = None,
    prepared: Sequence[Sample] | None = None,
) -> Diagnosis:
    """As :func:`diagnose`, of samples that ``as_measured`` has checked already."""
    fitted: Any = getattr(learner, "best_estimator_", learner)
    checks: list[tuple[Any, Any]] = [(check, fitted) for check in OF_THE_FIT]
    if fitted is not learner:
        checks += [(check, learner) for check in OF_A_SEARCH]
    if measured is not None:
        given = _examined(fitted, measured, ys, groups, names, prepared)
        checks += [(check, given) for check in OF_FEATURES]
        checks += [(check, given) for check in OF_LABELS if ys is not None]
    found = {check.__name__.replace("_", " "): list(check(of)) for check, of in checks}
    findings = [Finding(kind, *parts) for kind, each in found.items() for parts in each]
    return Diagnosis(tuple(findings), tuple(found))


def _examined(
    learner: MetricLearner,
    measured: Sequence[Sample],
    ys: Any,
    groups: Any,
    names: Sequence[str] | None,
    prepared: Sequence[Sample] | None,
) -> Examined:
    """Samples and what is known of them, checked."""
    words, N = words_of(learner.problem_, measured), len(measured)
    for what, values in (("groups", groups), ("names", names)):
        if values is not None and len(values) != N:
            raise DataError(f"{words.wholes(N)} but {len(values)} {what}: give one for each")
    prepared = learner.inputs_(measured) if prepared is None else prepared
    known = [] if ys is None else read_labels(learner.problem_, prepared, ys)
    truths = [None if one.truth is None else partition_of(one.truth) for one in known]
    return Examined(
        learner=learner,
        words=words,
        names=[str(i) for i in range(N)] if names is None else list(names),
        measured=measured,
        prepared=[sample.with_features(filled(sample.X)) for sample in prepared],
        unscaled=[filled(X) for X in unscaled(learner, measured)],
        truths=truths or [None] * N,
        groups=None if groups is None else list(groups),
    )
