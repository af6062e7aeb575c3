"""The words that can be typed are those of what they stand for, and help needs no library."""

import argparse
import json
import subprocess
import sys

import pytest

from structsvm import load
from structsvm.cli import names
from structsvm.cli.parser import strength
from structsvm.cli.settings import FEATURES, Kind
from structsvm.compare import DEFAULT_SOLVERS
from structsvm.features import HermiteMoments
from structsvm.io.indicators import LABELS_ARE
from structsvm.learner.settings import REGULARIZERS
from structsvm.parallel.auto import BACKEND_NAMES
from structsvm.problems.change_point import ChangePoint
from structsvm.solvers.auto import DESCENT_NAMES, SOLVER_NAMES


def test_names_are_those_of_the_library():
    assert set(names.SOLVERS) == {*SOLVER_NAMES, *DESCENT_NAMES}
    assert names.COMPARED == DEFAULT_SOLVERS
    assert sorted(names.REGULARIZERS) == sorted(REGULARIZERS)
    assert names.BACKENDS == BACKEND_NAMES
    assert names.LABELS_ARE == LABELS_ARE
    assert names.FEATURED.keys() == FEATURES.keys()


@pytest.mark.parametrize("line", [["--help"], ["fit", "--help"], ["fit", "nonsense"]])
def test_help_and_wrong_usage_need_no_library(line):
    code = (
        f"import sys\nfrom structsvm.cli import main\n"
        f"try: main({line})\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'cvxpy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


class TestKinds:
    def test_moments_in_front_of_change_points(self):
        kind = Kind.typed("distribution-change", {"n_moments": "3", "min_length": "4"})
        assert kind.problem == ChangePoint(min_length=4)
        assert isinstance(kind.features, HermiteMoments)
        assert kind.features.n_moments == 3

    def test_settings_within_settings(self):
        problem = Kind.typed("normalized-cut", {"n_superpixels": "40", "kappa": "0.5"}).problem
        assert (problem.image.n_superpixels, problem.kappa) == (40, 0.5)

    def test_a_kind_has_its_name_in_every_command(self, run, tmp_path):
        line = "fit distribution-change train --metric diagonal --set n-moments=2 --quiet -o"
        assert run(line, tmp_path / "m")[0] == 0
        assert load(tmp_path / "m").inputs_.features.n_moments == 2
        found = json.loads(run("show --json", tmp_path / "m")[1])
        assert found["problem"]["name"] == "distribution-change"
        assert found["problem"]["settings"]["n_moments"] == 2
        assert found["n_metric_features"] == 2 * found["n_features"]
        code, out, err = run("show", tmp_path / "m")
        assert code == 0, err
        assert "distribution-change (n_moments 2, segment_count unknown" in out
        for command in ("predict", "evaluate"):
            code, _, err = run(f"{command} {tmp_path / 'm'} test")
            assert code == 0, err
        listed = json.loads(run("problems --json")[1])["problems"]
        (own,) = (plugin for plugin in listed if plugin["name"] == "distribution-change")
        assert own["settings"]["n_moments"] == 5

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("distribution-change train --set n_moments=0", "n_moments must be from 1 to 50"),
            ("distribution-change train --set n_moments=few", "n_moments must be int, got 'few'"),
            ("distribution-change train --set spam=1", "has no setting 'spam', it has n_moments"),
            ("change-point train --masks train", "--masks is not for change-point: leave it out"),
            ("normalized-cut train --label-column y", "--label-column is not for normalized-cut"),
            ("normalized-cut train --master newton", "--master is not for normalized-cut"),
            ("clustering train --known-segments", "--known-segments is not for clustering"),
            ("change-point train --solver cccp", "--solver cccp is not for change-point: it has"),
        ],
    )
    def test_what_does_not_go_together_is_refused(self, refused, tmp_path, line, message):
        assert message in refused(f"fit {line} -o {tmp_path / 'm'}")
        assert not (tmp_path / "m").exists()


def test_a_strength_is_a_number_or_chosen(run, tmp_path):
    line = "fit change-point train --metric diagonal --tol 0.1 --lam"
    code, _, err = run(f"{line} cv -o {tmp_path / 'm'}")
    assert code == 0, err
    assert "chosen on held-out recordings" in err
    assert load(tmp_path / "m").lam in ChangePoint().traits.lams
    assert run(f"{line[:-5]} -o {tmp_path / 'own'}")[0] == 0
    assert load(tmp_path / "own").lam is None
    assert json.loads(run("show --json", tmp_path / "own")[1])["lam"] == ChangePoint().traits.lam
    with pytest.raises(argparse.ArgumentTypeError):
        strength("much")
