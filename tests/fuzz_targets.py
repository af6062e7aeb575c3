"""What files from strangers are read by, and cases to begin with, for `make fuzz`.

A target takes the bytes of a file. It passes when they are read right or refused with an error of
ours; anything else that leaves it is a fault.
"""

import io
import json
import random
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import numpy as np
from media_files import stripes, tone, write_media

from structsvm import MetricLearner, StructSVMError, load, save
from structsvm.io import read_images, read_recordings
from structsvm.io.label_files import read_regions
from structsvm.solvers import CuttingPlane, Stopping

CORPUS = Path(__file__).parent / "corpus"
"""Cases that were found once, a folder for each target, which every run of the tests tries."""

rng = np.random.default_rng(0)
YS = [np.repeat([0, 1, 2], 8)] * 3
XS = [rng.normal(size=(24, 2)) + 3 * rng.normal(size=(3, 2))[y] for y in YS]


@contextmanager
def file_of(data: bytes, suffix: str) -> Iterator[Path]:
    """Those bytes as a file in a folder of its own, beside and above which there is nothing."""
    with tempfile.TemporaryDirectory() as above:
        folder = Path(above) / "case"
        folder.mkdir()
        path = folder / f"case{suffix}"
        path.write_bytes(data)
        yield path


@contextmanager
def quietly() -> Iterator[None]:
    """Without warnings, and with errors of ours: both are answers."""
    with warnings.catch_warnings(), suppress(StructSVMError):
        warnings.simplefilter("ignore")
        yield


@cache
def learner() -> MetricLearner:
    """What the model that is damaged was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MetricLearner(metric="diagonal").fit(XS, YS, feature_names=["a", "b"])


@cache
def model_bytes() -> bytes:
    with file_of(b"", ".structsvm") as path:
        save(learner(), path)
        return path.read_bytes()


@cache
def checkpoint_bytes() -> bytes:
    with file_of(b"", ".npz") as path:
        path.unlink()
        resumed(path, 3)
        return path.read_bytes()


def resumed(path: Path, max_iter: int) -> MetricLearner:
    """A run with a checkpoint."""
    solver = CuttingPlane(Stopping(tol=1e-9, max_iter=max_iter))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MetricLearner(solver=solver).fit(XS, YS, resume=path)


@cache
def resumed_right() -> bytes:
    """The metric of that run."""
    with file_of(b"", ".npz") as path:
        path.unlink()
        return resumed(path, 6).metric_.factor.tobytes()


def of_model(data: bytes) -> None:
    """A model file is what it was, or refused."""
    with file_of(data, ".structsvm") as path, quietly():
        found = load(path)
        assert found.metric_.factor.tobytes() == learner().metric_.factor.tobytes()
        assert found.predict_breakpoints(XS) == learner().predict_breakpoints(XS)


def of_checkpoint(data: bytes) -> None:
    """A checkpoint goes on to the same bits, or is refused."""
    with file_of(data, ".npz") as path, quietly():
        assert resumed(path, 6).metric_.factor.tobytes() == resumed_right()


def forged(whole: bytes, header: bytes) -> bytes:
    """An archive with another header."""
    with np.load(io.BytesIO(whole)) as archive:
        arrays = {name: archive[name] for name in archive}
    arrays["header"] = np.frombuffer(header, dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def header_of(whole: bytes) -> bytes:
    with np.load(io.BytesIO(whole)) as archive:
        return archive["header"].tobytes()


def of_forged_model(data: bytes) -> None:
    """Whoever writes a model by hand gets a learner, or an error of ours."""
    with file_of(forged(model_bytes(), data), ".structsvm") as path, quietly():
        load(path)


def of_forged_checkpoint(data: bytes) -> None:
    """The same of checkpoints; what they go on from is only as good as what they say."""
    with file_of(forged(checkpoint_bytes(), data), ".npz") as path, quietly():
        assert np.isfinite(resumed(path, 6).metric_.factor).all()


def of_table(data: bytes) -> None:
    """A table is read into finite numbers and labels that fit."""
    for settings in ({}, {"need_labels": False}, {"blanks": True, "recording_column": "id"}):
        with file_of(data, ".csv") as path, quietly():
            check_recordings(read_recordings(path, **settings))


def of_recording(data: bytes) -> None:
    """An .npz file of a recording."""
    with file_of(data, ".npz") as path, quietly():
        check_recordings(read_recordings(path, need_labels=False))


def check_recordings(found) -> None:
    for recording in found:
        T, P = recording.X.shape
        assert np.isfinite(recording.X).all()
        assert recording.y is None or recording.y.shape == (T,)
        assert len(recording.features) == P
        str(recording)


def of_regions(data: bytes) -> None:
    """Regions have whole numbers."""
    with file_of(data, ".csv") as path, quietly():
        for name, regions in read_regions(path).items():
            assert isinstance(name, str)
            assert all(isinstance(region.start, int) for region in regions)


def of_image(data: bytes) -> None:
    """A picture and its mask."""
    with file_of(data, ".png") as path, quietly():
        masks = path.parent / "masks"
        masks.mkdir()
        (masks / path.name).write_bytes(picture(2))
        for image in read_images([path], masks, need_labels=True):
            assert image.image.size
            assert image.labels.shape == image.image.shape[:2]


def of_film(data: bytes) -> None:
    """Sound and pictures."""
    with file_of(data, ".mkv") as path, quietly():
        check_recordings(read_recordings(path, need_labels=False))


@cache
def film_bytes() -> bytes:
    with file_of(b"", ".mkv") as path:
        write_media(path, tone(440, 2), stripes(4, "down"))
        return path.read_bytes()


def picture(colours: int) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    pixels = np.random.default_rng(0).integers(colours, size=(8, 8)).astype(np.uint8)
    Image.fromarray(40 * pixels).save(buffer, "png")
    return buffer.getvalue()


def npz(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


TABLES = [
    b"a,b,label\n1,2,x\n3,4.5,x\n-1e3,0,y\n",
    b"id,t,a,label\n1,0,2.5,0\n1,1,2.5,1\n2,0,7,0\n2,1,8,\n",
    b"\xef\xbb\xbfa;b;label\r\n1,5;2;0\r\n3;4;1\r\n",
    b'"a ""b""",label\n"1",NA\n"nan",null\n',
]
REGIONS = [
    b"recording,start,end,changes\nwalk,0,10,1\nwalk,10,20,1+\n",
    b"changes,end,start,recording\n0, 5, 1, \xc3\xa9\n",
]

TARGETS: dict[str, tuple[Callable[[bytes], None], Callable[[], list[bytes]]]] = {
    "model": (of_model, lambda: [model_bytes()]),
    "checkpoint": (of_checkpoint, lambda: [checkpoint_bytes()]),
    "forged-model": (of_forged_model, lambda: [header_of(model_bytes())]),
    "forged-checkpoint": (of_forged_checkpoint, lambda: [header_of(checkpoint_bytes())]),
    "table": (of_table, lambda: TABLES),
    "regions": (of_regions, lambda: REGIONS),
    "recording": (
        of_recording,
        lambda: [npz(X=XS[0], y=YS[0]), npz(X=XS[0], bkps=np.array([8, 24]), features=["a", "b"])],
    ),
    "film": (of_film, lambda: [film_bytes()]),
    "image": (of_image, lambda: [picture(5)]),
}
"""What is tried, and what it begins with."""

WORDS = [
    *(b"NaN", b"-1", b"0", b"1e400", b"-0", b"null", b"true", b"\x00", b"\xff", b"\n", b'"', b","),
    *(b"[]", b"{}", b"1+", b"99999999999999999999", b"0.5", b" ", b"\r", b";", b"'", b"array.0"),
    *(b"inf", b"\xe2\x80\xae", b"__class__", b"9" * 400),
]


def mutated(data: bytes, chance: random.Random) -> bytes:
    """A case that differs in a few places, as a disk, a hand or an attacker would change it."""
    made = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        a, b = sorted(chance.randrange(len(made) + 1) for _ in range(2))
        how = chance.randrange(7)
        if how == 0 and made:
            made[min(a, len(made) - 1)] ^= 1 << chance.randrange(8)
        elif how == 1:
            del made[a : a + chance.choice([1, 2, 8, b - a])]
        elif how == 2:
            made[a:a] = chance.choice(WORDS)
        elif how == 3:
            made[a : a + chance.randrange(1, 9)] = chance.choice(WORDS)
        elif how == 4:
            made[a:a] = made[a : min(b, a + 64)]
        elif how == 5:
            made[a : a + 4] = chance.randbytes(4)
        else:
            made = bytearray(_other_value(bytes(made), chance))
    return bytes(made)


def _other_value(data: bytes, chance: random.Random) -> bytes:
    """Of JSON, another value at a random place; anything else stays."""
    try:
        plain = json.loads(data)
    except ValueError:
        return data
    places = []

    def walk(inner):
        rows = inner.items() if isinstance(inner, dict) else enumerate(inner)
        for key, value in rows:
            places.append((inner, key))
            if isinstance(value, dict | list):
                walk(value)

    if isinstance(plain, dict | list):
        walk(plain)
    if places:
        inner, key = chance.choice(places)
        values = [None, -1, 0, 1e300, "", "spam", [], {}, True, float("nan"), [[1]], 10**30, 0.5]
        other, where = chance.choice(places)
        inner[key] = chance.choice([*values, other[where]])
    try:
        return json.dumps(plain).encode()
    except ValueError:  # a value inside itself
        return data


def kept(name: str) -> list[Path]:
    """The cases of a target that were found once."""
    return sorted((CORPUS / name).glob("*"))


__all__ = ["CORPUS", "TARGETS", "kept", "mutated"]
