"""Public labelled recordings, fetched from where their authors publish them, and converted."""

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from os import PathLike
from pathlib import Path, PurePosixPath

import numpy as np

from structsvm.errors import DownloadError
from structsvm.io import Recording, read_recording, write_recording
from structsvm.io.recording import share_features
from structsvm.support import Floats, Ints, refuse_unlisted, require

DATA_VARIABLE = "STRUCTSVM_DATA"  # environment variable: the folder that holds the public sets
MIRROR_VARIABLE = "STRUCTSVM_DATA_MIRROR"
"""Environment variable: where to download from instead of GitHub, the same paths below it."""
GITHUB = "https://raw.githubusercontent.com"
REGISTRY = Path(__file__).parent / "registry"
TIMEOUT = 30.0  # seconds that a server may stay silent
Home = str | PathLike[str] | None
Fetch = Callable[[str], Path]
"""Files of public repositories, which are downloaded if they are not on this machine."""
logger = logging.getLogger("structsvm")


@dataclass(frozen=True)
class PublicSet:
    """A data set in a public repository of other authors, at one commit.

    The package holds no file of it, only their SHA-256, in ``registry/<name>.txt``.
    """

    name: str
    repository: str  # owner/name on GitHub
    commit: str
    licence: str  # what the repository itself states
    citation: str
    registry: Path = REGISTRY  # the folder of the checksums

    @cached_property
    def checksums(self) -> dict[str, str]:
        """The SHA-256 of every file that is used, by its path in the repository."""
        words = (self.registry / f"{self.name}.txt").read_text(encoding="utf-8").split()
        return dict(zip(words[::2], words[1::2], strict=True))

    def folder(self, data_home: Home = None) -> Path:
        """The folder of the set: its recordings, and in ``raw/`` the files that were downloaded."""
        home = data_home or os.environ.get(DATA_VARIABLE)
        if not home:
            pooch = require("pooch", "datasets", "the folder of the public sets")
            home = pooch.os_cache("structsvm")
        return Path(home).expanduser() / self.name

    def fetch(self, path: str, data_home: Home = None) -> Path:
        """One file of the repository, from the cache or else from the network."""
        pooch = require("pooch", "datasets", "downloading a public set")
        require("requests", "datasets", "downloading a public set")
        pooch.get_logger().setLevel(logging.WARNING)  # which it writes to the console otherwise
        server = (os.environ.get(MIRROR_VARIABLE) or GITHUB).rstrip("/")
        url = f"{server}/{self.repository}/{self.commit}/{path}"
        file = self.folder(data_home) / "raw" / path
        if not file.exists():
            logger.info("downloading %s", url)
        try:
            retrieved = pooch.retrieve(
                url,
                known_hash=f"sha256:{self.checksums[path]}",
                fname=file.name,
                path=file.parent,
                downloader=pooch.HTTPDownloader(progressbar=False, timeout=TIMEOUT),
            )
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            if isinstance(error, ValueError):
                reason = "the file there is not the one this version of structsvm knows"
            raise DownloadError(
                f"{self.name}: cannot download {url}: {reason}. What was fetched before is kept, "
                f"so try again later; or put the file at {file} by hand, SHA-256 "
                f"{self.checksums[path]}. All files of the set are in https://github.com/"
                f"{self.repository}/archive/{self.commit}.zip, to be unpacked into "
                f"{self.folder(data_home) / 'raw'} without its top folder"
            ) from error
        return Path(retrieved)

    def recordings(
        self,
        names: Sequence[str],
        convert: Callable[[str, Fetch], Recording],
        data_home: Home = None,
    ) -> list[Recording]:
        """Recordings by name; those that the folder lacks are converted from files of the set."""
        folder = self.folder(data_home)
        for name in names:
            if not (folder / f"{name}.npz").exists():
                recording = convert(name, lambda path: self.fetch(path, data_home))
                write_recording(recording, folder / f"{name}.npz")
        return share_features([read_recording(folder / f"{name}.npz") for name in names])


HAR_SPSW = PublicSet(
    "har_spsw",
    "GeoTecINIT/sp-sw-har-dataset",
    "1408d85a512a53861de7bc4729dee283fff2ea9d",
    licence="CC BY 4.0",
    citation="Matey-Sanz, Casteleyn and Granell (2023), Dataset of inertial measurements of "
    "smartphones and smartwatches for human activity recognition, Data in Brief 51, 109809; "
    "doi:10.5281/zenodo.8398688",
)
SKAB = PublicSet(
    "skab",
    "waico/SKAB",
    "b2c0d46c2971dcbfe71e26087b6d231998bb91c2",
    licence="GPL-3.0 (of the repository, data included)",
    citation="Katser and Kozitsin (2020), Skoltech Anomaly Benchmark (SKAB), Kaggle, "
    "doi:10.34740/KAGGLE/DSV/1693952",
)
SKAB_FOLDERS = ("valve1", "valve2", "other")


def fetch_har_spsw(
    subjects: Iterable[int] | None = None, *, data_home: Home = None
) -> list[Recording]:
    """Activities recorded by a smartphone and a smartwatch: the best set to begin with.

    223 executions by 23 people of one sequence: sit, stand up, walk, turn, walk, turn, sit down.
    All of them are a download of 73 MB in 446 files.

    Parameters
    ----------
    subjects : iterable of int, optional
        Of 1 to 23; all by default.
    data_home : path, optional
        Where public sets are kept: ``$STRUCTSVM_DATA``, or else the cache of the user.

    Returns
    -------
    list of Recording
        32 features at 10 Hz: mean and log(std + 0.01) over half a second of 12 channels and of
        their magnitudes. ``y`` numbers SEATED, STANDING_UP, WALKING, TURNING, SITTING_DOWN.
        Names are ``s01_01``: subject and execution; split by subject,
        ``groups=[r.name[:3] for r in recordings]``.

    Raises
    ------
    SettingsError, DownloadError
        If a subject is not one of them; if a file cannot be downloaded, or is another one now.

    Notes
    -----
    Phone and watch are put on a common grid of 50 Hz by linear interpolation; labels are those of
    the phone's file. Licence: CC BY 4.0. Matey-Sanz, Casteleyn and Granell (2023), Data in Brief
    51, 109809; doi:10.5281/zenodo.8398688.

    Examples
    --------
    >>> from structsvm.datasets import fetch_har_spsw
    >>> def train_and_test():  # the first call downloads them
    ...     return fetch_har_spsw(range(1, 19)), fetch_har_spsw(range(19, 24))
    """
    names = sorted({PurePosixPath(path).name[:6] for path in HAR_SPSW.checksums})
    if subjects is not None:
        wanted = [f"s{subject:02d}" for subject in subjects]
        check_names("subjects", wanted, {name[:3] for name in names})
        names = [name for name in names if name[:3] in wanted]
    return HAR_SPSW.recordings(names, activity, data_home)


def fetch_skab(folders: Sequence[str] = SKAB_FOLDERS, *, data_home: Home = None) -> list[Recording]:
    """Faults of a water-circulation testbed: 34 experiments, 8 sensors, a sample each second.

    Parameters
    ----------
    folders : sequence of str
        Of "valve1" (16 experiments), "valve2" (4) and "other" (14): kinds of faults.
    data_home : path, optional
        As of :func:`fetch_har_spsw`.

    Returns
    -------
    list of Recording
        ``y`` numbers the segments between the marked changes: normal, transition, fault, ...

    Notes
    -----
    Licence: GPL-3.0 (of the repository, data included). Katser and Kozitsin (2020), Skoltech
    Anomaly Benchmark (SKAB), Kaggle, doi:10.34740/KAGGLE/DSV/1693952.

    Examples
    --------
    >>> from structsvm.datasets import fetch_skab
    >>> def valves():  # the first call downloads them
    ...     return fetch_skab(("valve1",)), fetch_skab(("valve2",))
    """
    check_names("folders", folders, set(SKAB_FOLDERS))
    files = [PurePosixPath(path) for path in SKAB.checksums]
    names = sorted(f"{f.parent.name}_{int(f.stem):02d}" for f in files if f.parent.name in folders)
    return SKAB.recordings(names, water_loop, data_home)


def check_names(parameter: str, wanted: Sequence[str], names: set[str]) -> None:
    """Refuse a wanted name that is not among ``names``."""
    for name in wanted:
        refuse_unlisted(parameter, name, sorted(names))


ACTIVITIES = ("SEATED", "STANDING_UP", "WALKING", "TURNING", "SITTING_DOWN")
AXES = ("x_acc", "y_acc", "z_acc", "x_gyro", "y_gyro", "z_gyro")
GRID_MS = 20  # 50 Hz, the grid that phone and watch are put on


def activity(name: str, fetch: Fetch) -> Recording:
    """An execution: mean and log(std + 0.01) over half a second, at 10 Hz, of all channels."""
    pandas = require("pandas", "datasets", "reading a public set")
    logs = [
        pandas.read_csv(fetch(f"DATA/{name[:3]}/{name}_{device}.csv")) for device in ("sp", "sw")
    ]
    frames = [log.drop_duplicates("timestamp") for log in logs]
    times = [frame["timestamp"].to_numpy(np.float64) for frame in frames]
    grid = np.arange(max(t[0] for t in times), min(t[-1] for t in times), GRID_MS)
    pairs = list(zip(times, frames, strict=True))
    channels = [np.interp(grid, t, frame[axis]) for (t, frame), axis in product(pairs, AXES)]
    # Of several lines with one time, the last one has the label.
    line = np.searchsorted(logs[0]["timestamp"].to_numpy(np.float64), grid, side="right") - 1
    current = logs[0]["label"].map(ACTIVITIES.index).to_numpy()[line]
    names = [f"{device}.{axis}" for device, axis in product(("phone", "watch"), AXES)]
    names += [f"{device}.|{kind}|" for device, kind in product(("phone", "watch"), ("acc", "gyro"))]
    sizes = [np.linalg.norm(channels[j : j + 3], axis=0) for j in range(0, 12, 3)]
    centres = np.arange(grid.size // 5) * 5 + 2  # of every five samples
    mean, std = around(np.column_stack([*channels, *sizes]), centres, 12)
    X = np.hstack([mean, np.log(std + 0.01)]).astype(np.float32).astype(np.float64)
    # The most frequent of every five labels; of two, the smaller number.
    y = np.array(
        [np.bincount(block).argmax() for block in current[: centres.size * 5].reshape(-1, 5)]
    )
    return Recording(
        name, X, y, tuple(f"{one}:{kind}" for kind, one in product(("mean", "logstd"), names))
    )


def around(Z: Floats, centres: Ints, half: int) -> tuple[Floats, Floats]:
    """Mean and standard deviation of up to ``2 * half + 1`` rows around each centre."""
    windows = [Z[max(0, i - half) : i + half + 1] for i in centres]
    means = np.array([window.mean(axis=0) for window in windows])
    return means, np.array([window.std(axis=0) for window in windows])


def water_loop(name: str, fetch: Fetch) -> Recording:
    """An experiment, whose labels number the segments between its marked changes."""
    folder, number = name.split("_")
    pandas = require("pandas", "datasets", "reading a public set")
    frame = pandas.read_csv(fetch(f"data/{folder}/{int(number)}.csv"), sep=";")
    X = frame.iloc[:, 1:9].to_numpy(np.float32).astype(np.float64)
    y = np.cumsum(frame["changepoint"].to_numpy() == 1, dtype=np.int64)
    return Recording(name, X, y, tuple(frame.columns[1:9]))
