"""The public names: all there, each loaded on first use, and nothing slow before that."""

import subprocess
import sys
from importlib import import_module
from inspect import signature
from itertools import chain, product

import pytest
from public_rooms import MODULES, ROOMS

LAZY = [room for room in ROOMS if room not in MODULES]
NAMES = list(chain.from_iterable(product([room], import_module(room).__all__) for room in LAZY))
OPTIONAL = {"PIL", "dask", "distributed", "matplotlib", "openpyxl", "pandas", "polars", "pooch"}
OPTIONAL |= {"pyarrow", "requests", "ruptures", "skimage"}
SLOW = {"cvxpy", "matplotlib", "numba", "numpy", "pandas", "scipy", "sklearn"}


def test_every_public_name_exists_and_stands_for_one_object():
    things = {}
    for room, name in NAMES:
        package = import_module(room)
        value = getattr(package, name)
        assert name == "__version__" or name.isupper() or value.__name__ == name
        assert name in dir(package)
        assert name in vars(package), "it is not kept, but looked up on every use"
        assert things.setdefault(name, value) is value


LOADED = """
import sys
from importlib import import_module
for module in sys.argv[1:]:
    import_module(module)
    print(module, *sys.modules)
"""


def loaded_by(*modules):
    """The modules that are there after each of these was imported, one after another."""
    command = [sys.executable, "-W", "error", "-c", LOADED, *modules]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[0]: set(line.split()[1:]) for line in printed.splitlines()}


def test_every_name_that_the_package_lists_exists():
    package = import_module("structsvm")
    assert all(getattr(package, name) is not None for name in dir(package) if name[0] != "_")


def test_importing_the_package_loads_no_slow_library():
    # structsvm.modeling registers a method of cvxpy, and so loads it.
    rooms = [room for room in LAZY if room != "structsvm.modeling"]
    loaded = loaded_by(*rooms, "structsvm.io.files")
    early = {room: loaded[room] & (OPTIONAL | SLOW) for room in rooms}
    assert not any(early.values()), early
    assert "scipy.signal" not in loaded["structsvm.io.files"]


def test_the_learner_loads_nothing_that_estimators_of_scikit_learn_do_not():
    learner = "structsvm.learner.metric_learner"
    loaded = loaded_by("sklearn.base", learner)
    others = {name for name in loaded[learner] if name.split(".")[0] != "structsvm"}
    assert others - loaded["sklearn.base"] == set()


def test_help_says_what_an_instance_is_made_of():
    made = signature(import_module("structsvm.features").StateScores)
    assert list(made.parameters)[:2] == ["estimator", "lags"]


@pytest.mark.parametrize("path", ["regularizers", "status", "weights"])
def test_names_of_structsvm_problem_are_importable_by_older_paths(path):
    before = import_module(f"structsvm.{path}")
    now = import_module("structsvm.problem")
    assert all(getattr(before, name) is getattr(now, name) for name in before.__all__)
