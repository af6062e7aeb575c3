"""Recordings of sound and moving pictures, with a sample for each second, or another step.

FFmpeg decodes the files. The features of a step replace what was decoded of it, so that memory
does not grow with the size of pictures or the rate of sound.
"""

from collections.abc import Sequence
from functools import cache
from itertools import chain, product
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, fft2, ifft2, rfft, rfftfreq

from structsvm.data import TimeAxis
from structsvm.errors import DataError, parameter, printable, warn
from structsvm.io.recording import Recording
from structsvm.support import (
    Floats,
    counted,
    is_number,
    refuse_unless,
    refuse_unlisted,
    require,
    tell,
)

Pixels = NDArray[np.uint8]
Samples = NDArray[np.float32]
PICTURE_SIZE = 64  # pixels on each side of a picture, once it is scaled
GABOR_SCALES = {"coarse": 0.08, "medium": 0.16, "fine": 0.32}  # cycles per pixel
ANGLES = (0, 45, 90, 135)
QUARTERS = ("top_left", "top_right", "bottom_left", "bottom_right")
HUES, COLOUR_LEVELS = 8, 4  # bins of hue, and of saturation and of value
PICTURE = (
    *(f"gabor_{s}_{angle}_{cell}" for s, angle, cell in product(GABOR_SCALES, ANGLES, QUARTERS)),
    *(f"hue_{i}" for i in range(HUES)),
    *(f"saturation_{i}" for i in range(COLOUR_LEVELS)),
    *(f"value_{i}" for i in range(COLOUR_LEVELS)),
)
"""The features of a picture, in their order."""
FLAT = 1e-3  # smaller energies of filters count as this one; grey levels are from 0 to 1
LUMA = np.array([0.2126, 0.7152, 0.0722], dtype=np.float32)
SAMPLING_RATE = 16_000  # samples of sound to a second, whatever the rate of the file
SPECTRUM_WINDOW, SHORTEST_WINDOW = 2048, 512  # 128 ms, and 32 ms where steps are short
OVERLAP, FEWEST_SPECTRA = 4, 4  # spectra begin a fourth of a window apart, 4 in a step
MELS, COEFFICIENTS = 40, 13
FAINT = 1e-5  # less power in a band counts as this; about that of the last of 16 bits
PITCHES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")
SOUND = (
    *(f"mfcc_{i}" for i in range(COEFFICIENTS)),
    *(f"mfcc_{i}_spread" for i in range(COEFFICIENTS)),
    *(f"chroma_{pitch}" for pitch in PITCHES),
)
"""The features of a step of sound, in their order."""
MEDIA = (
    *(".mkv", ".mp4", ".m4v", ".webm", ".avi", ".mov", ".mpg", ".mpeg", ".wmv", ".flv", ".ogv"),
    *(".wav", ".mp3", ".flac", ".ogg", ".oga", ".opus", ".m4a", ".aac", ".wma", ".aiff"),
)
"""Kinds of files of sound and moving pictures."""
FEATURES = {"audio": SOUND, "video": PICTURE}
PICTURES = 4  # pictures of a step that are described, at most
STEPS_ALLOWED = (0.005, 60.0)  # seconds that a step may last
LONGEST_FILM = 48 * 3600  # seconds; time stamps beyond are damaged
LOUDEST = 1e4  # larger samples are refused; sound is within -1 and 1, or little beyond
GAP = 0.25  # seconds without sound between time stamps that are silence, and no jitter
EARLY = 1e-9  # part of a step by which its first picture may be early, by rounding
LAST_PICTURE = 1.0  # seconds that the last picture lasts at most
UNEVEN = 2  # seconds by which streams may differ in length without a warning
EXACT_FORMATS = ("matroska,webm", "mov,mp4,m4a,3gp,3g2,mj2", "avi", "wav", "flac")
"""Formats whose files state their exact length."""


def read_media(
    path: str | PathLike[str], *, stream: str | None = None, step: float = 1.0
) -> Recording:
    """Read sound or a film as a recording with one sample for each second, or another step.

    Sound is mixed to one channel at 16 kHz; the features of a step are the means and standard
    deviations of 13 cepstral coefficients (MFCC) and the mean strengths of the 12 pitch classes
    (chroma), over spectra of 128 ms, or 32 ms where steps are short. Those of pictures are means
    over up to four pictures of a step, scaled to 64 x 64 pixels: the logarithms of Gabor energies,
    of three scales and four angles in each quarter, and the shares of hues, saturations and values.

    Parameters
    ----------
    path : path
        A file that FFmpeg decodes: ``.mkv``, ``.mp4``, ``.wav``, ``.mp3`` and the like. Extra
        ``media``.
    stream : {"audio", "video", "both"}, optional
        The streams that are read, the first of each kind; by default those that there are.
    step : float
        Seconds of a sample, from 0.005 to 60: a fraction of the stretches that are looked for, such
        as 0.02 for the sounds of speech.

    Returns
    -------
    Recording
        ``X`` of shape (T, P) with P = 38 for sound, 64 for pictures and 102 for both, without
        labels; ``time`` is in seconds from the beginning.

    Raises
    ------
    DataError, SettingsError, MissingExtraError
        When the file cannot be decoded to its end, or has no such stream; for another stream, or
        no such step; when PyAV or scikit-image are not installed.

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
    return read_streams(Path(path), printable(Path(path).stem), stream, step=step)


def media_of(recording: Recording) -> Path | None:
    """The sound or film of a recording: its file, or one of the same name beside it; or None."""
    path = Path(recording.source or recording.name)
    beside = [path, *map(path.with_suffix, MEDIA)]
    return next((one for one in beside if one.suffix.lower() in MEDIA and one.is_file()), None)


def step_of(typed: float | None) -> float:
    """The step that was typed, or a second; refuse one that is too short or too long."""
    step = 1.0 if typed is None else typed
    fits = is_number(step) and STEPS_ALLOWED[0] <= step <= STEPS_ALLOWED[1]
    refuse_unless(fits, "step", "a number of seconds from {} to {}".format(*STEPS_ALLOWED), step)
    return step


def read_streams(
    path: Path,
    name: str,
    stream: str | None = None,
    wanted: Sequence[str] = (),
    step: float | None = None,
) -> Recording:
    """Read a file as :func:`read_media` does, or only the streams with the features ``wanted``."""
    refuse_unlisted("stream", stream, (None, "audio", "video", "both"))
    step = step_of(step)
    asked = ["audio", "video"] if stream in (None, "both") else [str(stream)]
    if wanted and set(wanted) <= {*SOUND, *PICTURE}:
        asked = [kind for kind, features in FEATURES.items() if set(features) & set(wanted)]
    described = _described(path, asked, bool(wanted) or stream is not None, step)
    features = tuple(chain.from_iterable(FEATURES[kind] for kind in described))
    lengths = {kind: len(rows) for kind, rows in described.items()}
    T = min(lengths.values())
    if not T:
        raise DataError(f"{path}: {' and '.join(lengths)} of less than half a step of {step:g} s")
    if step * (max(lengths.values()) - T) > UNEVEN:
        told = " and ".join(f"{n * step:g} s of {kind}" for kind, n in lengths.items())
        warn(f"{path}: {told}: what is beyond {T * step:g} s is left out")
    X = np.hstack([np.array(rows[:T]) for rows in described.values()])
    time = TimeAxis("seconds", np.arange(T) * step, lasting=step)
    return Recording(name, np.ascontiguousarray(X), None, features, str(path), time=time)


def _described(
    path: Path, asked: Sequence[str], needed: bool, step: float
) -> dict[str, list[Floats]]:
    """Decode streams in one pass to the features of each step, by the kind of the stream."""
    av = require("av", "media", "reading sound and pictures")
    forgiving = {"metadata_errors": "replace"} if int(av.__version__.split(".")[0]) < 19 else {}
    by_stream: dict[str, _Sound | _Pictures] = {}
    damaged, reached = 0, 0.0
    try:
        # A file, because FFmpeg takes some names for addresses of other places.
        with path.open("rb") as file, av.open(file, **forgiving) as container:
            streams = _streams(path, container, asked, needed)
            kinds = {stream.index: kind for kind, stream in streams.items()}
            begin = (container.start_time or 0) / av.time_base
            length = (container.duration or 0) / av.time_base  # 0 if it is not known
            by_stream = {k: (_Sound if k == "audio" else _Pictures)(av, step) for k in streams}
            for packet in container.demux(list(streams.values())):
                for frame in packet.decode():
                    damaged += frame.is_corrupt
                    at = None if frame.time is None else frame.time - begin
                    if at is not None and at > LONGEST_FILM:
                        raise ValueError(f"a time stamp of {at:.0f} s")
                    by_stream[kinds[packet.stream.index]].take(frame, at)
                    if length and at is not None and at >= reached:
                        tell(f"reading {path.name}", at / length)
                        reached = at + 1
            for described in by_stream.values():
                described.end()
            seconds = step * max(len(described.rows) for described in by_stream.values())
            if container.format.name in EXACT_FORMATS and seconds < 0.95 * length - UNEVEN:
                raise ValueError(
                    f"of the {length:.0f} seconds that it says it has: it is truncated"
                )
    except DataError:
        raise
    except (av.error.FFmpegError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(
            f"{path}: no file of sound or pictures, or damaged: {reason}; ffmpeg -i {path.name} "
            f"repaired{path.suffix} keeps what can be decoded"
        ) from error
    if damaged:
        warn(f"{path}: damaged in {counted(damaged, 'frame')}, which FFmpeg mended")
    return {kind: described.rows for kind, described in by_stream.items()}


def _streams(path: Path, container: Any, asked: Sequence[str], needed: bool) -> dict[str, Any]:
    """The first stream of each kind that is asked for and there; pictures of covers are none."""
    cover = require("av.stream", "media", "reading sound and pictures").Disposition.attached_pic
    streams: dict[str, Any] = {}
    for kind in FEATURES:
        of_kind = [s for s in getattr(container.streams, kind) if not s.disposition & cover]
        if of_kind:
            streams[kind] = of_kind[0]
    missing = [kind for kind in asked if kind not in streams]
    if missing and (needed or len(missing) == len(asked)):
        raise DataError(
            f"{path}: it has no {missing[0]} stream, only {' and '.join(streams) or 'neither'}; "
            + parameter("stream")
            + " reads one alone, and features that were learned from need theirs"
        )
    if "video" in streams:
        streams["video"].thread_type = "AUTO"
    return {kind: streams[kind] for kind in asked if kind in streams}


class _Sound:
    """Features of each step of sound; gaps between time stamps are silence."""

    def __init__(self, av: Any, step: float) -> None:
        self.rows: list[Floats] = []
        self._step = round(step * SAMPLING_RATE)
        self._window = SPECTRUM_WINDOW
        while self._window > SHORTEST_WINDOW and self._reach > self._step:
            self._window //= 2
        self._margin = max(0, self._reach - self._step) // 2
        self._left: Samples = np.zeros(self._margin, dtype=np.float32)
        self._taken = 0
        self._resampler = av.AudioResampler(format="flt", layout="mono", rate=SAMPLING_RATE)

    @property
    def _reach(self) -> int:
        """The number of samples of the fewest spectra of a step."""
        return self._window + (FEWEST_SPECTRA - 1) * self._window // OVERLAP

    def take(self, frame: Any, at: float | None) -> None:
        """Add a frame that begins at so many seconds; None adds what the resampler has left."""
        if at is not None:
            lacking = at - self._taken / SAMPLING_RATE
            while lacking > GAP:
                self._add(np.zeros(int(min(lacking, 1.0) * SAMPLING_RATE), dtype=np.float32))
                lacking -= 1.0
        for piece in self._resampler.resample(frame):
            self._add(piece.to_ndarray()[0])

    def end(self) -> None:
        """Describe what is left, if that is half a step or more."""
        self.take(None, None)
        n = (self._taken + self._step // 2) // self._step
        if n > len(self.rows) and not self._margin:
            rest = np.zeros(max(self._window - self._left.size, 0), dtype=np.float32)
            self.rows.append(describe_sound(np.concatenate([self._left, rest]), self._window))
        elif n > len(self.rows):
            self._add(np.zeros(self._step + self._margin, dtype=np.float32))
            del self.rows[n:]

    def _add(self, samples: Samples) -> None:
        """Describe the steps that these samples complete, and keep the others."""
        if not (np.abs(samples) < LOUDEST).all():  # or one is NaN
            raise ValueError("sound that is not finite, or far too loud")
        self._taken += samples.size
        left = np.concatenate([self._left, samples])
        wide = self._step + 2 * self._margin
        n = max(0, (left.size - wide) // self._step + 1)
        for begin in range(0, n * self._step, self._step):
            self.rows.append(describe_sound(left[begin : begin + wide], self._window))
        self._left = left[n * self._step :]


class _Pictures:
    """Mean features of up to :data:`PICTURES` pictures a step, or those of the step before."""

    def __init__(self, av: Any, step: float) -> None:
        self.rows: list[Floats] = []
        self._step = step
        self._last = 0.0
        self._lasting = 0.0
        self._part = -1
        self._steps: dict[int, tuple[Floats, int]] = {}
        """The sum of the features of the pictures of each step, and their number."""

    def take(self, frame: Any, at: float | None) -> None:
        """Add a picture that appears at so many seconds."""
        if at is not None and at > self._last:
            self._lasting = at - self._last
            self._last = at
        now = self._last / self._step + EARLY
        if int(now * PICTURES) == self._part:
            return
        self._part = int(now * PICTURES)
        small = frame.reformat(
            width=PICTURE_SIZE, height=PICTURE_SIZE, format="rgb24", interpolation="AREA"
        )
        total, n = self._steps.get(int(now), (np.zeros(len(PICTURE)), 0))
        self._steps[int(now)] = total + describe_picture(small.to_ndarray()), n + 1

    def end(self) -> None:
        """Describe every step."""
        total, n = next(iter(self._steps.values()), (np.empty(0), 1))
        end = self._last + min(self._lasting, LAST_PICTURE)
        for step in range(max(max(self._steps, default=-1) + 1, int(end / self._step + EARLY))):
            total, n = self._steps.get(step, (total, n))
            self.rows.append(total / n)


def describe_sound(samples: Samples, window: int = SPECTRUM_WINDOW) -> Floats:
    """The features :data:`SOUND` of at least ``window`` samples in [-1, 1]."""
    frames = np.lib.stride_tricks.sliding_window_view(samples, window)[:: window // OVERLAP]
    spectra = rfft(frames * _hann(window), axis=1)
    power = (spectra.real**2 + spectra.imag**2).astype(np.float64)
    bands = 10 * np.log10(np.maximum(power @ _mel_filters(window).T, FAINT))
    cepstra = dct(bands, axis=1, norm="ortho")[:, :COEFFICIENTS]
    pitches = power @ _chroma_filters(window).T
    loudest = pitches.max(axis=1, keepdims=True)
    chroma = np.divide(pitches, loudest, out=np.zeros_like(pitches), where=loudest > FAINT)
    return np.concatenate([cepstra.mean(axis=0), cepstra.std(axis=0), chroma.mean(axis=0)])


@cache
def _hann(window: int) -> NDArray[np.float32]:
    return np.hanning(window + 1)[:-1].astype(np.float32)


@cache
def _mel_filters(window: int) -> Floats:
    """Triangles of equal area on Slaney's mel scale up to half the rate, (MELS, window / 2 + 1)."""
    step = np.log(6.4) / 27  # 15 mels for 1000 Hz, linear up to there and logarithmic above
    mels = np.linspace(0.0, 15.0 + np.log(SAMPLING_RATE / 2 / 1000.0) / step, MELS + 2)
    above = 1000.0 * np.exp((mels - 15.0) * step)
    edges = np.where(mels < 15.0, mels * (1000.0 / 15.0), above)
    frequencies = rfftfreq(window, 1 / SAMPLING_RATE)
    rising = (frequencies - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - frequencies) / np.diff(edges)[1:, None]
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    return np.asarray(triangles * (2.0 / (edges[2:] - edges[:-2]))[:, None])


@cache
def _chroma_filters(window: int) -> Floats:
    """Weights of the bins of a spectrum in each pitch class, (12, window / 2 + 1)."""
    frequencies = rfftfreq(window, 1 / SAMPLING_RATE)[1:]
    semitones = 12 * np.log2(frequencies / (440.0 / 16))  # above an A
    semitones = np.concatenate([[semitones[0] - 18.0], semitones])
    widths = np.concatenate([np.maximum(np.diff(semitones), 1.0), [1.0]])
    apart = np.remainder(semitones - np.arange(12)[:, None] + 6.0, 12.0) - 6.0
    bumps = np.exp(-0.5 * (2 * apart / widths) ** 2)
    bumps /= np.linalg.norm(bumps, axis=0)
    octaves = np.exp(-0.5 * ((semitones / 12 - 5.0) / 2) ** 2)
    return np.roll(bumps * octaves, -3, axis=0)  # from A first to C first


def describe_picture(pixels: Pixels) -> Floats:
    """The features :data:`PICTURE` of a picture in red, green and blue, (SIZE, SIZE, 3)."""
    grey = pixels @ (LUMA / 255)
    filtered = np.abs(ifft2(fft2(grey - grey.mean()) * _filters()))
    half = PICTURE_SIZE // 2
    energies = filtered.reshape(-1, 2, half, 2, half).mean(axis=(2, 4)).ravel()
    color = require("skimage.color", "media", "describing pictures")
    hue, saturation, value = color.rgb2hsv(pixels).reshape(-1, 3).T
    shares = (
        np.histogram(hue, HUES, (0.0, 1.0), weights=saturation)[0] / hue.size,
        np.histogram(saturation, COLOUR_LEVELS, (0.0, 1.0))[0] / hue.size,
        np.histogram(value, COLOUR_LEVELS, (0.0, 1.0))[0] / hue.size,
    )
    return np.concatenate([np.log(np.maximum(energies, FLAT)), *shares])


@cache
def _filters() -> NDArray[np.complex64]:
    """The Fourier transforms of the Gabor filters, scale by scale, (12, SIZE, SIZE)."""
    filters = require("skimage.filters", "media", "describing pictures")
    made = []
    for frequency in GABOR_SCALES.values():
        for angle in ANGLES:
            kernel = filters.gabor_kernel(frequency, theta=np.deg2rad(angle), n_stds=2)
            kernel = kernel - kernel.mean()
            padded = np.zeros((PICTURE_SIZE, PICTURE_SIZE), dtype=np.complex64)
            height, width = kernel.shape
            padded[:height, :width] = kernel
            made.append(fft2(np.roll(padded, (-(height // 2), -(width // 2)), axis=(0, 1))))
    return np.array(made, dtype=np.complex64)
