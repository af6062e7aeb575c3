"""The options of the commands: how their texts are read, and their help."""

import argparse
import difflib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from structsvm.errors import printable

FIGURES = (".png", ".pdf", ".svg", ".jpg")
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

METHODS = (
    *("metric", "states", "states-quick", "decoder"),
    *("untrained", "pca", "rca", "lda", "olda", "grid"),
    *("largest-score", "smoothed-scores", "frame-lda", "frame-logistic", "frame-boosting"),
    *("boundary-logistic", "boundary-boosting"),
    *("equal-segments", "fixed-times", "lda-classifier", "nearest-centroid", "forest-classifier"),
    *("region-forest", "pixel-forest"),
)
"""Names of :data:`structsvm.model_selection.named.LEARNERS`."""


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that suggests the option or the word that was probably meant."""

    commands: "Mapping[str, Parser]"

    def __init__(self, **settings: Any) -> None:
        as_written = argparse.RawDescriptionHelpFormatter
        super().__init__(allow_abbrev=False, formatter_class=as_written, **settings)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments; unknown ones are refused with the usage of their command."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser = self if parsed.command is None else self.commands[parsed.command]
            option = unknown[0].partition("=")[0]
            actions = parser._option_string_actions
            hint = option_meant(option, actions) if option.startswith("--") else ""
            hint = ": it stands after the command" if option in actions else hint
            parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return parsed

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += option_meant(str(value), map(str, action.choices or ()))
            if action.dest == "problem" and os.path.exists(str(value)):
                error.message += (
                    "; the problem comes before the files: change-point for recordings, clustering "
                    "for tables of rows, normalized-cut for images"
                )
            raise

    def error(self, message: str) -> NoReturn:
        """Print how the command is used and what was wrong; exit with status 2."""
        self.print_usage(sys.stderr)
        self._print_message(f"error: {message}\n", sys.stderr)
        self._print_message(f"try: {self.prog} --help\n", sys.stderr)
        raise SystemExit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        # Flushed, so that a full disk is an error here.
        print(printable(message), end="", file=file or sys.stderr, flush=True)

    def options_of(self, command: str) -> dict[str, str]:
        """The options of a command by the names of their parameters."""
        actions = self.commands[command]._actions
        return {one.dest: one.option_strings[-1] for one in actions if one.option_strings}


def option_meant(word: str, options: Iterable[str]) -> str:
    """The question whether another option was meant, for the end of a message; or ""."""
    close = difflib.get_close_matches(word.replace("_", "-"), list(options), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def read_as(what: str, read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Let a reader of texts refuse others in a message that says ``what`` was expected."""

    def value_of(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"expected {what}, got {text!r}") from None

    return value_of


def setting_of(groups: Sequence[str]) -> Callable[[str], Any]:
    """A reader of ``GROUP.NAME=VALUE`` into its three parts; the group of a bare NAME is ""."""

    def parts(text: str) -> tuple[str, str, str]:
        path, equals, value = text.partition("=")
        group, dot, name = path.replace("-", "_").partition(".")
        group, name = (group, name) if dot else ("", group)
        if not (name and equals and group in groups):
            raise ValueError
        return group, name, value

    return read_as(" or ".join(f"{group}.NAME=VALUE".lstrip(".") for group in groups), parts)


def whole(text: str, least: int = 1) -> int:
    """A whole number, at least ``least``."""
    if int(text) < least:
        raise ValueError
    return int(text)


def two_rows(text: str) -> tuple[int, int]:
    """The numbers of two rows, such as "3,7"."""
    i, j = text.split(",")
    return whole(i, 0), whole(j, 0)


positive = read_as("an integer >= 1", whole)
counted = read_as("an integer >= 1 or 'true'", lambda text: text if text == "true" else whole(text))
strength = read_as("a number > 0 or 'cv'", lambda text: text if text == "cv" else float(text))
pair = read_as("two numbers of rows such as 3,7", two_rows)


def names(text: str) -> list[str]:
    """The different names in a text, between commas."""
    return list(dict.fromkeys(name.strip() for name in text.split(",")))


def value(metavar: str, text: str, **settings: Any) -> dict[str, Any]:
    """Keywords of ``add_argument`` for an option with a value."""
    return {"metavar": metavar, "help": text, **settings}


def choice(values: Sequence[str], text: str, **settings: Any) -> dict[str, Any]:
    """Keywords of ``add_argument`` for an option with one of some values."""
    return {"choices": values, "help": text, **settings}


def flag(text: str) -> dict[str, Any]:
    """Keywords of ``add_argument`` for an option without a value."""
    return {"action": "store_true", "help": text}


FILE = {"type": Path}
REPEATED = {"action": "append"}
ROW_PAIR = value("I,J", "two rows, counted from 0, in the same cluster", type=pair, **REPEATED)

OPTIONS: dict[str, dict[str, Any]] = {
    "--output": FILE,
    "paths": value("PATH", "files, or folders with their subfolders", nargs="+"),
    "model": value("MODEL", "model file", **FILE),
    "kind": choice(
        ("problem", "labelling", "cuts"),
        "a problem of partitions, one of other labellings, or an oracle of cuts",
    ),
    "name": value("NAME", "lower-case words joined by dashes"),
    "--force": flag("replace existing files, but never one that the command reads"),
    "--minutes": value("MINUTES", "how long it may take (default: 1)", type=float, default=1.0),
    "--resume": flag("go on with what an earlier run has tried in the same folder"),
    "--refit": flag("learn what was chosen from everything, too"),
    "--json": flag("print the report as JSON, and nothing else, on stdout"),
    "--quiet": flag("show warnings and errors only"),
    "--verbose": flag("log every step"),
    "--label-column": value("NAME", "column of labels in tables (default: label)"),
    "--labels": value(
        "FILE",
        "table of labels or folder of such tables, with a column change, or start, end and label; "
        "for images, the folder of their label maps (default: the folder mask beside img)",
        **FILE,
    ),
    "--time-column": value("NAME", "column of times, by which rows are sorted"),
    "--recording-column": value(
        "NAME", "column that says of which recording a row is, or several: person,day"
    ),
    "--ignore": value("NAME", "column to leave out; may be repeated", **REPEATED),
    "--missing": choice(
        ("error", "interpolate", "mask", "impute"),
        "refuse missing values (the default for recordings), interpolate them, or learn without "
        "them; of tables, put the median there (default: leave the rows out)",
    ),
    "--set": value(
        "NAME=VALUE",
        "files.NAME, a parameter of read_recordings such as files.time_column=t; where something "
        "is learned also a parameter of the method such as regularizer=trace, problem.NAME, "
        "solver.NAME, and features.NAME of --context; may be repeated",
        default=[],
        **REPEATED,
    ),
    "--method": choice(
        METHODS,
        "what partitions: a learned metric (the default); states, the segmenter of states, for "
        "labels that are names; decoder, the same of given scores of states; a metric in closed "
        "form, such as olda; or a classifier",
        default="metric",
    ),
    "--metric": choice(
        ("full", "diagonal"), "weight combinations of features (the default), or each by itself"
    ),
    "--lam": value(
        "LAM|cv",
        "strength of the regularizer, or cv to choose it (default: depends on the problem)",
        type=strength,
    ),
    "--context": value(
        "NAMES",
        f"features of a recording, separated by commas: {', '.join(CONTEXT)}; of an image: "
        f"{', '.join(CONTEXT_OF_IMAGES)} (default: columns)",
        type=names,
    ),
    "--groups": value(
        "PATTERN",
        "regular expression that finds whose a file is in its path, such as '^s[0-9]+' (default: "
        "its folder, if one has several); a group is never both learned from and held out, and "
        "counts once in a verdict",
    ),
    "--split": choice(
        ("rows", "clusters", "states"), "choose on held-out rows or clusters of a table, or states"
    ),
    "--regions": value(
        "FILE",
        "table of known numbers of changes, with the columns recording, start, end and changes "
        "(0, 1, 2, ... or 1+); recordings to learn from then need no labels",
        **FILE,
    ),
    "--baselines": choice(
        ("quick", "all", "none"),
        "methods to compare with: metrics and fast classifiers (the default), or boosted ones, too",
        default="quick",
    ),
    "--rates": flag("also learn how often changes of a margin are right, in five times the time"),
    "--jobs": value("N", "parallel workers, or -1 for one per core (default: 1)", type=int),
    "--scheduler": value(
        "ADDRESS", "scheduler of Dask, such as tcp://10.0.0.1:8786, whose workers read the files"
    ),
    "--checkpoint": value("FILE", "save progress to FILE; resume from it if it exists", **FILE),
    "--solvers": value("SOLVER", "solvers to compare (default: all that are suitable)", nargs="+"),
    "--n-clusters": value(
        "true|N",
        "number of segments, clusters or parts, or true for that of the labels (default: the "
        "learned price decides, or the number that is known)",
        type=counted,
    ),
    "--tolerance": value("N", "samples by which a change may be off (default: 5)", type=int),
    "--label": flag("label the recordings on a page in the browser, and learn there"),
    "--margins": flag("the margin of each change, and its rate, if fit learned --rates"),
    "--level": value(
        "SHARE",
        "the ranges in which each change may be, and others where one may have been missed, which "
        "hold about such a share of the true changes (0.9), if fit learned --rates",
        type=float,
    ),
    "--follow": flag(
        "read lines of numbers from standard input, PATH -, and print changes as they are found: "
        "place,seen,state,margin,is"
    ),
    "--false-alarm-every": value(
        "N",
        "with --follow, tell a change once one in so many samples is told that is none, such as "
        "36000 for one false alarm an hour at 10 Hz, if fit learned --rates",
        type=positive,
    ),
    "--without": value(
        "COLUMN",
        "partition without a column, or all that a pattern names ('watch*'); may be repeated",
        **REPEATED,
    ),
    "--must-link": ROW_PAIR,
    "--cannot-link": ROW_PAIR | {"help": "two rows, counted from 0, in different clusters"},
    "--show": choice(OF_MODELS, "what to draw of a model, without files (default: its weights)"),
    "--repeats": value(
        "N",
        "times that each solver runs: the median is shown, and the least and the most (default: 1)",
        type=positive,
        default=1,
    ),
    "--recordings": value("N", "how many to learn from (default: 12)", type=positive, default=12),
}
