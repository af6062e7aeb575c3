"""Series that several people have segmented, each in a way of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from structsvm.datasets.public import PublicSet
from structsvm.errors import SettingsError
from structsvm.io.recording import Recording

TCPD = PublicSet(
    "tcpd",
    "alan-turing-institute/TCPD",
    "83b3039b5c67eaf21a720e3eac4ffdade3fb421c",
    licence="code MIT; each series under the terms in its own README there",
    citation="van den Burg and Williams (2020), An evaluation of change point detection "
    "algorithms, arXiv:2003.06222",
)


@dataclass(frozen=True, eq=False)
class Annotated:
    """A series without labels, and the segment ends of each of its annotators.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.datasets import Annotated
    >>> from structsvm.io import Recording
    >>> series = Recording("nile", np.arange(6.0).reshape(6, 1), None, ("flow",))
    >>> annotated = Annotated(series, {"6": [3, 6], "7": [6]})
    >>> annotated.breakpoints["6"]
    [3, 6]
    """

    recording: Recording
    """Without labels."""
    breakpoints: Mapping[str, list[int]]
    """Sorted segment ends, the last being T, by annotator."""


@TCPD.cited
def fetch_tcpd(
    names: Sequence[str] | None = None, *, data_home: str | PathLike[str] | None = None
) -> list[Annotated]:
    """The Turing Change Point Dataset: series, each segmented by five people.

    Parameters
    ----------
    names : sequence of str, optional
        Such as "run_log"; by default the 32 series that the repository itself holds. The others
        are made from downloads by its own scripts.

    Returns
    -------
    list of Annotated
        Nearly all have one feature; run_log has two. Missing values are NaN (uk_coal_employ).

    Raises
    ------
    SettingsError
        If a name is not that of a series in the repository.
    DownloadError
        If a file cannot be downloaded or differs from the one that was registered.

    Examples
    --------
    >>> from structsvm.datasets import fetch_tcpd
    >>> def running():  # the first call downloads it
    ...     (annotated,) = fetch_tcpd(["run_log"])
    ...     return annotated.recording.X, annotated.breakpoints
    """
    known = {
        PurePosixPath(path).stem: path for path in TCPD.checksums if path.startswith("datasets/")
    }
    wanted = sorted(known) if names is None else list(names)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SettingsError(f"names must be among {', '.join(sorted(known))}; got {unknown}")
    annotations = json.loads(TCPD.fetch("annotations.json", data_home).read_text("utf-8"))
    found = []
    for name in wanted:
        content = json.loads(TCPD.fetch(known[name], data_home).read_text("utf-8"))
        found.append(annotated(name, content, annotations[name]))
    return found


def annotated(
    name: str, content: Mapping[str, Any], changes: Mapping[str, Sequence[int]]
) -> Annotated:
    """One series of :func:`fetch_tcpd`, from its file and what its annotators marked."""
    X = np.array([series["raw"] for series in content["series"]], dtype=np.float64).T
    features = tuple(series["label"] for series in content["series"])
    breakpoints = {who: [*sorted(ends), len(X)] for who, ends in changes.items()}
    return Annotated(Recording(name, X, None, features), breakpoints)
