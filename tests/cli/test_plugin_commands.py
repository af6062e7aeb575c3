"""structsvm problems and new; settings of any problem on the command line."""

import json
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from cases import cases

from structsvm.oracles import SequentialOracle
from structsvm.partitions import Oracle
from structsvm.problems import SegmentProblem


class TestLists:
    @cases(
        ("problems", "change-point", "structsvm.problems.change_point:ChangePoint", "Segment "),
        ("oracles", "sequential", "structsvm.oracles.sequential:SequentialOracle", "M"),
    )
    def test_problems_lists_plugins_of_structsvm(self, run, kind, name, cls, summary):
        code, out, err = run("problems --json")
        assert (code, err) == (0, "")
        (own,) = (plugin for plugin in json.loads(out)[kind] if plugin["name"] == name)
        assert own["value"] == cls
        assert own["distribution"].startswith("structsvm-partitioning ")
        assert own["summary"].startswith(summary)
        code, out, err = run("problems")
        assert (code, err) == (0, "")
        assert name in out
        assert cls in out

    def test_problems_warns_of_a_broken_plugin(self, run, monkeypatch):
        def load():
            raise ImportError("no module named their")

        point = SimpleNamespace(name="theirs", value="their:Thing", dist=None, load=load)
        monkeypatch.setattr("structsvm.partitions.plugins.entry_points", lambda group: [point])
        code, out, err = run("problems")
        assert all(line == line.rstrip() for line in out.splitlines())
        assert code == 0
        assert "cannot be used" in out
        assert "warning: problem 'theirs' (their:Thing) cannot be loaded: ImportError: no m" in err


class TestNew:
    def test_new_lists_the_files_of_a_plugin(self, done, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        out, err = done("new problem ordered --json")
        files = json.loads(out)["files"]
        assert all((tmp_path / file).is_file() for file in files)
        assert "structsvm-ordered/structsvm_ordered.py" in files
        assert "pip install -e 'structsvm-ordered[test]' && pytest structsvm-ordered" in err

    @pytest.mark.parametrize("name", ["Ordered", "my_problem", "-x-", "1st", "a/b"])
    def test_new_refuses_an_impossible_name(self, refused, tmp_path, name):
        assert "a name is lower-case words joined by dashes" in refused(
            f"new problem -o {tmp_path}/new -- {name}"
        )

    def test_new_overwrites_neither_a_folder_nor_a_plugin(self, refused, tmp_path):
        (tmp_path / "mine").write_text("work of a year")
        assert refused(f"new problem ordered -o {tmp_path}") == (
            f"{tmp_path} exists: name a new folder"
        )
        assert refused("new problem change-point") == (
            "a problem 'change-point' is installed: choose another name"
        )


@dataclass(frozen=True)
class Stumbling(Oracle):
    """An oracle that fails for long recordings."""

    at: int

    def maximize(self, objective, constraint=None):
        if objective.n_samples >= self.at:
            raise ZeroDivisionError("no labelling")
        return SequentialOracle().maximize(objective, constraint)


@dataclass(frozen=True)
class Failing(SegmentProblem):
    """A problem that fails in one method."""

    where: str = ""
    longest: int = 0

    def allows(self, start, end, n_samples):
        return end > start

    def _fail(self, where):
        if where == self.where:
            raise ZeroDivisionError("boom")

    def encode(self, y, instance):
        self._fail("encode")
        return super().encode(y, instance)

    def decoder(self, instance):
        self._fail("decoder")
        return Stumbling(self.longest) if self.where == "maximize" else super().decoder(instance)


@pytest.fixture
def installed(monkeypatch):
    """As if a distribution declared it."""
    point = SimpleNamespace(name="failing", value="it:Failing", dist=None, load=lambda: Failing)

    def points(group):
        return [point] if group == "structsvm.problems" else []

    monkeypatch.setattr("structsvm.partitions.plugins.entry_points", points)


FILE = "train/synthetic_00.npz"


@cases(
    ("encode", f"{FILE}: Failing.encode raised ZeroDivisionError: boom"),
    ("maximize", "instance 0: Stumbling.maximize raised ZeroDivisionError: no labelling"),
)
def test_fit_names_the_plugin_and_the_sample(refused, installed, tmp_path, where, said):
    error = refused(f"fit failing train -q --set problem.where={where} -o {tmp_path}/m")
    assert error == f"{said}; --verbose shows the traceback"


@pytest.mark.filterwarnings("ignore::structsvm.errors.DataWarning")
def test_predict_and_other_commands_name_the_plugin_and_the_sample(
    refused, run, installed, tmp_path, monkeypatch
):
    model = tmp_path / "m"
    assert run(f"fit failing train -q --metric diagonal --baselines none -o {model}")[0] == 0
    monkeypatch.setattr(Failing, "_fail", lambda self, at: 1 // (at != "decoder"))
    error = refused(f"predict {model} test -q -o {tmp_path}/out")
    assert ": Failing.decoder raised ZeroDivisionError" in error
    assert error.endswith("; --verbose shows the traceback")


def test_verbose_fit_shows_the_traceback_of_a_plugin(run, installed, tmp_path):
    line = f"fit failing train --verbose --set problem.where=encode -o {tmp_path}/m"
    code, _, err = run(line)
    assert code == 1
    assert "ZeroDivisionError" in err
    assert "self._fail" in err


@dataclass(frozen=True)
class Particular(SegmentProblem):
    """A problem that looks at its settings when it is made."""

    longest: int = 9

    def __post_init__(self):
        if self.longest < 5:
            raise ValueError(f"longest is {self.longest}")

    def allows(self, start, end, n_samples):
        return end - start <= self.longest


def test_a_setting_that_a_plugin_refuses_is_one_line(refused, monkeypatch, tmp_path):
    point = SimpleNamespace(name="picky", value="it:Picky", dist=None, load=lambda: Particular)
    monkeypatch.setattr("structsvm.partitions.plugins.entry_points", lambda group: [point])
    error = refused(f"fit picky train -q --set problem.longest=2 -o {tmp_path}/m")
    assert error == "problem picky: longest is 2"
