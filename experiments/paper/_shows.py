"""Shows for the paper's Table 1, made here: parts of talk and of music, in real .mkv files.

Talk is dialogue of speakers that espeak-ng reads (formants of our own where that is not
installed), music is chords, bass, drums and a sung line. Pictures are of a studio or of a stage.
What is to be ignored changes within the parts: speakers and songs, loudness, background noise and
the colour of the sound; cameras, exposure, colour cast, grain, and shots of the audience, which are
in both kinds of parts.
"""

from __future__ import annotations

import io
import random
import shutil
import subprocess
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter, resample_poly

Floats = NDArray[np.float64]
Sound = NDArray[np.float32]
Rng = np.random.Generator

RATE = 16_000
WIDTH, HEIGHT = 96, 72
KINDS = ("talk", "music")
SHORTEST = 12.0
"""Seconds of a part, at least."""
VOICES = {
    "learn": ("en+m1", "en-us+f2", "en+m3", "en-us+m2", "en+f1", "en-scottish+m4"),
    "choose": ("en+m5", "en-us+f3", "en+f4", "en-us+m6"),
    "test": ("en+m7", "en-us+f5", "en-scottish+f1", "en-us+m8"),
}
"""Speakers: those of the shows to test on are heard in no other show."""
SENTENCES = 24
"""Of each speaker."""
WORDS = """\
yesterday morning evening music people story because never always maybe together garden window river
mountain question answer singer actor theatre camera letter journey winter summer friend brother
teacher doctor village city remember believe listen welcome tonight thank laugh wonder travel famous
beautiful curious quiet simple another every little great about before under between through again
of the a and in on with to from is was will can
"""
"""What sentences are made of."""


@dataclass(frozen=True)
class Size:
    """How much of a show there is."""

    seconds: int = 5_400
    changes: tuple[int, int] = (60, 120)
    """At least, and at most."""


FULL = Size()
QUICK = Size(300, (8, 11))


@dataclass(frozen=True)
class Script:
    """Where the parts of a show are."""

    edges: tuple[float, ...]
    """Their beginnings and the end, in seconds."""
    first: int
    """The kind of the first part; kinds take turns."""

    @property
    def changes(self) -> tuple[float, ...]:
        """The truth."""
        return self.edges[1:-1]

    def kind(self, part: int) -> str:
        """Talk or music."""
        return KINDS[(self.first + part) % 2]


def script(size: Size, rng: Rng) -> Script:
    """Parts of random lengths, to a tenth of a second."""
    n_parts = int(rng.integers(size.changes[0], size.changes[1] + 1)) + 1
    spare = size.seconds - n_parts * SHORTEST
    ends = np.cumsum(SHORTEST + spare * rng.dirichlet(np.full(n_parts, 1.5)))
    edges = (0.0, *np.round(ends[:-1], 1).tolist(), float(size.seconds))
    return Script(edges, int(rng.integers(2)))


def write_show(path: Path, size: Size, use: str, seed: int) -> Script:
    """Write one show and the table of its changes, beside it.

    Parameters
    ----------
    use : "learn", "choose" or "test"
        Whose voices are heard.
    """
    rng = np.random.default_rng(seed)
    made = script(size, rng)
    sound = soundtrack(made, use, rng)
    _mux(path, sound, pictures(made, size.seconds, rng))
    rows = [
        f"{start:g},{end:g},{made.kind(i)}\n"
        for i, (start, end) in enumerate(zip(made.edges[:-1], made.edges[1:], strict=True))
    ]
    path.with_suffix(".csv").write_text("start,end,label\n" + "".join(rows))
    return made


def _mux(path: Path, sound: Sound, frames: Iterator[NDArray[np.uint8]]) -> None:
    """One picture a second, and the sound that belongs to it."""
    import av

    partial = path.with_name(f"partial_{path.name}")
    with av.open(str(partial), "w") as container:
        video = container.add_stream("mpeg4", rate=1)
        video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        video.bit_rate = 200_000
        audio = container.add_stream("mp2", rate=RATE)
        audio.layout, audio.bit_rate = "mono", 64_000
        whole = (32_767 * sound).astype(np.int16)
        block = 1_152
        begun = 0
        for second, picture in enumerate(frames):
            container.mux(video.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            while begun < min((second + 1) * RATE, sound.size):
                frame = av.AudioFrame.from_ndarray(
                    whole[None, begun : begun + block], "s16", "mono"
                )
                frame.sample_rate, frame.pts = RATE, begun
                begun += block
                container.mux(audio.encode(frame))
        for stream in (video, audio):
            container.mux(stream.encode(None))
    partial.replace(path)


# ------------------------------------------------------------------------------------ sound


def soundtrack(made: Script, use: str, rng: Rng) -> Sound:
    """Talk and music one after another, recorded under conditions that change at other times."""
    n = int(made.edges[-1] * RATE)
    sound = np.zeros(n, dtype=np.float32)
    for part, (start, end) in enumerate(zip(made.edges[:-1], made.edges[1:], strict=True)):
        a = int(start * RATE)
        b = int(end * RATE)
        is_talk = made.kind(part) == "talk"
        sound[a:b] = talk(b - a, use, rng) if is_talk else music(b - a, rng)
    a = 0
    while a < n:
        b = min(n, a + int(rng.uniform(5, 40) * RATE))
        sound[a:b] = _recorded(sound[a:b], rng)
        a = b
    return np.clip(sound, -1.0, 1.0)


def _recorded(sound: Sound, rng: Rng) -> Sound:
    """With a loudness, a background noise and a colour of its own."""
    colour = rng.uniform(-0.5, 0.3)
    heard = lfilter([1.0, colour], [1.0], sound) / (1 + abs(colour))
    noise = rng.normal(size=sound.size).astype(np.float32)
    kind = rng.integers(3)
    if kind == 1:  # rumble
        noise = lfilter([0.1], [1.0, -0.97], noise)
    if kind == 2:  # an audience that claps and murmurs
        swell = np.interp(np.arange(sound.size), *_swell(sound.size, rng))
        noise = lfilter([1.0, -0.6], [1.0, -0.5], noise) * swell
    level = 10 ** (rng.uniform(-50, -25) / 20)
    gain = 10 ** (rng.uniform(-8, 4) / 20)
    return (gain * heard + level * noise).astype(np.float32)


def _swell(n: int, rng: Rng) -> tuple[Floats, Floats]:
    knots = np.linspace(0, n, max(3, n // (2 * RATE)))
    return knots, rng.uniform(0.2, 2.0, knots.size)


def talk(n: int, use: str, rng: Rng) -> Sound:
    """Two or three speakers who take turns, with pauses."""
    speakers = rng.choice(len(VOICES[use]), size=int(rng.integers(2, 4)), replace=False)
    pieces: list[Sound] = []
    left = n
    while left > 0:
        spoken = _sentences(VOICES[use][int(rng.choice(speakers))])
        said = spoken[int(rng.integers(len(spoken)))]
        pause = np.zeros(int(rng.uniform(0.1, 0.7) * RATE), dtype=np.float32)
        pieces += [said, pause]
        left -= said.size + pause.size
    return 0.25 * np.concatenate(pieces)[:n]


@cache
def speech_in_words() -> str:
    """What reads the sentences."""
    program = shutil.which("espeak-ng")
    if program is None:
        return "formants of our own (espeak-ng is not installed)"
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return " ".join(version.stdout.split(" Data")[0].replace("text-to-speech:", "").split())


@cache
def _sentences(voice: str) -> list[Sound]:
    """Sentences of random words, each with the same loudness."""
    words = random.Random(voice)
    program = shutil.which("espeak-ng")
    found = []
    for _ in range(SENTENCES):
        text = " ".join(words.choices(WORDS.split(), k=words.randint(6, 14)))
        if program is None:
            sound = _formants(text, np.random.default_rng(words.randrange(2**32)), voice)
        else:
            speed = words.randint(140, 180)
            command = [program, "--stdout", "-v", voice, "-s", str(speed), text]
            made = subprocess.run(command, capture_output=True, check=True).stdout
            with wave.open(io.BytesIO(made)) as file:
                rate = file.getframerate()
                raw = file.readframes(2**24)
            sound = resample_poly(np.frombuffer(raw, dtype="<i2") / 32768.0, 320, rate // 50)
        found.append((sound / max(np.sqrt(np.mean(sound**2)), 1e-6) * 0.3).astype(np.float32))
    return found


VOWELS = (
    (730, 1090, 2440),
    (270, 2290, 3010),
    (300, 870, 2240),
    (530, 1840, 2480),
    (570, 840, 2410),
)
"""Resonances of a, i, u, e and o in hertz (Peterson and Barney, 1952)."""


def _formants(text: str, rng: Rng, voice: str) -> Floats:
    """Syllables: a hiss, and pulses of the voice through the resonances of a vowel."""
    pitch = 110.0 if "+m" in voice else 200.0
    pieces = []
    for _ in range(len(text) // 3):
        n = int(rng.uniform(0.12, 0.25) * RATE)
        glide = pitch * rng.uniform(0.8, 1.3) * np.linspace(1.0, rng.uniform(0.85, 1.1), n)
        pulses = np.diff(np.floor(np.cumsum(glide) / RATE), prepend=0.0)
        sound = pulses + 0.01 * rng.normal(size=n)
        for formant in VOWELS[int(rng.integers(len(VOWELS)))]:
            sound = _resonance(sound, formant * rng.uniform(0.95, 1.05), 90.0)
        sound *= np.hanning(n) / max(np.abs(sound).max(), 1e-9)
        hiss = rng.normal(size=int(rng.uniform(0.03, 0.1) * RATE)) * 0.1
        pieces += [np.diff(hiss, prepend=0.0), sound]
    return np.concatenate(pieces)


def _resonance(sound: Floats, hertz: float, width: float) -> Floats:
    r = np.exp(-np.pi * width / RATE)
    return np.asarray(
        lfilter([1 - r], [1, -2 * r * np.cos(2 * np.pi * hertz / RATE), r * r], sound)
    )


CHORDS = ((0, 4, 7), (5, 9, 12), (7, 11, 14), (9, 12, 16), (2, 5, 9))
"""Of a key, in semitones."""
SCALE = (0, 2, 4, 5, 7, 9, 11, 12, 14)


def music(n: int, rng: Rng) -> Sound:
    """A song: chords, bass, mostly drums, mostly a sung line; its own key, tempo and timbre."""
    beat = int(RATE * 60 / rng.uniform(80, 150))
    n_beats = n // beat + 2
    key = 110.0 * 2 ** (rng.integers(12) / 12)
    progression = rng.choice(len(CHORDS), size=4)
    chords = np.array([CHORDS[c] for c in progression])[np.arange(n_beats) // 4 % 4]
    strike = np.tile(np.exp(-np.arange(beat) / (RATE * rng.uniform(0.15, 0.8))), n_beats)
    pad = sum(
        _wave(_tuned(key * 2, chords[:, voice], beat), _timbre(rng, rng.uniform(0.8, 2.0)))
        for voice in range(3)
    )
    sound = 0.12 * pad * strike + 0.15 * _wave(
        _tuned(key / 2, chords[:, 0], beat), _timbre(rng, 1.5)
    )
    if rng.random() < 0.8:
        sound += 0.25 * _drums(n_beats, beat, rng)
    if rng.random() < 0.8:
        notes = np.array(SCALE)[np.abs(np.cumsum(rng.integers(-2, 3, n_beats))) % len(SCALE)]
        sung = _tuned(key * 2, notes, beat)
        vibrato = 1 + 0.012 * np.sin(2 * np.pi * 5.5 * np.arange(sung.size) / RATE)
        line = _wave(sung * vibrato, _timbre(rng, 1.0))
        for formant in VOWELS[int(rng.integers(len(VOWELS)))][:2]:
            line = line + 8 * _resonance(line, formant, 120.0)
        sound += 0.2 * line / max(np.abs(line).max(), 1e-9)
    sound *= 0.075 / np.sqrt(np.mean(sound**2))
    return sound[:n].astype(np.float32)


def _tuned(base: float, notes: Any, beat: int) -> Floats:
    """The frequency of each sample."""
    return np.repeat(base * 2.0 ** (np.asarray(notes) / 12), beat)


def _timbre(rng: Rng, falling: float) -> Floats:
    """One period of a tone of eight harmonics."""
    strengths = rng.uniform(0.3, 1.0, 8) / np.arange(1, 9) ** falling
    period = np.arange(1_024) * 2 * np.pi / 1_024
    return np.asarray(strengths @ np.sin(np.outer(np.arange(1, 9), period)))


def _wave(frequencies: Floats, period: Floats) -> Floats:
    """A tone that follows the frequencies."""
    phase = np.cumsum(frequencies) * (period.size / RATE)
    return period[phase.astype(np.int64) % period.size]


def _drums(n_beats: int, beat: int, rng: Rng) -> Floats:
    """A bass drum and a snare in turn."""
    t = np.arange(beat) / RATE
    kick = np.sin(2 * np.pi * 60 * t) * np.exp(-t * 20)
    snare = rng.normal(size=beat) * np.exp(-t * 30) * 0.5
    return np.tile(np.concatenate([kick, snare]), n_beats // 2 + 1)[: n_beats * beat]


# ---------------------------------------------------------------------------------- pictures

Y, X = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)


def pictures(made: Script, seconds: int, rng: Rng) -> Iterator[NDArray[np.uint8]]:
    """A picture for each second, in shots of some seconds; the camera shows the part's place."""
    parts = np.searchsorted(made.changes, np.arange(seconds) + 0.5)
    second = 0
    while second < seconds:
        same = int(np.searchsorted(parts, parts[second], side="right"))
        end = min(same, second + int(rng.integers(4, 15)))
        look = _look(rng)
        if rng.random() < 0.15:
            shot = _audience(rng)
        else:
            shot = (_studio if made.kind(int(parts[second])) == "talk" else _stage)(rng)
        for t in range(end - second):
            yield _exposed(shot(t), look, rng)
        second = end


def _look(rng: Rng) -> tuple[Floats, float, float]:
    """Colour cast, contrast and grain of a shot."""
    return rng.uniform(0.75, 1.15, 3), rng.uniform(0.7, 1.2), rng.uniform(2, 14)


def _exposed(picture: Any, look: tuple[Floats, float, float], rng: Rng) -> NDArray[np.uint8]:
    cast, contrast, grain = look
    grainy = 128 + contrast * (picture * cast - 128) + rng.normal(scale=grain, size=picture.shape)
    return np.clip(grainy, 0, 255).astype(np.uint8)


def _coloured(rng: Rng, saturation: float) -> Any:
    """A random colour, (3,)."""
    colour = rng.uniform(0, 1, 3)
    return 255 * (1 - saturation + saturation * (colour - colour.min()) / np.ptp(colour))


def _studio(rng: Rng) -> Any:
    """Two people or so before a wall with shelves."""
    wall = 0.7 * _coloured(rng, 0.35) * (0.6 + 0.4 * X / WIDTH)[..., None]
    shelf = 0.5 + 0.5 * np.sign(np.sin(Y * rng.uniform(0.25, 0.5) + rng.uniform(0, 6)))
    wall = wall * (1 - 0.35 * shelf[..., None])
    people = [
        (rng.uniform(0.15, 0.85) * WIDTH, rng.uniform(0.3, 0.5) * HEIGHT, rng.uniform(8, 20))
        for _ in range(int(rng.integers(1, 4)))
    ]
    skins = [np.array([215, 165, 135]) * rng.uniform(0.5, 1.1) for _ in people]
    coats = [0.8 * _coloured(rng, 0.6) for _ in people]

    def shot(_: int) -> Any:
        picture = wall.copy()
        for (x, y, size), skin, coat in zip(people, skins, coats, strict=True):
            x = x + rng.normal()
            y = y + rng.normal()
            picture[(np.abs(X - x) < 1.6 * size) & (y + size < Y)] = coat
            picture[((X - x) / 0.8) ** 2 + (Y - y) ** 2 < size**2] = skin
        return picture

    return shot


def _stage(rng: Rng) -> Any:
    """Beams and spots of light over dancers, in the dark."""
    beams = [(rng.uniform(-0.7, 0.7), rng.uniform(0, WIDTH), _coloured(rng, 0.9)) for _ in range(4)]
    dark = 0.25 * _coloured(rng, 0.5) * np.ones((HEIGHT, WIDTH, 1))
    dancers = rng.uniform(0, WIDTH, int(rng.integers(2, 7)))

    def shot(t: int) -> Any:
        picture = dark.copy()
        for slope, x, colour in beams:
            across = np.abs(X - x - slope * Y - 6 * np.sin(t + x))
            picture += np.exp(-((across / 5) ** 2))[..., None] * colour * 0.7
        for x in dancers:
            at = x + 4 * np.sin(1.7 * t + x)
            picture[(np.abs(X - at) < 2.5) & (Y > 0.45 * HEIGHT + 3 * np.sin(t + x))] *= 0.3
        return picture

    return shot


def _audience(rng: Rng) -> Any:
    """Rows of heads, in either kind of part."""
    size = rng.uniform(5, 9)
    light = _coloured(rng, 0.5)

    def shot(t: int) -> Any:
        heads = np.sin(2 * np.pi * X / size + t) * np.sin(2 * np.pi * Y / size)
        return (0.35 + 0.25 * heads)[..., None] * light

    return shot
