"""Whatever is typed: done, an error that is told, or wrong usage; and no file is lost.

The options are those that the parser declares, so that those of tomorrow are tried as well.
"""

import argparse
import contextlib
import io
import json
import os
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from structsvm.cli import main
from structsvm.cli.usage import build_parser
from structsvm.io import Recording, write_recording

COMMANDS = ("fit", "predict", "evaluate", "report", "show", "diagnose", "compare", "plot")
WORDS = [
    *("", "-1", "0", "1", "2", "0.5", "nan", "inf", "1e-200", "1e400", "spam", "true", "a", "b"),
    *("m.structsvm", "train", "train/w0.npz", "gone", "out", "out.csv", "out.html", "out.png"),
    *(
        "label",
        "\x1b[31m",
        "\u202e",
        "cv",
        "diagonal",
        "full",
        "problem.segment_count=known",
        "problem.kappa=2",
        "solver.tol=0.1",
        "features.spam=1",
        "files.encoding=spam",
        "standardize=training",
        "=",
        "x=",
    ),
    *("change-point", "clustering", "normalized-cut", "/dev/null", ".", "w.csv", "regions.csv"),
]
RECORDINGS = ("train/w0.npz", "train/w1.npz")
LONG_RUN = {"--recordings"}
"""Options with which a command may rightly take for ever."""


def options(command):
    """The options of a command, and whether each takes a value."""
    found = {}
    for action in parser_of(command)._actions:
        if action.option_strings and not isinstance(action, argparse._HelpAction):
            found[action.option_strings[-1]] = action
    return {name: action for name, action in found.items() if name not in LONG_RUN}


def parser_of(command):
    (choices,) = [a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction)]
    return choices.choices[command]


@st.composite
def lines(draw):
    """A command line: what is needed mostly, and a few options with any value."""
    command = draw(st.sampled_from(COMMANDS))
    needed = {
        "fit": ["change-point", "train", "-o", "out.structsvm"],
        "compare": [
            "change-point",
            "train",
            "--set",
            "solver.max_iter=3",
            "--solvers",
            "one-slack",
        ],
        "report": ["m.structsvm", "train", "-o", "out.html"],
        "plot": ["m.structsvm", "-o", "out.png"],
        "show": ["m.structsvm"],
    }.get(command, ["m.structsvm", "train"])
    typed = [draw(st.sampled_from(WORDS)) if draw(st.integers(0, 9)) == 0 else w for w in needed]
    known = options(command)
    for name in draw(st.lists(st.sampled_from(sorted(known)), max_size=3)):
        typed.append(name)
        action = known[name]
        if action.nargs == 0:
            continue
        values = [str(c) for c in action.choices] if action.choices else []
        typed.append(draw(st.sampled_from([*values, *values, *WORDS])))
    return [command, *typed]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two short recordings, a table, regions and a model."""
    folder = tmp_path_factory.mktemp("typed")
    (folder / "train").mkdir()
    rng = np.random.default_rng(0)
    for i in range(2):
        y = np.repeat([0, 1, 2], 8)
        X = rng.normal(size=(24, 2)) + 3 * rng.normal(size=(3, 2))[y]
        write_recording(Recording(f"w{i}", X, y, ("a", "b")), folder / "train" / f"w{i}.npz")
    (folder / "w.csv").write_text("a,b,label\n1,2,0\n2,3,0\n9,9,1\n", encoding="utf-8")
    (folder / "regions.csv").write_text("recording,start,end,changes\nw0,0,9,1\n", encoding="utf-8")
    fit = ["fit", "change-point", f"{folder}/train", "-o", f"{folder}/m.structsvm", "--quiet"]
    assert main([*fit, "--metric", "diagonal"]) == 0
    return folder


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@examples(40)
@given(lines())
def test_whatever_is_typed(place, line):
    before, here = contents(place), os.getcwd()
    os.chdir(place)
    out, err = typed(line)
    os.chdir(here)
    code = out.pop()
    assert code in (0, 1, 2), err
    told = "".join(err)
    assert "Traceback" not in told or "--verbose" in line  # which logs where errors come from
    assert "\x1b[31m" not in told + "".join(out)  # what was typed, not what colours it
    if code == 1:
        assert "error: " in told
    if code == 0 and "--json" in line:
        json.loads("".join(out))
    after = contents(place)
    changed = [path for path, data in before.items() if after.get(path) != data]
    read = {"m.structsvm", "train/w0.npz", "train/w1.npz"} & {*line, *RECORDINGS}
    assert not {str(path) for path in changed} & read, line
    assert not changed or "--force" in line or "--checkpoint" in line, line
    for path in changed:
        (place / path).write_bytes(before[path])
    for path in set(after) - set(before):
        (place / path).unlink()
    for path in place.iterdir():
        if path.is_dir() and path.name != "train":
            shutil.rmtree(path)


def typed(line):
    """Run a command line: what it prints, its exit status last, and what it tells."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(line)
        except SystemExit as end:
            code = end.code
    return [out.getvalue(), code], [err.getvalue()]
