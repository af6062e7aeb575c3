"""What the labels of images say about how to cut them, and which image a message is about."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from structsvm.cli.terminal import Terminal
from structsvm.datasets.image_folder import LabelledImage
from structsvm.errors import DataError, DataWarning, warn
from structsvm.problems.normalized_cut import NormalizedCut

__all__ = ["as_typed", "named_images", "with_counts"]


def with_counts(
    problem: NormalizedCut, given: Mapping[str, Any], labels: Sequence[Any], terminal: Terminal
) -> NormalizedCut:
    """The problem with its number of parts unknown where the images differ in it.

    Unless it was said whether it is known: then whoever predicts gives it.
    """
    counts = [np.unique(y).size for y in labels]
    if "n_clusters" in given or min(counts) == max(counts):
        return problem
    terminal.note(
        f"the images have {min(counts)} to {max(counts)} parts: how many a new one has is learned, "
        "too (--set n_clusters=known leaves it to --n-clusters)"
    )
    return replace(problem, n_clusters="unknown")


def as_typed(message: str) -> str:
    """A message with settings as they are typed."""
    return message.replace("raise n_segments", "learn with a larger --set n_segments=N")


@contextmanager
def named_images(images: Sequence[LabelledImage]) -> Iterator[None]:
    """Errors and warnings about the i-th graph name the file of the i-th image."""

    def renamed(message: object) -> str:
        def file(match: re.Match[str]) -> str:
            i = int(match[1])
            return images[i].source if i < len(images) else match[0]

        return as_typed(re.sub(r"\bgraph (\d+)\b", file, str(message)))

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", DataWarning)
        try:
            yield
        except DataError as error:
            raise DataError(renamed(error)) from error
        finally:
            found = list(told)
    for warning in found:
        warn(renamed(warning.message), warning.category)
