"""Labels that mark where recordings change, in place of saying what they are in each sample."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from structsvm.data.marks import NO, YES, look_like_changes, marks_of
from structsvm.errors import DataError, DataWarning, SettingsError, warn
from structsvm.io.recording import Recording
from structsvm.support.plain import some_of

LABELS_ARE = ("states", "changes")
BETWEEN_WORDS = re.compile(r"(?<=[^\W_])[\s_-]+(?=[^\W_])")
LETTERS = 2
"""Names up to this length are symbols, such as syllables a and A of a song, and no words."""


def read_labels_as(
    recordings: Sequence[Recording], labels_are: str | None, *, ask: bool
) -> list[Recording]:
    """The recordings with a label for each sample, whatever their labels said."""
    if labels_are not in (None, *LABELS_ARE):
        raise SettingsError(f"labels_are must be 'states' or 'changes', got {labels_are!r}")
    if labels_are == "changes":
        return [_from_marks(recording) for recording in recordings]
    if labels_are is None and ask and looks_like_changes(recordings):
        marks = [None if one.y is None else marks_of(one.y) for one in recordings]
        n = sum(int(found.sum()) for found in marks if found is not None)
        no, yes = _spelled(recordings)
        raise DataError(
            f"{recordings[0].where}: the labels are {no} but for {n} single "
            f"{'sample' if n == 1 else 'samples'} with {yes}{_in_all(recordings)}. If a {yes} "
            "marks the first sample of a new segment, say labels_are='changes'. "
            "If it is the state of that one sample, which makes it a segment of its own, "
            "say labels_are='states'"
        )
    return list(recordings)


def warn_about_spellings(recordings: Sequence[Recording]) -> None:
    """Warn of labels that are the same word, written in several ways."""
    written: dict[str, dict[str, str]] = {}
    for one in recordings:
        for label in dict.fromkeys(() if one.y is None else one.y.tolist()):
            if isinstance(label, str) and len(label) > LETTERS:
                words = BETWEEN_WORDS.sub(" ", label.casefold())
                written.setdefault(words, {}).setdefault(label, one.name)
    twice = [ways for ways in written.values() if len(ways) > 1]
    if twice:
        told = [
            " and ".join(f"{way!r} (in {name})" for way, name in ways.items()) for ways in twice
        ]
        warn(
            f"labels differ in capitals, blanks or dashes alone: {some_of(told, 3)}. They are read "
            "as different states: write them alike if they are one",
            DataWarning,
        )


def looks_like_changes(recordings: Sequence[Recording]) -> bool:
    return look_like_changes([marks_of(one.y) for one in recordings if one.y is not None])


def _spelled(recordings: Sequence[Recording]) -> tuple[str, str]:
    labels = [label for one in recordings if one.y is not None for label in one.y.tolist()]
    words = {str(label).lower(): label for label in labels if isinstance(label, str)}
    no, yes = (next((words[w] for w in known if w in words), None) for known in (NO, YES))
    return ("0", "1") if no is None or yes is None else (no, yes)


def _from_marks(recording: Recording) -> Recording:
    """Numbers of segments."""
    if recording.y is None:
        return recording
    marks = marks_of(recording.y)
    if marks is None:
        kinds = dict.fromkeys(recording.y.tolist())
        found = [value for value in kinds if str(value).lower() not in ("0", "1", *YES, *NO)]
        raise DataError(
            f"{recording.where}: labels that are changes must be 0 or 1, got {found[0]!r}"
            + ("; where a label is blank write 0" if found[0] == -1 else "")
        )
    return replace(recording, y=np.cumsum(marks, dtype=np.int64))


def _in_all(recordings: Sequence[Recording]) -> str:
    return f", in {len(recordings)} recordings" if len(recordings) > 1 else ""
