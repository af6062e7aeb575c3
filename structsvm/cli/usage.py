"""Everything that can be typed: the commands, their options and their help.

Nothing that learns or draws is imported here, so that help and wrong usage are answered at once;
the module of a command is imported when the command runs.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from structsvm import __version__
from structsvm.errors import printable
from structsvm.partitions.plugins import problem_names

DESCRIPTION = "Learn the distance that segmentation or clustering needs, from labelled examples."
EXAMPLES = """\
examples:
  structsvm demo
  structsvm try change-point recordings/ -o tried/
  structsvm fit change-point recordings/ -o my.structsvm
  structsvm evaluate my.structsvm others/
  structsvm evaluate my.structsvm others/ -o report.html
  structsvm predict my.structsvm new.csv

exit status: 0 done, 1 an error that the message explains, 2 wrong usage, 130 interrupted
"""

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
METHODS = (
    *("metric", "states", "untrained", "pca", "rca", "lda", "olda", "grid"),
    *("frame-lda", "frame-logistic", "frame-boosting", "boundary-logistic", "boundary-boosting"),
    *("equal-segments", "fixed-times", "lda-classifier", "nearest-centroid", "forest-classifier"),
    *("region-forest", "pixel-forest"),
)
"""Classes of :mod:`structsvm.features`, by name so that help appears at once."""


class Parser(argparse.ArgumentParser):
    """Argparse that says which word was probably meant, and to which command an option belongs."""

    commands: Mapping[str, Parser]

    def __init__(self, **settings: Any) -> None:
        as_written = argparse.RawDescriptionHelpFormatter
        super().__init__(allow_abbrev=False, formatter_class=as_written, **settings)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; of an unknown option, the command it was given to complains."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser = self if found.command is None else self.commands[found.command]
            option = unknown[0].partition("=")[0]
            known = parser._option_string_actions
            hint = meant(option, known) if option.startswith("--") else ""
            hint = ": it stands after the command" if option in known else hint
            parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += meant(str(value), map(str, action.choices or ()))
            raise

    def error(self, message: str) -> NoReturn:
        """Print how the command is used and what was wrong; exit with status 2."""
        self.print_usage(sys.stderr)
        self._print_message(f"error: {message}\n", sys.stderr)
        self._print_message(f"try: {self.prog} --help\n", sys.stderr)
        raise SystemExit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        # At once, so that a full disk is an error.
        print(printable(message), end="", file=file or sys.stderr, flush=True)

    def options_of(self, command: str) -> dict[str, str]:
        """The options of a command by the parameter that each sets."""
        actions = self.commands[command]._actions
        return {one.dest: one.option_strings[-1] for one in actions if one.option_strings}


def meant(word: str, known: Iterable[str]) -> str:
    """Which known word was probably meant, to be put behind a message."""
    close = difflib.get_close_matches(word.replace("_", "-"), list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def read_as(what: str, read: Callable[[str], Any]) -> Callable[[str], Any]:
    """What a text of an option stands for; ``what`` was expected where it stands for nothing."""

    def value_of(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"expected {what}, got {text!r}") from None

    return value_of


def setting_of(groups: Sequence[str]) -> Callable[[str], Any]:
    """What reads ``GROUP.NAME=VALUE`` into its parts; NAME alone is in the group ""."""

    def parts(text: str) -> tuple[str, str, str]:
        path, equals, value = text.partition("=")
        group, dot, name = path.replace("-", "_").partition(".")  # or underscores
        group, name = (group, name) if dot else ("", group)
        if not (name and equals and group in groups):
            raise ValueError
        return group, name, value

    return read_as(" or ".join(f"{group}.NAME=VALUE".lstrip(".") for group in groups), parts)


def whole(text: str, least: int = 1) -> int:
    if int(text) < least:
        raise ValueError
    return int(text)


def rows(text: str) -> tuple[int, int]:
    i, j = text.split(",")
    return whole(i, 0), whole(j, 0)


positive = read_as("an integer >= 1", whole)
counted = read_as("an integer >= 1 or 'true'", lambda text: text if text == "true" else whole(text))
strength = read_as("a number > 0 or 'cv'", lambda text: text if text == "cv" else float(text))
pair = read_as("two numbers of rows such as 3,7", rows)


def names(text: str) -> list[str]:
    """Names between commas, each once."""
    return list(dict.fromkeys(name.strip() for name in text.split(",")))


def value(metavar: str, text: str, **settings: Any) -> dict[str, Any]:
    return {"metavar": metavar, "help": text, **settings}


def choice(known: Sequence[str], text: str, **settings: Any) -> dict[str, Any]:
    return {"choices": known, "help": text, **settings}


def flag(text: str) -> dict[str, Any]:
    return {"action": "store_true", "help": text}


FILE = {"type": Path}
REPEATED = {"action": "append"}
ROWS = value("I,J", "two rows, counted from 0, in the same cluster", type=pair, **REPEATED)
OPTIONS: dict[str, dict[str, Any]] = {
    "--output": FILE,
    "paths": value("PATH", "files, or folders with their subfolders", nargs="+"),
    "model": value("MODEL", "model file", **FILE),
    "kind": choice(("problem",), "what to write"),
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
        "labels that are names; a metric in closed form, such as olda; or a classifier",
        default="metric",
    ),
    "--metric": choice(
        ("full", "diagonal"),
        "weight combinations of features (the default), or each by itself",
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
    "--margins": flag("the margin of each change, and its rate, if fit learned --rates"),
    "--without": value(
        "COLUMN",
        "partition without a column, or all that a pattern names ('watch*'); may be repeated",
        **REPEATED,
    ),
    "--must-link": ROWS,
    "--cannot-link": ROWS | {"help": "two rows, counted from 0, in different clusters"},
    "--show": choice(OF_MODELS, "what to draw of a model, without files (default: its weights)"),
    "--recordings": value("N", "how many to learn from (default: 12)", type=positive, default=12),
}

FILES = "--labels --set"
FILES_TO_LEARN_FROM = (
    "--label-column --labels --time-column --recording-column --ignore --missing --set"
)
OF_ALL = "--json --quiet --verbose"
OF_LEARNING = ("", "problem", "solver", "features", "files")
FIGURE = f"figure to write: {', '.join(FIGURES)}"


@dataclass(frozen=True)
class Command:
    """A command: what it does, its module, and its options, those of each group by its title."""

    name: str
    title: str
    examples: str
    options: str = ""
    groups: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """What options have of their own in this command."""
    settings: Sequence[str] = ("files",)
    """Groups of ``--set``; "" is of the learner, or of what else the command calls."""
    module: str = ""


COMMANDS = (
    Command(
        "try",
        "measure what learning gains on your data, and get a model, in one command",
        """\
  structsvm try change-point recordings/ -o tried/
  structsvm try clustering table.csv --split clusters -o tried/

What to learn is chosen on seven tenths of the data; scores, predictions and, if it is enough, the
verdict are those of the rest. A first answer is there in seconds, the best of what was tried after
--minutes, and --resume goes on. With --refit, it is then learned from all, into all.structsvm.
""",
        "problem paths --output --force --groups --split --minutes --resume --jobs --refit",
        own={"--output": value("FOLDER", "folder to write into", required=True)},
        settings=("problem", "files"),
        module="try_out",
    ),
    Command(
        "fit",
        "learn a metric, or another method, from labelled recordings, tables or images",
        """\
  structsvm fit change-point recordings/ -o my.structsvm
  structsvm fit change-point recordings/ --method states -o my.structsvm
  structsvm fit change-point recordings/ --regions regions.csv -o my.structsvm
  structsvm fit change-point show.mkv --labels show.csv    # writes show.structsvm
  structsvm fit normalized-cut images/ --labels masks/ -o cuts.structsvm

Every column of a table but the label is a feature. A label may be blank (-1 in .npz files) where it
is not known. Ctrl-C ends learning and saves the best model so far with its certificate.
""",
        "problem paths --output --force",
        {
            "learning": "--method --metric --lam --context --groups --regions",
            "running": "--baselines --rates --jobs --scheduler --checkpoint",
        },
        {"--output": value("MODEL", "model file (default: NAME.structsvm, after the first PATH)")},
        OF_LEARNING,
    ),
    Command(
        "predict",
        "partition recordings, tables or images with a model",
        """\
  structsvm predict my.structsvm new.csv
  structsvm predict my.structsvm new/ -o segments.csv
  structsvm predict my.structsvm new/ -o segmented/

-o FILE.csv writes one table for all inputs, any other -o a folder with a table for each. Of images,
-o FOLDER writes label maps and overlays, and -o FILE.png or FILE.npy a single label map. Segments
have so many samples with --set problem.min_length=N and problem.max_length=N.
""",
        "model paths --output --force --n-clusters --margins --without",
        {"rules": "--regions --must-link --cannot-link"},
        {
            "--output": value("OUT", "file or folder to write (default: print)"),
            "--n-clusters": {"type": positive, "metavar": "N"},
        },
        ("problem", "files"),
    ),
    Command(
        "evaluate",
        "compare what was learned with other methods on held-out data",
        """\
  structsvm evaluate my.structsvm others/
  structsvm evaluate my.structsvm others/ --n-clusters true -o report.html

Give data that the model was not learned from. The verdict on a single table is about its rows; of
the table that the model was learned from, parts are held out in turn. Labels of states that it has
not learned are refused, unless --set unseen_states=count.
""",
        "model paths --output --force --groups",
        {"evaluation": "--n-clusters --tolerance"},
        {"--output": value("HTML", "page that also shows every recording, table or image")},
        ("", "files"),
    ),
    Command(
        "compare",
        "compare solvers on the same data",
        """\
  structsvm compare change-point recordings/ -o gaps.png
  structsvm compare change-point recordings/ --set metric=diagonal --solvers one-slack/scs

After a slash, a cutting-plane method may name its master: newton, clarabel, scs, ...
Every solver runs on one thread for up to a minute, until its certified relative gap is at most
0.001: --set solver.max_seconds=10 --set solver.tol=0.01.
""",
        "problem paths --output --force --solvers --context",
        own={"--output": value("FIG", FIGURE)},
        settings=OF_LEARNING,
    ),
    Command(
        "show",
        "print the weights and the certificate of a model",
        "  structsvm show my.structsvm",
        "model",
    ),
    Command(
        "diagnose",
        "look for causes of a poor model, and say what to do about them",
        """\
  structsvm diagnose my.structsvm
  structsvm diagnose my.structsvm recordings/

Without files it looks at the model alone; labelled files may be those it was learned from.
""",
        "model paths",
        own={"paths": {"nargs": "*"}},
        module="show",
    ),
    Command(
        "plot",
        "draw the partition of a recording, a table or an image, or the weights of a model",
        """\
  structsvm plot my.structsvm new.csv -o segments.png
  structsvm plot my.structsvm --show metric -o metric.png
""",
        "model paths --output --force --show --margins --n-clusters",
        own={
            "--output": value("FIG", FIGURE, required=True),
            "paths": {"nargs": "*", "help": "one recording, table or image"},
        },
        module="show",
    ),
    Command(
        "demo",
        "learn from handwritten digits and show what learning gains",
        "  structsvm demo --recordings 4 --output demo",
        "--output --force --recordings",
        own={"--output": value("FOLDER", "folder (default: demo)", default=Path("demo"))},
    ),
    Command(
        "problems",
        "list the kinds of problem and the oracles that are installed",
        "  structsvm problems --json",
        module="plugins",
    ),
    Command(
        "new",
        "write the package of a new problem, whose tests pass",
        "  structsvm new problem tree-cuts",
        "kind name --output",
        own={"--output": value("DIR", "new folder (default: structsvm-NAME)")},
        module="plugins",
    ),
)


def build_parser() -> Parser:
    """The parser of all commands."""
    parser = Parser(prog="structsvm", description=DESCRIPTION, epilog=EXAMPLES)
    parser.add_argument("--version", action="version", version=f"structsvm {__version__}")
    parsers = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    parser.commands = parsers.choices
    known = OPTIONS | {"problem": choice(problem_names(), "kind of problem")}
    for command in COMMANDS:
        own = parsers.add_parser(
            command.name,
            help=command.title,
            description=f"{command.title[0].upper()}{command.title[1:]}.",
            epilog=f"examples:\n{command.examples}",
        )
        own.set_defaults(module=command.module or command.name)
        files = FILES_TO_LEARN_FROM if command.name in ("try", "fit") else FILES
        files = files if "paths" in command.options else ""
        groups = {"": command.options, **command.groups, "files": files, "output": OF_ALL}
        for title, options in groups.items():
            group = own.add_argument_group(title) if title else own
            for option in options.split():
                short = [option[1:3]] if option in ("--output", "--quiet", "--verbose") else []
                settings = known.get(option, {}) | command.own.get(option, {})
                if option == "--set":
                    settings["type"] = setting_of(command.settings)
                group.add_argument(*short, option, **settings)
    return parser
