"""What a second of sound is like: cepstral coefficients (MFCC) and the strengths of the pitches."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, rfft, rfftfreq

from structsvm.support.arrays import Floats

Samples = NDArray[np.float32]

RATE = 16_000
"""Samples of sound to a second, whatever the rate of the file."""
WINDOW, HOP = 2048, 512
"""Samples of a spectrum, and from one to the next: 128 and 32 ms."""
MELS, COEFFICIENTS = 40, 13
FAINT = 1e-5
"""The power in a band that counts as silence, about that of the last bit of 16."""
PITCHES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")
SOUND = (
    *(f"mfcc_{i}" for i in range(COEFFICIENTS)),
    *(f"mfcc_{i}_spread" for i in range(COEFFICIENTS)),
    *(f"chroma_{pitch}" for pitch in PITCHES),
)
"""The features of a second of sound, in their order."""


def describe_second(samples: Samples) -> Floats:
    """The features :data:`SOUND` of at least :data:`WINDOW` samples in [-1, 1]."""
    frames = np.lib.stride_tricks.sliding_window_view(samples, WINDOW)[::HOP]
    spectra = rfft(frames * _window(), axis=1)
    power = (spectra.real**2 + spectra.imag**2).astype(np.float64)
    bands = 10 * np.log10(np.maximum(power @ _mel_filters().T, FAINT))
    cepstra = dct(bands, axis=1, norm="ortho")[:, :COEFFICIENTS]
    pitches = power @ _chroma_filters().T
    loudest = pitches.max(axis=1, keepdims=True)
    chroma = np.divide(pitches, loudest, out=np.zeros_like(pitches), where=loudest > FAINT)
    return np.concatenate([cepstra.mean(axis=0), cepstra.std(axis=0), chroma.mean(axis=0)])


@cache
def _window() -> Samples:
    from scipy.signal import get_window  # which takes long to import

    return np.asarray(get_window("hann", WINDOW), dtype=np.float32)


@cache
def _mel_filters() -> Floats:
    """Triangles of equal area on Slaney's mel scale up to RATE / 2, (MELS, WINDOW / 2 + 1)."""
    edges = _hertz(np.linspace(0.0, _mel(RATE / 2), MELS + 2))
    frequencies = rfftfreq(WINDOW, 1 / RATE)
    rising = (frequencies - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - frequencies) / np.diff(edges)[1:, None]
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    return np.asarray(triangles * (2.0 / (edges[2:] - edges[:-2]))[:, None])


LINEAR, STEP = 1000.0, np.log(6.4) / 27
"""Slaney's scale: 15 mels for 1000 Hz, linear up to there and logarithmic above."""


def _mel(hertz: float) -> float:
    return float(15.0 + np.log(hertz / LINEAR) / STEP)


def _hertz(mels: Floats) -> Floats:
    above = LINEAR * np.exp((mels - 15.0) * STEP)
    return np.asarray(np.where(mels < 15.0, mels * (LINEAR / 15.0), above))


@cache
def _chroma_filters() -> Floats:
    """Of each bin of a spectrum, how much it belongs to each pitch class: (12, WINDOW / 2 + 1)."""
    frequencies = rfftfreq(WINDOW, 1 / RATE)[1:]
    semitones = 12 * np.log2(frequencies / (440.0 / 16))  # above an A
    semitones = np.concatenate([[semitones[0] - 18.0], semitones])
    widths = np.concatenate([np.maximum(np.diff(semitones), 1.0), [1.0]])
    apart = np.remainder(semitones - np.arange(12)[:, None] + 6.0, 12.0) - 6.0
    bumps = np.exp(-0.5 * (2 * apart / widths) ** 2)
    bumps /= np.linalg.norm(bumps, axis=0)
    octaves = np.exp(-0.5 * ((semitones / 12 - 5.0) / 2) ** 2)
    return np.roll(bumps * octaves, -3, axis=0)  # from A first to C first
