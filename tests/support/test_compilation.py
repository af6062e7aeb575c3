"""Compiled functions: that they compile is told, and so is that nothing can be kept on disk."""

from __future__ import annotations

import importlib
import sys

import numba
import numpy as np
import pytest
from programs import python

from structsvm.data.columns import column_values, values_of_columns
from structsvm.data.instance import Instance
from structsvm.data.standardize import Standardizer, centre, centred
from structsvm.partitions.in_metric import InMetric
from structsvm.support.compilation import moments, values
from structsvm.support.values import Stack

PROGRAM = """
import resource, sys
if sys.argv[1] == "full disk":
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
from adding import add
print(add(1, 2), add(1.0, 2.0))
"""
ADDING = """
from structsvm.support.compilation import compiled, inner

@inner()
def plus(a, b):
    return a + b

@compiled()
def add(a, b):
    return plus(a, b)
"""


def output(folder, what, **environment):
    (folder / "adding.py").write_text(ADDING)
    (folder / "program.py").write_text(PROGRAM)
    done = python("-B", folder / "program.py", what, **environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("set NUMBA_CACHE_DIR") == 1
    return done


def test_compiled_functions_run_on_a_full_disk(tmp_path):
    done = output(tmp_path, "full disk", NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout == "3 3.0\n"
    assert "File too large" in done.stderr
    assert not [path for path in tmp_path.rglob("*.nb?") if path.stat().st_size]


def test_compiled_functions_run_without_a_writable_folder(tmp_path):
    """As of a package that may only be read, whose user has no home."""
    for name in ("__pycache__", "home"):
        (tmp_path / name).write_text("a file is no folder")
    home = str(tmp_path / "home")
    done = output(tmp_path, "", HOME=home, XDG_CACHE_HOME=home, NUMBA_CACHE_DIR="")
    assert done.stdout == "3 3.0\n"


def test_what_an_earlier_version_kept_with_types_that_moved_is_compiled_again(tmp_path):
    """numba reads the types in its index before it compares the time of the source."""
    kind = "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: int\n    b: int\n"
    program = "from {} import Pair\nfrom adding import add\nprint(add(Pair(1, 2), Pair(3, 4)))\n"
    (tmp_path / "adding.py").write_text(ADDING.replace("a + b", "a.a + b.b"))
    for module in ("earlier", "later", "later"):
        (tmp_path / "earlier.py").write_text(kind if module == "earlier" else "")
        (tmp_path / "later.py").write_text(kind)
        (tmp_path / "program.py").write_text(program.format(module))
        done = python("-B", tmp_path / "program.py", NUMBA_CACHE_DIR=str(tmp_path / "cache"))
        assert (done.stdout, done.stderr) == ("5\n", "")


def test_the_first_compilation_is_logged_once(tmp_path, monkeypatch, capsys):
    """By commands, as what runs for seconds; what is on disk already is read, and not told."""
    from structsvm.cli.app import _messages
    from structsvm.cli.terminal import Terminal
    from structsvm.support import compilation

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "adding.py").write_text(ADDING)
    for told in (1, 0):
        compilation._tell.cache_clear()
        monkeypatch.delitem(sys.modules, "adding", raising=False)
        adding = importlib.import_module("adding")
        with _messages(Terminal()):
            assert adding.add(1, 2) == 3
            assert adding.add(1.0, 2.0) == 3.0
        assert capsys.readouterr().err.count("compiling what has not run on this machine") == told


def test_where_numba_is_told_to_compile_nothing_the_variable_is_named(tmp_path):
    program = (
        "import numpy as np; from structsvm import MetricLearner; "
        "X = np.arange(40.0)[:, None] > 20; MetricLearner().fit([X, X], [[20, 40]] * 2)"
    )
    done = python("-c", program, NUMBA_DISABLE_JIT="1")
    assert "SettingsError: " in done.stderr
    assert "NUMBA_DISABLE_JIT is set, and the search for segments has to be" in done.stderr


# ---- moments of recordings, found in one compiled pass, are those of numpy


def test_moments_are_those_of_numpy_to_the_last_bit():
    rng = np.random.default_rng(3)
    Xs = [rng.normal(3.0, 2.0, (T, 4)) for T in (1, 2, 3, 4, 5, 64, 203)]
    Xs[5][7, 1] = np.nan
    for X, mean, deviation in zip(Xs, *moments(Stack.of(Xs)), strict=True):
        away = X - np.add.reduce(X, axis=0) / len(X)
        np.testing.assert_array_equal(mean, np.add.reduce(X, axis=0) / len(X))
        np.testing.assert_array_equal(deviation, np.sqrt(np.add.reduce(away**2, axis=0) / len(X)))


def test_recordings_side_by_side_are_standardised_as_each_alone():
    rng = np.random.default_rng(3)
    Xs = [rng.normal(3.0, 2.0, (T, 4)) for T in (1, 2, 3, 4, 5, 64, 203)]
    Xs[5][:, 1] = 0.1
    Xs[6][:, 0] = 1e6 + 1e-7 * Xs[6][:, 0]
    standardizer = Standardizer("recording")
    for X, found in zip(Xs, standardizer.of_stack(Stack.of(Xs)).arrays(), strict=True):
        np.testing.assert_array_equal(found, standardizer(X))
    assert not standardizer(Xs[5])[:, 1].any()


def test_least_and_largest_values_are_those_of_numpy_whatever_is_missing():
    rng = np.random.default_rng(3)
    Xs = [rng.normal(3.0, 2.0, (T, 4)) for T in (1, 2, 5, 203)]
    Xs[1][0, 1] = Xs[2][:, 2] = Xs[3][40, 3] = np.nan
    for X, found in zip(Xs, values(Xs), strict=True):
        np.testing.assert_array_equal(found, column_values(X))
    seen = values_of_columns("", [Instance(X) for X in Xs])
    assert not np.isnan(seen).any()
    assert seen[2, 0, 2] == 0.0  # all of it is missing
    assert seen[3, 2, 3] == np.nanmin(Xs[3][:, 3])  # one is


def test_recordings_side_by_side_are_centred_as_each_alone():
    rng = np.random.default_rng(3)
    Xs = [rng.normal(0.0, 2.0, (T, 3)) for T in (1, 2, 5, 64, 203)]
    Xs[1] += 1e6
    Xs[3][:, 2] += 7.0
    Xs[4][5, 0] = np.nan
    Xs[4] += 40.0
    stack = Stack.of(Xs)
    centre(stack)
    for X, found in zip(Xs, stack.arrays(), strict=True):
        np.testing.assert_array_equal(found, centred(X))


@pytest.mark.parametrize(
    "factor", [np.diag([2.0, 3.0, 0.5]), np.eye(3)[:, [2, 0]], np.ones((3, 2))]
)
def test_recordings_side_by_side_are_mapped_as_each_alone(factor):
    rng = np.random.default_rng(3)
    Xs = [rng.normal(size=(T, 3)) for T in (1, 2, 64)]
    mapped = InMetric(factor).of_stack(Stack.of(Xs))
    for X, found in zip(Xs, mapped.arrays(), strict=True):
        np.testing.assert_array_equal(found, InMetric(factor)(X))


def test_arrays_whose_means_lie_within_a_deviation_are_not_centred():
    X = np.random.default_rng(2).normal(size=(500, 4))
    assert centred(X) is X
