"""Everything that can be typed: the commands, their options and their help.

Nothing that learns or draws is imported here, so that help and wrong usage are answered at once;
the module of a command is imported when the command runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from structsvm import __version__
from structsvm.cli.names import CONTEXT, CONTEXT_OF_IMAGES
from structsvm.cli.parser import (
    Parser,
    count_option,
    evaluation_options,
    file_options,
    force_option,
    pair,
    positive,
    report_options,
    strength,
)
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

FIGURES = (".png", ".pdf", ".svg", ".jpg")
SHELLS = ("bash", "zsh", "fish")
OF_DATA = ("components", "features")
OF_MODELS = ("weights", "metric", "spectrum", "gap")


def build_parser() -> Parser:
    """The parser of all commands."""
    parser = Parser(prog="structsvm", description=DESCRIPTION, epilog=EXAMPLES)
    parser.add_argument("--version", action="version", version=f"structsvm {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for declare in COMMANDS:
        declare(commands)
    return parser


def _fit(commands: Any) -> None:
    parser = _command(
        commands,
        "fit",
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
        file_options(learning=True),
    )
    _problem_and_paths(parser, "files or folders to learn from")
    usual = "NAME.structsvm in this folder, after the first PATH"
    _output(parser, "MODEL", f"model file to write (default: {usual})")
    learning = parser.add_argument_group("learning")
    _metric_options(learning)
    _context_option(learning)
    _groups_option(learning, "is scored by a classifier trained on it (--context)")
    _split_option(learning)
    learning.add_argument(
        "--regions",
        type=Path,
        metavar="FILE",
        help="table with the columns recording, start, end and changes (0, 1, 2, ... or 1+); the "
        "recordings then need no labels",
    )
    _running_options(parser.add_argument_group("running"))


def _try(commands: Any) -> None:
    parser = _command(
        commands,
        "try",
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
        file_options(learning=True),
        description="Hold some labelled data out, choose what to learn on the rest, compare it "
        "with every baseline, and write a model, a report and predictions.",
    )
    parser.set_defaults(module="try_out")
    _problem_and_paths(parser, "labelled files or folders")
    _output(parser, "FOLDER", "folder to write into", required=True)
    _groups_option(parser, "is both used for learning and held out")
    _split_option(parser)
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="number of parallel workers, or -1 for one per core"
    )


def _predict(commands: Any) -> None:
    parser = _command(
        commands,
        "predict",
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
        file_options(),
        description="Partition new data with a model. Labels in the files are ignored.",
    )
    _model_and_paths(parser)
    _output(parser, "OUT", "file or folder to write (default: print to the screen)")
    parser.add_argument(
        "--n-clusters",
        type=positive,
        metavar="N",
        help="number of segments per recording, clusters per table or parts per image "
        "(default: the learned price decides, or the number of the training data is used)",
    )
    _rule_options(parser.add_argument_group("rules"))
    parser.add_argument(
        "--margins",
        action="store_true",
        help="add the margin of each change: by how much the best segmentation without it is "
        "worse, in units of the price of a change; and the rate at which such changes were right, "
        "if fit learned it (--rates)",
    )
    parser.add_argument(
        "--baseline",
        metavar="NAME",
        help="partition with this baseline instead of the metric, such as frame-logistic; it has "
        "to be one that fit has tuned, as listed by show",
    )
    parser.add_argument(
        "--maps",
        choices=("png", "npy"),
        default="png",
        help="format of the label maps of images: grey levels or numbers (default: png)",
    )


def _evaluate(commands: Any) -> None:
    parser = _command(
        commands,
        "evaluate",
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
        file_options(),
        evaluation_options(),
        description="Compare the learned metric with other methods on labelled, held-out data.",
    )
    _model_and_paths(parser)
    _groups_option(parser, "counts as several independent ones in the verdict")


def _report(commands: Any) -> None:
    parser = _command(
        commands,
        "report",
        "write an HTML page that evaluates a model on held-out data",
        """\
example:
  structsvm report my.structsvm others/ -o report.html

Give data that the model was not learned from. The page is a single file and needs no network.
""",
        file_options(),
        evaluation_options(),
        description="Write an HTML page with the verdict, the scores, every recording, the metric "
        "and its certificate.",
    )
    _model_and_paths(parser)
    _output(parser, "HTML", "page to write", required=True)
    _groups_option(parser, "counts as several independent ones in the verdict")
    parser.add_argument("--title", help="heading of the page (default: the name of the model)")


def _compare(commands: Any) -> None:
    parser = _command(
        commands,
        "compare",
        "compare solvers on the same data",
        """\
examples:
  structsvm compare change-point recordings/
  structsvm compare change-point recordings/ --metric diagonal --solvers one-slack/scs
  structsvm compare change-point recordings/ --json > history.json
  structsvm compare change-point recordings/ -o gaps.png

After a slash, a cutting-plane method may name its master: interior, newton, clarabel, scs, ...
Every solver runs on one thread for up to a minute, until its certified relative gap is at most
0.001: --set solver.max_seconds=10 --set solver.tol=0.01.
For normalized-cut, which is not convex and has no gap, quasi-newton and cccp are compared by
the objective.
""",
        file_options(learning=True),
        description="Learn the same metric with several solvers and compare their certified gaps.",
    )
    _problem_and_paths(parser, "files or folders to learn from")
    parser.add_argument(
        "--solvers",
        nargs="+",
        metavar="SOLVER",
        help="solvers to compare, such as one-slack (default: those that suit the problem)",
    )
    group = parser.add_argument_group("learning")
    _kind_of_metric(group)
    _context_option(group)
    group.add_argument(
        "--lam", type=float, help="strength of the regularizer (default: depends on the problem)"
    )
    _output(parser, "FIG", f"figure to write: {', '.join(FIGURES)}")


def _show(commands: Any) -> None:
    parser = _command(
        commands,
        "show",
        "print the weights and the certificate of a model",
        """\
examples:
  structsvm show my.structsvm --top 20
  structsvm show my.structsvm --json
""",
        description="Print what a model has learned: the weights of the features, and the "
        "certificate.",
    )
    _model(parser)
    parser.add_argument(
        "--top", type=positive, default=10, metavar="N", help="features to list (default: 10)"
    )


def _diagnose(commands: Any) -> None:
    parser = _command(
        commands,
        "diagnose",
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
        file_options(),
        description="Look for causes of a poor model, and say what to do about them.",
    )
    _model(parser)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="labelled files or folders")


def _plot(commands: Any) -> None:
    parser = _command(
        commands,
        "plot",
        "draw a partition, or the weights of a model",
        """\
examples:
  structsvm plot my.structsvm new.csv -o segments.png
  structsvm plot my.structsvm new.csv --show features -o features.png
  structsvm plot my.structsvm -o weights.pdf
  structsvm plot my.structsvm --show metric -o metric.png
""",
        file_options(),
        description="Draw the partition of one recording, table or image; without one, draw the "
        "model.",
    )
    _model(parser)
    parser.add_argument("paths", nargs="?", metavar="PATH", help="one recording, table or image")
    _output(parser, "FIG", f"figure to write: {', '.join(FIGURES)}", required=True)
    parser.add_argument(
        "--show",
        choices=(*OF_DATA, *OF_MODELS),
        help="what to draw of a recording: its directions in the metric (components, the default) "
        "or its features of largest weight; what to draw of a model: its largest weights (the "
        "default), its matrix, its eigenvalues (spectrum), or the certified gap during learning "
        "(the objective for normalized-cut). Not for images and tables",
    )
    parser.add_argument(
        "--margins",
        action="store_true",
        help="draw the margin or the rate of each change below the segments",
    )
    count_option(parser)


def _demo(commands: Any) -> None:
    parser = _command(
        commands,
        "demo",
        "learn from handwritten digits and show what learning gains",
        """\
example:
  structsvm demo --recordings 4 --output demo
""",
        description="Learn a metric from handwritten digits and test it on those of other writers.",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("demo"),
        metavar="FOLDER",
        help="folder for the recordings, the model and the figure (default: demo)",
    )
    force_option(parser)
    parser.add_argument(
        "--recordings",
        type=positive,
        default=12,
        metavar="N",
        help="number of training recordings, and of test recordings (default: 12)",
    )


def _plugins(commands: Any) -> None:
    for kind, title in (
        ("problems", "list the kinds of problem"),
        ("oracles", "list the separation oracles"),
    ):
        parser = _command(
            commands,
            kind,
            title,
            """\
examples:
  structsvm problems
  structsvm oracles --json

Installed packages can add more by entry points; structsvm new problem NAME writes such a package.
""",
            description=f"{title.capitalize()}, from this package and from plugins.",
        )
        parser.set_defaults(module="plugins")


def _new(commands: Any) -> None:
    parser = _command(
        commands,
        "new",
        "write the package of a new problem",
        """\
example:
  structsvm new problem tree-cuts

The tests of the package pass once it is installed. Edit it to describe your problem.
""",
    )
    parser.add_argument("kind", choices=("problem",), help="what to write")
    parser.add_argument("name", metavar="NAME", help="lower-case words joined by dashes")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="new folder (default: structsvm-NAME)"
    )


def _completion(commands: Any) -> None:
    parser = _command(
        commands,
        "completion",
        "print a shell completion script",
        """\
examples:
  structsvm completion bash > ~/.local/share/bash-completion/completions/structsvm
  structsvm completion zsh > ~/.zfunc/_structsvm      # a folder of $fpath
  structsvm completion fish > ~/.config/fish/completions/structsvm.fish

The script takes effect in new shells. Run the command again after installing plugins.
""",
        description="Print the script that completes structsvm's commands, options and files.",
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")


COMMANDS: tuple[Callable[[Any], None], ...] = (
    *(_try, _fit, _predict, _evaluate, _report, _compare, _show, _diagnose, _plot),
    *(_demo, _plugins, _new, _completion),
)


def _command(
    commands: Any,
    name: str,
    title: str,
    epilog: str,
    *options: argparse.ArgumentParser,
    description: str = "",
) -> argparse.ArgumentParser:
    """Declare a command that the module of its name runs."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=title,
        description=description or f"{title[0].upper()}{title[1:]}.",
        epilog=epilog,
        parents=[*options, report_options()],
    )
    parser.set_defaults(module=name)
    return parser


def _model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, metavar="MODEL", help="model file")


def _model_and_paths(parser: argparse.ArgumentParser) -> None:
    _model(parser)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files or folders")


def _problem_and_paths(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("problem", choices=problem_names(), help="kind of problem")
    parser.add_argument("paths", nargs="+", metavar="PATH", help=what)


def _output(
    parser: argparse.ArgumentParser, metavar: str, what: str, *, required: bool = False
) -> None:
    """Where to write, and whether files that exist may be replaced."""
    parser.add_argument("-o", "--output", type=Path, metavar=metavar, required=required, help=what)
    force_option(parser)


def _rule_options(group: argparse._ArgumentGroup) -> None:
    for name, least in (("min", "least"), ("max", "greatest")):
        group.add_argument(
            f"--{name}-length",
            type=positive,
            metavar="N",
            help=f"{least} number of samples of a segment (recordings)",
        )
    group.add_argument(
        "--regions",
        type=Path,
        metavar="FILE",
        help="table of known numbers of changes: recording, start, end, changes",
    )
    for name, where in (("must", "the same cluster"), ("cannot", "different clusters")):
        group.add_argument(
            f"--{name}-link",
            type=pair,
            action="append",
            metavar="I,J",
            help=f"two rows of the table, counted from 0, that are in {where}; may be repeated",
        )


def _kind_of_metric(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--metric",
        choices=("full", "diagonal"),
        help="weight combinations of features, or each feature alone (default: full; diagonal with "
        "--missing mask)",
    )
    group.add_argument(
        "--regularizer",
        choices=("squared", "trace"),
        default="squared",
        help="squared norm, or trace, which favours few features or directions (default: squared)",
    )


def _context_option(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--context",
        type=lambda text: list(dict.fromkeys(name.strip() for name in text.split(","))),
        metavar="NAMES",
        help="features of a recording, separated by commas: "
        f"{', '.join(CONTEXT)} (moments: of its distribution; scores: a classifier's, of named "
        "states); of an image: "
        f"{', '.join(CONTEXT_OF_IMAGES)} (default: columns)",
    )


def _metric_options(group: argparse._ArgumentGroup) -> None:
    _kind_of_metric(group)
    group.add_argument(
        "--lam",
        type=strength,
        metavar="LAM|cv",
        help="strength of the regularizer, or cv to choose it by cross-validation (default: "
        "depends on the problem; cv for normalized-cut)",
    )


def _groups_option(group: argparse._ActionsContainer, what: str) -> None:
    group.add_argument(
        "--groups",
        metavar="PATTERN",
        help="regular expression for the part of a file's name that says whom or what it is of, "
        "such as '^s[0-9]+'; files with the same match form a group, and no group " + what,
    )


def _split_option(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--split",
        choices=("rows", "clusters", "states"),
        help="choose the kind of metric, features and lam on held-out rows (clustering, for "
        "further rows of the same clusters), held-out clusters (clustering, for new clusters), or "
        "held-out recordings with a state that is hidden from the others (change-point, for new "
        "states)",
    )


def _running_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--baselines",
        choices=("quick", "all", "none"),
        default="quick",
        help="methods to tune on the same labels, for evaluate and report to compare with: quick "
        "(metrics and fast classifiers, the default), all (boosted classifiers, too, which may "
        "take longer than learning), or none",
    )
    group.add_argument(
        "--rates",
        action="store_true",
        help="also estimate, by cross-validation, how often changes of a given margin are right; "
        "takes five times as long as learning",
    )
    group.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="number of parallel workers, or -1 for one per core (default: 1)",
    )
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="scheduler of a Dask cluster, such as tcp://10.0.0.1:8786; its "
        "workers read the files, one at a time, under the same paths",
    )
    group.add_argument(
        "--lazy",
        action="store_true",
        help="read each file whenever it is needed, for data that do not fit in memory; implied by "
        "--scheduler",
    )
    group.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE",
        help="save progress to FILE; resume from it if it exists",
    )
