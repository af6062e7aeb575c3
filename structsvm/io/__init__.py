"""What users' files hold: recordings, images, sound and films, their labels; read and written."""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.io.files import Found as Found
    from structsvm.io.files import RecordingFiles as RecordingFiles
    from structsvm.io.files import find_recordings as find_recordings
    from structsvm.io.files import read_recording as read_recording
    from structsvm.io.files import read_recordings as read_recordings
    from structsvm.io.files import write_recording as write_recording
    from structsvm.io.image_folder import LabelledImage as LabelledImage
    from structsvm.io.image_folder import images_and_labels as images_and_labels
    from structsvm.io.image_folder import read_images as read_images
    from structsvm.io.intervals import Interval as Interval
    from structsvm.io.intervals import intervals_of as intervals_of
    from structsvm.io.intervals import labels_of as labels_of
    from structsvm.io.intervals import read_intervals as read_intervals
    from structsvm.io.intervals import write_intervals as write_intervals
    from structsvm.io.label_tables import with_labels as with_labels
    from structsvm.io.long import from_long as from_long
    from structsvm.io.media import read_media as read_media
    from structsvm.io.recording import Recording as Recording
    from structsvm.io.recording import arrays_and_labels as arrays_and_labels
    from structsvm.io.times import TimeAxis as TimeAxis
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "Found": "structsvm.io.files",
            "Interval": "structsvm.io.intervals",
            "LabelledImage": "structsvm.io.image_folder",
            "Recording": "structsvm.io.recording",
            "RecordingFiles": "structsvm.io.files",
            "TimeAxis": "structsvm.io.times",
            "arrays_and_labels": "structsvm.io.recording",
            "find_recordings": "structsvm.io.files",
            "from_long": "structsvm.io.long",
            "images_and_labels": "structsvm.io.image_folder",
            "intervals_of": "structsvm.io.intervals",
            "labels_of": "structsvm.io.intervals",
            "read_images": "structsvm.io.image_folder",
            "read_intervals": "structsvm.io.intervals",
            "read_media": "structsvm.io.media",
            "read_recording": "structsvm.io.files",
            "read_recordings": "structsvm.io.files",
            "with_labels": "structsvm.io.label_tables",
            "write_intervals": "structsvm.io.intervals",
            "write_recording": "structsvm.io.files",
        },
    )
