"""Annotated copy-number profiles: the two tables of the R package neuroblastoma, as csv.

Hocking et al. (2013), BMC Bioinformatics 14:164. Write them from R by::

    data(neuroblastoma, package = "neuroblastoma")
    write.csv(neuroblastoma$profiles, "profiles.csv", row.names = FALSE)
    write.csv(neuroblastoma$annotations, "annotations.csv", row.names = FALSE)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import rdata
from numpy.typing import NDArray

from experiments.sets.fetch import REGISTRY
from structsvm.datasets.public import PublicSet
from structsvm.errors import DataError
from structsvm.io.recording import Recording
from structsvm.partial_labels import PartialLabels
from structsvm.partitions.constraint import Region
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support import listed
from structsvm.support.lazy import require

NEUROBLASTOMA = PublicSet(
    "neuroblastoma",
    "cran/animint2",
    "1478452f006bcf1aae6657e4ce86fa3dab4a6af8",
    licence="GPL-3 (of the R package animint2)",
    citation="Hocking et al. (2013), Learning smoothing models of copy number profiles using "
    "breakpoint annotations, BMC Bioinformatics 14:164",
    registry=REGISTRY,
)
ANNOTATIONS = {
    "normal": (0, False),
    "breakpoint": (1, True),
    "0breakpoints": (0, False),
    "1breakpoint": (1, False),
    ">0breakpoints": (1, True),
}
"""What an annotator wrote: exactly or at least so many changes."""

SPELLINGS = {
    "position": ("position", "base"),
    "from": ("min", "first.base"),
    "to": ("max", "last.base"),
}


@dataclass(frozen=True, eq=False)
class AnnotatedProfile:
    """One chromosome of one profile, with the regions of an annotator."""

    profile: str
    """The name of the profile, which is held out as a whole."""
    recording: Recording
    """``X`` is the logratio, (T, 1), in the order of the positions."""
    positions: NDArray[np.float64]
    """In bases, (T,)."""
    regions: tuple[Region, ...]

    @property
    def labels(self) -> PartialLabels:
        """The regions as partial labels, for :meth:`structsvm.MetricLearner.fit`."""
        return PartialLabels(regions=self.regions)


def read_profiles(
    profiles: str | PathLike[str], annotations: str | PathLike[str]
) -> list[AnnotatedProfile]:
    """Read annotated profiles; chromosomes without an annotation are left out."""
    pandas = require("pandas", "files", "reading annotated profiles")
    return _annotated(
        _keyed(_table(pandas, profiles), profiles),
        _keyed(_table(pandas, annotations), annotations),
        profiles,
        annotations,
    )


def fetch_neuroblastoma(*, data_home: str | PathLike[str] | None = None) -> list[AnnotatedProfile]:
    """Seven chromosomes of neuroblastoma copy-number profiles with eight annotated regions."""
    path = NEUROBLASTOMA.fetch("data/intreg.RData", data_home)
    tables = rdata.read_rda(path)["intreg"]
    signals, marks = (_keyed(tables[name], path) for name in ("signals", "annotations"))
    return _annotated(signals, marks, path, path)


def _annotated(signals: Any, marks: Any, profiles: Any, annotations: Any) -> list[AnnotatedProfile]:
    """The profiles of two tables that were read from ``profiles`` and ``annotations``."""
    by_key = dict(tuple(signals.groupby("key", sort=False)))
    found = []
    for key, rows in marks.groupby("key", sort=False):
        if key not in by_key:
            raise DataError(f"{annotations}: annotations of {key!r}, which {profiles} lacks")
        probes = by_key[key].sort_values("position", kind="stable")
        positions = probes["position"].to_numpy(dtype=np.float64)
        X = probes["logratio"].to_numpy(dtype=np.float64)[:, None]
        if not np.isfinite(X).all():
            raise DataError(f"{profiles}: {key!r} has a logratio that is not finite")
        regions = tuple(_region(row, positions, annotations) for _, row in rows.iterrows())
        recording = Recording(str(key), X, None, ("logratio",), str(profiles))
        found.append(AnnotatedProfile(str(key).split(".")[0], recording, positions, regions))
    return found


def annotation_errors(
    profiles: Sequence[AnnotatedProfile], guesses: Sequence[EquivalenceMatrix]
) -> tuple[int, int]:
    """Return the number of regions whose number of changes is wrong, and the number of regions."""
    pairs = list(zip(profiles, guesses, strict=True))
    holds: list[bool] = []
    for profile, M in pairs:
        holds += [region.holds(M.boundaries) for region in profile.regions]
    return holds.count(False), len(holds)


def _table(pandas: Any, path: str | PathLike[str]) -> Any:
    try:
        return pandas.read_csv(path, dtype={"signal": str, "profile.id": str, "chromosome": str})
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def _keyed(table: Any, path: Any) -> Any:
    """The table with one spelling of its columns, and a key for each chromosome."""
    for name, spellings in SPELLINGS.items():
        given = [column for column in spellings if column in table.columns]
        if given:
            table = table.rename(columns={given[0]: name})
    if "signal" in table.columns:
        return table.assign(key=table["signal"].astype(str))
    if not {"profile.id", "chromosome"} <= set(table.columns):
        raise DataError(
            f"{path}: neither 'signal' nor 'profile.id' and 'chromosome' among the columns "
            f"{listed([str(column) for column in table.columns])}"
        )
    return table.assign(key=table["profile.id"] + "." + table["chromosome"])


def _region(row: Any, positions: NDArray[np.float64], path: Any) -> Region:
    """An annotated stretch of a chromosome as a region of its probes."""
    said = str(row["annotation"])
    if said not in ANNOTATIONS:
        raise DataError(f"{path}: annotation {said!r}, expected one of {listed(list(ANNOTATIONS))}")
    halfway = (positions[1:] + positions[:-1]) / 2
    first = int(np.searchsorted(halfway, row["from"], side="left")) + 1
    last = int(np.searchsorted(halfway, row["to"], side="right"))
    changes, or_more = ANNOTATIONS[said]
    if last - first + 1 < changes:
        raise DataError(
            f"{path}: {row['key']!r} has no room for a change from {row['from']} to {row['to']}"
        )
    return Region(first - 1, max(first, last + 1), changes, or_more)
