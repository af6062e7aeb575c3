"""Public labelled recordings, fetched from where their authors publish them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import PurePosixPath

from structsvm.datasets import conversions
from structsvm.datasets.public import PublicSet
from structsvm.errors import SettingsError
from structsvm.io.recording import Recording

Home = str | PathLike[str] | None

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
    SettingsError
        If a subject is not one of them.
    DownloadError
        If a file cannot be downloaded or differs from the one that was registered.

    Notes
    -----
    Phone and watch are put on a common grid of 50 Hz by linear interpolation; labels are those of
    the phone's file. Licence: CC BY 4.0. Matey-Sanz, Casteleyn and Granell (2023), Dataset of
    inertial measurements of smartphones and smartwatches for human activity recognition, Data in
    Brief 51, 109809; doi:10.5281/zenodo.8398688.

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
    return HAR_SPSW.recordings(names, conversions.activity, data_home)


def fetch_skab(folders: Sequence[str] = SKAB_FOLDERS, *, data_home: Home = None) -> list[Recording]:
    """Faults of a water-circulation testbed: 34 experiments, 8 sensors, a sample each second.

    Parameters
    ----------
    folders : sequence of str
        Of "valve1" (16 experiments), "valve2" (4) and "other" (14): kinds of faults.
    data_home : path, optional
        Where public sets are kept: ``$STRUCTSVM_DATA``, or else the cache of the user.

    Returns
    -------
    list of Recording
        ``y`` numbers the segments between the marked changes: normal, transition, fault, ...

    Raises
    ------
    SettingsError
        If a folder is not one of them.
    DownloadError
        If a file cannot be downloaded or differs from the one that was registered.

    Notes
    -----
    Licence: GPL-3.0 (of the repository, data included). Katser and Kozitsin (2020), Skoltech
    Anomaly Benchmark (SKAB), Kaggle, doi:10.34740/KAGGLE/DSV/1693952.

    Examples
    --------
    >>> from structsvm.datasets import fetch_skab
    >>> def valves():  # the first call downloads them
    ...     return fetch_skab(("valve1",)), fetch_skab(("valve2",))
    >>> fetch_skab(("valve3",))
    Traceback (most recent call last):
        ...
    structsvm.errors.SettingsError: folders must be among other, valve1, valve2; got ['valve3']
    """
    check_names("folders", folders, set(SKAB_FOLDERS))
    files = [PurePosixPath(path) for path in SKAB.checksums]
    names = sorted(f"{f.parent.name}_{int(f.stem):02d}" for f in files if f.parent.name in folders)
    return SKAB.recordings(names, conversions.water_loop, data_home)


def check_names(parameter: str, wanted: Sequence[str], known: set[str]) -> None:
    """Refuse names of recordings that a set does not have."""
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        what = f"got {unknown}" if unknown else "got none"
        raise SettingsError(f"{parameter} must be among {', '.join(sorted(known))}; {what}")
