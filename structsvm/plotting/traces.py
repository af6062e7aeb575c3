"""What is drawn of a sample: its values in the metric, or as they were measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from structsvm.data.gaps import InMetric
from structsvm.data.sample import Sample
from structsvm.errors import SettingsError
from structsvm.learner.columns import is_image, unscaled
from structsvm.learner.learner import MetricLearner
from structsvm.learner.steps import as_measured
from structsvm.plotting.words import feature_weights, heaviest_directions
from structsvm.support.arrays import Floats
from structsvm.support.checks import refuse_below


def traces(
    learner: MetricLearner, measured: Sample, prepared: Sample, show: str, n: int
) -> tuple[list[str], Floats]:
    """Names and values, (n, T), of what is drawn of a sample, see :func:`check_drawable`."""
    refuse_below(1, "n_traces", n)
    if show == "features":
        names = learner.metric_feature_names_
        top = np.argsort(-feature_weights(learner), kind="stable")[:n]
        return [names[j] for j in top], unscaled(learner, [measured])[0].T[top]
    if show != "components":
        raise SettingsError(f"show must be 'components' or 'features', got {show!r}")
    titles, directions = heaviest_directions(learner, n)
    return titles, InMetric(directions.T)(prepared.X).T


def check_drawable(
    learner: MetricLearner, X: Any, picture: str, *, in_order: bool
) -> tuple[Sample, Sample]:
    """The sample as it was measured and as the metric sees it, if the picture can be drawn of
    it.
    """
    (sample,) = as_measured(learner, [X])
    if is_image(sample):
        raise SettingsError(
            f"{picture} draws recordings, tables and graphs: plot_cut draws an image with its parts"
        )
    traits = learner.problem_.traits
    if in_order and not traits.contiguous:
        raise SettingsError(
            f"{picture} draws one segment after the other, and {type(learner.problem_).__name__} "
            f"gives {traits.words.part}s without such an order: plot_clusters draws a "
            f"{traits.words.whole}"
        )
    (prepared,) = learner.inputs_([sample])
    return sample, prepared
