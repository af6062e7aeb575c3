"""The margin, rate and range of the change at the start of each segment."""

from collections.abc import Sequence

import numpy as np

from structsvm.data import Counts, Instance
from structsvm.errors import SettingsError, about, wording
from structsvm.learner.fitted import Fitted
from structsvm.learner.rules import Rules, read_rules
from structsvm.learner.segments import Columns
from structsvm.partitions import Found, MarginRates
from structsvm.partitions.change_levels import Places, places_of
from structsvm.support import refuse_below, stage

LEARN_RATES = wording(
    "set learner.margin_rates_ = margin_rates(learner, Xs, ys) first",
    of_files="learn with structsvm fit --rates",
)


def margin_tables(
    learner: Fitted,
    instances: Sequence[Instance],
    n_clusters: Counts,
    rules: Rules,
    tolerance: int | None,
    most: float | None = None,
) -> list[tuple[Found, Columns]]:
    """Segments of prepared instances, with columns about the change at the start of each.

    These are its margin, its rate if known, and the range of samples with an excess up to ``most``.
    """
    n_clusters = learner.model_.n_parts if n_clusters is None else n_clusters
    problem, constraints = read_rules(learner, instances, n_clusters, rules)
    rates = _rates_of(learner)
    tolerance = tolerance_of(learner, tolerance)
    unit = learner.model_.unit
    tables: list[tuple[Found, Columns]] = []
    tasks = stage("margins", list(zip(instances, constraints, strict=True)))
    for i, (instance, rule) in enumerate(tasks):
        with about(problem.traits.words.numbered(i)):
            prediction, margins = learner.model_.margins(problem, instance, rule, tolerance)
            columns: Columns = {"margin": [None, *margins.tolist()]}
            if rates is not None and rates.tolerance == tolerance:
                columns["rate"] = [None, *rates(margins / unit).tolist()]
            if most is not None:
                everywhere = np.arange(1, instance.n_samples)
                excess = learner.model_.losses_with(problem, instance, rule, everywhere)
                columns |= _columns_of_places(places_of(prediction.partition, excess / unit, most))
        tables.append((prediction, columns))
    return tables


def tolerance_of(learner: Fitted, tolerance: int | None) -> int:
    """Samples within which two changes are the same; by default those of the rates, or 5."""
    if tolerance is None:
        rates = _rates_of(learner)
        return 5 if rates is None else rates.tolerance
    refuse_below(0, "tolerance", tolerance)
    return tolerance


def _columns_of_places(places: Places) -> Columns:
    first = [place[0] for place in places.around]
    last = [place[1] for place in places.around]
    return {"from": [None, *first], "to": [None, *last], "possible": [*places.possible]}


def most_excess(learner: Fitted, level: float | None, guaranteed: bool) -> float | None:
    """The largest excess of the samples in ranges of this level; None without a level."""
    if level is None:
        return None
    rates = _rates_of(learner)
    if rates is None or rates.levels is None:
        raise SettingsError(
            "level needs true changes of recordings that were held out: " + LEARN_RATES
        )
    return rates.levels.guaranteed(level) if guaranteed else rates.levels.about(level)


def alarm_margin(learner: Fitted, every: int | None, tolerance: int | None) -> float:
    """The margin above which one change in ``every`` samples is false, about; 0 for all changes."""
    if every is None:
        return 0.0
    rates = _rates_of(learner)
    if rates is None or rates.alarms is None or tolerance_of(learner, tolerance) != rates.tolerance:
        raise SettingsError(
            "false_alarm_every needs recordings that were held out and segmented as they arrive, "
            "with the same tolerance: " + LEARN_RATES
        )
    return rates.alarms.margin(every) * float(learner.model_.unit)


def _rates_of(learner: Fitted) -> MarginRates | None:
    return getattr(learner, "margin_rates_", None)
