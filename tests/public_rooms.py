"""The packages and modules that users import names from, and what these names stand for."""

from importlib import import_module
from typing import Any

ROOMS = (
    "structsvm",
    "structsvm.datasets",
    "structsvm.features",
    "structsvm.graphs",
    "structsvm.interop",
    "structsvm.io",
    "structsvm.learner",
    "structsvm.modeling",
    "structsvm.oracles",
    "structsvm.parallel",
    "structsvm.partitions",
    "structsvm.plotting",
    "structsvm.problems",
    "structsvm.problem.regularizers",
    "structsvm.baselines",
    "structsvm.solvers",
    "structsvm.testing",
)
MODULES = ("structsvm.problem.regularizers",)
"""The rooms that are single modules, which load their names when they are imported; users import
these names from the package."""


def public_things(constants: bool = False) -> dict[str, Any]:
    """Return the public classes and functions under their addresses, each thing once.

    Constants, which have no docstring of their own, are left out unless they are asked for; the
    version always is.
    """
    found: dict[int, tuple[str, Any]] = {}
    for room in ROOMS:
        module = import_module(room)
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) or (constants and not isinstance(value, str)):
                found.setdefault(id(value), (f"{room}.{name}", value))
    return dict(found.values())
