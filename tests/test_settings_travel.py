"""The settings of a problem come back from a file and from the command line as they were."""

import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from structsvm import MetricLearner, load, save
from structsvm.cli.inputs import typed_problem
from structsvm.errors import PluginError
from structsvm.learner.files import model_codec
from structsvm.problems.change_point import ChangePoint
from structsvm.support.plain import finite


@dataclass(frozen=True)
class Inner:
    """Settings within settings within settings."""

    depths: tuple[int | None, ...] = (1, None)


@dataclass(frozen=True)
class Group:
    """Settings within settings."""

    width: float = 1.0
    inner: Inner = Inner()


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
    monkeypatch.setattr("structsvm.cli.inputs.problem_class", lambda name: Settled)


def returned(problem, tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 10)
    Xs = [rng.normal(size=(20, 2)) + 3 * y[:, None] for _ in range(2)]
    learner = MetricLearner(problem=problem).fit(Xs, [y, y])
    save(learner, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(Xs)[0], learner.predict(Xs)[0])
    return again.problem


def typed(given):
    settings = [(f"problem.{name}", text) for name, text in given.items()]
    return typed_problem(SimpleNamespace(problem="settled", set=settings))


def any_value(rng, depth=3):
    """A value as settings may be, drawn at random; what is hashable where it has to be."""
    kinds = ["plain"] if depth == 0 else ["plain", "tuple", "list", "dict", "frozenset"]
    kind = kinds[rng.integers(len(kinds))]
    if kind == "plain":
        plain = (None, True, -3, 2**70, 0.1, -0.0, float("inf"), "", "a b", "None", "unstored")
        return plain[rng.integers(len(plain))]
    items = [any_value(rng, depth - 1) for _ in range(rng.integers(4))]
    if kind == "tuple":
        return tuple(items)
    if kind == "list":
        return items
    if kind == "dict":
        return {(("key", i), i, str(i))[rng.integers(3)]: v for i, v in enumerate(items)}
    return frozenset(item for item in items if not isinstance(item, list | dict | tuple))


def same(a, b):
    """Whether two values are equal and of the same types, as is all that they hold."""
    if type(a) is not type(b) or a != b:
        return False
    if isinstance(a, dict):
        return same(list(a), list(b)) and same(list(a.values()), list(b.values()))
    if isinstance(a, frozenset):
        return {(type(item), item) for item in a} == {(type(item), item) for item in b}
    return not isinstance(a, list | tuple) or all(map(same, a, b))


def test_any_setting_comes_back_equal():
    rng = np.random.default_rng(0)
    for _ in range(500):
        value, codec = any_value(rng), model_codec()
        packed = json.dumps(codec.pack(Settled(nested=value)))
        found = model_codec(codec.arrays).unpack(json.loads(packed))
        assert found == Settled(nested=value)
        assert same(found.nested, value)


def test_settings_within_settings_come_back(tmp_path):
    problem = Settled(group=Group(2.5, Inner((None, 3))))
    assert returned(problem, tmp_path) == problem
    assert typed({"group.width": "2.5"}).group == Group(2.5)


def test_a_problem_comes_back_with_its_hash(tmp_path):
    problem = Settled(parents=(0, 0, 1), nested=(None, (1,)), kinds=frozenset("ab"))
    assert hash(returned(problem, tmp_path)) == hash(problem)


def test_what_a_file_cannot_hold_is_refused_by_name(tmp_path):
    with pytest.raises(
        PluginError, match=r"settled: problem.*\.nested\.1\.0\.a is <built-in function len>"
    ):
        returned(Settled(nested=(1, [{"a": len}])), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"parents": "(0,0,1)"}, {"parents": (0, 0, 1)}),
        ({"parents": "0,0,1"}, {"parents": (0, 0, 1)}),
        ({"parents": "()"}, {"parents": ()}),
        ({"counts": "(1, None, 2)"}, {"counts": (1, None, 2)}),
        ({"counts": "none"}, {"counts": None}),
        ({"depth": "none"}, {"depth": None}),
        ({"depth": "3"}, {"depth": 3}),
        ({"names": "['a', 'b']"}, {"names": ["a", "b"]}),
        ({"levels": "{'a': (1, 2)}"}, {"levels": {"a": (1, 2)}}),
        ({"kinds": "{'a', 'b'}"}, {"kinds": {"a", "b"}}),
        ({"nested": "print(1)"}, {"nested": "print(1)"}),
        ({"nested": "((1, None), {'a': [2.5]})"}, {"nested": ((1, None), {"a": [2.5]})}),
        ({"nested": "a text"}, {"nested": "a text"}),
    ],
)
def test_settings_as_they_are_typed(given, expected):
    assert typed(given) == Settled(**expected)


def test_settings_of_any_kind_have_a_form_in_json():
    found = finite({"a": (1, frozenset("ba")), (0, 1): float("inf")})
    assert json.loads(json.dumps(found, allow_nan=False)) == {"a": [1, ["a", "b"]], "(0, 1)": None}
