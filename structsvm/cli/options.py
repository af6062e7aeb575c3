"""The options and arguments that commands have, each declared once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

FIGURES = (".png", ".pdf", ".svg", ".jpg")
OF_DATA = ("components", "features")
OF_MODELS = ("weights", "metric", "spectrum", "gap")
CONTEXT = {
    "columns": "Columns",
    "lags": "Lags",
    "statistics": "MovingStatistics",
    "moments": "HermiteMoments",
    "scores": "StateScores",
    "boundaries": "BoundaryScores",
}
CONTEXT_OF_IMAGES = {"columns": "Columns", "regions": "RegionScores"}
"""Classes of :mod:`structsvm.features`, by name so that help appears at once."""


@dataclass(frozen=True)
class Option:
    """An argument of argparse."""

    flags: tuple[str, ...]
    settings: dict[str, Any]

    def but(self, **settings: Any) -> Option:
        """The same with other settings."""
        return replace(self, settings=self.settings | settings)


def option(*flags: str, **settings: Any) -> Option:
    return Option(flags, settings)


def flag(*flags: str, **settings: Any) -> Option:
    return Option(flags, {"action": "store_true"} | settings)


def assignment(text: str) -> tuple[str, str]:
    """Return ``NAME=VALUE`` as a pair; dashes in names may stand for underscores."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    return name.replace("-", "_"), value


def pair(text: str) -> tuple[int, int]:
    """Read two numbers of rows, ``I,J``."""
    first, comma, second = text.partition(",")
    if not (comma and first.strip().isdigit() and second.strip().isdigit()):
        raise argparse.ArgumentTypeError(f"expected two numbers of rows such as 3,7, got {text!r}")
    return int(first), int(second)


def strength(text: str) -> float | str:
    """Read a number, or the word "cv"."""
    try:
        return text if text == "cv" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number > 0 or 'cv', got {text!r}") from None


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    if text.strip().isdigit() and int(text) >= 1:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected an integer >= 1, got {text!r}")


def true_or_positive(text: str) -> int | str:
    """Read a number of segments, or the word "true", which stands for that of the labels."""
    if text == "true" or (text.strip().isdigit() and int(text) >= 1):
        return text if text == "true" else int(text)
    raise argparse.ArgumentTypeError(f"expected an integer >= 1 or 'true', got {text!r}")


def names(text: str) -> Sequence[str]:
    """Read names between commas, each once."""
    return list(dict.fromkeys(name.strip() for name in text.split(",")))


MODEL = option("model", type=Path, metavar="MODEL", help="model file")
PATHS = option("paths", nargs="+", metavar="PATH", help="files or folders")
OUTPUT = option("-o", "--output", type=Path)
FORCE = flag(
    "--force", help="replace existing files; a file that the command reads is never overwritten"
)
REPORTING = (
    flag("--json", help="print the report as JSON, and nothing else, on stdout"),
    flag("-q", "--quiet", help="show warnings and errors only"),
    flag("-v", "--verbose", help="log every step"),
)

LABEL_COLUMN = option(
    "--label-column",
    metavar="NAME",
    help="column of labels in tables (default: the column of the model, or label)",
)
LABELS = option(
    "--labels",
    type=Path,
    metavar="FILE",
    help="separate table of labels, or a folder of such tables: a column change, or the columns "
    "start, end and label, in the time of the recordings, and a column recording if there are "
    "several (default: labels are in the recordings); for images, the folder of their label maps "
    "(default: the folder mask beside img)",
)
TIME_COLUMN = option(
    "--time-column",
    metavar="NAME",
    help="column of times (numbers or dates), which is not a feature; rows are sorted by it, and "
    "predictions and figures use its units",
)
RECORDING_COLUMN = option(
    "--recording-column",
    metavar="NAME",
    help="column with the name of the recording of each row, in tables of several recordings",
)
IGNORE = option(
    "--ignore",
    action="append",
    metavar="NAME",
    help="column to leave out, such as a column of text; may be repeated",
)
MISSING = option(
    "--missing",
    choices=("error", "interpolate", "mask"),
    help="refuse missing values, interpolate them, or leave them out of learning and prediction "
    "(default: error)",
)
SET = option(
    "--set",
    type=assignment,
    action="append",
    default=[],
    metavar="NAME=VALUE",
    help="a parameter of MetricLearner such as standardize=training, or of what has its own: "
    "problem.NAME (structsvm problems lists them), solver.NAME, features.NAME of --context, and "
    "files.NAME of read_recordings; may be repeated",
)
FILES = (
    *(LABEL_COLUMN, LABELS, TIME_COLUMN, RECORDING_COLUMN, MISSING),
    SET.but(help="files.NAME=VALUE, another parameter of read_recordings; may be repeated"),
)
FILES_TO_LEARN_FROM = (
    *(LABEL_COLUMN, LABELS, TIME_COLUMN, RECORDING_COLUMN, IGNORE, MISSING, SET),
)

METRIC = option(
    "--metric",
    choices=("full", "diagonal"),
    help="weight combinations of features, or each feature alone (default: full; diagonal with "
    "--missing mask)",
)
REGULARIZER = option(
    "--regularizer",
    choices=("squared", "trace"),
    default="squared",
    help="squared norm, or trace, which favours few features or directions (default: squared)",
)
LAM = option(
    "--lam",
    type=strength,
    metavar="LAM|cv",
    help="strength of the regularizer, or cv to choose it by cross-validation (default: depends on "
    "the problem; cv for normalized-cut)",
)
CONTEXT_OPTION = option(
    "--context",
    type=names,
    metavar="NAMES",
    help=f"features of a recording, separated by commas: {', '.join(CONTEXT)} (moments: of its "
    "distribution; scores: a classifier's, of named states); of an image: "
    f"{', '.join(CONTEXT_OF_IMAGES)} (default: columns)",
)
GROUPS = option(
    "--groups",
    metavar="PATTERN",
    help="regular expression for the part of a file's name that says whom or what it is of, such "
    "as '^s[0-9]+'; files with the same match form a group: the same group is never both learned "
    "from and held out, and counts once in a verdict",
)
SPLIT = option(
    "--split",
    choices=("rows", "clusters", "states"),
    help="choose the kind of metric, features and lam on held-out rows (clustering, for further "
    "rows of the same clusters), held-out clusters (clustering, for new clusters), or held-out "
    "recordings with a state that is hidden from the others (change-point, for new states)",
)
REGIONS = option(
    "--regions",
    type=Path,
    metavar="FILE",
    help="table of known numbers of changes, with the columns recording, start, end and changes "
    "(0, 1, 2, ... or 1+); recordings to learn from then need no labels",
)
BASELINES = option(
    "--baselines",
    choices=("quick", "all", "none"),
    default="quick",
    help="methods to tune on the same labels, for evaluate and report to compare with: quick "
    "(metrics and fast classifiers, the default), all (boosted classifiers, too, which may take "
    "longer than learning), or none",
)
RATES = flag(
    "--rates",
    help="also estimate, by cross-validation, how often changes of a given margin are right; takes "
    "five times as long as learning",
)
JOBS = option(
    "--jobs",
    type=int,
    metavar="N",
    help="number of parallel workers, or -1 for one per core (default: 1)",
)
SCHEDULER = option(
    "--scheduler",
    metavar="ADDRESS",
    help="scheduler of a Dask cluster, such as tcp://10.0.0.1:8786; its workers read the files, "
    "one at a time, under the same paths",
)
LAZY = flag(
    "--lazy",
    help="read each file whenever it is needed, for data that do not fit in memory; implied by "
    "--scheduler",
)
CHECKPOINT = option(
    "--checkpoint",
    type=Path,
    metavar="FILE",
    help="save progress to FILE; resume from it if it exists",
)
SOLVERS = option(
    "--solvers",
    nargs="+",
    metavar="SOLVER",
    help="solvers to compare, such as one-slack (default: those that suit the problem)",
)

N_CLUSTERS = option(
    "--n-clusters",
    type=true_or_positive,
    metavar="true|N",
    help="number of segments per recording, clusters per table or parts per image: true for the "
    "number of the labels, or N (default: the learned price decides)",
)
TOLERANCE = option(
    "--tolerance",
    type=int,
    default=5,
    metavar="N",
    help="distance in samples within which a change counts as found, for the F1 score (default: 5)",
)
UNSEEN_STATES = option(
    "--unseen-states",
    choices=("refuse", "count"),
    default="refuse",
    help="treatment of states in the labels that the model has not learned: refuse them, or count "
    "their samples as named wrongly (default: refuse)",
)
EVALUATION = (
    N_CLUSTERS.but(
        help="number of segments per recording, clusters per table or parts per image: true for "
        "the number of the labels, or N (default: the number of the labels for clusters whose "
        "number is known, otherwise the learned price decides)"
    ),
    TOLERANCE,
    UNSEEN_STATES,
)
MARGINS = flag(
    "--margins",
    help="the margin of each change: by how much the best segmentation without it is worse, in "
    "units of the price of a change; and the rate at which such changes were right, if fit learned "
    "it (--rates)",
)
BASELINE = option(
    "--baseline",
    metavar="NAME",
    help="partition with this baseline instead of the metric, such as frame-logistic; it has to be "
    "one that fit has tuned, as listed by show",
)
MAPS = option(
    "--maps",
    choices=("png", "npy"),
    default="png",
    help="format of the label maps of images: grey levels or numbers (default: png)",
)
RULES = (
    *(
        option(
            f"--{name}-length",
            type=positive,
            metavar="N",
            help=f"{least} number of samples of a segment (recordings)",
        )
        for name, least in (("min", "least"), ("max", "greatest"))
    ),
    REGIONS,
    *(
        option(
            f"--{name}-link",
            type=pair,
            action="append",
            metavar="I,J",
            help=f"two rows of the table, counted from 0, that are in {where}; may be repeated",
        )
        for name, where in (("must", "the same cluster"), ("cannot", "different clusters"))
    ),
)
SHOW = option(
    "--show",
    choices=(*OF_DATA, *OF_MODELS),
    help="what to draw of a recording: its directions in the metric (components, the default) or "
    "its features of largest weight; what to draw of a model: its largest weights (the default), "
    "its matrix, its eigenvalues (spectrum), or the certified gap during learning (the objective "
    "for normalized-cut). Not for images and tables",
)
