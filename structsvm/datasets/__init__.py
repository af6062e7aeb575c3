"""Recordings: from files, public sets, digits that scikit-learn brings along, synthetic ones."""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.datasets.annotated import Annotated as Annotated
    from structsvm.datasets.annotated import fetch_tcpd as fetch_tcpd
    from structsvm.datasets.digits import digits_recordings as digits_recordings
    from structsvm.datasets.fetch import fetch_beedance as fetch_beedance
    from structsvm.datasets.fetch import fetch_har_spsw as fetch_har_spsw
    from structsvm.datasets.fetch import fetch_hasc1 as fetch_hasc1
    from structsvm.datasets.fetch import fetch_mocap6 as fetch_mocap6
    from structsvm.datasets.fetch import fetch_mocap86 as fetch_mocap86
    from structsvm.datasets.fetch import fetch_skab as fetch_skab
    from structsvm.datasets.fetch import fetch_tep as fetch_tep
    from structsvm.datasets.fetch import fetch_tssb as fetch_tssb
    from structsvm.datasets.files import Found as Found
    from structsvm.datasets.files import RecordingFiles as RecordingFiles
    from structsvm.datasets.files import find_recordings as find_recordings
    from structsvm.datasets.files import read_recording as read_recording
    from structsvm.datasets.files import read_recordings as read_recordings
    from structsvm.datasets.files import write_recording as write_recording
    from structsvm.datasets.has2023 import read_has2023 as read_has2023
    from structsvm.datasets.image_folder import LabelledImage as LabelledImage
    from structsvm.datasets.image_folder import images_and_labels as images_and_labels
    from structsvm.datasets.image_folder import read_images as read_images
    from structsvm.datasets.images import SegmentedImage as SegmentedImage
    from structsvm.datasets.images import fetch_weizmann_horse as fetch_weizmann_horse
    from structsvm.datasets.intervals import Interval as Interval
    from structsvm.datasets.intervals import intervals_of as intervals_of
    from structsvm.datasets.intervals import labels_of as labels_of
    from structsvm.datasets.intervals import read_intervals as read_intervals
    from structsvm.datasets.intervals import write_intervals as write_intervals
    from structsvm.datasets.label_tables import with_labels as with_labels
    from structsvm.datasets.long import from_long as from_long
    from structsvm.datasets.media import read_media as read_media
    from structsvm.datasets.neuroblastoma import AnnotatedProfile as AnnotatedProfile
    from structsvm.datasets.neuroblastoma import annotation_errors as annotation_errors
    from structsvm.datasets.neuroblastoma import fetch_neuroblastoma as fetch_neuroblastoma
    from structsvm.datasets.neuroblastoma import read_profiles as read_profiles
    from structsvm.datasets.recording import Recording as Recording
    from structsvm.datasets.recording import arrays_and_labels as arrays_and_labels
    from structsvm.datasets.synthetic import relevant_changes as relevant_changes
    from structsvm.datasets.tables import balance_scale as balance_scale
    from structsvm.datasets.tables import fetch_ionosphere as fetch_ionosphere
    from structsvm.datasets.tables import fetch_letter as fetch_letter
    from structsvm.datasets.tables import fetch_movement_libras as fetch_movement_libras
    from structsvm.datasets.times import TimeAxis as TimeAxis
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "Annotated": "structsvm.datasets.annotated",
            "AnnotatedProfile": "structsvm.datasets.neuroblastoma",
            "Found": "structsvm.datasets.files",
            "Interval": "structsvm.datasets.intervals",
            "LabelledImage": "structsvm.datasets.image_folder",
            "Recording": "structsvm.datasets.recording",
            "RecordingFiles": "structsvm.datasets.files",
            "SegmentedImage": "structsvm.datasets.images",
            "TimeAxis": "structsvm.datasets.times",
            "annotation_errors": "structsvm.datasets.neuroblastoma",
            "arrays_and_labels": "structsvm.datasets.recording",
            "balance_scale": "structsvm.datasets.tables",
            "digits_recordings": "structsvm.datasets.digits",
            "fetch_beedance": "structsvm.datasets.fetch",
            "fetch_har_spsw": "structsvm.datasets.fetch",
            "fetch_hasc1": "structsvm.datasets.fetch",
            "fetch_ionosphere": "structsvm.datasets.tables",
            "fetch_letter": "structsvm.datasets.tables",
            "fetch_mocap6": "structsvm.datasets.fetch",
            "fetch_mocap86": "structsvm.datasets.fetch",
            "fetch_movement_libras": "structsvm.datasets.tables",
            "fetch_neuroblastoma": "structsvm.datasets.neuroblastoma",
            "fetch_skab": "structsvm.datasets.fetch",
            "fetch_tcpd": "structsvm.datasets.annotated",
            "fetch_tep": "structsvm.datasets.fetch",
            "fetch_tssb": "structsvm.datasets.fetch",
            "fetch_weizmann_horse": "structsvm.datasets.images",
            "find_recordings": "structsvm.datasets.files",
            "from_long": "structsvm.datasets.long",
            "images_and_labels": "structsvm.datasets.image_folder",
            "intervals_of": "structsvm.datasets.intervals",
            "labels_of": "structsvm.datasets.intervals",
            "read_has2023": "structsvm.datasets.has2023",
            "read_images": "structsvm.datasets.image_folder",
            "read_intervals": "structsvm.datasets.intervals",
            "read_media": "structsvm.datasets.media",
            "read_profiles": "structsvm.datasets.neuroblastoma",
            "read_recording": "structsvm.datasets.files",
            "read_recordings": "structsvm.datasets.files",
            "relevant_changes": "structsvm.datasets.synthetic",
            "with_labels": "structsvm.datasets.label_tables",
            "write_intervals": "structsvm.datasets.intervals",
            "write_recording": "structsvm.datasets.files",
        },
    )
