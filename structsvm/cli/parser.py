"""What can be typed: argparse, and the options that commands share."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from pathlib import Path
from typing import Any, NoReturn

from structsvm.errors import printable

SHARED = ("files", "output")
"""Titles of the groups of options that many commands have."""


class Parser(argparse.ArgumentParser):
    """An argument parser that says which word was probably meant."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **settings)

    def format_help(self) -> str:
        """Return the help, with the options of the command above those that commands share."""
        self._action_groups.sort(key=lambda group: group.title in SHARED)
        return super().format_help()

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; of an unknown option, the command it was given to complains."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self._command(found).error(f"unrecognized arguments: {' '.join(unknown)}")
        return found

    def error(self, message: str) -> NoReturn:
        """Print how the command is used and what was wrong; exit with status 2."""
        self.print_usage(sys.stderr)
        self._print_message(f"error: {message}{self._meant(message)}\n", sys.stderr)
        self._print_message(f"try: {self.prog} --help\n", sys.stderr)
        raise SystemExit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print at once, so that a full disk is told of."""
        file = sys.stderr if file is None else file
        file.write(printable(message))
        file.flush()

    def options_of(self, command: str) -> dict[str, str]:
        """The options of a command by the parameter that each sets."""
        actions = self._command(argparse.Namespace(command=command))._actions
        return {
            action.dest: action.option_strings[-1] for action in actions if action.option_strings
        }

    def _command(self, found: argparse.Namespace) -> Parser:
        """The parser of the command that was named, or this one."""
        named = getattr(found, "command", None)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and named is not None:
                command: Parser = action.choices[named]
                return command
        return self

    def _meant(self, message: str) -> str:
        invalid = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        unknown = re.search(r"unrecognized arguments: (--[^\s=]+)", message)
        if invalid:
            word, known = invalid[1], re.findall(r"[\w-]+", invalid[2])
        elif unknown:
            word, known = unknown[1], list(self._option_string_actions)
        else:
            return ""
        if word in known:
            return ": it stands after the command"
        close = difflib.get_close_matches(word.replace("_", "-"), known, n=1)
        return f"; did you mean {close[0]}?" if close else ""


def report_options() -> argparse.ArgumentParser:
    """Options of every command."""
    options = argparse.ArgumentParser(add_help=False)
    group = options.add_argument_group("output")
    group.add_argument(
        "--json", action="store_true", help="print the report as JSON, and nothing else, on stdout"
    )
    group.add_argument("-q", "--quiet", action="store_true", help="show warnings and errors only")
    group.add_argument("-v", "--verbose", action="store_true", help="log every step")
    return options


def file_options(*, learning: bool = False) -> argparse.ArgumentParser:
    """Options of commands that read recordings, tables or images."""
    options = argparse.ArgumentParser(add_help=False)
    group = options.add_argument_group("files")
    group.add_argument(
        "--label-column",
        metavar="NAME",
        help="column of labels in tables (default: the column of the model, or label)",
    )
    group.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="separate table of labels, or a folder of such tables: a column change, or the "
        "columns start, end and label, in the time of the recordings, and a column recording if "
        "there are several (default: labels are in the recordings); for images, the folder of "
        "their label maps (default: the folder mask beside img)",
    )
    group.add_argument(
        "--time-column",
        metavar="NAME",
        help="column of times (numbers or dates), which is not a feature; rows are sorted by it, "
        "and predictions and figures use its units",
    )
    group.add_argument(
        "--recording-column",
        metavar="NAME",
        help="column with the name of the recording of each row, in tables of several recordings",
    )
    if learning:
        group.add_argument(
            "--ignore",
            action="append",
            metavar="NAME",
            help="column to leave out, such as a column of text; may be repeated",
        )
    group.add_argument(
        "--missing",
        choices=("error", "interpolate", "mask"),
        help="refuse missing values, interpolate them, or leave them out of learning and "
        "prediction (default: error)",
    )
    whole = (
        "a parameter of MetricLearner such as standardize=training, or of what has its own: "
        "problem.NAME (structsvm problems lists them), solver.NAME, features.NAME of --context, "
        "and files.NAME of read_recordings; may be repeated"
    )
    group.add_argument(
        "--set",
        type=assignment,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=whole
        if learning
        else "files.NAME=VALUE, another parameter of read_recordings; may be repeated",
    )
    return options


def evaluation_options() -> argparse.ArgumentParser:
    """Options of commands that compare with labels."""
    options = argparse.ArgumentParser(add_help=False)
    group = options.add_argument_group("evaluation")
    count_option(
        group,
        "the number of the labels for clusters whose number is known, otherwise the learned price "
        "decides",
    )
    group.add_argument(
        "--tolerance",
        type=int,
        default=5,
        metavar="N",
        help="distance in samples within which a change counts as found, for the F1 score "
        "(default: 5)",
    )
    group.add_argument(
        "--unseen-states",
        choices=("refuse", "count"),
        default="refuse",
        help="treatment of states in the labels that the model has not learned: refuse them, or "
        "count their samples as named wrongly (default: refuse)",
    )
    return options


def force_option(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--force",
        action="store_true",
        help="replace existing files; a file that the command reads is never overwritten",
    )


def count_option(
    group: argparse._ActionsContainer, default: str = "the learned price decides"
) -> None:
    group.add_argument(
        "--n-clusters",
        type=_true_or_positive,
        metavar="true|N",
        help="number of segments per recording, clusters per table or parts per image: true for "
        f"the number of the labels, or N (default: {default})",
    )


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
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected an integer >= 1, got {text!r}")
    return number


def _true_or_positive(text: str) -> int | str:
    """Read a number of segments, or the word "true", which stands for that of the labels."""
    try:
        return text if text == "true" else positive(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"expected an integer >= 1 or 'true', got {text!r}"
        ) from None
