"""Help, wrong usage, and the command as a process of its own."""

import json
import os
import subprocess
import sys

import pytest

import structsvm

LONG = 300  # seconds after which a subprocess is stuck


class TestHelpAndUsage:
    def test_version(self, run):
        assert run("--version") == (0, f"structsvm {structsvm.__version__}\n", "")

    def test_nothing_to_do_shows_the_help(self, run):
        code, out, err = run("")
        assert (code, out) == (2, "")
        assert "examples:" in err

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("learn", "invalid choice: 'learn'"),
            ("fit classes train -o x", "invalid choice: 'classes' (choose from"),
            ("try change-point train", "the following arguments are required: -o/--output"),
            ("fit change-point train -o x --metric round", "(choose from full, diagonal)"),
            ("fit change-point train -o x --lam much", "expected a number > 0 or 'cv', got 'much'"),
            ("predict m.structsvm test --n-clusters 0", "expected an integer >= 1, got '0'"),
            ("evaluate m.structsvm test --n-clusters all", "an integer >= 1 or 'true', got 'all'"),
        ],
    )
    def test_wrong_usage(self, run, line, message):
        code, out, err = run(line)
        assert (code, out) == (2, "")
        assert message in err.replace("'full', 'diagonal'", "full, diagonal")
        assert err.endswith("--help\n")

    @pytest.mark.parametrize(
        ("line", "advice"),
        [
            ("evalute m.structsvm test", "; did you mean evaluate?\n"),
            ("fit changepoint train -o x", "; did you mean change-point?\n"),
            ("fit change-point train -o x --metric diag", "; did you mean diagonal?\n"),
            ("predict m.structsvm test --n_clusters 3", "; did you mean --n-clusters?\n"),
            ("--quiet show m.structsvm", "--quiet: it stands after the command\n"),
            ("show m.structsvm --zzz", "--zzz\n"),
        ],
    )
    def test_what_may_have_been_meant(self, run, line, advice):
        code, out, err = run(line)
        assert (code, out) == (2, "")
        error, hint = err.splitlines(keepends=True)[-2:]
        assert error.endswith(advice)
        assert hint == (
            "try: structsvm --help\n"
            if line.startswith("evalute")
            else f"try: structsvm {next(w for w in line.split() if w[0] != '-')} --help\n"
        )


class TestProcess:
    def python_m(self, *arguments, **settings):
        command = [sys.executable, "-m", "structsvm", *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=LONG, check=False, **settings
        )

    def test_module_is_the_command(self, folder):
        done = self.python_m("show", "m.structsvm", "--json", cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["problem"]["name"] == "change-point"

    def test_ctrl_c_while_it_starts(self):
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
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=LONG
        )
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")

    def test_the_version_needs_no_library(self):
        code = (
            "import sys\nfrom structsvm.cli import main\nmain(['--version'])\n"
            "assert not {'numpy', 'sklearn', 'rich'} & set(sys.modules)"
        )
        subprocess.run([sys.executable, "-c", code], check=True, timeout=LONG)

    @pytest.mark.skipif(os.name == "nt", reason="no SIGPIPE on Windows")
    def test_a_reader_that_leaves_is_no_error(self, folder):
        program = f"{sys.executable} -m structsvm predict m.structsvm test --quiet | true"
        done = subprocess.run(
            program, shell=True, cwd=folder, capture_output=True, timeout=LONG, check=False
        )
        assert (done.stdout, done.stderr) == (b"", b"")
