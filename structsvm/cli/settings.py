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
from functools import cache
from typing import Any

import structsvm.features
from structsvm.cli.usage import CONTEXT, CONTEXT_OF_IMAGES
from structsvm.data.words import GRAPHS, IMAGES
from structsvm.errors import SettingsError
from structsvm.features import RecordingTransformer, Union
from structsvm.io import with_labels
from structsvm.io.cleaning import NOT_BETWEEN
from structsvm.io.options import FileOptions
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
OPTIONS = (*COLUMNS, "labels", "ignore", "missing")
"""Parameters of reading that have an option of their own."""
OF_COMMANDS = ("path", "recordings", "need_labels", "blanks", "max_bytes", "optional", "in_order")
"""Parameters of reading that commands give themselves."""
ONCE = ("labels", "ignore", "features", "chunk_column", "subject", "tier", "annotator")
"""What is about the files of one command, and no other ones of the model."""

PARAMETER = re.compile(
    r"(?<!\w\()\b([a-z_]+)=(?![A-Z])('[^']*'|\"[^\"]*\"|[\[(][^\])]*[\])]|-?[\w.]+)?"
)
"""``ignore='b'``, ``skip_lines=[1]``, or ``encoding=`` alone."""
PHRASES = {"features=HermiteMoments()": "--context moments", "resume=": "checkpoint="}


def assigned(args: argparse.Namespace, group: str = "") -> dict[str, Any]:
    """The settings of a group that were typed; without one, the parameters of the learner."""
    return {name: value_of(text) for name, text in _texts(args, group).items()}


def _texts(args: argparse.Namespace, group: str) -> dict[str, str]:
    found = {}
    for name, value in args.set:
        owner, setting = name.split(".", 1) if "." in name else ("", name)
        if owner not in ("", *GROUPS):
            raise SettingsError(
                f"--set {name}: a setting is called NAME, or GROUP.NAME of one of the groups "
                f"{', '.join(GROUPS)}{meant(owner, GROUPS)}"
            )
        if owner == group:
            found[setting] = value
    return found


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
        regularizer=args.regularizer,
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
    """The problem that was named, with its settings."""
    given = assigned(args, "problem")
    if args.missing == "mask":
        cls: Any = problem_class(args.problem)
        if "missing" not in cls.__dataclass_fields__:
            raise SettingsError(
                f"--missing mask is not for {args.problem}: fill missing values in, or leave "
                "their rows out"
            )
        given["missing"] = "mask"
    return problem_of(args.problem, given)


def problem_of(name: str, given: Mapping[str, Any]) -> PartitionProblem:
    """The problem of a name with these settings; those of a setting are ``image.radius``."""
    cls: Any = problem_class(name)
    needed = [
        field.name
        for field in fields(cls)
        if field.init and field.default is MISSING and field.default_factory is MISSING
    ]
    for setting in needed:
        if setting not in given:
            raise SettingsError(
                f"problem {name} needs a setting: give --set problem.{setting}=VALUE"
            )
    others = {f"problem__{k.replace('.', '__')}": v for k, v in given.items() if k not in needed}
    try:
        learner = MetricLearner(cls(**{setting: given[setting] for setting in needed}))
        problem: PartitionProblem = learner.set_params(**others).problem
    except (TypeError, ValueError) as error:
        raise SettingsError(f"problem {name}: {error}") from error
    return problem


def typed_features(
    args: argparse.Namespace, problem: PartitionProblem
) -> RecordingTransformer | None:
    """The features of ``--context``, side by side, with their settings."""
    names = getattr(args, "context", None) or ()
    images = problem.traits.words in (GRAPHS, IMAGES)
    if names and not (problem.traits.contiguous or images):
        raise SettingsError("--context is for recordings and images: leave it out")
    classes = CONTEXT_OF_IMAGES if images else CONTEXT
    stages: dict[str, RecordingTransformer] = {}
    for name in names:
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
    stopping |= {name: value for name, value in settings.items() if name in limits}
    rest = {name: value for name, value in settings.items() if name not in limits}
    solver = assigned(args).get("solver", "auto")
    return solver_from(solver, Stopping(**stopping), **rest, convex=convex)


def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name, those of a group (a dataclass) as ``image.radius``."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        inner = settings_in(value)
        found |= {f"{name}.{k}": v for k, v in flat(inner).items()} if inner else {name: value}
    return found


@cache
def file_parameters() -> tuple[str, ...]:
    """Parameters of reading without an option of their own."""
    names = [*(one.name for one in fields(FileOptions)), *inspect.signature(with_labels).parameters]
    return tuple(name for name in dict.fromkeys(names) if name not in (*OPTIONS, *OF_COMMANDS))


@dataclass(frozen=True)
class Reading:
    """How files are read: as it was typed now, or when the model was learned."""

    typed: Mapping[str, Any]
    learned: Mapping[str, Any]

    @classmethod
    def of(cls, args: argparse.Namespace, learner: Any = None) -> Reading:
        """The parameters that were typed, and those of the model."""
        typed = {name: getattr(args, name, None) for name in OPTIONS}
        known = file_parameters()
        for name, text in _texts(args, "files").items():
            if name not in known:
                raise SettingsError(
                    f"--set files.{name}: reading has no such parameter, it has "
                    f"{', '.join(known)}{meant(name, known)}"
                )
            typed[name] = _several(name, text)
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
        own = inspect.signature(with_labels).parameters
        return {name: self[name] for name in own if name not in OF_COMMANDS}

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


def _several(name: str, text: str) -> Any:
    """A parameter of reading, those of which commas separate several as a list."""
    if name == "skip_lines":
        lines = value_of(text)
        return lines if isinstance(lines, tuple | list) else [lines]
    return text.split(",") if name in ("features", "missing_labels") else text


def as_typed(text: str, args: argparse.Namespace) -> str:
    """A message of the library whose parameters are options of the command that was typed."""
    options = {name: f"--set files.{name}=" for name in file_parameters()}
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
