"""Random label tables of known recordings, in the forms in which tools write them."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from structsvm.io import Recording, TimeAxis

DAY = pd.Timestamp("2024-03-01 08:00:00")
SINCE_1970 = 1_714_550_400
STATES = ("rest", "walk", "run fast", "été")
STEPS = (1.0, 0.5, 0.1, 0.02, 2.0, 0.04)
CALLED = (
    ("start", "end", "label"),
    ("onset", "offset", "behavior"),
    ("Start (s)", "Stop (s)", "Behavior"),
    ("inicio", "fin", "estado"),
    ("tmin", "tmax", "text"),
    ("Beginn", "Ende", "Zustand"),
)
FORMS = ("stretches", "durations", "starts", "signs", "samples", "columns", "lines", "start lines")
UNITS = ("seconds", "milliseconds", "frames", "clock", "own", "dates")
OF_TIMES = {"milliseconds": "time_ms", "frames": "frame"}
OF_ENDS = {"milliseconds": ("start_ms", "end_ms"), "frames": ("start_frame", "end_frame")}


@dataclass(frozen=True)
class Known:
    """A recording without labels, and the stretches that it has."""

    recording: Recording
    states: list[str]
    ends: list[int]

    @property
    def rows(self):
        return list(zip([0, *self.ends[:-1]], self.ends, self.states, strict=True))

    @property
    def y(self):
        return np.repeat(self.states, np.diff([0, *self.ends])).tolist()


def decimals(value):
    return f"{value:.6f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Written:
    """How the times of a table are written."""

    times: str  # of the recordings: numbers, dates, numbers since 1970 or none
    step: float
    unit: str
    first: int  # the number of the first frame

    def at(self, t):
        seconds = t * self.step
        if self.unit == "frames":
            return str(t + self.first)
        if self.unit == "milliseconds":
            return str(round(1000 * seconds))
        if self.unit == "clock":
            minutes = int(seconds // 60)
            return f"{minutes // 60:02}:{minutes % 60:02}:{seconds % 60:06.3f}"
        if self.unit == "dates":
            return str(DAY + pd.Timedelta(round(1000 * seconds), unit="ms"))
        return decimals(seconds + SINCE_1970 * (self.unit == "own" and self.times == "since 1970"))

    def lasting(self, n):
        if self.unit in ("frames", "milliseconds"):
            return str(round(n * (1 if self.unit == "frames" else 1000 * self.step)))
        return decimals(n * self.step)


def known(rng, name, times, step, states):
    lengths = rng.integers(3, 30, rng.integers(2, 7))
    found = [str(rng.choice(states))]
    while len(found) < len(lengths):
        found.append(str(rng.choice([one for one in states if one != found[-1]])))
    seconds = np.round(np.arange(lengths.sum()) * step, 6)
    values = {
        "numbers": seconds,
        "since 1970": SINCE_1970 + seconds,
        "dates": (DAY + pd.to_timedelta(np.round(1000 * seconds), unit="ms")).to_numpy(),
    }
    axis = TimeAxis("t", values[times]) if times in values else None
    recording = Recording(name, np.zeros((seconds.size, 1)), None, ("x",), time=axis)
    return Known(recording, found, np.cumsum(lengths).tolist())


def rows_of(one, form, written, is_last, states):
    """The cells of each row; ``is_last`` the last sample is the end of a stretch."""
    at = written.at
    if form in ("stretches", "lines"):
        return [(at(a), at(b - is_last), c) for a, b, c in one.rows]
    if form == "durations":
        return [(at(a), written.lasting(b - a), c) for a, b, c in one.rows]
    if form in ("starts", "start lines"):
        return [(at(a), c) for a, _, c in one.rows]
    if form == "signs":
        pairs = [((at(a), c, "START"), (at(b), c, "STOP")) for a, b, c in one.rows]
        return list(chain.from_iterable(pairs))
    if form == "samples":
        return [(at(t), c) for t, c in enumerate(one.y)]
    return [(at(t), *(str(int(c == state)) for state in states)) for t, c in enumerate(one.y)]


def header_of(form, written, called, states):
    start, end, label = called
    start, end = OF_ENDS.get(written.unit, (start, end))
    time = OF_TIMES.get(written.unit, "time")
    length = {"milliseconds": "duration_ms", "frames": "duration_frames"}
    return {
        "stretches": (start, end, label),
        "durations": (start, length.get(written.unit, "duration"), label),
        "starts": (start, label),
        "signs": (time, "behavior", "status"),
        "samples": (time, label),
        "columns": (time, *states),
    }.get(form)


def drawn(seed, folder):
    """Recordings, and the table or folder of their labels; None for forms that do not go together.

    Lines without a header cannot say what unit their times are in.
    """
    rng = np.random.default_rng(seed)
    times = str(rng.choice(["numbers", "dates", "since 1970", "none"]))
    form = str(rng.choice(FORMS))
    step = float(rng.choice(STEPS))
    unit = "frames" if times == "none" else str(rng.choice(UNITS))
    is_last = bool(rng.random() < 0.3) and form in ("stretches", "lines")
    written = Written(times, step, unit, int(is_last and unit == "frames" and rng.random() < 0.5))
    states = STATES[: rng.integers(2, 5)]
    some = [known(rng, f"r{k}", times, step, states) for k in range(rng.integers(1, 4))]
    header = header_of(form, written, CALLED[rng.integers(len(CALLED))], states)
    is_unclear = header is None and unit in OF_ENDS and times != "none"
    if is_unclear or (unit == "dates" and times != "dates") or (unit == "own" and times == "dates"):
        return None
    between = str(rng.choice([",", ";", "\t"]))
    tables = [rows_of(one, form, written, is_last, states) for one in some]
    names = [one.recording.name for one in some]
    if header is not None and rng.random() < 0.5:
        rows = []
        for name, table in zip(names, tables, strict=True):
            rows += [(name, *row) for row in table]
        rng.shuffle(rows) if form in ("stretches", "durations") else None
        return some, put(folder / "labels.csv", [("recording", *header), *rows], between)
    (folder / "labels").mkdir()
    for name, table in zip(names, tables, strict=True):
        rows = table if header is None else [header, *table]
        put(folder / "labels" / f"{name}.{'txt' if header is None else 'csv'}", rows, between)
    return some, folder / "labels"


def put(path: Path, rows, between):
    path.write_text("".join(between.join(row) + "\n" for row in rows), encoding="utf-8")
    return path
