"""``diagnose``, which looks for what makes a fit poor, and the table of its checks."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from structsvm.diagnosis.findings import Diagnosis, Examined, Finding, Flaws
from structsvm.diagnosis.of_data import (
    codes,
    constant,
    copied_features,
    copies,
    labels_among_features,
    leakage,
    scale,
    spikes,
    unrelated_labels,
)
from structsvm.diagnosis.of_fit import certificate, few_labels, inference, path, price
from structsvm.errors import SettingsError
from structsvm.evaluation import fitted_learner
from structsvm.learner import Learner
from structsvm.learner.form import Form, is_prepared
from structsvm.learner.labellings import read_labelled
from structsvm.learner.preparing import measured
from structsvm.learner.structured import StructuredSVM, structured_in
from structsvm.model_selection import MetricLearnerCV


class Check(NamedTuple):
    """A kind of finding, what to examine for it (``of``), and the function that does so."""

    kind: str
    of: str
    look: Callable[[Any], Flaws]


CHECKS = (
    Check("certificate", "fit", certificate),
    Check("inference", "labellings", inference),
    Check("price", "metric", price),
    Check("few labels", "metric", few_labels),
    Check("path", "search", path),
    Check("scale", "distances", scale),
    Check("spikes", "samples", spikes),
    Check("codes", "samples", codes),
    Check("constant", "samples", constant),
    Check("copied features", "samples", copied_features),
    Check("copies", "samples", copies),
    Check("leakage", "samples", leakage),
    Check("unrelated labels", "labels", unrelated_labels),
    Check("labels among features", "labels", labels_among_features),
)
"""In the order in which findings are listed: the worst first."""


def diagnose(
    learner: Learner | MetricLearnerCV | StructuredSVM,
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
        Fitted. Of what is no metric nothing is said about prices, weights and scales. Of a
        :class:`~structsvm.StructuredSVM` the certificate is examined and, with instances and
        labellings, whether predictions reach the scores of the truths.
    Xs : instances, as for :meth:`MetricLearner.fit`, optional
        Training instances, or others. Without them only the learner is examined.
    ys : their labels, optional
        Full or partial. Without them nothing that needs labels is examined.
    groups : sequence of length N, optional
        Group of each instance (person, machine, ...). Instances of different groups must not
        overlap.
    names : sequence of str, optional
        Names of the instances in findings; by default their own names, or else their numbers.

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
        For an instance or a parameter that cannot be used.

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
    if (structured := structured_in(learner)) is not None:
        return _of_structured(structured, Xs, ys)
    fitted = fitted_learner(learner, "diagnose")
    without_instances = [
        name for name, value in (("ys", ys), ("groups", groups)) if value is not None
    ]
    if Xs is None:
        if without_instances:
            raise SettingsError(f"{without_instances[0]} of no instances: give Xs as well")
        return diagnosis_of(learner)
    if is_prepared(Xs):
        raise SettingsError("give the original data: prepared instances have lost their scale")
    form = Form.for_learner(fitted, Xs)
    ys = form.labels(ys)
    groups = form.in_order(groups, "groups")
    names = form.names if names is None else names
    examined = Examined(fitted, measured(fitted, form.instances), ys, groups, names)
    return diagnosis_of(learner, examined)


def diagnosis_of(learner: Learner | MetricLearnerCV, examined: Examined | None = None) -> Diagnosis:
    """The diagnosis of a learner, and of instances that were checked already."""
    fitted = fitted_learner(learner, "diagnose")
    looked_at: dict[str, Any] = {"fit": fitted}
    is_metric = fitted.sees is not None
    if is_metric:
        looked_at["metric"] = fitted
        if fitted is not learner and fitted.is_learned:
            looked_at["search"] = learner
    if examined is not None:
        looked_at["samples"] = examined
        if is_metric:
            looked_at["distances"] = examined
        if examined.has_labels:
            looked_at["labels"] = examined
    return _looked(looked_at)


def _of_structured(svm: StructuredSVM, X: Any, y: Any) -> Diagnosis:
    check_is_fitted(svm)
    looked_at: dict[str, Any] = {"fit": svm}
    if X is not None:
        looked_at["labellings"] = svm, read_labelled(X, y)
    return _looked(looked_at)


def _looked(looked_at: dict[str, Any]) -> Diagnosis:
    """Run the checks of these objects, which are given by the names in :attr:`Check.of`."""
    checks = [check for check in CHECKS if check.of in looked_at]
    findings: list[Finding] = []
    for check in checks:
        findings += [Finding(check.kind, *flaw) for flaw in check.look(looked_at[check.of])]
    return Diagnosis(tuple(findings), tuple(check.kind for check in checks))
