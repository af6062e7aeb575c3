"""Recordings of sound and moving pictures: one sample for each second, from any file of FFmpeg's.

What was decoded is described second by second and forgotten, so that memory does not grow with the
size of pictures or the rate of sound.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.data.times import TimeAxis
from structsvm.errors import DataError, DataWarning, SettingsError, printable, warn
from structsvm.io.picture import PICTURE, SIZE, describe_picture
from structsvm.io.recording import Recording, listed
from structsvm.io.sound import RATE, SOUND, WINDOW, Samples, describe_second
from structsvm.support.arrays import Floats
from structsvm.support.extras import require
from structsvm.support.plain import counted
from structsvm.support.progress import tell
from structsvm.support.typed import refuse_other_types

MEDIA = (
    *(".mkv", ".mp4", ".m4v", ".webm", ".avi", ".mov", ".mpg", ".mpeg", ".wmv", ".flv", ".ogv"),
    *(".wav", ".mp3", ".flac", ".ogg", ".oga", ".opus", ".m4a", ".aac", ".wma", ".aiff"),
)
"""Kinds of files of sound and moving pictures."""
STREAMS = ("audio", "video", "both")
"""What can be read of them."""
FEATURES = {"audio": SOUND, "video": PICTURE}
PICTURES = 4
"""Pictures of a second that are described, at most."""
LONGEST = 48 * 3600
"""Seconds; time stamps beyond are damaged."""
LARGEST = 2**26
"""Pixels of a picture, more than which no camera gives."""
LOUDEST = 1e4
"""Sound is within -1 and 1, but for files of floating point numbers that overshoot."""
GAP = 0.25
"""Seconds without sound between time stamps that are silence, and no jitter."""
UNEVEN = 2
"""Seconds by which sound and pictures may differ in length before a warning says so."""
EXACT = ("matroska,webm", "mov,mp4,m4a,3gp,3g2,mj2", "avi", "wav", "flac")
"""Formats whose files say how long they are, and do not guess."""


@refuse_other_types
def read_media(
    path: str | PathLike[str], *, stream: str | None = None, name: str | None = None
) -> Recording:
    """Read sound or a film as a recording with one sample for each second.

    Sound is mixed to one channel at 16 kHz; a second of it is described by the means and standard
    deviations of 13 cepstral coefficients (MFCC) and the mean strengths of the 12 pitch classes
    (chroma). Of up to four pictures of a second, scaled to 64 x 64 pixels, the mean is taken of the
    logarithms of Gabor energies, three scales and four angles in each quarter of the picture, and
    of the shares of hues, saturations and values.

    Parameters
    ----------
    path : path
        A file that FFmpeg decodes: ``.mkv``, ``.mp4``, ``.wav``, ``.mp3`` and the like. Extra
        ``media``.
    stream : {"audio", "video", "both"}, optional
        What is read of it, the first stream of each kind; by default what there is.
    name : str, optional
        Of the recording; that of the file by default.

    Returns
    -------
    Recording
        ``X`` of shape (T, P) with P = 38 for sound, 64 for pictures and 102 for both, without
        labels; ``time`` is in seconds from the beginning.

    Raises
    ------
    DataError
        When the file cannot be decoded to its end, or has no such stream.
    SettingsError
        For another stream.
    MissingExtraError
        When PyAV or scikit-image are not installed.

    Examples
    --------
    >>> import tempfile, wave
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from structsvm.io import read_media
    >>> tone = (9000 * np.sin(2 * np.pi * 440 * np.arange(48_000) / 16_000)).astype("<i2")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tone.wav"
    ...     with wave.open(str(path), "wb") as file:
    ...         file.setparams((1, 2, 16_000, tone.size, "NONE", "not compressed"))
    ...         file.writeframes(tone.tobytes())
    ...     recording = read_media(path)
    >>> recording.X.shape, recording.features[int(recording.X[0, 26:].argmax()) + 26]
    ((3, 38), 'chroma_A')
    """
    file = Path(path)
    if not os.path.exists(file):
        raise DataError(f"{file}: no such file")
    return read_streams(file, printable(file.stem) if name is None else name, stream)


def read_streams(
    path: Path, name: str, stream: str | None = None, wanted: Sequence[str] = ()
) -> Recording:
    """As :func:`read_media`; only the streams that the features ``wanted`` are of, if known."""
    if stream not in (None, *STREAMS):
        raise SettingsError(f"stream must be one of {listed(STREAMS)}, got {stream!r}")
    if wanted and set(wanted) <= {*SOUND, *PICTURE}:
        asked = [kind for kind, features in FEATURES.items() if set(features) & set(wanted)]
    else:
        asked = ["audio", "video"] if stream in (None, "both") else [stream]
    hint = "; stream={0!r} reads that alone"
    if wanted:
        hint = ", but features that were learned from are of it"
    described = _described(path, asked, bool(wanted) or stream is not None, hint)
    features = tuple(feature for kind in described for feature in FEATURES[kind])
    lengths = {kind: len(rows) for kind, rows in described.items()}
    T = min(lengths.values())
    if not T:
        raise DataError(f"{path}: {' and '.join(lengths)} of less than half a second")
    if max(lengths.values()) > T + UNEVEN:
        told = " and ".join(f"{n} s of {kind}" for kind, n in lengths.items())
        warn(f"{path}: {told}: what is beyond {T} s is left out", DataWarning)
    X = np.hstack([np.array(rows[:T]) for rows in described.values()])
    time = TimeAxis("seconds", np.arange(float(T)), lasting=1.0)
    return Recording(name, np.ascontiguousarray(X), None, features, str(path), time=time)


def _described(
    path: Path, asked: Sequence[str], needed: bool, hint: str
) -> dict[str, list[Floats]]:
    """A row for each second of each stream, decoded in one pass."""
    av = require("av", "media", "reading sound and pictures")
    try:
        # A file, because FFmpeg takes some names for addresses of other places.
        with path.open("rb") as file, av.open(file, **_forgiving(av)) as container:
            streams = _streams(path, container, asked, needed, hint)
            begin = (container.start_time or 0) / av.time_base
            length = None if container.duration is None else container.duration / av.time_base
            makers: dict[str, Callable[..., Described]] = {"audio": _Sound, "video": _Pictures}
            found = {kind: makers[kind](path, av) for kind in streams}
            reached = 0.0
            for kind, frame in _frames(path, container, streams, found):
                at = None if frame.time is None else frame.time - begin
                if at is not None and at > LONGEST:
                    raise DataError(f"{path}: a time stamp of {at:.0f} s: it is damaged")
                found[kind].take(frame, at)
                if length and at is not None and at >= reached:
                    tell(f"reading {path.name}", at / length)
                    reached = at + 1
            for described in found.values():
                described.end()
            _refuse_truncated(path, container.format.name, length, found)
    except (av.error.FFmpegError, OSError) as error:
        raise DataError(
            f"{path}: no file of sound or pictures, or damaged: {error.strerror or error}"
        ) from error
    return {kind: described.rows for kind, described in found.items()}


def _forgiving(av: Any) -> dict[str, str]:
    return {"metadata_errors": "replace"} if int(av.__version__.split(".")[0]) < 19 else {}


def _streams(
    path: Path, container: Any, asked: Sequence[str], needed: bool, hint: str
) -> dict[str, Any]:
    """The first stream of each kind that is asked for; all of them must be there if ``needed``."""
    cover = require("av.stream", "media", "reading sound and pictures").Disposition.attached_pic
    there: dict[str, Any] = {}
    for kind in FEATURES:
        own = [s for s in getattr(container.streams, kind) if not s.disposition & cover]
        if own:
            there[kind] = own[0]
    missing = [kind for kind in asked if kind not in there]
    if missing and (needed or len(missing) == len(asked)):
        other = next(iter(there), None)
        has = "neither audio nor video" if other is None else f"only {other}{hint.format(other)}"
        raise DataError(f"{path}: it has no {missing[0]} stream, {has}")
    found = {kind: there[kind] for kind in asked if kind in there}
    for kind, one in found.items():
        codec = one.codec_context
        if codec is None:
            raise DataError(f"{path}: this build of FFmpeg has no decoder for its {kind}")
        if kind == "video":
            if codec.width * codec.height > LARGEST:
                raise DataError(
                    f"{path}: pictures of {codec.width} x {codec.height} pixels: it is damaged, or "
                    "scale them down"
                )
            one.thread_type = "AUTO"
    return found


def _frames(
    path: Path, container: Any, streams: dict[str, Any], found: dict[str, Described]
) -> Iterator[tuple[str, Any]]:
    """The decoded frames of all streams as they come, each with its kind."""
    kinds = {stream.index: kind for kind, stream in streams.items()}
    errors = require("av", "media", "reading sound and pictures").error
    kind, damaged = next(iter(streams)), 0
    try:
        for packet in container.demux(list(streams.values())):
            kind = kinds[packet.stream.index]
            for frame in packet.decode():
                damaged += frame.is_corrupt
                yield kind, frame
    except errors.FFmpegError as error:
        raise DataError(
            f"{path}: its {kind} cannot be decoded after {counted(len(found[kind].rows), 'second')}"
            f" ({error.strerror}): ffmpeg -i {path.name} repaired{path.suffix} keeps what can be"
        ) from error
    if damaged:
        warn(f"{path}: damaged in {counted(damaged, 'frame')}, which FFmpeg mended", DataWarning)


def _refuse_truncated(
    path: Path, kind: str, length: float | None, found: dict[str, Described]
) -> None:
    """Raise DataError for a file that is shorter than it says."""
    seconds = max(len(described.rows) for described in found.values())
    if kind in EXACT and length is not None and seconds < 0.95 * length - UNEVEN:
        raise DataError(
            f"{path}: {counted(seconds, 'second')} of the {length:.0f} that it says it has: it is "
            "truncated; copy it again, or convert what is there with ffmpeg"
        )


class _Sound:
    """Describes each second of sound; what is missing between time stamps is silence."""

    def __init__(self, path: Path, av: Any) -> None:
        self.path = path
        self.rows: list[Floats] = []
        self._resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
        self._waiting: list[Samples] = []
        self._n_waiting = 0

    def take(self, frame: Any, at: float | None) -> None:
        """Add a frame that begins ``at`` seconds."""
        if at is not None:
            lacking = at - len(self.rows) - self._n_waiting / RATE
            while lacking > GAP:
                self._add(np.zeros(int(min(lacking, 1.0) * RATE), dtype=np.float32))
                lacking -= 1.0
        try:
            resampled = self._resampler.resample(frame)
        except ValueError as error:
            raise DataError(f"{self.path}: its sound changes in form: {error}") from error
        for piece in resampled:
            self._add(piece.to_ndarray()[0])

    def end(self) -> None:
        """Describe what is left; half a second is a second."""
        for piece in self._resampler.resample(None):
            self._add(piece.to_ndarray()[0])
        if self._n_waiting >= max(RATE // 2, WINDOW):
            self.rows.append(describe_second(np.concatenate(self._waiting)))

    def _add(self, samples: Samples) -> None:
        if not (np.abs(samples) < LOUDEST).all():  # nor if one is not a number
            raise DataError(
                f"{self.path}: sound after {counted(len(self.rows), 'second')} is not finite, or "
                "far too loud: it is damaged"
            )
        self._waiting.append(samples)
        self._n_waiting += samples.size
        if self._n_waiting < RATE:
            return
        waiting = np.concatenate(self._waiting)
        n_full = waiting.size // RATE
        for second in range(n_full):
            self.rows.append(describe_second(waiting[second * RATE : (second + 1) * RATE]))
        self._waiting = [waiting[n_full * RATE :].copy()]
        self._n_waiting = self._waiting[0].size


class _Pictures:
    """Describes up to :data:`PICTURES` pictures of each second; one without any is as the last."""

    def __init__(self, path: Path, av: Any) -> None:
        self.rows: list[Floats] = []
        self._second = 0
        self._due = 0.0
        self._described: list[Floats] = []
        self._last = 0.0

    def take(self, frame: Any, at: float | None) -> None:
        """Add a picture that appears ``at`` seconds."""
        at = self._last if at is None else max(at, 0.0)
        self._last = max(at, self._last)
        if at >= self._second + 1:
            self._close(int(at))
        if at < self._due and self._described:
            return
        self._due = (np.floor(at * PICTURES) + 1) / PICTURES
        small = frame.reformat(width=SIZE, height=SIZE, format="rgb24", interpolation="AREA")
        self._described.append(describe_picture(small.to_ndarray()))

    def end(self) -> None:
        """Describe the last second."""
        if self._described:
            self._close(self._second + 1)

    def _close(self, second: int) -> None:
        """End the seconds before this one."""
        if self._described:
            self.rows += [np.mean(self._described, axis=0)] * (self._second + 1 - len(self.rows))
        self.rows += self.rows[-1:] * (second - len(self.rows))
        self._second, self._described = second, []


Described = _Sound | _Pictures
