"""Parameters that messages of the library name, as they are typed on the command line."""

from __future__ import annotations

import argparse
import re
import shlex
from contextlib import suppress
from dataclasses import fields
from typing import Any

from structsvm.cli.settings import value_of

PARAMETER = re.compile(
    r"(?<!\w\()\b([a-z_]+)=(?![A-Z=])('[^']*'|\"[^\"]*\"|[\[(][^\])]*[\])]|-?[\w.]+)?"
)
"""``ignore='b'``, ``skip_lines=[1]``, or ``encoding=`` alone."""
PHRASES = {"features=HermiteMoments()": "--context moments", "resume=": "checkpoint="}


def as_typed(text: str, args: argparse.Namespace) -> str:
    """A message whose parameters are options of the command that was typed."""
    options = _options(args)

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


def _options(args: argparse.Namespace) -> dict[str, str]:
    from structsvm.cli.columns import parameters_of_files
    from structsvm.solvers.stopping import Stopping

    found = {name: f"--set files.{name}=" for name in parameters_of_files()}
    if hasattr(args, "problem"):
        from structsvm.learner.learner import MetricLearner
        from structsvm.plugins import problem_class

        learner = MetricLearner().get_params(deep=False)
        found |= {name: f"--set {name}=" for name in learner if name not in found}
        found |= {field.name: f"--set solver.{field.name}=" for field in fields(Stopping)}
        with suppress(Exception):  # a plugin that cannot be loaded has said so
            cls: Any = problem_class(args.problem)
            found |= {field.name: f"--set problem.{field.name}=" for field in fields(cls)}
    own = args.parser.options_of(args.command)
    return found | {name: f"{typed} " for name, typed in own.items()}
