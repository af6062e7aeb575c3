"""The plugins of docs/plugins.md, each in a module of its own as a reader writes it, are whole."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from structsvm import MetricLearner, StructuredSVM, compare_solvers, load, save
from structsvm.testing import check_problem

PAGE = Path(__file__).resolve().parents[1] / "docs" / "plugins.md"
BLOCK = re.compile(r"^```(?:python|py)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = BLOCK.findall(PAGE.read_text(encoding="utf-8"))


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write the block that has a text into a module, and import it."""
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    written = []

    def write(name, holding):
        (block,) = [block for block in BLOCKS if holding in block]
        (tmp_path / f"{name}.py").write_text(block, encoding="utf-8")
        written.append(name)
        return importlib.import_module(name)

    yield write
    for name in written:
        monkeypatch.delitem(importlib.sys.modules, name)


def test_the_plugin_of_one_method(module, rng):
    problem = module("dwell", "class MinDwell").MinDwell(min_length=5)
    ys = [np.repeat([0, 1, 2], [10, 8, 12]), np.repeat([0, 1], [12, 18])]
    Xs = [np.column_stack([4.0 * y, 0.0 * y]) + 0.5 * rng.standard_normal((30, 2)) for y in ys]
    check_problem(problem, Xs, ys)
    found = MetricLearner(problem).fit(Xs, ys).predict_breakpoints(Xs)
    assert found == [[10, 18, 30], [12, 30]]


def test_the_problem_that_is_no_partition(module, monkeypatch, tmp_path, capsys):
    grades = module("grades", "class Grades")
    assert "grades off, on average: 0." in capsys.readouterr().out
    module("test_grades", "def test_grades_keep_the_contract").test_grades_keep_the_contract()
    X, y, Grades = grades.X, grades.y, grades.Grades
    search = GridSearchCV(StructuredSVM(Grades()), {"problem__n_grades": [4, 6]}, cv=2)
    assert search.fit(X, y).best_score_ > -0.5
    found = compare_solvers(Grades(), X, y, ["cutting-plane", "one-slack"], lam=0.1)
    assert all(solution.gap <= 1e-3 for solution in found.solutions.values())
    monkeypatch.setattr("structsvm.learner.files.problem_name", lambda problem: "grades")
    monkeypatch.setattr("structsvm.learner.files.plugin_class", lambda group, name: Grades)
    save(grades.svm, tmp_path / "m.structsvm")
    assert load(tmp_path / "m.structsvm").predict(X) == grades.svm.predict(X)
