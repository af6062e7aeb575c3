"""Sets that the experiments read: fetched from where their authors publish them, checked and kept.

Whom to cite and under which licence each is published stands in its ``PublicSet``.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from experiments.sets import conversions
from structsvm.datasets.public import Home, PublicSet, check_names
from structsvm.io.recording import Recording

REGISTRY = Path(__file__).parent / "registry"

MOCAP6 = PublicSet(
    "mocap6",
    "michaelchughes/mocap6dataset",
    "0fbfc4d2e13c55e30970aaebc73c90092679f4e1",
    licence="2-clause BSD, (c) 2015 Mike Hughes; motion data from mocap.cs.cmu.edu",
    citation="Fox, Hughes, Sudderth and Jordan (2014), Joint modeling of multiple time series via "
    "the beta process with application to motion capture segmentation, Annals of Applied "
    "Statistics 8(3), 1281-1313",
    registry=REGISTRY,
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
    registry=REGISTRY,
)
HASC1 = PublicSet(
    "hasc1",
    BEEDANCE.repository,
    BEEDANCE.commit,
    licence=BEEDANCE.licence,
    citation="Chang, Li, Yang and Poczos (2019), Kernel change-point detection with auxiliary deep "
    "generative models, ICLR; from the HASC challenge, hasc.jp",
    registry=REGISTRY,
)
TEP = PublicSet(
    "tep",
    "YKatser/CPDE",
    "c8b25303e7a6b7e89939c28176fcde711962eafa",
    licence="University of Illinois, MIT-like, (c) 1998-2002 (TEP_data/readme.txt); repository "
    "GPL-3.0",
    citation="Katser, Kozitsin, Lobachev and Maksimov (2021), Unsupervised offline changepoint "
    "detection ensembles, Applied Sciences 11(9), 4280",
    registry=REGISTRY,
)
TSSB = PublicSet(
    "tssb",
    "ermshaua/time-series-segmentation-benchmark",
    "e0c7a1f6cee6874e60cbacd3b8601f2de259606e",
    licence="3-clause BSD",
    citation="Ermshaus, Schaefer and Leser (2023), ClaSP: parameter-free time series segmentation, "
    "Data Mining and Knowledge Discovery",
    registry=REGISTRY,
)
MOCAP86 = PublicSet(
    "mocap86",
    "blacksnail789521/PromptTSS",
    "6c2fdd8a8482aa577f1aa299be270b671777af58",
    licence="MIT (of the repository); motion data from mocap.cs.cmu.edu, subject 86",
    citation="Chang, Lo, Peng and Chen (2025), PromptTSS: A prompting-based approach for "
    "interactive multi-granularity time series segmentation, CIKM; arXiv:2506.11170",
    registry=REGISTRY,
)
SETS = (MOCAP6, BEEDANCE, HASC1, TEP, TSSB, MOCAP86)


def fetch_mocap6(*, data_home: Home = None) -> list[Recording]:
    """Six exercise sessions of motion capture: 12 joint angles, 12 actions, 5 to 8 segments."""
    names = ("s13_29", "s13_30", "s13_31", "s14_06", "s14_14", "s14_20")
    return MOCAP6.recordings(names, conversions.exercise, data_home)


def fetch_mocap86(*, data_home: Home = None) -> list[Recording]:
    """Nine sessions of motion capture in which actions come back: 4 channels, 7 to 11 segments."""
    names = sorted(PurePosixPath(path).stem for path in MOCAP86.checksums)
    return MOCAP86.recordings(names, conversions.session, data_home)


def fetch_beedance(*, data_home: Home = None) -> list[Recording]:
    """Six waggle dances of honeybees: position and heading, 15 to 29 segments."""
    names = [f"bee{i}" for i in range(1, 7)]
    return BEEDANCE.recordings(names, conversions.bee, data_home)


def fetch_hasc1(*, data_home: Home = None) -> list[Recording]:
    """One long accelerometer recording with 65 changes of activity."""
    return HASC1.recordings(["hasc1"], conversions.hasc, data_home)


def fetch_tep(faults: Iterable[int] = range(1, 22), *, data_home: Home = None) -> list[Recording]:
    """The Tennessee Eastman process: 52 variables, 21 faults that set in at sample 160."""
    names = [f"fault{fault:02d}" for fault in faults]
    check_names("faults", names, {f"fault{fault:02d}" for fault in range(1, 22)})
    return TEP.recordings(names, conversions.fault, data_home)


def fetch_tssb(names: Sequence[str] | None = None, *, data_home: Home = None) -> list[Recording]:
    """The Time Series Segmentation Benchmark: 75 univariate series of 1 to 9 segments."""
    known = sorted({PurePosixPath(path).stem for path in TSSB.checksums} - {"desc"})
    if names is not None:
        check_names("names", names, set(known))
    return TSSB.recordings(known if names is None else names, conversions.series, data_home)
