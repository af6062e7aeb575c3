"""The words that can be typed, kept apart from what they stand for so that help appears at once."""

from __future__ import annotations

from structsvm.plugins import problem_names

FEATURED = {"distribution-change": "change-point"}
"""Kinds of problem that are another one, with features in front of it."""

SOLVERS = (
    *("auto", "cutting-plane", "one-slack", "frank-wolfe", "subgradient"),
    *("quasi-newton", "cccp"),
)
COMPARED = ("cutting-plane", "cutting-plane/clarabel", "one-slack", "frank-wolfe")
REGULARIZERS = ("squared", "trace")
BACKENDS = ("auto", "serial", "threads", "processes", "dask")
LABELS_ARE = ("states", "changes")
MISSING = ("error", "interpolate", "mask")
STREAMS = ("audio", "video", "both")
CONTEXT = ("columns", "lags", "statistics", "scores", "boundaries")
CONTEXT_OF_IMAGES = ("columns", "regions")


def kind_names() -> list[str]:
    """The kinds of problem that ``fit`` and ``compare`` take."""
    return sorted({*problem_names(), *FEATURED})
