"""The commands with their options and their help.

Nothing that learns or draws is imported here, so that help and wrong usage are answered at once;
the module of a command is imported when the command runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from structsvm import __version__
from structsvm.cli.options import FIGURES, OPTIONS, Parser, choice, positive, setting_of, value
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

FILES = "--labels --set"
FILES_TO_LEARN_FROM = (
    "--label-column --labels --time-column --recording-column --ignore --missing --set"
)
FILES_OF_LABELS = FILES_TO_LEARN_FROM.replace("--labels ", "")
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
    """Settings of options that differ in this command."""
    settings: Sequence[str] = ("files",)
    """Groups of ``--set``; "" is for parameters of the learner, or of ``evaluate``."""
    module: str = ""
    """The module that runs it; the one of its name by default."""


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
  sensor | structsvm predict my.structsvm --follow -

-o FILE.csv writes one table for all inputs, any other -o a folder with a table for each. Of images,
-o FOLDER writes label maps and overlays, and -o FILE.png or FILE.npy a single label map. Segments
have so many samples with --set problem.min_length=N and problem.max_length=N.
""",
        "model paths --output --force --n-clusters --margins --level --without --follow "
        "--false-alarm-every",
        {"rules": "--regions --must-link --cannot-link"},
        {
            "--output": value("OUT", "file or folder to write (default: print)"),
            "--n-clusters": {"type": positive, "metavar": "N"},
        },
        ("problem", "files"),
    ),
    Command(
        "decode",
        "segments with names from the scores of any model, and labels of some files",
        """\
  structsvm decode scores/ --labels bouts.csv -o decoded/
  structsvm predict decoded/decoder.structsvm new_scores/ -o more/

A table of scores has a column for each state, such as walk or Probability_walk, with the scores of
a model that has not seen these files. The decoder is learned from those that have labels, and saved
as decoder.structsvm beside the segments of all; it is that of fit --method decoder.
""",
        "paths --output --force --groups --margins",
        own={"--output": value("FOLDER", "folder to write into", required=True)},
        settings=("", "files"),
    ),
    Command(
        "label",
        "label recordings on a page in the browser, learn from the labels, and correct",
        """\
  structsvm label recordings/

The page is for this machine alone, and its address is printed. Labels are saved at every change in
the folder labels of the recordings, which fit --labels reads, as is the model,
labels/model.structsvm. Ctrl-C ends it.
""",
        "paths",
        own={"paths": value("FOLDER", "folder of recordings", nargs=1)},
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
  structsvm compare change-point recordings/ --solvers cutting-plane one-slack --repeats 3

After a slash, a cutting-plane method may name its master: newton, clarabel, scs, ...
Every solver runs on one thread for up to a minute, until its certified relative gap is at most
0.001: --set solver.max_seconds=10 --set solver.tol=0.01.
""",
        "problem paths --output --force --solvers --repeats --context",
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
        "model paths --output --force --show --margins --level --n-clusters",
        own={
            "--output": value("FIG", FIGURE, required=True),
            "paths": {"nargs": "*", "help": "one recording, table or image"},
        },
    ),
    Command(
        "demo",
        "learn from handwritten digits and show what learning gains",
        "  structsvm demo --recordings 4 --output demo\n  structsvm demo --label",
        "--output --force --recordings --label",
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
        "write the package of a new problem or oracle, whose tests pass",
        "  structsvm new problem tree-cuts\n"
        "  structsvm new labelling grades\n"
        "  structsvm new cuts worst-case",
        "kind name --output",
        own={"--output": value("DIR", "new folder (default: structsvm-NAME)")},
        module="plugins",
    ),
)


def build_parser() -> Parser:
    """The parser of all commands, made once for the problems that are installed."""
    return _parser_for(tuple(problem_names()))


@cache
def _parser_for(problems: tuple[str, ...]) -> Parser:
    parser = Parser(prog="structsvm", description=DESCRIPTION, epilog=EXAMPLES)
    parser.add_argument("--version", action="version", version=f"structsvm {__version__}")
    parsers = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    parser.commands = parsers.choices
    all_options = OPTIONS | {"problem": choice(problems, "kind of problem")}
    for command in COMMANDS:
        own = parsers.add_parser(
            command.name,
            help=command.title,
            description=f"{command.title[0].upper()}{command.title[1:]}.",
            epilog=f"examples:\n{command.examples}",
        )
        own.set_defaults(module=command.module or command.name)
        files = FILES_TO_LEARN_FROM if command.name in ("try", "fit", "decode") else FILES
        files = FILES_OF_LABELS if command.name == "label" else files
        files = files if "paths" in command.options else ""
        groups = {"": command.options, **command.groups, "files": files, "output": OF_ALL}
        for title, options in groups.items():
            group = own.add_argument_group(title) if title else own
            for option in options.split():
                short = [option[1:3]] if option in ("--output", "--quiet", "--verbose") else []
                settings = all_options.get(option, {}) | command.own.get(option, {})
                if option == "--set":
                    settings["type"] = setting_of(command.settings)
                group.add_argument(*short, option, **settings)
    return parser
