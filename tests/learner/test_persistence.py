"""Model files: what comes back, what is refused, and that nothing runs."""

import io
import json
import os
import signal
import stat
import textwrap
from dataclasses import dataclass
from enum import Enum

import cvxpy as cp
import numpy as np
import pytest
from cases import Bomb, cases
from programs import loaded
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from structsvm import ChangePoint, MetricLearner, StateSegmenter
from structsvm.baselines import FrameClassifier
from structsvm.datasets import relevant_changes
from structsvm.errors import ModelFileError, PluginError, SettingsError
from structsvm.features import HermiteMoments, Lags, Union
from structsvm.io import arrays_and_labels
from structsvm.learner.files import MODEL, load, model_codec, save
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.parallel import Serial, Threads
from structsvm.problem import Custom, SquaredNorm, SupportLabelling
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.first_order import BlockFrankWolfe, ProjectedSubgradient
from structsvm.support.codec import Codec, Unstorable, Unstored
from structsvm.support.whole_files import write_atomically

RECORDINGS = relevant_changes(
    4, n_samples=200, n_features=6, n_relevant=2, jump=2.0, random_state=0
)
XS, YS = arrays_and_labels(RECORDINGS)
NAMES = RECORDINGS[0].features


def fitted(baselines=None, **settings) -> MetricLearner:
    learner = MetricLearner(**{"metric": "diagonal", **settings})
    return learner.fit(XS[:3], YS[:3], feature_names=NAMES, baselines=baselines)


@pytest.fixture(scope="module")
def learner() -> MetricLearner:
    return fitted("quick")


@pytest.fixture
def model(learner, tmp_path):
    path = tmp_path / "model.structsvm"
    save(learner, path)
    return path


def complaint(path) -> str:
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value)


def rewrite(path, **changes):
    """Change arrays of a model file and leave the rest of it alone."""
    with np.load(path) as archive:
        arrays = {**archive, **changes}
    buffer = io.BytesIO()
    np.savez(buffer, **{name: value for name, value in arrays.items() if value is not None})
    path.write_bytes(buffer.getvalue())


def header_with(path, **changes):
    return np.frombuffer(json.dumps({**MODEL.read(path)[0], **changes}).encode(), dtype=np.uint8)


class TestRoundTrip:
    @cases(
        {},
        {"metric": "full", "standardize": "training"},
        {"standardize": None, "regularizer": "trace", "lam": np.float64(0.05)},
        {"regularizer": SquaredNorm(center=1.0), "solver": CuttingPlane(slack="one")},
        {"regularizer": SquaredNorm(2.0, center=np.arange(6.0))},
        {"problem": ChangePoint(segment_count="known", kappa=0.5)},
        {"problem": ChangePoint(penalty="fixed"), "random_state": 3},
        {"metric": "full", "features": Union(Lags(), HermiteMoments())},
        {"backend": Threads(n_jobs=2)},
        {"solver": CuttingPlane(Stopping(0.05, 50), damping=0.5, master=CvxpyMaster("SCS"))},
        {"solver": BlockFrankWolfe(Stopping(0.05, 300), random_state=4)},
        {"solver": ProjectedSubgradient(Stopping(0.2, 300))},
        ids=repr,
    )
    def test_a_loaded_model_predicts_the_same(self, tmp_path, settings):
        before = fitted(**settings)
        save(before, tmp_path / "m")
        after = load(tmp_path / "m")
        assert after.get_params(deep=False).keys() == before.get_params(deep=False).keys()
        assert repr(after.solver) == repr(before.solver)
        for n_clusters in (None, 4):
            for a, b in zip(
                before.predict(XS, n_clusters), after.predict(XS, n_clusters), strict=True
            ):
                np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(before.transform(XS[3]), after.transform(XS[3]))
        assert before.score(XS, YS) == after.score(XS, YS)

    def test_a_loaded_model_has_everything_that_was_learned(self, learner, model):
        after = load(model)
        assert after.problem_ == learner.problem_
        assert after.solution_.history == learner.solution_.history
        assert after.solution_.summary() == learner.solution_.summary()
        np.testing.assert_array_equal(after.solution_.w, learner.solution_.w)
        np.testing.assert_array_equal(after.calibration_.losses, learner.calibration_.losses)
        assert after.calibration_.penalty == learner.metric_.price == after.metric_.price
        assert after.training_data_ == learner.training_data_
        assert after.converged_ is True
        assert after.feature_names_in_.tolist() == list(NAMES)
        assert after.baselines_.keys() == learner.baselines_.keys() > {"untrained", "pca", "rca"}
        for name, baseline in learner.baselines_.items():
            for a, b in zip(
                baseline.predict_partitions(XS),
                after.baselines_[name].predict_partitions(XS),
                strict=True,
            ):
                assert a == b

    def test_the_same_model_gives_the_same_bytes(self, learner, model):
        save(load(model), model.with_name("again"))
        first = model.read_bytes()
        again = model.with_name("again").read_bytes()
        assert len(first) == len(again)
        assert {**MODEL.read(model)[0]} == MODEL.read(model.with_name("again"))[0]


def ridge(B):
    return cp.sum_squares(B)


def bounded(B):
    return [cp.sum(B) <= 100]


class TestWhatCannotBeStored:
    @cases(("regularizer", Custom(ridge)), ("constraints", bounded))
    def test_functions_are_described_and_refused_on_learning(self, tmp_path, name, value):
        save(fitted(**{name: value}), tmp_path / "m")
        after = load(tmp_path / "m")
        after.predict(XS)
        with pytest.raises(
            SettingsError, match=f"{name} was .*{'ridge' if name == 'regularizer' else 'bounded'}"
        ) as caught:
            after.fit(XS, YS)
        assert f"set_params({name}=...)" in str(caught.value)
        after.set_params(**{name: value}).fit(XS[:2], YS[:2])
        assert after.converged_

    def test_a_users_backend_is_not_stored_and_refused_only_by_fit(self, tmp_path):
        class Mine(Serial):
            pass

        save(fitted(backend=Mine()), tmp_path / "m")
        after = load(tmp_path / "m")
        assert after.predict_breakpoints(XS) == fitted().predict_breakpoints(XS)
        with pytest.raises(SettingsError, match=r"backend was .*set_params\(backend=...\)"):
            after.fit(XS, YS)

    def test_a_users_class_is_named_when_a_model_is_saved(self, tmp_path):
        class Mine(MetricLearner):
            def predict(self, Xs, n_clusters=None, **rules):
                return super().predict(Xs, 3, **rules)

        mine = Mine(metric="diagonal").fit(XS[:2], YS[:2])
        with pytest.raises(
            SettingsError, match=r"got Mine: a model file names no other class; joblib"
        ):
            save(mine, tmp_path / "m")
        assert not list(tmp_path.iterdir())

    def test_a_problem_without_an_entry_point_is_not_saved(self, learner, tmp_path):
        class Mine(ChangePoint):
            pass

        stranger = clone(learner).fit(XS[:2], YS[:2])
        stranger.problem_ = Mine()
        with pytest.raises(PluginError, match=r"Mine has no name: declare it as an entry point"):
            save(stranger, tmp_path / "m")
        assert not list(tmp_path.iterdir())

    def test_save_refuses_other_estimators(self, tmp_path):
        search = GridSearchCV(MetricLearner(), {"lam": [1.0]})
        with pytest.raises(SettingsError, match="or a StructuredSVM, got GridSearchCV"):
            save(search, tmp_path / "m")
        with pytest.raises(SettingsError, match=r"got GridSearchCV: .*give its best_estimator_"):
            save(search.set_params(cv=2).fit(XS, YS), tmp_path / "m")


class TestBadFiles:
    def test_truncated_model_files_are_refused(self, model):
        whole = model.read_bytes()
        for size in (0, 1, 30, len(whole) // 2, len(whole) - 1):
            model.write_bytes(whole[:size])
            assert "damaged, or not a structsvm model" in complaint(model)

    def test_files_that_are_no_models_are_refused(self, tmp_path):
        path = tmp_path / "m"
        for content in (b"hello", b"\x80\x04N.", b"PK\x03\x04" + bytes(100)):
            path.write_bytes(content)
            assert "damaged, or not a structsvm model" in complaint(path)
        np.savez(tmp_path / "data.npz", X=np.eye(2))
        assert "damaged, or not a structsvm model" in complaint(tmp_path / "data.npz")
        np.save(tmp_path / "data.npy", np.eye(2))
        assert "damaged, or not a structsvm model" in complaint(tmp_path / "data.npy")

    def test_model_files_that_lack_arrays_are_refused(self, model):
        rewrite(model, **{"0": None})
        assert "no model of format 7" in complaint(model)
        rewrite(model, header=None)
        assert "not a structsvm model" in complaint(model)

    @cases((8, "update structsvm-partitioning"), (6, "learn again with this"))
    def test_model_files_of_other_formats_are_refused(self, model, version, way):
        rewrite(model, header=header_with(model, version=version))
        message = complaint(model)
        assert f"a model of format {version}, and this version of structsvm reads form" in message
        assert way in message

    def test_model_files_with_a_wrong_header_are_refused(self, model):
        for content in (b"\xff", b"[]", b"{}", b"3"):
            rewrite(model, header=np.frombuffer(content, dtype=np.uint8))
            assert "damaged, or not a structsvm model" in complaint(model)

    @cases(
        ("problem_", {"is": "problem os", "of": {}}, "no problem is called 'os'"),
        (
            "problem_",
            {"is": "problem change-point", "of": {"spam": 1}, "as": 99},
            "no model of format 7",
        ),
        ("regularizer", {"is": "Popen", "of": {"args": "ls"}}, "KeyError"),
        ("regularizer", {"is": "sklearn os.system", "of": {}}, "KeyError"),
        ("baselines_", {"is": "subprocess.Popen", "of": {"args": "ls"}}, "KeyError"),
        ("model_", {"is": "Metric", "from": {}}, "KeyError"),
    )
    def test_a_class_that_is_not_trusted_is_refused_and_nothing_runs(
        self, model, monkeypatch, name, value, message
    ):
        monkeypatch.setattr("subprocess.Popen.__init__", pytest.fail)
        learner = MODEL.read(model)[0]["learner"]
        learner["of"][name] = {**value, "as": 99}
        rewrite(model, header=header_with(model, learner=learner))
        assert message in complaint(model)

    @pytest.mark.parametrize(
        "name", ["model_", "problem_", "training_data_", "inputs_", "baselines_", "lam", "solver"]
    )
    def test_model_files_that_lack_a_part_of_the_learner_are_refused(self, model, name):
        learner = MODEL.read(model)[0]["learner"]
        del learner["of"][name]
        rewrite(model, header=header_with(model, learner=learner))
        message = complaint(model)
        assert "no model of format" in message
        assert name in message or "KeyError" in message  # others refer to it

    @pytest.mark.parametrize("name", ["factor", "price"])
    def test_model_files_that_lack_a_part_of_the_metric_are_refused(self, model, name):
        learner = MODEL.read(model)[0]["learner"]
        del learner["of"]["model_"]["of"][name]
        rewrite(model, header=header_with(model, learner=learner))
        assert name in complaint(model)

    def test_model_files_with_data_in_place_of_a_method_are_refused(self, model):
        learner = MODEL.read(model)[0]["learner"]
        learner["of"]["predict"] = 3
        rewrite(model, header=header_with(model, learner=learner))
        assert "in place of its methods predict" in complaint(model)

    @pytest.mark.parametrize("name", ["lam", "constraints", "solver"])
    def test_model_files_whose_settings_expand_by_references_are_refused(self, model, name):
        value = {"is": "Unstored", "of": {"description": "a function"}, "as": 1000}
        for k in range(1000, 1040):
            pair = {"list": [value, {"again": k}]}
            value = {"is": "Lags", "of": {"lags": pair}, "as": k + 1}
        learner = MODEL.read(model)[0]["learner"]
        learner["of"][name] = value
        rewrite(model, header=header_with(model, learner=learner))
        assert "no model of format" in complaint(model)

    def test_model_files_of_another_object_are_refused(self, model):
        rewrite(model, header=header_with(model, learner={"is": "Serial", "of": {}, "as": 99}))
        assert "it holds a Serial" in complaint(model)

    def test_pickles_in_model_files_are_never_loaded(self, model):
        rewrite(model, f8=np.array([Bomb()], dtype=object))
        assert "damaged, or not a structsvm model" in complaint(model)


class TestWriting:
    @pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
    def test_a_kill_while_saving_leaves_the_old_file(self, model):
        before = model.read_bytes()
        code = textwrap.dedent(
            f"""
            import os, signal
            from dataclasses import replace
            from structsvm.learner.files import load, save
            learner = load({str(model)!r})
            learner.model_ = replace(learner.metric_, price=1.0)
            os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
            save(learner, {str(model)!r})
            """
        )
        done = loaded(code)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert model.read_bytes() == before
        assert load(model).metric_.price != 1.0

    def test_saving_keeps_permissions_and_links(self, tmp_path):
        real = tmp_path / "real"
        link = tmp_path / "link"
        real.write_bytes(b"old")
        real.chmod(0o640)
        link.symlink_to(real)
        write_atomically(link, b"new")
        assert link.is_symlink()
        assert real.read_bytes() == b"new"
        assert stat.S_IMODE(real.stat().st_mode) == 0o640

    def test_saving_does_not_replace_devices(self):
        write_atomically(os.devnull, b"gone")
        assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


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


VALUES = {  # plain values: tests/test_settings_travel.py
    "mapping": {"a": (1, 2), 3: {"b": [None]}, (1, 2): "pair"},
    "set": {1, 2, 3},
    "enum": Colour.BLUE,
    "instance": Point((1, (2, 3)), Colour.BLUE),
    "nested instances": [Point((Point(()), {"x": Point((0,))}))],
}


def through(value):
    """As a file has it: the JSON is text in between."""
    codec = new_codec()
    packed = json.dumps(codec.pack(value), allow_nan=False)
    return new_codec(codec.arrays).unpack(json.loads(packed))


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("method", [StateSegmenter, FrameClassifier])
def test_a_recording_of_one_state_leaves_classifiers_that_are_kept(tmp_path, method, n):
    """Where the others hold one state alone, a held-out classifier has nothing to tell apart."""
    rng = np.random.default_rng(0)
    ys = [np.repeat(["a", "b"], 20), *np.full((n - 1, 30), "a")]
    Xs = [rng.normal(size=(len(y), 2)) + 4.0 * (y == "b")[:, None] for y in ys]
    learner = method().fit(Xs, ys)
    path = tmp_path / "model.structsvm"
    save(learner, path)
    pairs = zip(load(path).predict(Xs), learner.predict(Xs), strict=True)
    assert all((one == other).all() for one, other in pairs)


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_values_come_back_with_their_types(value):
    found = through(value)
    assert found == value
    assert type(found) is type(value)


@cases(
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.zeros((0, 4)),
    np.array(3.5),
    np.array([True, False]),
    np.array([1, 2], dtype=np.int8),
)
def test_arrays_keep_shape_type_and_bits(array):
    for found in (through(array), through({"a": (array,)})["a"][0]):
        np.testing.assert_array_equal(found, array)
        assert (found.dtype, found.shape) == (array.dtype, array.shape)


def test_values_that_cannot_be_stored_are_named_with_their_place():
    assert new_codec().lost({"f": [1, 2.0]}, "given") is None
    assert "given.f.1 is <built-in function print>" in new_codec().lost({"f": [1, print]}, "given")
    with pytest.raises(Unstorable, match="print"):
        new_codec().pack(print)
    assert through(Unstored("a function")) == Unstored("a function")


def test_a_field_with_its_older_name_is_read():
    codec = model_codec()
    packed = codec.pack(SupportLabelling(3, 0.5, None, None, 1.0, (2.0, np.ones(2))))
    packed["of"]["sample"] = packed["of"].pop("instance")
    found = model_codec(codec.arrays).unpack(packed)
    assert (found.instance, found.multiplier, found.plane[0]) == (3, 0.5, 2.0)


def test_an_object_in_two_places_is_one_object_when_loaded():
    point = Point((1,))
    array = np.ones(2)
    first, second = through([point, {"a": Point((point, array))}])
    assert second["a"].place[0] is first


def nested(inside, depth=40):
    """Each of ``depth`` values holds the one before it twice."""
    value = {"is": "Point", "of": {"place": 1, "colour": 0}, "as": 0}
    for k in range(depth):
        parts = {"place": inside(value, {"again": k}), "colour": 0}
        value = {"is": "Point", "of": parts, "as": k + 1}
    return value


DOUBLED = {
    "list": lambda a, b: {"list": [a, b]},
    "tuple": lambda a, b: {"tuple": [{"tuple": [a]}, b]},
    "mapping": lambda a, b: {"dict": [["x", a], ["y", b]]},
    "objects": lambda a, b: {"objects": [[a, b], [2]]},
}


@pytest.mark.parametrize("inside", DOUBLED.values(), ids=DOUBLED)
def test_files_that_expand_by_references_are_refused(inside):
    with pytest.raises(ValueError, match="references"):
        new_codec().unpack(nested(inside))
    assert isinstance(new_codec().unpack(nested(inside, depth=5)), Point)


def test_values_that_expand_by_references_are_not_written():
    point = Point(())
    for _ in range(40):
        point = Point((point, point))
    with pytest.raises(Unstorable):
        new_codec().pack(point)


def test_a_placeholder_for_an_unstored_value_needs_a_text():
    with pytest.raises(TypeError, match="described by a text"):
        new_codec().unpack({"is": "Unstored", "of": {"description": {"list": []}}, "as": 0})


@cases(
    {"is": "Popen", "of": {}, "as": 0},
    {"is": "Point", "of": {"spam": 1}, "as": 0},
    {"is": "Point", "of": {"place": 1}, "as": 0},
    {"is": "Colour", "of": {"name": "GREEN"}, "as": 0},
    {"again": 0},
    {"is": "Point", "of": {"place": {"again": 0}}, "as": 0},
    {"is": "Point"},
    {"array": "1"},
    {"array": ["f8", 0, [1], "C"]},
    {"list": [{"array": "0"}] * 2},
    {"spam": 1},
    {},
)
def test_content_that_no_file_of_ours_has_is_refused(plain):
    with pytest.raises((LookupError, TypeError, ValueError)):
        new_codec({"0": np.zeros(1)}).unpack(plain)
