"""Series that several people have segmented, each in a way of their own."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from experiments.sets.fetch import REGISTRY
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
    registry=REGISTRY,
)


@dataclass(frozen=True, eq=False)
class Annotated:
    """A series without labels, and the segment ends of each of its annotators."""

    recording: Recording
    """Without labels."""
    breakpoints: Mapping[str, list[int]]
    """Sorted segment ends, the last being T, by annotator."""


def fetch_tcpd(
    names: Sequence[str] | None = None, *, data_home: str | PathLike[str] | None = None
) -> list[Annotated]:
    """The Turing Change Point Dataset: series, each segmented by five people."""
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
