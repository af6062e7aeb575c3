"""Settings survive files and typing; arrays given to plugins cannot be changed."""

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples
from wrong_plugins import Segments, recordings

from structsvm import ChangePoint, EquivalenceMatrix, MetricLearner
from structsvm.cli.request import Request, typed_problem
from structsvm.data.instance import Instance
from structsvm.errors import PluginError
from structsvm.learner.files import model_codec
from structsvm.oracles import SequentialOracle
from structsvm.partitions import UNCONSTRAINED, Argmax, Constraint, Oracle, TraceObjective


@dataclass(frozen=True)
class Group:
    """Settings within settings."""

    width: float = 1.0
    depths: tuple[int | None, ...] = (1, None)


@dataclass(frozen=True)
class Settled(ChangePoint):
    """A problem with settings of many kinds."""

    parents: tuple[int, ...] = ()
    nested: Any = None
    depth: int | None = None
    counts: "tuple[int | None, ...] | None" = None
    names: list[str] = field(default_factory=list, hash=False)
    levels: dict[str, tuple[int, ...]] = field(default_factory=dict, hash=False)
    kinds: frozenset[str] = frozenset()
    derived: int = field(init=False, default=7)
    group: Group = field(default_factory=Group)


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """As if a distribution declared it."""
    monkeypatch.setattr("structsvm.learner.files.problem_name", lambda problem: "settled")
    monkeypatch.setattr("structsvm.learner.files.plugin_class", lambda group, name: Settled)
    monkeypatch.setattr("structsvm.cli.request.problem_class", lambda name: Settled)


def typed(given):
    settings = [("problem", name, text) for name, text in given.items()]
    return typed_problem(Request((), settings, {}, problem="settled"))


PLAIN = st.sampled_from([None, True, -3, 2**70, 0.1, -0.0, float("inf"), "", "a b", "None"])
KEYS = st.sampled_from([("key", 1), 2, "3"])
VALUES = st.recursive(
    PLAIN | st.frozensets(PLAIN, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=3)
    ),
)


def same(a, b):
    """Whether two values are equal and of the same types, as is all that they hold."""
    if type(a) is not type(b) or a != b:
        return False
    if isinstance(a, dict):
        return same(list(a), list(b)) and same(list(a.values()), list(b.values()))
    if isinstance(a, frozenset):
        return {(type(item), item) for item in a} == {(type(item), item) for item in b}
    return not isinstance(a, list | tuple) or all(map(same, a, b))


@examples(200)
@given(VALUES)
def test_any_setting_is_restored_equal_from_a_file(value):
    codec = model_codec()
    packed = json.dumps(codec.pack(Settled(nested=value)))
    found = model_codec(codec.arrays).unpack(json.loads(packed))
    assert found == Settled(nested=value)
    assert same(found.nested, value)


@cases(
    ({"parents": "(0,0,1)"}, {"parents": (0, 0, 1)}),
    ({"counts": "(1, None, 2)"}, {"counts": (1, None, 2)}),
    ({"counts": "none"}, {"counts": None}),
    ({"depth": "3"}, {"depth": 3}),
    ({"names": "['a', 'b']"}, {"names": ["a", "b"]}),
    ({"levels": "{'a': (1, 2)}"}, {"levels": {"a": (1, 2)}}),
    ({"kinds": "{'a', 'b'}"}, {"kinds": {"a", "b"}}),
    ({"nested": "print(1)"}, {"nested": "print(1)"}),
    ({"nested": "((1, None), {'a': [2.5]})"}, {"nested": ((1, None), {"a": [2.5]})}),
)
def test_typed_settings_have_their_types(given, expected):
    assert typed(given) == Settled(**expected)


# ---- what is handed out cannot be changed in place: a changed question has another answer


def test_the_arrays_of_an_objective_cannot_be_written_to() -> None:
    mine = np.ones((4, 2))
    truth = EquivalenceMatrix.from_labels([0, 0, 1, 1])
    objective = TraceObjective(mine, truth, 2.0, -1.0)
    held = (objective.Z, truth.labels, truth.sizes, truth.boundaries)
    for array in held:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    mine[0] = 5.0  # whoever made the array keeps the right to


@dataclass(frozen=True)
class Scales(Oracle):
    """The exact oracle, which shrinks what it was asked about after answering."""

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        answer = SequentialOracle().maximize(objective, constraint)
        objective.Z[:] *= 0.9
        return answer


@dataclass(frozen=True)
class Scaled(Segments):
    def decoder(self, instance: Instance) -> Oracle:
        return Scales()


def test_an_oracle_that_writes_to_its_input_is_named() -> None:
    with pytest.raises(PluginError, match=r"Scales\.maximize .*read-only.*copy"):
        MetricLearner(Scaled(), metric="diagonal").fit(*recordings())


@dataclass(frozen=True)
class WritesInstances(Segments):
    def training_instance(self, instance: Instance, truth: EquivalenceMatrix) -> Any:
        X = instance.X
        X *= 0.5
        return super().training_instance(instance, truth)


@dataclass(frozen=True)
class WritesLabels(Segments):
    def encode(self, y: Any, instance: Instance) -> EquivalenceMatrix:
        y[0] = y[1]
        return super().encode(y, instance)


@cases(
    (WritesInstances(), r"WritesInstances\.training_instance"),
    (WritesLabels(), "recording 0: WritesLabels.encode"),
)
def test_instances_and_labels_cannot_be_written_to_by_plugins(problem: Segments, who: str) -> None:
    Xs, ys = recordings()
    before = [X.copy() for X in Xs], [y.copy() for y in ys]
    learner = MetricLearner(problem, metric="diagonal", standardize=None)
    with pytest.raises(PluginError, match=rf"{who} modified its input .*read-only"):
        learner.fit(Xs, ys)
    assert all(map(np.array_equal, Xs, before[0]))
    assert all(map(np.array_equal, ys, before[1]))
