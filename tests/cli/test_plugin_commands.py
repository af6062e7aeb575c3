"""structsvm problems, oracles and new; settings of any problem on the command line."""

import json
from types import SimpleNamespace

import pytest

from structsvm import load


class TestLists:
    @pytest.mark.parametrize(
        ("kind", "name", "cls", "summary"),
        [
            ("problems", "change-point", "structsvm.problems.change_point:ChangePoint", "Segment "),
            ("oracles", "sequential", "structsvm.oracles.sequential:SequentialOracle", "M"),
        ],
    )
    def test_our_own_are_there(self, run, kind, name, cls, summary):
        code, out, err = run(f"{kind} --json")
        assert (code, err) == (0, "")
        (own,) = (plugin for plugin in json.loads(out)[kind] if plugin["name"] == name)
        assert own["value"] == cls
        assert own["distribution"].startswith("structsvm-partitioning ")
        assert own["summary"].startswith(summary)
        code, out, err = run(kind)
        assert (code, err) == (0, "")
        assert name in out
        assert cls in out

    def test_one_that_is_broken_is_a_warning(self, run, monkeypatch):
        def load():
            raise ImportError("no module named their")

        point = SimpleNamespace(name="theirs", value="their:Thing", dist=None, load=load)
        monkeypatch.setattr("structsvm.plugins.entry_points", lambda group: [point])
        code, out, err = run("problems")
        assert code == 0
        assert "cannot be used" in out
        assert "warning: problem 'theirs' (their:Thing) cannot be loaded: ImportError: no m" in err


class TestSettings:
    def test_any_setting_reaches_the_problem(self, run, tmp_path):
        line = "fit change-point train --metric diagonal -q --set problem.kappa=0.5"
        line += " --set problem.segment_count=known"
        assert run(f"{line} -o", tmp_path / "m")[0] == 0
        problem = load(tmp_path / "m").problem_
        assert (problem.segment_count, problem.kappa) == ("known", 0.5)

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ("spam=1", "problem: ChangePoint has no setting 'spam', it has segment_count, penalty"),
            ("kappa=much", "kappa must be from 1e-12 to 1, got 'much'"),
            ("kappa=2", "kappa must be from 1e-12 to 1, got 2"),
            ("penalty=free", "penalty must be 'learned' or 'fixed', got 'free'"),
        ],
    )
    def test_what_cannot_be_is_refused(self, refused, tmp_path, setting, message):
        said = refused(f"fit change-point train --set problem.{setting} -o", tmp_path / "m")
        assert message in said

    @pytest.mark.parametrize("setting", ["kappa", "=1"])
    def test_what_is_no_setting_is_wrong_usage(self, run, tmp_path, setting):
        code, _, err = run(f"fit change-point train --set {setting} -o", tmp_path / "m")
        assert code == 2
        assert f"expected NAME=VALUE, got '{setting}'" in err


class TestNew:
    def test_the_files_are_listed(self, run, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        code, out, err = run("new problem ordered --json")
        assert code == 0
        files = json.loads(out)["files"]
        assert all((tmp_path / file).is_file() for file in files)
        assert "structsvm-ordered/structsvm_ordered.py" in files
        assert "pip install -e 'structsvm-ordered[test]' && pytest structsvm-ordered" in err

    @pytest.mark.parametrize("name", ["Ordered", "my_problem", "-x-", "1st", "a/b"])
    def test_a_name_that_cannot_be_is_refused(self, run, tmp_path, name):
        code, out, err = run(f"new problem -o {tmp_path}/new -- {name}")
        assert (code, out) == (1, "")
        assert "a name is lower-case words joined by dashes" in err

    def test_nothing_is_overwritten(self, refused, tmp_path):
        (tmp_path / "mine").write_text("work of a year")
        assert refused(f"new problem ordered -o {tmp_path}") == (
            f"{tmp_path} exists: name a new folder"
        )
        assert refused("new problem change-point") == (
            "a problem 'change-point' is installed: choose another name"
        )
