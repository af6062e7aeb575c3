"""The settings of a problem as they are typed: ``--set NAME=VALUE``, for whatever problem it is."""

from __future__ import annotations

import argparse
import ast
import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

import numpy as np
from sklearn.base import clone

from structsvm.cli.names import FEATURED
from structsvm.errors import SettingsError
from structsvm.features import HermiteMoments, RecordingTransformer
from structsvm.partitions.problem import PartitionProblem
from structsvm.plugins import Plugin, problem_class, problem_name, problems, setting_groups
from structsvm.support.settings import settings_in

FEATURES: dict[str, type[RecordingTransformer]] = {"distribution-change": HermiteMoments}
"""What stands in front of the problem, for the kinds of :data:`~structsvm.cli.names.FEATURED`."""


@dataclass(frozen=True)
class Kind:
    """A kind of problem with its settings: a problem, and the features in front of it, if any."""

    name: str
    problem: PartitionProblem
    features: RecordingTransformer | None = None

    @classmethod
    def typed(cls, name: str, given: Mapping[str, Any]) -> Kind:
        """The kind of a name with the settings that were given, as texts or as values."""
        if name not in FEATURES:
            return cls(name, problem_with(name, given))
        parameters = _parameters(FEATURES[name])
        own = {
            setting: _value(setting, parameters[setting].annotation, value)
            for setting, value in given.items()
            if setting in parameters
        }
        rest = {setting: value for setting, value in given.items() if setting not in parameters}
        problem = problem_with(FEATURED[name], rest, parameters)
        features = FEATURES[name](**own)
        clone(features).fit([np.zeros((2, 1))])  # refuses what it cannot be set to
        return cls(name, problem, features)


def typed_settings(args: argparse.Namespace) -> dict[str, Any]:
    found = dict(args.set)
    if getattr(args, "missing", None) == "mask":
        cls: Any = problem_class(FEATURED.get(args.problem, args.problem))
        if "missing" not in cls.__dataclass_fields__:
            raise SettingsError(
                f"--missing mask is not for {args.problem}: fill missing values in, or leave "
                "their rows out"
            )
        found["missing"] = "mask"
    return found


def typed_metric(args: argparse.Namespace, problem: PartitionProblem) -> str:
    """The kind of metric that was typed; without one a full metric, unless values are masked."""
    masked = getattr(problem, "missing", None) == "mask"
    return args.metric or ("diagonal" if masked else "full")


def kind_name(learner: Any) -> str:
    for name, features in FEATURES.items():
        is_it = problem_name(learner.problem_) == FEATURED[name]
        if is_it and isinstance(learner.inputs_.features, features):
            return name
    return problem_name(learner.problem_)


def kinds() -> list[Plugin]:
    """Every kind of problem that can be typed, by name; those that cannot be used say why."""
    declared = {plugin.name: plugin for plugin in problems()}
    for name, features in FEATURES.items():
        base = declared.get(FEATURED[name])
        if base is None:
            continue
        summary = (inspect.getdoc(features) or "").partition("\n")[0]
        settings = {k: p.default for k, p in _parameters(features).items()}
        declared[name] = Plugin(
            name,
            base.value,
            base.distribution,
            f"``{base.name}`` of features: {summary[0].lower()}{summary[1:]}",
            settings | base.settings,
            base.error,
        )
    return [declared[name] for name in sorted(declared)]


def _parameters(features: type[RecordingTransformer]) -> Mapping[str, inspect.Parameter]:
    """The settings of a stage of features."""
    return dict(list(inspect.signature(features.__init__).parameters.items())[1:])


def settings_of(problem: PartitionProblem) -> dict[str, Any]:
    """The settings of a problem as ``--set`` takes them: by name, values within values as well."""
    return flat(settings_in(problem))


def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with those of a group (a dataclass) in the place of the group."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if inner := settings_in(value):
            found |= {k: v for k, v in flat(inner).items() if k not in settings}
        else:
            found[name] = value
    return found


def problem_with(name: str, given: Mapping[str, Any], more: Iterable[str] = ()) -> PartitionProblem:
    """The problem of a name with the settings that were given, as texts or as values."""
    cls = problem_class(name)
    own = {field.name: field for field in fields(cls) if field.init}  # type: ignore[arg-type]
    groups = setting_groups(cls)
    inside = {
        field.name: (setting, field)
        for setting, group in groups.items()
        for field in fields(group)
        if field.init and field.name not in own
    }
    for setting in given:
        if setting not in own and setting not in inside:
            typed = [*more, *(s for s in own if s not in groups), *inside]
            has = ", ".join(typed) or "none"
            raise SettingsError(f"problem {name} has no setting {setting!r}, it has {has}")
    for setting, field in own.items():
        needed = field.default is MISSING and field.default_factory is MISSING
        if needed and setting not in given:
            raise SettingsError(f"problem {name} needs a setting: give --set {setting}=VALUE")
    values: dict[str, Any] = {}
    of_groups: dict[str, dict[str, Any]] = {}
    for setting, value in given.items():
        if setting in own:
            values[setting] = _value(setting, own[setting].type, value)
        else:
            owner, field = inside[setting]
            of_groups.setdefault(owner, {})[setting] = _value(setting, field.type, value)
    for owner, found in of_groups.items():
        values[owner] = groups[owner](**found)
    return cls(**values)


def _value(name: str, kind: Any, value: Any) -> Any:
    """A text as the value it stands for, by the type that is declared."""
    if not isinstance(value, str):
        return value
    declared = kind if isinstance(kind, str) else _written(kind)
    kinds = [kind.strip() for kind in _UNION.split(declared)]
    if "None" in kinds and value.lower() == "none":
        return None
    for simple, read in (("bool", _truth), ("int", int), ("float", float)):
        if simple in kinds:
            try:
                return read(value)
            except ValueError:
                continue
    for written in kinds:
        collection = written.partition("[")[0].rpartition(".")[2]
        if collection in COLLECTIONS:
            found = _collection(value, COLLECTIONS[collection])
            if found is not None:
                return found
    if {"Any", "object"} & {written.rpartition(".")[2] for written in kinds}:
        return _literal(value)
    if "str" in kinds:
        return value
    raise SettingsError(f"{name} must be {declared}, got {value!r}")


_UNION = re.compile(r"\|(?![^\[]*\])")
"""What is between the types of a union, and not inside brackets."""


COLLECTIONS: dict[str, type] = {
    "tuple": tuple,
    "Tuple": tuple,
    "Sequence": tuple,
    "list": list,
    "List": list,
    "dict": dict,
    "Dict": dict,
    "Mapping": dict,
    "set": set,
    "Set": frozenset,
    "frozenset": frozenset,
}
"""What is made of a text that is written as Python writes it, by the type that is declared."""


def _written(kind: Any) -> str:
    """A type as it is written in a program."""
    return kind.__name__ if type(kind) is type else str(kind)


def _literal(text: str) -> Any:
    """A value as Python writes it, or the text itself. Names and calls are not read."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _collection(text: str, kind: type) -> Any:
    """A tuple, list, set or mapping; None for a text that is none."""
    value = _literal(text)
    if kind is dict:
        return value if isinstance(value, dict) else None
    return kind(value) if isinstance(value, tuple | list | set) else None


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"
