"""The four ways to hold data out: whole instances, groups of rows, clusters, or hidden states."""

from typing import Any

from structsvm.errors import DataError, SettingsError, parameter
from structsvm.evaluation.split_tables import split_clusters, split_rows
from structsvm.evaluation.split_wholes import Split, split_states, split_wholes
from structsvm.learner import TrainingSet
from structsvm.learner.training_set import CLUSTERS, ROWS, STATES
from structsvm.learner.truths import check_truths
from structsvm.support import is_whole

SPLITS = (ROWS, CLUSTERS, STATES)


def split_instances(
    asked: str | None, data: TrainingSet, cv: Any, random_state: int | None
) -> Split:
    """Hold out whole instances, groups of rows, clusters, or instances and one of their states."""
    divides = asked in (ROWS, CLUSTERS)
    words = data.problem.traits.words
    if cv is None:
        # Three folds: the held-out third has more than a few clusters to find, and a metric learned
        # from two thirds of them is nearly one learned from all.
        cv = 3 if asked == CLUSTERS else 5
    if isinstance(cv, bool) or (is_whole(cv) and cv < 2) or (divides and not is_whole(cv)):
        other = "" if divides else ", or a splitter"
        raise SettingsError(f"cv must be at least 2 folds{other}, got {cv!r}")
    if divides and data.asks is None:
        raise DataError(
            parameter("split", asked)
            + f" is for tables: the {words.item}s of a {words.whole} have an order or "
            f"neighbours, and are not split like the rows of a table; leave split out, and "
            f"{words.whole}s are held out as a whole"
        )
    if divides:
        check_truths(data.problem.traits, data.truths)
    if divides and data.groups is not None:
        raise SettingsError(
            f"groups are of whole {words.whole}s, which "
            + parameter("split", asked)
            + " divides: leave one out"
        )
    splits = {ROWS: split_rows, CLUSTERS: split_clusters, STATES: split_states, None: split_wholes}
    return splits[asked](data, cv, random_state)
