"""A plugin with a missing or ill-shaped method is refused, and sees the definition expected."""

import pickle
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

from structsvm import ChangePoint
from structsvm.errors import PluginError
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Constraint, Oracle
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.partitions.traits import Traits
from structsvm.problem import Problem
from structsvm.support.contract import definition
from structsvm.weights import Free


class Forgetful(Problem):
    """Knows neither its loss nor inference."""

    def weight_space(self):
        return Free(2)

    def joint_feature(self, x, y):
        return np.zeros(2)

    def separate(self, w, x, y):
        raise NotImplementedError


def test_missing_definitions_are_shown_when_an_instance_is_made() -> None:
    with pytest.raises(PluginError) as refusal:
        Forgetful()
    assert str(refusal.value) == (
        "Forgetful lacks loss, predict: define\n\n"
        "    def loss(self, y: Any, y_hat: Any) -> float:\n"
        '        """Nonnegative loss of ``y_hat`` when ``y`` is true; zero if they are equal."""'
        "\n\n"
        "    def predict(self, w: Floats, x: Any) -> Any:\n"
        '        """Inference: maximise ``<w, joint_feature(x, y)>`` over y."""'
    )


def test_a_missing_property_is_shown_as_one() -> None:
    @dataclass(frozen=True)
    class NoTraits(PartitionProblem):
        traits: Traits  # a field without a default is no definition

    with pytest.raises(PluginError, match=r"lacks .*traits") as refusal:
        NoTraits(Traits())
    assert "    @property\n    def traits(self) -> Traits:\n" in str(refusal.value)


def too_few(self, objective):
    """Takes no constraint."""


def too_many(self, objective, constraint, patience):
    """Needs what nobody gives."""


def constraint_needed(self, objective, constraint):
    """Cannot be called for any partition at all."""


@pytest.mark.parametrize(
    "maximize", [too_few, too_many, constraint_needed, property(too_few), "maximise", None]
)
def test_an_ill_shaped_method_is_refused_when_the_class_is_defined(maximize) -> None:
    shown = re.escape(definition(Oracle, "maximize").strip())
    with pytest.raises(PluginError, match=f"Odd.maximize cannot be called.*: define\n\n *{shown}"):
        type("Odd", (Oracle,), {"maximize": maximize, "__qualname__": "Odd"})


@pytest.mark.parametrize(
    ("maximize", "why"),
    [
        (too_few, "too many positional arguments"),
        (too_many, "missing a required argument: 'constraint'"),
        (constraint_needed, "missing a required argument: 'constraint'"),
        (property(too_few), "it is no function"),
    ],
)
def test_what_is_wrong_with_a_method_is_said(maximize, why) -> None:
    with pytest.raises(PluginError, match=f"as its contract says \\({why}\\): define"):
        type("Odd", (Oracle,), {"maximize": maximize, "__qualname__": "Odd"})


def test_a_method_in_place_of_a_property_is_refused() -> None:
    with pytest.raises(PluginError, match=r"Odd.traits must be a property(?s:.*)@property"):
        type("Odd", (PartitionProblem,), {"traits": lambda self: Traits(), "__qualname__": "Odd"})


@pytest.mark.parametrize(
    ("base", "name", "found"),
    [
        (Oracle, "maximize", lambda self, A, c=None: None),
        (Oracle, "maximize", lambda *anything: None),
        (Oracle, "maximize", staticmethod(lambda objective, constraint=None: None)),
        (Oracle, "maximize", lambda self, A, c=None, patience=3: None),
        (PartitionProblem, "traits", Traits()),
        (PartitionProblem, "traits", property(lambda self: Traits())),
        (PartitionProblem, "traits", cached_property(lambda self: Traits())),
    ],
)
def test_what_can_be_used_as_the_contract_says_is_accepted(base, name, found) -> None:
    assert name not in type("Fine", (base,), {name: found}).__abstractmethods__


def test_a_method_may_stay_abstract_half_way_down() -> None:
    class Half(Oracle):
        """Leaves maximize to others, with one more argument that they need not know."""

    class Whole(Half):
        def maximize(
            self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED
        ) -> Argmax:
            return SequentialOracle().maximize(objective, constraint)

    answer = Whole().maximize(TraceObjective(np.zeros((3, 1)), shift=-1.0))
    assert answer.y.n_clusters == 1
    with pytest.raises(PluginError, match=r"Odd\.maximize"):
        type("Odd", (Half,), {"maximize": too_few, "__qualname__": "Odd"})


def test_instances_are_made_and_pickled_as_usual() -> None:
    problem = ChangePoint(kappa=0.5)
    assert pickle.loads(pickle.dumps(problem)) == problem
    with pytest.raises(TypeError, match="unexpected keyword argument 'spam'"):
        ChangePoint(spam=1)
    with pytest.raises(TypeError):
        Forgetful(1, 2)
