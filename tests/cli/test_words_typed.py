"""Whatever is set is set in one way, and help needs no library."""

import argparse
import json
import subprocess
import sys

import pytest

from structsvm import load
from structsvm.cli.settings import as_typed
from structsvm.cli.usage import build_parser, strength
from structsvm.problems.change_point import ChangePoint


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


def test_commands_have_few_options():
    (commands,) = (a for a in build_parser()._actions if a.dest == "command")
    most = {"fit": 24, "predict": 15, "compare": 16, "try": 15}
    for name, parser in commands.choices.items():
        found = [action for action in parser._actions if action.option_strings[1:] != ["--help"]]
        n = sum(bool(action.option_strings) for action in found)
        assert n <= most.get(name, 12), name


def test_moments_are_features_of_change_points(run, tmp_path):
    line = "fit change-point train --context moments --metric diagonal --quiet -o"
    assert run(f"{line} {tmp_path / 'm'} --set features.n_moments=2")[0] == 0
    assert load(tmp_path / "m").inputs_.features.n_moments == 2
    found = json.loads(run("show --json", tmp_path / "m")[1])
    assert found["problem"]["name"] == "change-point"
    assert found["features"] == "HermiteMoments(n_moments=2)"
    assert found["n_metric_features"] == 2 * found["n_features"]
    assert "HermiteMoments(n_moments=2)" in run("show", tmp_path / "m")[1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("normalized-cut train --label-column y", "--label-column is not for normalized-cut"),
        ("normalized-cut train --set solver.master=newton", "solvers of normalized-cut have max"),
        ("clustering train --set problem.segment_count=known", "no setting 'segment_count'"),
        ("change-point train --set solver=cccp", "solver must be a Solver or one of ['auto', 'cut"),
        (
            "change-point train --set files.spam=1",
            "reading has no such parameter, it has",
        ),
        ("change-point train --set files.outside=x", "files.outside=VALUE is for a separate table"),
        (
            "change-point train --set files.skip_lines=x",
            "lines to skip are counted from 1, got 'x'",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(refused, tmp_path, line, message):
    assert message in refused(f"fit {line} -o {tmp_path / 'm'}")
    assert not (tmp_path / "m").exists()


def test_a_command_that_learns_nothing_sets_files_alone(refused):
    said = refused("predict m.structsvm test --set problem.kappa=1")
    assert said == "--set problem.kappa is not for predict, which takes files.NAME"


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("leave it out, ignore='a b', or", "leave it out, --ignore 'a b', or"),
        ("ignore=['a', 'b c'] leaves", "--ignore a --ignore 'b c' leaves"),
        ("(label_column=) is", "(--label-column) is"),
        ("encoding= names", "--set files.encoding=VALUE names"),
        ("skip_lines=[1, 2] leaves", "--set files.skip_lines=1,2 leaves"),
        ("allow more, max_iter= of", "allow more, --set solver.max_iter=VALUE of"),
        ("cluster_count='unknown', or", "cluster_count='unknown', or"),
        ("min_length=5", "--set problem.min_length=5"),
        ("use features=HermiteMoments().", "use --context moments."),
        ("resume= continues", "--checkpoint continues"),
        ("PartialLabels(labels=y) says", "PartialLabels(labels=y) says"),
        ("lam=0.2 (K=3)", "--lam 0.2 (K=3)"),
    ],
)
def test_parameters_in_messages_are_options(text, typed):
    parser = build_parser()
    args = parser.parse_args(["fit", "change-point", "x"])
    args.parser = parser
    assert as_typed(text, args) == typed


def test_a_strength_is_a_number_or_chosen(run, tmp_path):
    line = "fit change-point train --metric diagonal --set solver.tol=0.1 --lam"
    code, _, err = run(f"{line} cv -o {tmp_path / 'm'}")
    assert code == 0, err
    assert "chosen on held-out recordings" in err
    assert load(tmp_path / "m").lam in ChangePoint().traits.lams
    assert run(f"{line[:-5]} -o {tmp_path / 'own'}")[0] == 0
    assert load(tmp_path / "own").lam is None
    assert json.loads(run("show --json", tmp_path / "own")[1])["lam"] == ChangePoint().traits.lam
    with pytest.raises(argparse.ArgumentTypeError):
        strength("much")
