"""Public sets that only the experiments read."""

from experiments.sets.annotated import Annotated, annotated, fetch_tcpd
from experiments.sets.fetch import (
    fetch_beedance,
    fetch_hasc1,
    fetch_mocap6,
    fetch_mocap86,
    fetch_tep,
    fetch_tssb,
)
from experiments.sets.has2023 import read_has2023
from experiments.sets.images import SegmentedImage, fetch_weizmann_horse
from experiments.sets.neuroblastoma import (
    AnnotatedProfile,
    annotation_errors,
    fetch_neuroblastoma,
    read_profiles,
)
from experiments.sets.tables import (
    balance_scale,
    fetch_ionosphere,
    fetch_letter,
    fetch_movement_libras,
)

__all__ = [
    "Annotated",
    "AnnotatedProfile",
    "SegmentedImage",
    "annotated",
    "annotation_errors",
    "balance_scale",
    "fetch_beedance",
    "fetch_hasc1",
    "fetch_ionosphere",
    "fetch_letter",
    "fetch_mocap6",
    "fetch_mocap86",
    "fetch_movement_libras",
    "fetch_neuroblastoma",
    "fetch_tcpd",
    "fetch_tep",
    "fetch_tssb",
    "fetch_weizmann_horse",
    "read_has2023",
    "read_profiles",
]
