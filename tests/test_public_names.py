"""The public names: all there, each loaded on first use."""

import subprocess
import sys
from importlib import import_module

import pytest
from public_rooms import MODULES
from public_rooms import ROOMS as PUBLIC

ROOMS = tuple(room for room in PUBLIC if room not in MODULES)
NAMES = [(room, name) for room in ROOMS for name in import_module(room).__all__]


@pytest.mark.parametrize(("room", "name"), NAMES)
def test_every_public_name_is_there(room, name):
    package = import_module(room)
    value = getattr(package, name)
    assert name == "__version__" or name.isupper() or value.__name__ == name
    assert name in dir(package)
    assert name in vars(package), "it is not kept, but looked up on every use"


def test_one_name_stands_for_one_thing():
    things = {}
    for room, name in NAMES:
        things.setdefault(name, set()).add(id(getattr(import_module(room), name)))
    assert {name: ids for name, ids in things.items() if len(ids) > 1} == {}


# structsvm.modeling registers a method of cvxpy, and so loads it.
@pytest.mark.parametrize("room", sorted(set(ROOMS) - {"structsvm.modeling"}))
def test_importing_loads_nothing_slow(room):
    code = f"import sys, {room}; print(*sorted(m.partition('.')[0] for m in sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "structsvm" in loaded.stdout.split()
    slow = {"cvxpy", "matplotlib", "numba", "numpy", "pandas", "scipy", "sklearn"}
    assert not slow & set(loaded.stdout.split())
