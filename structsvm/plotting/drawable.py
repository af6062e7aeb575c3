"""The parts of an instance that pictures draw: its traces, truth and number of clusters."""

from typing import Any

from structsvm.data import IMAGES, Counts, Instance, asked_counts
from structsvm.errors import SettingsError
from structsvm.evaluation import fitted_learner
from structsvm.learner import Learner
from structsvm.learner.fitted import column_names, partition_of
from structsvm.learner.preparing import as_measured, encode
from structsvm.partitions import EquivalenceMatrix
from structsvm.partitions.in_metric import InMetric
from structsvm.plotting.words import heaviest_columns, heaviest_directions
from structsvm.support import Floats


def traces(
    learner: Learner, measured: Instance, prepared: Instance, n: int
) -> tuple[list[str], list[Floats]]:
    """Names and values of ``n`` measured columns, and of ``n`` directions that are no columns."""
    columns = column_names(learner)
    top = heaviest_columns(learner, n)
    names = [columns[j] for j in top]
    values = list(measured.X[:, top].T)
    titles, directions = heaviest_directions(learner, n)
    for title, projected in zip(titles, InMetric(directions.T)(prepared.X).T, strict=True):
        if title not in columns:
            names.append(title)
            values.append(projected)
    return names, values


def drawable(
    learner: Learner, X: Any, y: Any, n_clusters: Any, *, in_order: bool
) -> tuple[Instance, Instance, EquivalenceMatrix | None, Counts]:
    """The instance as measured and as prepared, its truth, and the number of parts to find."""
    picture = "plot_segmentation" if in_order else "plot_clusters"
    fitted_learner(learner, picture)
    (instance,) = as_measured(learner, [X])
    traits = learner.problem_.traits
    other = ""
    if learner.problem_.traits.words.seen_in([instance]) is IMAGES:
        other = "images: plot_cut draws an image with its parts"
    elif in_order and not traits.contiguous:
        one = traits.words.whole
        part = traits.words.part
        other = f"{one}s, whose {part}s are in no order: plot_clusters draws a {one}"
    if other:
        raise SettingsError(f"{picture} does not draw {other}")
    prepared = learner.inputs_([instance])
    truths = None if y is None else encode(learner, prepared, [y])
    truth = None if truths is None else partition_of(truths[0])
    return instance, prepared[0], truth, asked_counts(n_clusters, truths)
