"""``--set NAME=VALUE``: parameters of the learner, its problem, solver, features and files."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from structsvm.cli.usage import CONTEXT, CONTEXT_OF_IMAGES
from structsvm.data.words import GRAPHS, IMAGES
from structsvm.errors import SettingsError
from structsvm.features import RecordingTransformer, Union
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


@dataclass(frozen=True)
class Kind:
    """What is learned: a problem, and the features in front of it, if any."""

    name: str
    problem: PartitionProblem
    features: RecordingTransformer | None = None

    @classmethod
    def typed(cls, args: argparse.Namespace) -> Kind:
        """The problem that was named, with its settings and features."""
        problem = problem_of(args.problem, problem_settings(args))
        context = getattr(args, "context", None)
        features = None if context is None else _context(context, args.problem, problem)
        _set_features(features, assigned(args, "features"))
        return cls(args.problem, problem, features)


def assigned(args: argparse.Namespace, group: str = "") -> dict[str, Any]:
    """The settings of a group that were typed; without one, the parameters of the learner."""
    return {name: value_of(text) for name, text in texts(args, group).items()}


def texts(args: argparse.Namespace, group: str) -> dict[str, str]:
    found = {}
    for name, value in args.set:
        owner, dot, setting = name.partition(".")
        if dot and owner not in GROUPS:
            raise SettingsError(
                f"--set {name}: a setting is called NAME, or GROUP.NAME of one of the groups "
                f"{', '.join(GROUPS)}{meant(owner, GROUPS)}"
            )
        if owner == group and dot:
            found[setting] = value
        elif not group and not dot:
            found[name] = value
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
        owner, dot, _ = name.partition(".")
        if (owner if dot else "") not in groups:
            known = " and ".join(f"{group}.NAME" if group else "NAME" for group in groups)
            raise SettingsError(f"--set {name} is not for {args.command}, which takes {known}")


def problem_settings(args: argparse.Namespace) -> dict[str, Any]:
    found = assigned(args, "problem")
    if args.missing == "mask":
        cls: Any = problem_class(args.problem)
        if "missing" not in cls.__dataclass_fields__:
            raise SettingsError(
                f"--missing mask is not for {args.problem}: fill missing values in, or leave "
                "their rows out"
            )
        found["missing"] = "mask"
    return found


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


def parameters_of(args: argparse.Namespace, **usual: Any) -> dict[str, Any]:
    """The parameters of the learner: those that were typed, or else the usual ones."""
    typed, known = assigned(args), MetricLearner().get_params(deep=False)
    for name in typed:
        if name not in known:
            raise SettingsError(
                f"--set {name}: a learner has no such parameter, it has {', '.join(known)}"
                f"{meant(name, known)}; settings of a problem are problem.NAME"
            )
    return usual | typed


def typed_metric(args: argparse.Namespace, problem: PartitionProblem) -> str:
    """The kind of metric that was typed; without one a full metric, unless values are masked."""
    masked = getattr(problem, "missing", None) == "mask"
    return args.metric or ("diagonal" if masked else "full")


def solver_of(args: argparse.Namespace, problem: PartitionProblem) -> Solver:
    """The solver that was typed, with its stopping rule."""
    settings, convex = assigned(args, "solver"), problem.traits.convex
    usual = {} if convex else {"tol": TOL_OF_DESCENT}
    limits = {field.name for field in fields(Stopping)}
    known = [*limits, *(("master", "slack") if convex else ())]
    for name in settings:
        if name not in known:
            raise SettingsError(
                f"--set solver.{name}: the solvers of {args.problem} have "
                f"{', '.join(sorted(known))}{meant(name, known)}"
            )
    stopping = Stopping(**usual | {k: v for k, v in settings.items() if k in limits})
    rest = {name: value for name, value in settings.items() if name not in limits}
    return solver_from(assigned(args).get("solver", "auto"), stopping, **rest, convex=convex)


def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name, those of a group (a dataclass) as ``image.radius``."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        inner = settings_in(value)
        found |= {f"{name}.{k}": v for k, v in flat(inner).items()} if inner else {name: value}
    return found


def _context(
    names: Sequence[str], kind: str, problem: PartitionProblem
) -> RecordingTransformer | None:
    """The features of these names, side by side."""
    import structsvm.features

    images = problem.traits.words in (GRAPHS, IMAGES)
    if not (problem.traits.contiguous or images):
        raise SettingsError("--context is for recordings and images: leave it out")
    fitting = CONTEXT_OF_IMAGES if images else CONTEXT
    for name in names:
        if name not in fitting:
            known = ", ".join(fitting)
            raise SettingsError(f"--context of {kind} is one or more of {known}, got {name!r}")
    stages = [(name, getattr(structsvm.features, fitting[name])()) for name in names]
    return stages[0][1] if len(stages) == 1 else Union(*stages)


def _set_features(features: RecordingTransformer | None, given: Mapping[str, Any]) -> None:
    """Set parameters of the only stage that has them."""
    stages = dict(features.stages) if isinstance(features, Union) else {"": features}
    for setting, value in given.items():
        of, _, name = setting.rpartition(".")
        having = [
            stage
            for called, stage in stages.items()
            if stage is not None and of in ("", called) and name in stage.get_params(deep=False)
        ]
        if len(having) != 1:
            which = "one of several features" if having else "none of the features"
            raise SettingsError(
                f"--set features.{setting} is of {which}: give --context, and its name as in "
                "features.moments.n_moments"
            )
        having[0].set_params(**{name: value})
