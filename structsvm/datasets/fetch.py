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
MOCAP6 = PublicSet(
    "mocap6",
    "michaelchughes/mocap6dataset",
    "0fbfc4d2e13c55e30970aaebc73c90092679f4e1",
    licence="2-clause BSD, (c) 2015 Mike Hughes; motion data from mocap.cs.cmu.edu",
    citation="Fox, Hughes, Sudderth and Jordan (2014), Joint modeling of multiple time series via "
    "the beta process with application to motion capture segmentation, Annals of Applied "
    "Statistics 8(3), 1281-1313",
)
BEEDANCE = PublicSet(
    "beedance",
    "OctoberChang/klcpd_code",
    "b3a32ee4ce5a950cefa2319535d2b2f521e7176f",
    licence="3-clause BSD (of the repository)",
    citation="Oh, Rehg, Balch and Dellaert (2008), Learning and inferring motion patterns using "
    "parametric segmental switching linear dynamic systems, IJCV 77, 103-124; this copy: Chang, "
    "Li, Yang and Poczos (2019), Kernel change-point detection with auxiliary deep generative "
    "models, ICLR",
)
HASC1 = PublicSet(
    "hasc1",
    BEEDANCE.repository,
    BEEDANCE.commit,
    licence=BEEDANCE.licence,
    citation="Chang, Li, Yang and Poczos (2019), Kernel change-point detection with auxiliary deep "
    "generative models, ICLR; from the HASC challenge, hasc.jp",
)
TEP = PublicSet(
    "tep",
    "YKatser/CPDE",
    "c8b25303e7a6b7e89939c28176fcde711962eafa",
    licence="University of Illinois, MIT-like, (c) 1998-2002 (TEP_data/readme.txt); repository "
    "GPL-3.0",
    citation="Katser, Kozitsin, Lobachev and Maksimov (2021), Unsupervised offline changepoint "
    "detection ensembles, Applied Sciences 11(9), 4280",
)
TSSB = PublicSet(
    "tssb",
    "ermshaua/time-series-segmentation-benchmark",
    "e0c7a1f6cee6874e60cbacd3b8601f2de259606e",
    licence="3-clause BSD",
    citation="Ermshaus, Schaefer and Leser (2023), ClaSP: parameter-free time series segmentation, "
    "Data Mining and Knowledge Discovery",
)
MOCAP86 = PublicSet(
    "mocap86",
    "blacksnail789521/PromptTSS",
    "6c2fdd8a8482aa577f1aa299be270b671777af58",
    licence="MIT (of the repository); motion data from mocap.cs.cmu.edu, subject 86",
    citation="Chang, Lo, Peng and Chen (2025), PromptTSS: A prompting-based approach for "
    "interactive multi-granularity time series segmentation, CIKM; arXiv:2506.11170",
)
SETS = (HAR_SPSW, SKAB, MOCAP6, BEEDANCE, HASC1, TEP, TSSB, MOCAP86)

SKAB_FOLDERS = ("valve1", "valve2", "other")


@HAR_SPSW.cited
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

    Returns
    -------
    list of Recording
        32 features at 10 Hz: mean and log(std + 0.01) over half a second of 12 channels and of
        their magnitudes. ``y`` numbers SEATED, STANDING_UP, WALKING, TURNING, SITTING_DOWN.
        Names are ``s01_01``: subject and execution; split by subject,
        ``groups=[r.name[:3] for r in recordings]``.

    Notes
    -----
    Phone and watch are put on a common grid of 50 Hz by linear interpolation; labels are those of
    the phone's file.

    Examples
    --------
    >>> from structsvm.datasets import fetch_har_spsw
    >>> def train_and_test():  # the first call downloads them
    ...     return fetch_har_spsw(range(1, 19)), fetch_har_spsw(range(19, 24))
    """
    names = sorted({PurePosixPath(path).name[:6] for path in HAR_SPSW.checksums})
    if subjects is not None:
        wanted = [f"s{subject:02d}" for subject in subjects]
        _check("subjects", wanted, {name[:3] for name in names})
        names = [name for name in names if name[:3] in wanted]
    return HAR_SPSW.recordings(names, conversions.activity, data_home)


@SKAB.cited
def fetch_skab(folders: Sequence[str] = SKAB_FOLDERS, *, data_home: Home = None) -> list[Recording]:
    """Faults of a water-circulation testbed: 34 experiments, 8 sensors, a sample each second.

    Parameters
    ----------
    folders : sequence of str
        Of "valve1" (16 experiments), "valve2" (4) and "other" (14): kinds of faults.

    Returns
    -------
    list of Recording
        ``y`` numbers the segments between the marked changes: normal, transition, fault, ...

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
    _check("folders", folders, set(SKAB_FOLDERS))
    files = [PurePosixPath(path) for path in SKAB.checksums]
    names = sorted(f"{f.parent.name}_{int(f.stem):02d}" for f in files if f.parent.name in folders)
    return SKAB.recordings(names, conversions.water_loop, data_home)


@MOCAP6.cited
def fetch_mocap6(*, data_home: Home = None) -> list[Recording]:
    """Six exercise sessions of motion capture: 12 joint angles, 12 actions, 5 to 8 segments.

    Returns
    -------
    list of Recording
        24 features at 10 Hz: mean and log(1 + std) of each channel over 1.5 seconds. ``y`` numbers
        the actions. Few and short: too little to tell metrics apart.

    Examples
    --------
    >>> from structsvm.datasets import fetch_mocap6
    >>> from structsvm.io import arrays_and_labels
    >>> def exercises():  # the first call downloads them
    ...     return arrays_and_labels(fetch_mocap6())
    """
    names = ("s13_29", "s13_30", "s13_31", "s14_06", "s14_14", "s14_20")
    return MOCAP6.recordings(names, conversions.exercise, data_home)


@MOCAP86.cited
def fetch_mocap86(*, data_home: Home = None) -> list[Recording]:
    """Nine sessions of motion capture in which actions come back: 4 channels, 7 to 11 segments.

    Returns
    -------
    list of Recording
        The four channels as they are published, 4,579 to 10,617 samples at 120 Hz. ``y`` numbers
        the states of each recording in the order in which they appear: the same number names
        another action in another recording.

    Examples
    --------
    >>> from structsvm.datasets import fetch_mocap86
    >>> from structsvm.io import arrays_and_labels
    >>> def sessions():  # the first call downloads them
    ...     return arrays_and_labels(fetch_mocap86())
    """
    names = sorted(PurePosixPath(path).stem for path in MOCAP86.checksums)
    return MOCAP86.recordings(names, conversions.session, data_home)


@BEEDANCE.cited
def fetch_beedance(*, data_home: Home = None) -> list[Recording]:
    """Six waggle dances of honeybees: position and heading, 15 to 29 segments.

    Returns
    -------
    list of Recording
        13 features: position, sine and cosine of the heading, its change, the speed, and means and
        log(std + 0.001) of the last three over 9 frames. ``y`` numbers the segments: this copy
        does not say which dance figure each is.

    Notes
    -----
    That the published range of the heading is one full turn is an assumption.

    Examples
    --------
    >>> from structsvm.datasets import fetch_beedance
    >>> from structsvm.io import arrays_and_labels
    >>> def dances():  # the first call downloads them
    ...     return arrays_and_labels(fetch_beedance())
    """
    names = [f"bee{i}" for i in range(1, 7)]
    return BEEDANCE.recordings(names, conversions.bee, data_home)


@HASC1.cited
def fetch_hasc1(*, data_home: Home = None) -> list[Recording]:
    """One long accelerometer recording with 65 changes of activity.

    Returns
    -------
    list of one Recording
        Mean and log(std + 0.01) of the three axes over blocks of 20 samples.

    Examples
    --------
    >>> from structsvm.datasets import fetch_hasc1
    >>> def activities():  # the first call downloads them
    ...     (recording,) = fetch_hasc1()
    ...     return recording
    """
    return HASC1.recordings(["hasc1"], conversions.hasc, data_home)


@TEP.cited
def fetch_tep(faults: Iterable[int] = range(1, 22), *, data_home: Home = None) -> list[Recording]:
    """The Tennessee Eastman process: 52 variables, 21 faults that set in at sample 160.

    Parameters
    ----------
    faults : iterable of int
        Of 1 to 21, a recording of 960 samples for each.

    Returns
    -------
    list of Recording
        ``y`` is 0 before the fault and 1 from there on. Each fault is another one, so that little
        is learned from some about others.

    Examples
    --------
    >>> from structsvm.datasets import fetch_tep
    >>> def step_faults():  # the first call downloads them
    ...     return fetch_tep(range(1, 8))
    """
    names = [f"fault{fault:02d}" for fault in faults]
    _check("faults", names, {f"fault{fault:02d}" for fault in range(1, 22)})
    return TEP.recordings(names, conversions.fault, data_home)


@TSSB.cited
def fetch_tssb(names: Sequence[str] | None = None, *, data_home: Home = None) -> list[Recording]:
    """The Time Series Segmentation Benchmark: 75 univariate series of 1 to 9 segments.

    Parameters
    ----------
    names : sequence of str, optional
        Such as "Adiac"; all by default.

    Returns
    -------
    list of Recording
        One feature, ``x``: there is no metric to learn before you add some. ``y`` numbers the
        segments.

    Examples
    --------
    >>> from structsvm.datasets import fetch_tssb
    >>> def series():  # the first call downloads it
    ...     (recording,) = fetch_tssb(["Adiac"])
    ...     return recording.X, recording.y
    """
    known = sorted({PurePosixPath(path).stem for path in TSSB.checksums} - {"desc"})
    if names is not None:
        _check("names", names, set(known))
    return TSSB.recordings(known if names is None else names, conversions.series, data_home)


def _check(parameter: str, wanted: Sequence[str], known: set[str]) -> None:
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        what = f"got {unknown}" if unknown else "got none"
        raise SettingsError(f"{parameter} must be among {', '.join(sorted(known))}; {what}")
