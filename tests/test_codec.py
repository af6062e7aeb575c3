"""Settings and what was learned, as JSON and arrays, and back."""

import json
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pytest

from structsvm import ChangePoint, MetricLearner, NormalizedCut, load, save
from structsvm.features import HermiteMoments
from structsvm.graphs import GraphOfImage
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.regularizers import SquaredNorm
from structsvm.solvers.base import Stopping
from structsvm.solvers.cccp import CCCP
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.frank_wolfe import BlockFrankWolfe
from structsvm.solvers.quasi_newton import QuasiNewton
from structsvm.solvers.subgradient import ProjectedSubgradient
from structsvm.storage.codec import Codec, Unstorable, Unstored


class Colour(Enum):
    """Of two."""

    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Point:
    """A value with values in it."""

    place: tuple
    colour: Colour = Colour.RED


CLASSES = {"Point": Point, "Colour": Colour}


def new_codec(arrays=None):
    """Of values that may hold points and colours."""
    names = {cls: name for name, cls in CLASSES.items()}
    return Codec(lambda value: names.get(type(value)), CLASSES.__getitem__, arrays)


VALUES = {
    "nothing": None,
    "truth": True,
    "number": 3,
    "fraction": 0.1,
    "text": "spam",
    "tuple": (1, 2.5, "a"),
    "empty": (),
    "list of tuples": [(1, 2), (3,), []],
    "tuple of lists of tuples": ([(1, (2, (3,)))], ()),
    "mapping": {"a": (1, 2), 3: {"b": [None]}, (1, 2): "pair"},
    "set": {1, 2, 3},
    "frozenset": frozenset({("a", 1), ("b", 2)}),
    "enum": Colour.BLUE,
    "instance": Point((1, (2, 3)), Colour.BLUE),
    "nested instances": [Point((Point(()), {"x": Point((0,))}))],
}


def through(value):
    """As a file has it: the JSON is text in between."""
    codec = new_codec()
    packed = json.dumps(codec.pack(value), allow_nan=False)
    return new_codec(codec.arrays).unpack(json.loads(packed))


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_values_come_back_with_their_types(value):
    found = through(value)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.zeros((0, 4)),
        np.array(3.5),
        np.array([True, False]),
        np.array([1, 2], dtype=np.int8),
    ],
)
def test_arrays_keep_shape_type_and_bits(array):
    for found in (through(array), through({"a": (array,)})["a"][0]):
        np.testing.assert_array_equal(found, array)
        assert (found.dtype, found.shape) == (array.dtype, array.shape)


def test_arrays_of_objects_keep_their_objects():
    array = np.array([1, None, "a", (2, None)], dtype=object)
    found = through(array)
    assert found.dtype == object
    assert found.tolist() == array.tolist()
    np.testing.assert_array_equal(through(np.array([b"a", b"bc"])), np.array([b"a", b"bc"]))


def test_what_cannot_be_written_is_named_with_its_place():
    assert new_codec().lost({"f": [1, 2.0]}, "given") is None
    assert "given.f.1 is <built-in function print>" in new_codec().lost({"f": [1, print]}, "given")
    with pytest.raises(Unstorable, match="print"):
        new_codec().pack(print)
    assert through(Unstored("a function")) == Unstored("a function")


def test_what_stands_in_two_places_is_one_thing_again():
    point, array = Point((1,)), np.ones(2)
    first, second = through([point, {"a": Point((point, array))}])
    assert second["a"].place[0] is first


@pytest.mark.parametrize(
    "plain",
    [
        {"is": "Popen", "of": {}, "as": 0},
        {"is": "Point", "of": {"spam": 1}, "as": 0},
        {"is": "Colour", "of": {"name": "GREEN"}, "as": 0},
        {"again": 0},
        {"is": "Point", "of": {"place": {"again": 0}}, "as": 0},
        {"is": "Point"},
        {"array": ["f8", 0, [2], "C"]},
        {"array": ["f8", 0, [1], "C", "more"]},
        {"array": ["i4", 0, [1], "C"]},
        {"array": ["f8", -1, [1], "C"]},
        {"list": [{"array": ["f8", 0, [1], "C"]}] * 2},
        {"spam": 1},
        {},
    ],
)
def test_what_no_file_of_ours_says_is_refused(plain):
    with pytest.raises((LookupError, TypeError, ValueError)):
        new_codec({"f8": np.zeros(1)}).unpack(plain)


RNG = np.random.default_rng(3)
YS = [np.repeat([0, 1, 2], 15)] * 3
XS = [RNG.normal(size=(45, 3)) + 2.0 * RNG.normal(size=(3, 3))[y] for y in YS]


@pytest.mark.parametrize(
    "settings",
    [
        {"solver": CuttingPlane(Stopping(0.05, 50), slack="one", damping=0.5, max_cuts=40)},
        {"solver": CuttingPlane(master=CvxpyMaster("CLARABEL"))},
        {"solver": BlockFrankWolfe(Stopping(0.05, 300), random_state=4)},
        {"solver": ProjectedSubgradient(Stopping(0.2, 300))},
        {"regularizer": SquaredNorm(2.0, center=np.arange(3.0))},
        {"features": HermiteMoments(2), "problem": ChangePoint(min_length=3)},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_settings_come_back_in_model_files(settings, tmp_path):
    before = MetricLearner(**{"metric": "diagonal", **settings}).fit(XS, YS)
    save(before, tmp_path / "m")
    after = load(tmp_path / "m")
    for name, value in settings.items():
        found = getattr(after, name)
        assert type(found) is type(value)
        assert repr(found) == repr(value)
    again = after.fit(XS, YS)
    np.testing.assert_array_equal(again.metric_.factor.T, before.metric_.factor.T)


@pytest.mark.parametrize("solver", [QuasiNewton(Stopping(1e-3, 50)), CCCP(Stopping(1e-3, 50))])
def test_problems_and_solvers_of_cuts_come_back(solver, tmp_path):
    image = GraphOfImage(nodes="pixels", radius=1.5, features="colour+position")
    problem = NormalizedCut(image=image, rounding="qr", kappa=0.5)
    picture = np.zeros((6, 8))
    picture[:, 4:] = 0.8
    picture += 0.02 * np.random.default_rng(0).random((6, 8))
    learner = MetricLearner(problem, solver=solver).fit([picture], [np.indices((6, 8))[1] // 4])
    save(learner, tmp_path / "m")
    after = load(tmp_path / "m")
    assert after.problem_ == learner.problem_ == problem
    assert after.solver == solver
    np.testing.assert_array_equal(after.predict(picture)[0], learner.predict(picture)[0])
