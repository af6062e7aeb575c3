"""A new plugin package, complete with tests that pass: the place to start one's own problem."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from structsvm.errors import SettingsError
from structsvm.storage.atomic import unwritable, write_atomically

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

BUILD = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"
"""

SETUP = """\
[metadata]
name = structsvm-$name
version = 0.1.0
description = The partitioning problem "$name" for structsvm

[options]
python_requires = >=3.11
py_modules = $module
install_requires =
    structsvm-partitioning

[options.extras_require]
test =
    pytest

[options.entry_points]
structsvm.problems =
    $name = $module:$cls
"""

README = """\
# $name

A partitioning problem for structsvm. To install, test and use it:

    pip install -e '.[test]'
    pytest
    structsvm problems
    structsvm fit $name recordings/ -o my.structsvm

`$module.py` declares which segments are allowed. The test calls `structsvm.testing.check_problem`,
which compares the search with all segmentations of short recordings; run it after every change of
the rule.
"""

MODULE = '''\
"""The partitioning problem "$name"."""

from dataclasses import dataclass
from typing import Any

from structsvm.problems import SegmentProblem


@dataclass(frozen=True)
class $cls(SegmentProblem):
    """Segments of consecutive samples that obey a rule; replace it by your own.

    The fields of this class are its settings; `structsvm fit $name --set NAME=VALUE` sets them.
    For partitions that are not segmentations, derive from structsvm.partitions.PartitionProblem.
    """

    min_length: int = 3

    def allows(self, start: Any, end: Any, n_samples: int) -> Any:
        """Whether samples start, ..., end - 1 may be a segment; start is an array of integers."""
        return end - start >= min(self.min_length, n_samples)
'''

TEST = '''\
"""The problem keeps its contract, and a metric can be learned for it."""

import numpy as np
from $module import $cls

from structsvm import MetricLearner
from structsvm.plugins import problem_class
from structsvm.testing import check_problem


def recordings(seed, n=4, T=30):
    """Return recordings whose first feature tells the partition; replace them by your own."""
    rng = np.random.default_rng(seed)
    ys = [np.repeat([0, 1, 2], np.diff([0, *sorted(rng.choice(range(4, T - 3, 4), 2, False)), T]))
          for _ in range(n)]
    Xs = [np.column_stack([2.0 * (y % 2), np.zeros(T)]) + rng.standard_normal((T, 2)) * [0.3, 2]
          for y in ys]
    return Xs, ys


def test_the_contract_is_kept():
    check_problem($cls(), *recordings(seed=0))


def test_the_name_leads_here():
    assert problem_class("$name") is $cls


def test_learning_finds_the_feature_that_matters():
    learner = MetricLearner($cls(), metric="diagonal").fit(*recordings(seed=0))
    B = learner.get_mahalanobis_matrix()
    assert B[0, 0] > 4 * B[1, 1]
'''

FILES = {
    "pyproject.toml": BUILD,
    "setup.cfg": SETUP,
    "README.md": README,
    "$module.py": MODULE,
    "tests/test_$module.py": TEST,
}


def new_problem(name: str, folder: Path) -> list[Path]:
    """Write a distribution with one problem into a new folder."""
    if not NAME.fullmatch(name):
        raise SettingsError(f"a name is lower-case words joined by dashes, got {name!r}")
    reason = unwritable(folder)
    if reason is not None:
        raise SettingsError(f"{folder}: cannot be written: {reason}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingsError(f"{folder} exists: name a new folder")
    words = {
        "name": name,
        "module": f"structsvm_{name.replace('-', '_')}",
        "cls": "".join(word.capitalize() for word in name.split("-")),
    }
    written = []
    for path, text in FILES.items():
        target = folder / Template(path).substitute(words)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, Template(text).substitute(words).encode())
        written.append(target)
    return written
