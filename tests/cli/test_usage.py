"""Help, wrong usage, and the command as a process of its own."""

import io
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from cases import cases
from programs import Command, python

import structsvm
from structsvm import load
from structsvm.cli import main
from structsvm.cli.request import options_for
from structsvm.cli.terminal import Spelling, Terminal, console
from structsvm.cli.usage import build_parser
from structsvm.errors import Code, parameter, wording
from structsvm.problems.change_point import ChangePoint
from structsvm.support.tables import ShortTable

LONG = 300  # seconds after which a subprocess is stuck


class TestHelpAndUsage:
    def test_the_version_option_prints_the_version(self, run):
        assert run("--version") == (0, f"structsvm {structsvm.__version__}\n", "")

    def test_a_command_without_arguments_shows_the_help(self, run):
        code, out, err = run("")
        assert (code, out) == (2, "")
        assert "examples:" in err

    @cases(
        ("learn", "invalid choice: 'learn'"),
        ("fit classes train -o x", "invalid choice: 'classes' (choose from"),
        ("try change-point train", "the following arguments are required: -o/--output"),
        (
            "fit change-point train -o x --metric round",
            "(choose from full, diagonal)",
        ),
        ("fit change-point train -o x --set spam.a=1", "features.NAME=VALUE or files.NAME=VA"),
        ("try change-point train -o x --set lam=1", "problem.NAME=VALUE or files.NAME=VALUE, "),
        ("show m.structsvm --set lam=1", "unrecognized arguments: --set"),
        ("fit change-point train -o x --lam much", "expected a number > 0 or 'cv', got 'much'"),
        ("predict m.structsvm test --n-clusters 0", "expected an integer >= 1, got '0'"),
        ("evaluate m.structsvm test --n-clusters all", "an integer >= 1 or 'true', got 'all'"),
    )
    def test_wrong_usage_ends_with_the_help_command_to_run(self, run, line, message):
        code, out, err = run(line)
        assert (code, out) == (2, "")
        assert message.replace("'", "") in err.replace("'", "")
        assert err.endswith("--help\n")

    @cases(
        ("evalute m.structsvm test", "; did you mean evaluate?\n"),
        ("fit changepoint train -o x", "; did you mean change-point?\n"),
        ("fit change-point train -o x --metric diag", "; did you mean diagonal?\n"),
        ("predict m.structsvm test --n_clusters 3", "; did you mean --n-clusters?\n"),
        ("--quiet show m.structsvm", "--quiet: it stands after the command\n"),
        ("show m.structsvm --zzz", "--zzz\n"),
    )
    def test_misspelled_commands_and_options_are_corrected_in_the_message(self, run, line, advice):
        code, out, err = run(line)
        assert (code, out) == (2, "")
        error, hint = err.splitlines(keepends=True)[-2:]
        assert error.endswith(advice)
        assert hint == (
            "try: structsvm --help\n"
            if line.startswith("evalute")
            else f"try: structsvm {next(w for w in line.split() if w[0] != '-')} --help\n"
        )

    def test_files_without_a_problem_are_told_what_comes_first(self, run, tmp_path):
        _, _, err = run(f"try {tmp_path} -o {tmp_path}/out")
        assert "the problem comes before the files: change-point for recordings" in err
        _, _, err = run(f"try {tmp_path}/none -o {tmp_path}/out")
        assert "comes before the files" not in err


class TestProcess:
    def test_python_m_structsvm_is_the_command(self):
        done = python("-m", "structsvm", "--version")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"structsvm {structsvm.__version__}\n"

    def test_ctrl_c_while_the_command_starts_ends_in_order(self):
        """Whatever the first slow import is: here scikit-learn's."""
        code = (
            "import sys\n"
            "class Interrupted:\n"
            "    def find_spec(self, name, *_):\n"
            "        if name == 'sklearn': raise KeyboardInterrupt\n"
            "sys.meta_path.insert(0, Interrupted())\n"
            "from structsvm.cli import main\n"
            "sys.exit(main(['show', 'm.structsvm']))"
        )
        done = python("-c", code)
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")

    @pytest.mark.skipif(os.name == "nt", reason="no SIGPIPE on Windows")
    def test_a_closed_pipe_is_no_error(self, folder, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        reader = threading.Thread(target=lambda: open(tmp_path / "pipe", "rb").close())
        reader.start()
        command = Command("predict m.structsvm test --quiet", folder, tmp_path / "pipe")
        reader.join()
        assert command.ended()[1] == ""


def test_version_help_and_wrong_usage_load_no_library():
    code = (
        "import sys\nfrom structsvm.cli import main\n"
        "for line in (['--version'], ['--help'], ['fit', '--help'], ['fit', 'nonsense']):\n"
        "    try: main(line)\n"
        "    except SystemExit: pass\n"
        "    heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'cvxpy'} & set(sys.modules)\n"
        "    assert not heavy, (line, heavy)"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


@cases(
    ("normalized-cut train --label-column y", "--label-column is not for normalized-cut"),
    ("normalized-cut train --set solver.master=newton", "no such parameter, it has max_calls"),
    ("clustering train --set problem.segment_count=known", "no setting 'segment_count'"),
    ("change-point train --set solver=cccp", "solver must be a Solver or one of ['auto', 'cut"),
    ("change-point train --set files.spam=1", "reading has no such parameter, it has"),
    ("change-point train --set files.outside=x", "files.outside=VALUE is for a separate table"),
    (
        "change-point train --set files.skip_lines=x",
        "skip_lines must be an integer >= 1, got 'x'",
    ),
)
def test_options_of_fit_that_contradict_each_other_are_refused(refused, tmp_path, line, message):
    assert message in refused(f"fit {line} -o {tmp_path / 'm'}")
    assert not (tmp_path / "m").exists()


def test_predict_sets_only_rules_of_a_problem(refused):
    said = refused("predict m.structsvm test --set problem.kappa=1")
    assert "predict has no such parameter, it has min_length, max_length" in said


def spelled(line, text):
    """A message as the command of a line has it."""
    parser = build_parser()
    args = parser.parse_args(line.split())
    own = getattr(args, "problem", None)
    return Spelling(lambda: options_for(parser, args.command, own))(text)


@cases(
    ("leave it out, " + parameter("ignore", "a b"), "leave it out, --ignore 'a b'"),
    (parameter("ignore", ["a", "b c"]) + " leaves", "--ignore a --ignore 'b c' leaves"),
    ("(" + parameter("label_column") + ") is", "(--label-column) is"),
    (parameter("encoding") + " names", "--set files.encoding=VALUE names"),
    (parameter("skip_lines", [1, 2]) + " leaves", "--set files.skip_lines=1,2 leaves"),
    (parameter("max_iter"), "--set solver.max_iter=VALUE"),
    (parameter("cluster_count", "unknown"), "cluster_count='unknown'"),
    (parameter("min_length", 5), "--set problem.min_length=5"),
    (wording("features=A()", of_files=parameter("context", "moments")), "--context moments"),
    (parameter("resume") + " continues", "--checkpoint continues"),
    (parameter("lam", 0.2) + " (K=3)", "--lam 0.2 (K=3)"),
    (parameter("lam", Code("1e-3")), "--lam 1e-3"),
    (parameter("max_bytes", 300) + " or more", "--set files.max_bytes=300 or more"),
    ("runs/lam=0.1.csv: 'ignore=a'", "runs/lam=0.1.csv: 'ignore=a'"),
)
def test_parameters_in_messages_are_spelled_as_options_of_the_command(text, typed):
    assert spelled("fit change-point x", text) == typed


@cases(
    ("predict m x", ("standardize", "training"), "fit --set standardize=training"),
    ("predict m x", ("metric", "diagonal"), "fit --metric diagonal"),
    ("predict m x", ("cluster_count", "unknown"), "fit --set problem.cluster_count=unknown"),
    ("predict m x", ("missing", "interpolate"), "--set files.missing=interpolate"),
    ("try clustering x -o y", ("metric", "diagonal"), "fit --metric diagonal"),
    ("try clustering x -o y", ("split", "rows"), "--split rows"),
    ("try clustering x -o y", ("kappa", 0.1), "--set problem.kappa=0.1"),
    ("try clustering x -o y", ("unseen_states", "count"), "evaluate --set unseen_states=count"),
    ("compare clustering x", ("lam", 1), "--set lam=1"),
)
def test_a_parameter_of_another_command_is_spelled_with_that_command(line, named, typed):
    assert spelled(line, "use " + parameter(*named)) == f"use {typed}"


def test_a_strength_is_a_number_or_chosen(run, done, tmp_path):
    line = "fit change-point train --metric diagonal --set solver.tol=0.1 --lam"
    _, err = done(f"{line} cv -o {tmp_path / 'm'}")
    assert "chosen on held-out recordings" in err
    assert load(tmp_path / "m").lam in ChangePoint().traits.lams
    assert run(f"{line[:-5]} -o {tmp_path / 'own'}")[0] == 0
    assert load(tmp_path / "own").lam is None
    assert json.loads(run("show --json", tmp_path / "own")[1])["lam"] == ChangePoint().traits.lam


COMMAND = (sys.executable, "-m", "structsvm")


def ended(arguments, prefix="", **environment):
    """The exit status of a command line of the shell, what it printed, and what it said."""
    words = (*COMMAND, *arguments.split())
    shell = " ".join(f"'{word}'" for word in words) + f" {prefix}"
    done = subprocess.run(
        ["sh", "-c", shell],
        capture_output=True,
        env=os.environ | environment,
        timeout=LONG,
        check=False,
    )
    return done.returncode, done.stdout.decode("latin1"), done.stderr.decode("latin1")


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    path = tmp_path_factory.mktemp("names") / "caf\xe9\u65e5.csv"
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    rows = [f"{3 * label + x},{label}" for label, x in zip(y, rng.normal(size=40), strict=True)]
    path.write_text("\n".join(["a,label", *rows]), encoding="utf-8")
    model = path.parent / "model"
    assert main(["fit", "change-point", str(path), "-o", str(model), "-q"]) == 0
    return model, path


def test_letters_that_the_encoding_lacks_are_spelled_out(printed):
    out = printed[0].parent / "out"
    command = Command("predict -q {} {}".format(*printed), out.parent, out, encoding="cp1252")
    assert command.ended() == (0, "")
    assert out.read_text(encoding="cp1252") == "caf\xe9\\u65e5: 20 40\n"


def test_commands_end_well_without_stdout(printed):
    """As for a service that has no stdout."""
    assert Command("predict -q {} {}".format(*printed), printed[0].parent, None).ended() == (0, "")
    assert ended("--version", ">&-") == (0, "", "")


@pytest.mark.parametrize("arguments", ["--help", "problems"])
def test_help_on_a_full_disk_ends_with_an_error(arguments):
    status, _, said = ended(arguments, "> /dev/full")
    assert status == 1
    assert said == "error: No space left on device\n"


COLUMN = "\x1b[2Jspeed<script>alert(1)</script>\x9b31m"
HOSTILE = "a\x1b[2Jb\x9b31mc\x1b]0;title\x07d\x00e\x7f.csv"
LABEL = "\x1b]0;title\x07walk<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Recordings and a model of them."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    for i in range(3):
        rows = [f'"{COLUMN}",b,label']
        for t in range(30):
            name = LABEL if t >= 15 else "rest"
            rows.append(f'{rng.normal() + 3 * (t >= 15)},{rng.normal()},"{name}"')
        (folder / f"\x1b[31mw{i}<b>.csv").write_text("\n".join(rows), encoding="utf-8")
    assert main(["fit", "change-point", str(folder), "-o", str(folder / "m"), "--quiet"]) == 0
    return folder


@cases("fit", "show", "diagnose", "predict", "predict --json", "evaluate")
def test_names_with_control_characters_never_reach_the_terminal(hostile, capsys, line):
    command, *options = line.split()
    files = sorted(map(str, hostile.glob("*.csv")))
    typed = {
        "fit": ["fit", "change-point", *files, "-o", str(hostile / "other"), "--force"],
        "show": ["show", str(hostile / "m")],
    }.get(command, [command, str(hostile / "m"), *files])
    assert main([*typed, *options]) == 0
    out, err = capsys.readouterr()
    for control in ("\x1b", "\x9b", "\x07"):
        assert control not in out + err
    if command in ("show", "predict"):
        assert "1b" in out  # the name is there, spelled out


@pytest.fixture
def terminal():
    """On a screen with colours, which a program writes by the same kind of sequences."""
    settings = {"force_terminal": True, "width": 200}
    return Terminal(
        out=console(file=io.StringIO(), **settings), err=console(file=io.StringIO(), **settings)
    )


@cases(
    lambda terminal: terminal.report(None, HOSTILE),
    lambda terminal: terminal.report(None, terminal.beside([(HOSTILE, "feature")])),
    lambda terminal: terminal.report(None, str(ShortTable(HOSTILE, ("feature",), ((HOSTILE,),)))),
    lambda terminal: terminal.note(HOSTILE),
    lambda terminal: terminal.warn(HOSTILE),
    lambda terminal: terminal.error(HOSTILE),
    ids=["text", "facts", "table", "note", "warning", "error"],
)
def test_control_characters_in_output_are_spelled_out(terminal, tell):
    tell(terminal)
    written = terminal.out.file.getvalue() + terminal.err.file.getvalue()
    for command in ("\x1b[2J", "\x9b", "\x1b]", "\x07", "\x00", "\x7f"):
        assert command not in written
    assert r"a\x1b[2Jb\x9b31mc\x1b]0;title" in written
