"""The request that was typed: settings, and the learner, problem and features they name."""

import ast
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import structsvm.features
from structsvm.cli.options import CONTEXT, CONTEXT_OF_IMAGES, Parser
from structsvm.errors import SettingsError, said_by
from structsvm.features import RecordingTransformer, Union
from structsvm.io import FileOptions
from structsvm.io.label_file import CHOSEN
from structsvm.io.recording import SEQUENCES
from structsvm.learner import Learner, MetricLearner
from structsvm.learner.parameters import named_problem
from structsvm.model_selection.named import LEARNERS, learner_named
from structsvm.partitions import PartitionProblem
from structsvm.partitions.plugins import problem_class, problem_names
from structsvm.solvers import Solver, Stopping, solver_from
from structsvm.support import meant

TOL_OF_DESCENT = 1e-3  # tolerance of the gradient, where there is no certified gap
COLUMNS = ("label_column", "time_column", "recording_column")
OF_COMMANDS = ("need_labels", "blanks", "optional", "in_order", "medians", "wanted")
"""Parameters of reading that commands set themselves."""
OF_LABELS = ["outside", *CHOSEN]  # parameters of reading labels from separate files
OF_IMAGES = ("labels", "missing_labels")  # the only parameters of reading for images
FILE_OPTIONS = [one.name for one in fields(FileOptions)]
FILE_PARAMETERS = [*(name for name in FILE_OPTIONS if name not in OF_COMMANDS), *OF_LABELS, "lazy"]
"""Parameters of reading that users can type."""
ONCE = ("labels", "lazy", "ignore", "features", "chunk_column", "subject", "tier", "annotator")
"""Parameters that hold for the files of one command, and are not saved in a model."""
Settings = Sequence[tuple[str, str, str]]
"""The group, the name and the value of each ``--set``; the group of the learner is ""."""


def assigned(
    settings: Settings, group: str = "", parameters: Iterable[str] = (), whose: str = ""
) -> dict[str, Any]:
    """The settings of a group; if it is known ``whose`` they are, refuse other ``parameters``."""
    texts = {name: text for owner, name, text in settings if owner == group}
    for name in texts:
        if whose and name not in parameters:
            typed = f"{group}.{name}".removeprefix(".")
            hint = meant(name, parameters)
            hint += "" if group else "; settings of a problem are problem.NAME"
            raise SettingsError(
                f"--set {typed}: {whose} has no such parameter, it has "
                f"{', '.join(parameters)}{hint}"
            )
    return texts if group == "files" else {name: value_of(text) for name, text in texts.items()}


def value_of(text: str) -> Any:
    """Return the value of a Python literal, or the text itself."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


@dataclass(frozen=True)
class Request:
    """The problem that was typed, its settings, and the files to read."""

    paths: Sequence[str]
    settings: Settings
    files: Mapping[str, Any]  # parameters of reading, as options or settings
    problem: str = ""
    context: Sequence[str] = ()
    labels: Path | None = None
    regions: Path | None = None
    groups: str | None = None  # a pattern that finds whose a file is in its path
    some: bool = False
    """Whether files without labels in the table of labels are kept, as unlabelled ones."""

    @classmethod
    def of(cls, args: Namespace) -> "Request":
        names = ("problem", "context", "labels", "regions", "groups")
        typed = {name: getattr(args, name, None) for name in names}
        settings = {name: value for name, value in typed.items() if value is not None}
        return cls(args.paths, args.set, typed_files(args), **settings)

    @property
    def counts_samples(self) -> bool:
        """Whether something that was typed counts samples, so that no window may be chosen."""
        of_problem = assigned(self.settings, "problem")
        return bool("window" in self.files or of_problem or self.context or self.regions)


def learner_of(
    request: Request,
    method: str = "metric",
    metric: str | None = None,
    lam: float | None = None,
    **parameters: Any,
) -> Learner:
    """The learner of the method, the problem and the features that were typed."""
    problem = typed_problem(request)
    masked = getattr(problem, "missing", None) == "mask"
    for name, typed in (("metric", metric), ("lam", lam)):
        if typed is not None and method != "metric":
            raise SettingsError(
                f"--{name} is of --method metric, and {method} has none: leave it out"
            )
    features = typed_features(request, problem)
    if not learner_named(method, problem).suits(problem):
        suited = [name for name in LEARNERS if learner_named(name, problem).suits(problem)]
        raise SettingsError(
            f"--method {method} is not for {request.problem}: its methods are {', '.join(suited)}"
        )
    learner = learner_named(
        method,
        problem,
        lam=lam,
        features=features,
        random_state=getattr(problem, "random_state", 0),  # folds are the same every time
        **parameters,
    )
    if method == "metric":
        learner.set_params(metric=metric or ("diagonal" if masked else "full"))
    params = learner.get_params(deep=False)
    if features is not None and "features" not in params:
        raise SettingsError(f"--context is not for {method}, which makes features of its own")
    learner.set_params(**assigned(request.settings, "", params, f"the method {method}"))
    if not learner.has_path and assigned(request.settings, "solver"):
        raise SettingsError(f"--set solver.NAME is of --method metric, not of {method}")
    if learner.has_path:
        learner.set_params(solver=solver_of(request, problem))
    return learner


def typed_problem(request: Request) -> PartitionProblem:
    """The problem that was named, with its settings, also those of fields, as ``image.radius``."""
    name = request.problem
    texts = assigned(request.settings, "problem")
    cls: Any = problem_class(name)
    if request.files.get("missing") == "mask":
        if "missing" not in cls.__dataclass_fields__:
            raise SettingsError(
                f"--missing mask is not for {name}: rows with missing values are left out there, "
                "unless --missing impute puts the median of their column there"
            )
        texts["missing"] = "mask"
    names = [one.name for one in fields(cls) if one.init]
    own = {setting: texts.pop(setting) for setting in names if setting in texts}
    nested = {f"problem__{setting.replace('.', '__')}": v for setting, v in texts.items()}
    try:
        learner = MetricLearner(cls(**own)).set_params(**nested)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"problem {name}: " + said_by(error)) from error
    problem: PartitionProblem = named_problem(learner.problem)
    return problem


def typed_features(request: Request, problem: PartitionProblem) -> RecordingTransformer | None:
    """The features of ``--context`` with their settings, as one transformer; None without."""
    classes = CONTEXT if problem.traits.contiguous else {}
    classes = CONTEXT_OF_IMAGES if problem.traits.words.of_graphs else classes
    allowed = f"one or more of {', '.join(classes)}"
    allowed = allowed if classes else "for recordings and images, leave it out"
    for name in request.context:
        if name not in classes:
            raise SettingsError(f"--context of {request.problem} is {allowed}, got {name!r}")
    stages = [(name, getattr(structsvm.features, classes[name])()) for name in request.context]
    typed = assigned(request.settings, "features")
    if not stages:
        if typed:
            raise SettingsError(f"--set features.{next(iter(typed), '')} is of --context: give one")
        return None
    stage: RecordingTransformer = stages[0][1] if len(stages) == 1 else Union(*stages)
    try:
        stage.set_params(**{name.replace(".", "__"): v for name, v in typed.items()})
    except ValueError as error:
        raise SettingsError("--set features: " + said_by(error)) from error
    return stage


def solver_of(request: Request, problem: PartitionProblem) -> Solver:
    """The solver that was typed, with its stopping rule."""
    convex = problem.traits.convex
    limits = {field.name for field in fields(Stopping)}
    names = sorted([*limits, *(("master", "slack") if convex else ())])
    settings = assigned(request.settings, "solver", names, f"a solver of {request.problem}")
    stopping: dict[str, Any] = {} if convex else {"tol": TOL_OF_DESCENT}
    stopping |= {name: settings.pop(name) for name in limits & settings.keys()}
    solver = assigned(request.settings).get("solver", "auto")
    return solver_from(solver, Stopping(**stopping), **settings, convex=convex)


def typed_files(args: Namespace) -> dict[str, Any]:
    """The parameters of reading that were typed, as options or settings."""
    typed = {name: getattr(args, name, None) for name in (*FILE_PARAMETERS, "labels")}
    for name, text in assigned(args.set, "files", FILE_PARAMETERS, "reading").items():
        typed[name] = value_of(text) if name in ("window", "max_bytes", "lazy") else text
        if name in SEQUENCES:
            parts = text.strip("[]()").split(",")
            typed[name] = list(map(value_of, parts)) if name == "skip_lines" else parts
    return {name: value for name, value in typed.items() if value is not None}


def options_for(parser: Parser, command: str, own: str | None) -> dict[str, str]:
    """How each parameter is typed, by its name: in this command, or in another, named first."""
    lead = "" if command in ("fit", "compare") else "fit "
    options = {name: f"{lead}--set {name}=" for name in MetricLearner().get_params(deep=False)}
    options |= {field.name: f"{lead}--set solver.{field.name}=" for field in fields(Stopping)}
    for problem in [own] if own else problem_names():
        with suppress(Exception):  # a plugin that cannot be loaded is reported elsewhere
            names = [field.name for field in fields(problem_class(problem))]  # type: ignore[arg-type]
            options |= {name: f"{'' if own else 'fit '}--set problem.{name}=" for name in names}
    options["unseen_states"] = f"{'' if command == 'evaluate' else 'evaluate '}--set unseen_states="
    for other in () if command == "compare" else ("evaluate", "fit"):
        options |= {k: f"{other} {option} " for k, option in parser.options_of(other).items()}
    options |= {name: f"--set files.{name}=" for name in FILE_PARAMETERS}
    options |= {k: f"{option} " for k, option in parser.options_of(command).items()}
    aliases = {"resume": "checkpoint", "n_jobs": "jobs"}
    return options | {name: options[alias] for name, alias in aliases.items() if alias in options}
