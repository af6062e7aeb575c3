"""The public names: all there, each loaded on first use."""

import subprocess
import sys

import pytest

import structsvm


@pytest.mark.parametrize("name", structsvm.__all__)
def test_every_public_name_is_there(name):
    value = getattr(structsvm, name)
    assert name == "__version__" or value.__name__ == name
    assert name in dir(structsvm)


def test_what_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'MetricLearnr'"):
        structsvm.MetricLearnr  # noqa: B018


def test_importing_loads_nothing_slow():
    code = "import sys, structsvm; print(*sorted(m.partition('.')[0] for m in sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "structsvm" in loaded.stdout.split()
    slow = {"cvxpy", "matplotlib", "numba", "numpy", "pandas", "scipy", "sklearn"}
    assert not slow & set(loaded.stdout.split())
