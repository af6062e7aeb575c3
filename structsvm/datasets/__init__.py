"""Recordings: from files, public sets, digits that scikit-learn brings along, synthetic ones."""

from structsvm.datasets.annotated import Annotated, fetch_tcpd
from structsvm.datasets.digits import digits_recordings
from structsvm.datasets.fetch import (
    fetch_beedance,
    fetch_har_spsw,
    fetch_hasc1,
    fetch_mocap6,
    fetch_skab,
    fetch_tep,
    fetch_tssb,
)
from structsvm.datasets.files import (
    Found,
    find_recordings,
    read_recording,
    read_recordings,
    write_recording,
)
from structsvm.datasets.image_folder import LabelledImage, images_and_labels, read_images
from structsvm.datasets.images import SegmentedImage, fetch_weizmann_horse
from structsvm.datasets.long import from_long
from structsvm.datasets.neuroblastoma import (
    AnnotatedProfile,
    annotation_errors,
    fetch_neuroblastoma,
    read_profiles,
)
from structsvm.datasets.recording import Recording, arrays_and_labels
from structsvm.datasets.synthetic import relevant_changes
from structsvm.datasets.tables import (
    balance_scale,
    fetch_ionosphere,
    fetch_letter,
    fetch_movement_libras,
)

__all__ = [
    "Annotated",
    "AnnotatedProfile",
    "Found",
    "LabelledImage",
    "Recording",
    "SegmentedImage",
    "annotation_errors",
    "arrays_and_labels",
    "balance_scale",
    "digits_recordings",
    "fetch_beedance",
    "fetch_har_spsw",
    "fetch_hasc1",
    "fetch_ionosphere",
    "fetch_letter",
    "fetch_mocap6",
    "fetch_movement_libras",
    "fetch_neuroblastoma",
    "fetch_skab",
    "fetch_tcpd",
    "fetch_tep",
    "fetch_tssb",
    "fetch_weizmann_horse",
    "find_recordings",
    "from_long",
    "images_and_labels",
    "read_images",
    "read_profiles",
    "read_recording",
    "read_recordings",
    "relevant_changes",
    "write_recording",
]
