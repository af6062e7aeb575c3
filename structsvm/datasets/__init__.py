"""Recordings: read from files, real ones that scikit-learn brings along, synthetic ones."""

from structsvm.datasets.digits import digits_recordings
from structsvm.datasets.files import (
    Found,
    find_recordings,
    read_recording,
    read_recordings,
    write_recording,
)
from structsvm.datasets.recording import Recording, arrays_and_labels
from structsvm.datasets.synthetic import relevant_changes

__all__ = [
    "Found",
    "Recording",
    "arrays_and_labels",
    "digits_recordings",
    "find_recordings",
    "read_recording",
    "read_recordings",
    "relevant_changes",
    "write_recording",
]
