"""Everything that can be typed: the commands, their options and their help.

Nothing that learns or draws is imported here, so that help and wrong usage are answered at once;
the module of a command is imported when the command runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structsvm import __version__
from structsvm.cli import options as opt
from structsvm.cli.options import Option, option
from structsvm.cli.parser import Parser
from structsvm.plugins import problem_names

DESCRIPTION = "Learn the distance that segmentation or clustering needs, from labelled examples."
EXAMPLES = """\
examples:
  structsvm demo
  structsvm try change-point recordings/ -o tried/
  structsvm fit change-point recordings/ -o my.structsvm
  structsvm evaluate my.structsvm others/
  structsvm report my.structsvm others/ -o report.html
  structsvm predict my.structsvm new.csv

exit status: 0 done, 1 an error that the message explains, 2 wrong usage, 130 interrupted
"""


SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True)
class Command:
    """A command: what it does, its arguments, and its groups of options."""

    title: str
    epilog: str
    arguments: Sequence[Option]
    groups: Mapping[str, Sequence[Option]] = field(default_factory=dict)
    description: str = ""
    """What it does, if the title does not say enough."""
    module: str = ""
    """The module that runs it, if it has another name."""


def build_parser() -> Parser:
    """The parser of all commands."""
    parser = Parser(prog="structsvm", description=DESCRIPTION, epilog=EXAMPLES)
    parser.add_argument("--version", action="version", version=f"structsvm {__version__}")
    found = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for name, command in commands().items():
        _add(found, name, command)
    return parser


def _add(parsers: Any, name: str, command: Command) -> None:
    title = command.title
    parser = parsers.add_parser(
        name,
        help=title,
        description=command.description or f"{title[0].upper()}{title[1:]}.",
        epilog=command.epilog,
    )
    parser.set_defaults(module=command.module or name)
    for argument in command.arguments:
        parser.add_argument(*argument.flags, **argument.settings)
    for group_title, arguments in {**command.groups, "output": opt.REPORTING}.items():
        group = parser.add_argument_group(group_title)
        for argument in arguments:
            group.add_argument(*argument.flags, **argument.settings)


def commands() -> dict[str, Command]:
    """The commands in the order of the help."""
    problem = option("problem", choices=problem_names(), help="kind of problem")
    labelled = opt.PATHS.but(help="labelled files or folders")
    figure = opt.OUTPUT.but(metavar="FIG", help=f"figure to write: {', '.join(opt.FIGURES)}")
    plugins = """\
examples:
  structsvm problems
  structsvm oracles --json

Installed packages can add more by entry points; structsvm new problem NAME writes such a package.
"""
    return {
        "try": Command(
            "measure what learning gains on your data, and get a model, in one command",
            """\
examples:
  structsvm try change-point recordings/ -o tried/
  structsvm try change-point people/ --groups '^s[0-9]+' -o tried/
  structsvm try clustering table.csv -o tried/
  structsvm try clustering table.csv --split clusters -o tried/

Three tenths of the data are held out, rounded up to whole recordings or groups. On the rest, the
kind of metric, its features and its regularization are chosen by cross-validation, and every
baseline (a method that the metric is compared with) is tuned. Scores and predictions are those of
the held-out data. The verdict is about the held-out data, too, unless they are too few; then it is
that of the cross-validation, and says so.
""",
            (
                problem,
                labelled,
                opt.OUTPUT.but(metavar="FOLDER", required=True, help="folder to write into"),
                opt.FORCE,
                opt.GROUPS,
                opt.SPLIT,
                opt.JOBS,
            ),
            {"files": opt.FILES_TO_LEARN_FROM},
            description="Hold some labelled data out, choose what to learn on the rest, compare "
            "it with every baseline, and write a model, a report and predictions.",
            module="try_out",
        ),
        "fit": Command(
            "learn a metric from labelled recordings, tables or images",
            """\
examples:
  structsvm fit change-point recordings/ -o my.structsvm
  structsvm fit change-point recordings/ --regions regions.csv -o my.structsvm
  structsvm fit change-point show.mkv --labels show.csv    # writes show.structsvm
  structsvm fit normalized-cut images/ --labels masks/ -o cuts.structsvm
  structsvm fit change-point recordings/ --set problem.min_length=5 --set solver.tol=0.001 -o m

Recordings and tables are .npz files (X, and y or bkps, and features if they have names), or tables
with a header (.csv, .tsv, .txt, also compressed, .parquet, .xlsx) in which every column but the
label is a feature. A label may be blank (-1 in .npz files) where it is not known, and --regions
gives the number of changes in stretches of a recording. Images come with label maps of the same
names, and sound and films (.mkv, .wav ...) with labels in a separate table (--labels). Ctrl-C ends
learning and saves the best metric so far with its certificate.
""",
            (
                problem,
                labelled,
                opt.OUTPUT.but(
                    metavar="MODEL",
                    help="model file to write (default: NAME.structsvm in this folder, after the "
                    "first PATH)",
                ),
                opt.FORCE,
            ),
            {
                "learning": (
                    opt.METRIC,
                    opt.REGULARIZER,
                    opt.LAM,
                    opt.CONTEXT_OPTION,
                    opt.GROUPS,
                    opt.SPLIT,
                    opt.REGIONS,
                ),
                "running": (
                    opt.BASELINES,
                    opt.RATES,
                    opt.JOBS,
                    opt.SCHEDULER,
                    opt.LAZY,
                    opt.CHECKPOINT,
                ),
                "files": opt.FILES_TO_LEARN_FROM,
            },
        ),
        "predict": Command(
            "partition recordings, tables or images with a model",
            """\
examples:
  structsvm predict my.structsvm new.csv
  structsvm predict my.structsvm new/ -o segments.csv
  structsvm predict my.structsvm new/ -o segmented/

Without -o, a line is printed for each input: the name of a recording and the ends of its segments
(the last is its number of samples), the name of a table and the sizes of its clusters, or the name
of an image and the shares of its parts.

-o FILE.csv writes one table for all inputs: a row for each segment (samples start to end - 1,
counted from 0, and start_time to end_time if there is a time column), or the cluster of each row of
a table. Any other -o writes a folder with a table for each input, NAME_segments.csv or
NAME_clusters.csv: the columns of the input, and the segment of each sample.

For images, -o FOLDER writes NAME_mask.png and NAME_overlay.png for each image, and -o FILE.png or
-o FILE.npy writes the label map of a single image.
""",
            (
                opt.MODEL,
                opt.PATHS,
                opt.OUTPUT.but(
                    metavar="OUT", help="file or folder to write (default: print to the screen)"
                ),
                opt.FORCE,
                opt.N_CLUSTERS.but(
                    type=opt.positive,
                    metavar="N",
                    help="number of segments per recording, clusters per table or parts per image"
                    " (default: the "
                    "learned price decides, or the number of the training data is used)",
                ),
                opt.MARGINS,
                opt.BASELINE,
                opt.MAPS,
            ),
            {"rules": opt.RULES, "files": opt.FILES},
            description="Partition new data with a model. Labels in the files are ignored.",
        ),
        "evaluate": Command(
            "compare the learned metric with other methods on held-out data",
            """\
examples:
  structsvm evaluate my.structsvm others/
  structsvm evaluate my.structsvm others/ --n-clusters true

Give data that the model was not learned from. The untrained metric and the baselines (PCA, RCA and
classifiers, or a grid of scales for images) were tuned on the training labels of the metric.

The verdict on a single table is about its rows: groups of rows are clustered one by one. If it is
the table that the model was learned from, a metric is learned for each group from the rows of the
other groups, and the verdict is about further rows of the same clusters. A model that was fitted
with --split clusters is evaluated by groups of clusters, with metrics learned from the others.
""",
            (opt.MODEL, opt.PATHS, opt.GROUPS),
            {"evaluation": opt.EVALUATION, "files": opt.FILES},
            description="Compare the learned metric with other methods on labelled, held-out data.",
        ),
        "report": Command(
            "write an HTML page that evaluates a model on held-out data",
            """\
example:
  structsvm report my.structsvm others/ -o report.html

Give data that the model was not learned from. The page is a single file and needs no network.
""",
            (
                opt.MODEL,
                opt.PATHS,
                opt.OUTPUT.but(metavar="HTML", required=True, help="page to write"),
                opt.FORCE,
                opt.GROUPS,
                option("--title", help="heading of the page (default: the name of the model)"),
            ),
            {"evaluation": opt.EVALUATION, "files": opt.FILES},
            description="Write an HTML page with the verdict, the scores, every recording, the "
            "metric and its "
            "certificate.",
        ),
        "compare": Command(
            "compare solvers on the same data",
            """\
examples:
  structsvm compare change-point recordings/
  structsvm compare change-point recordings/ --metric diagonal --solvers one-slack/scs
  structsvm compare change-point recordings/ --json > history.json
  structsvm compare change-point recordings/ -o gaps.png

After a slash, a cutting-plane method may name its master: newton, clarabel, scs, ...
Every solver runs on one thread for up to a minute, until its certified relative gap is at most
0.001: --set solver.max_seconds=10 --set solver.tol=0.01.
For normalized-cut, which is not convex and has no gap, quasi-newton and cccp are compared by
the objective.
""",
            (problem, labelled, opt.SOLVERS, figure, opt.FORCE),
            {
                "learning": (
                    opt.METRIC,
                    opt.REGULARIZER,
                    opt.LAM.but(
                        type=float,
                        metavar="LAM",
                        help="strength of the regularizer (default: depends on the problem)",
                    ),
                    opt.CONTEXT_OPTION,
                ),
                "files": opt.FILES_TO_LEARN_FROM,
            },
            description="Learn the same metric with several solvers and compare their certified "
            "gaps.",
        ),
        "show": Command(
            "print the weights and the certificate of a model",
            """\
examples:
  structsvm show my.structsvm --top 20
  structsvm show my.structsvm --json
""",
            (
                opt.MODEL,
                option(
                    "--top",
                    type=opt.positive,
                    default=10,
                    metavar="N",
                    help="features to list (default: 10)",
                ),
            ),
            description="Print what a model has learned: the weights of the features, and the "
            "certificate.",
        ),
        "diagnose": Command(
            "look for causes of a poor model",
            """\
examples:
  structsvm diagnose my.structsvm
  structsvm diagnose my.structsvm recordings/

Without files, it checks the certificate, the price of a segment and the number of labels. With
labelled files (training data or others), it also looks for features that dominate by their scale,
have spikes or codes such as -9999, are constant, move together or contain the labels; for labels
that no feature shows; and for copies and recordings that overlap. Each finding says what to do.
""",
            (opt.MODEL, labelled.but(nargs="*")),
            {"files": opt.FILES},
            description="Look for causes of a poor model, and say what to do about them.",
        ),
        "plot": Command(
            "draw a partition, or the weights of a model",
            """\
examples:
  structsvm plot my.structsvm new.csv -o segments.png
  structsvm plot my.structsvm new.csv --show features -o features.png
  structsvm plot my.structsvm -o weights.pdf
  structsvm plot my.structsvm --show metric -o metric.png
""",
            (
                opt.MODEL,
                opt.PATHS.but(nargs="?", help="one recording, table or image"),
                figure.but(required=True),
                opt.FORCE,
                opt.SHOW,
                opt.MARGINS,
                opt.N_CLUSTERS,
            ),
            {"files": opt.FILES},
            description="Draw the partition of one recording, table or image; without one, draw "
            "the model.",
        ),
        "demo": Command(
            "learn from handwritten digits and show what learning gains",
            """\
example:
  structsvm demo --recordings 4 --output demo
""",
            (
                option(
                    "--output",
                    type=Path,
                    default=Path("demo"),
                    metavar="FOLDER",
                    help="folder for the recordings, the model and the figure (default: demo)",
                ),
                opt.FORCE,
                option(
                    "--recordings",
                    type=opt.positive,
                    default=12,
                    metavar="N",
                    help="number of training recordings, and of test recordings (default: 12)",
                ),
            ),
            description="Learn a metric from handwritten digits and test it on those of other "
            "writers.",
        ),
        "problems": Command("list the kinds of problem", plugins, (), module="plugins"),
        "oracles": Command("list the separation oracles", plugins, (), module="plugins"),
        "new": Command(
            "write the package of a new problem",
            """\
example:
  structsvm new problem tree-cuts

The tests of the package pass once it is installed. Edit it to describe your problem.
""",
            (
                option("kind", choices=("problem",), help="what to write"),
                option("name", metavar="NAME", help="lower-case words joined by dashes"),
                opt.OUTPUT.but(metavar="DIR", help="new folder (default: structsvm-NAME)"),
            ),
        ),
        "completion": Command(
            "print a shell completion script",
            """\
examples:
  structsvm completion bash > ~/.local/share/bash-completion/completions/structsvm
  structsvm completion zsh > ~/.zfunc/_structsvm      # a folder of $fpath
  structsvm completion fish > ~/.config/fish/completions/structsvm.fish

The script takes effect in new shells. Run the command again after installing plugins.
""",
            (option("shell", choices=SHELLS, help="the shell"),),
            description="Print the script that completes structsvm's commands, options and files.",
        ),
    }
