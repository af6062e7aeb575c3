"""Wherever a command prints, it ends in order: closed, full, or without the letters of a name."""

import os
import subprocess
import sys

import numpy as np
import pytest

COMMAND = (sys.executable, "-m", "structsvm")


def ended(arguments, prefix="", **environment):
    """The exit status of a command line of the shell, what it printed, and what it said."""
    words = (*COMMAND, *arguments.split())
    shell = " ".join(f"'{word}'" for word in words) + f" {prefix}"
    done = subprocess.run(
        ["sh", "-c", shell],
        capture_output=True,
        env=os.environ | environment,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout.decode("latin1"), done.stderr.decode("latin1")


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("names") / "caf\xe9\u65e5.csv"
    rng, y = np.random.default_rng(0), np.repeat([0, 1], 20)
    rows = [f"{3 * label + x},{label}" for label, x in zip(y, rng.normal(size=40), strict=True)]
    path.write_text("\n".join(["a,label", *rows]), encoding="utf-8")
    model = path.parent / "model"
    status, _, said = ended(f"fit change-point {path} -o {model} -q")
    assert status == 0, said
    return model, path


def test_letters_that_the_encoding_lacks_are_spelled_out(recording):
    status, found, said = ended("predict -q {} {}".format(*recording), PYTHONIOENCODING="cp1252")
    assert (status, said) == (0, "")
    assert found == "caf\xe9\\u65e5: 20 40\n"


def test_nobody_listens(recording):
    """As for a service that has no stdout."""
    assert ended("predict -q {} {}".format(*recording), ">&-") == (0, "", "")
    assert ended("--version", ">&-") == (0, "", "")


@pytest.mark.parametrize("arguments", ["--help", "fit --help", "problems"])
def test_a_full_disk_under_help(arguments):
    status, _, said = ended(arguments, "> /dev/full")
    assert status == 1
    assert said == "error: No space left on device\n"
