"""What is typed, as parameters: ``--set NAME=VALUE`` of the learner, its problem, solver, features
and files, and how files are read.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from typing import Any

import structsvm.features
from structsvm.cli.usage import CONTEXT, CONTEXT_OF_IMAGES
from structsvm.data.words import GRAPHS, IMAGES
from structsvm.errors import SettingsError
from structsvm.features import RecordingTransformer, Union
from structsvm.io import with_labels
from structsvm.io.cleaning import NOT_BETWEEN
from structsvm.io.options import SEQUENCES, FileOptions
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.problem import PartitionProblem
from structsvm.plugins import problem_class
from structsvm.solvers.auto import solver_from
from structsvm.solvers.base import Solver, Stopping
from structsvm.support.checks import meant
from structsvm.support.settings import settings_in

GROUPS = ("problem", "solver", "features", "files")
"""What has settings of its own, ``--set problem.NAME=VALUE``."""
TOL_OF_DESCENT = 1e-3
"""A gradient to reach, where there is no certified gap."""
COLUMNS = ("label_column", "time_column", "recording_column")
OF_COMMANDS = ("path", "recordings", "need_labels", "blanks", "max_bytes", "optional", "in_order")
"""Parameters of reading that commands give themselves."""
OF_LABELS = [one for one in inspect.signature(with_labels).parameters if one not in OF_COMMANDS]
"""Parameters of reading labels from files of their own."""
FILES = [one.name for one in fields(FileOptions) if one.name not in OF_COMMANDS] + OF_LABELS
"""Parameters of reading that can be typed."""
ONCE = ("labels", "ignore", "features", "chunk_column", "subject", "tier", "annotator")
"""What is about the files of one command, and no other ones of the model."""

PARAMETER = re.compile(
    r"(?<!\w\()\b([a-z_]+)=(?![A-Z])('[^']*'|\"[^\"]*\"|[\[(][^\])]*[\])]|-?[\w.]+)?"
)
"""``ignore='b'``, ``skip_lines=[1]``, or ``encoding=`` alone."""
PHRASES = {"features=HermiteMoments()": "--context moments", "resume=": "checkpoint="}


def texts_of(args: argparse.Namespace, group: str) -> dict[str, str]:
    """The settings of a group as they were typed."""
    found = {}
    for name, text in args.set:
        owner, setting = name.split(".", 1) if "." in name else ("", name)
        if owner not in ("", *GROUPS):
            raise SettingsError(
                f"--set {name}: a setting is called NAME, or GROUP.NAME of one of the groups "
                f"{', '.join(GROUPS)}{meant(owner, GROUPS)}"
            )
        if owner == group:
            found[setting] = text
    return found


def assigned(args: argparse.Namespace, group: str = "") -> dict[str, Any]:
    """The settings of a group that were typed; without one, the parameters of the learner."""
    return {name: value_of(text) for name, text in texts_of(args, group).items()}


def value_of(text: str) -> Any:
    """A value as Python writes it, or the text itself. Names and calls are not read."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def refuse_settings(args: argparse.Namespace, *groups: str) -> None:
    """Refuse settings of any other group than these."""
    for name, _ in args.set:
        if "." not in name or name.partition(".")[0] not in groups:
            known = " and ".join(f"{group}.NAME" for group in groups)
            raise SettingsError(f"--set {name} is not for {args.command}, which takes {known}")


def learner_of(args: argparse.Namespace, **parameters: Any) -> MetricLearner:
    """The learner that was typed, for the problem and the features that were typed."""
    problem = typed_problem(args)
    masked = getattr(problem, "missing", None) == "mask"
    learner = MetricLearner(
        problem,
        metric=args.metric or ("diagonal" if masked else "full"),
        lam=None if args.lam == "cv" else args.lam,
        features=typed_features(args, problem),
        random_state=getattr(problem, "random_state", 0),  # folds are the same every time
        **parameters,
    )
    typed, known = assigned(args), learner.get_params(deep=False)
    for name in typed:
        if name not in known:
            raise SettingsError(
                f"--set {name}: a learner has no such parameter, it has {', '.join(known)}"
                f"{meant(name, known)}; settings of a problem are problem.NAME"
            )
    return learner.set_params(**typed)


def typed_problem(args: argparse.Namespace) -> PartitionProblem:
    """The problem that was named, with its settings; one of an image is ``image.radius``."""
    name, given = args.problem, assigned(args, "problem")
    cls: Any = problem_class(name)
    if Reading.of(args)["missing"] == "mask":
        if "missing" not in cls.__dataclass_fields__:
            raise SettingsError(
                f"--missing mask is not for {name}: fill missing values in, or leave their rows out"
            )
        given["missing"] = "mask"
    needed = {}
    for one in fields(cls):
        if one.init and one.default is MISSING and one.default_factory is MISSING:
            if one.name not in given:
                raise SettingsError(
                    f"problem {name} needs a setting: give --set problem.{one.name}=VALUE"
                )
            needed[one.name] = given.pop(one.name)
    others = {f"problem__{setting.replace('.', '__')}": v for setting, v in given.items()}
    try:
        learner = MetricLearner(cls(**needed)).set_params(**others)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"problem {name}: {error}") from error
    problem: PartitionProblem = learner.problem
    return problem


def typed_features(
    args: argparse.Namespace, problem: PartitionProblem
) -> RecordingTransformer | None:
    """The features of ``--context``, side by side, with their settings."""
    images = problem.traits.words in (GRAPHS, IMAGES)
    if args.context and not (problem.traits.contiguous or images):
        raise SettingsError("--context is for recordings and images: leave it out")
    classes = CONTEXT_OF_IMAGES if images else CONTEXT
    stages: dict[str, RecordingTransformer] = {}
    for name in args.context or ():
        if name not in classes:
            known = ", ".join(classes)
            raise SettingsError(
                f"--context of {args.problem} is one or more of {known}, got {name!r}"
            )
        stages[name] = getattr(structsvm.features, classes[name])()
    for setting, value in assigned(args, "features").items():
        of, _, parameter = setting.rpartition(".")
        having = [
            stage
            for name, stage in stages.items()
            if of in ("", name) and parameter in stage.get_params(deep=False)
        ]
        if len(having) != 1:
            which = "one of several features" if having else "none of the features"
            raise SettingsError(
                f"--set features.{setting} is of {which}: give --context, and its name as in "
                "features.moments.n_moments"
            )
        having[0].set_params(**{parameter: value})
    if len(stages) > 1:
        return Union(*stages.items())
    return next(iter(stages.values()), None)


def solver_of(args: argparse.Namespace, problem: PartitionProblem) -> Solver:
    """The solver that was typed, with its stopping rule."""
    settings, convex = assigned(args, "solver"), problem.traits.convex
    limits = {field.name for field in fields(Stopping)}
    known = [*limits, *(("master", "slack") if convex else ())]
    for name in settings:
        if name not in known:
            raise SettingsError(
                f"--set solver.{name}: the solvers of {args.problem} have "
                f"{', '.join(sorted(known))}{meant(name, known)}"
            )
    stopping: dict[str, Any] = {} if convex else {"tol": TOL_OF_DESCENT}
    stopping |= {name: settings.pop(name) for name in limits & settings.keys()}
    solver = assigned(args).get("solver", "auto")
    return solver_from(solver, Stopping(**stopping), **settings, convex=convex)


def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name, those of a group (a dataclass) as ``image.radius``."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        inner = settings_in(value)
        found |= {f"{name}.{k}": v for k, v in flat(inner).items()} if inner else {name: value}
    return found


@dataclass(frozen=True)
class Reading:
    """How files are read: as it was typed now, or when the model was learned."""

    typed: Mapping[str, Any]
    learned: Mapping[str, Any]

    @classmethod
    def of(cls, args: argparse.Namespace, learner: Any = None) -> Reading:
        typed = {name: getattr(args, name, None) for name in (*FILES, "labels")}
        for name, text in texts_of(args, "files").items():
            if name not in FILES:
                raise SettingsError(
                    f"--set files.{name}: reading has no such parameter, it has "
                    f"{', '.join(FILES)}{meant(name, FILES)}"
                )
            typed[name] = text.split(",") if name in SEQUENCES else text
            if name == "skip_lines":
                typed[name] = [value_of(line) for line in text.strip("[]()").split(",")]
        typed = {name: value for name, value in typed.items() if value is not None}
        return cls(typed, getattr(learner, "columns_", {}))

    def __getitem__(self, name: str) -> Any:
        """A parameter, None if nobody has said it."""
        return self.typed.get(name, self.learned.get(name))

    @property
    def to_remember(self) -> dict[str, Any]:
        return {name: value for name, value in self.typed.items() if name not in ONCE}

    @property
    def of_labels(self) -> dict[str, Any]:
        return {name: self[name] for name in OF_LABELS}

    def options(
        self, *, need_labels: bool = True, blanks: bool = False, in_order: bool = True
    ) -> FileOptions:
        """How files are read for a command."""
        missing = self["missing"] or "error"
        if missing != "error" and not in_order:
            raise SettingsError(
                f"--missing {missing} is for recordings: rows of a table are in no order, so that "
                f"no value is between two others; {NOT_BETWEEN}"
            )
        own = {one.name: self[one.name] for one in fields(FileOptions)}
        given = {name: value for name, value in own.items() if value is not None}
        given |= {"need_labels": need_labels, "blanks": blanks, "in_order": in_order}
        optional = [self.learned.get(name) for name in COLUMNS if name not in self.typed]
        return FileOptions(**given, optional=frozenset(filter(None, optional)))


def as_typed(text: str, args: argparse.Namespace) -> str:
    """A message of the library whose parameters are options of the command that was typed."""
    options = {name: f"--set files.{name}=" for name in FILES}
    if hasattr(args, "problem"):
        for name in MetricLearner().get_params(deep=False):
            options.setdefault(name, f"--set {name}=")
        options |= {field.name: f"--set solver.{field.name}=" for field in fields(Stopping)}
        with suppress(Exception):  # a plugin that cannot be loaded has said so
            cls: Any = problem_class(args.problem)
            options |= {field.name: f"--set problem.{field.name}=" for field in fields(cls)}
    own = args.parser.options_of(args.command)
    options |= {name: f"{option} " for name, option in own.items()}

    def option(match: re.Match[str]) -> str:
        name, value = match[1], value_of(match[2] or "VALUE")
        if name not in options:
            return match[0]
        values = [str(v) for v in value] if isinstance(value, list | tuple) else [str(value)]
        if options[name].endswith("="):
            return options[name] + shlex.quote(",".join(values))
        shown = values if match[2] else [""]
        return " ".join(f"{options[name]}{shlex.quote(v) if v else ''}".rstrip() for v in shown)

    for phrase, typed in PHRASES.items():
        text = text.replace(phrase, typed)
    return PARAMETER.sub(option, text)
