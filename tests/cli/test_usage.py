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

    @pytest.mark.parametrize(
        "command",
        ["", "fit", "predict", "evaluate", "show", "plot", "demo", "problems", "oracles", "new"],
    )
    def test_help(self, run, command):
        code, out, err = run(f"{command} --help")
        assert (code, err) == (0, "")
        assert out.startswith(f"usage: structsvm {command}".rstrip())
        assert "\x1b" not in out  # no colours where nobody sees them

    def test_nothing_to_do_shows_the_help(self, run):
        code, out, err = run("")
        assert (code, out) == (2, "")
        assert "examples:" in err

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("learn", "invalid choice: 'learn'"),
            ("fit classes train -o x", "invalid choice: 'classes' (choose from"),
            ("fit change-point train", "the following arguments are required: -o/--output"),
            ("fit change-point train -o x --metric round", "(choose from full, diagonal)"),
            ("fit change-point train -o x --regularizer l3", "(choose from squared, trace)"),
            ("fit change-point train -o x --lam much", "invalid float value: 'much'"),
            ("predict m.structsvm test --n-segments 0", "expected an integer >= 1, got '0'"),
            ("evaluate m.structsvm test --n-segments all", "an integer >= 1 or 'true', got 'all'"),
        ],
    )
    def test_wrong_usage(self, run, line, message):
        code, out, err = run(line)
        assert (code, out) == (2, "")
        assert message in err.replace("'full', 'diagonal'", "full, diagonal").replace(
            "'squared', 'trace'", "squared, trace"
        )
        assert err.endswith("--help\n")


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

    @pytest.mark.skipif(os.name == "nt", reason="no SIGPIPE on Windows")
    def test_a_reader_that_leaves_is_no_error(self, folder):
        program = f"{sys.executable} -m structsvm predict m.structsvm test --quiet | true"
        done = subprocess.run(
            program, shell=True, cwd=folder, capture_output=True, timeout=LONG, check=False
        )
        assert (done.stdout, done.stderr) == (b"", b"")
