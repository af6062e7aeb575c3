"""A folder to run command lines in, and two ways to run them."""

import pytest
from cli_kit import TEST, TRAIN

from structsvm.cli import main
from structsvm.io import write_recording


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Return a folder with recordings to learn from, others, and a model."""
    folder = tmp_path_factory.mktemp("cli")
    for name, recordings in (("train", TRAIN), ("test", TEST)):
        (folder / name).mkdir()
        for recording in recordings:
            write_recording(recording, folder / name / f"{recording.name}.npz")
    arguments = ["fit", "change-point", folder / "train", "-o", folder / "m.structsvm"]
    assert main([*map(str, arguments), "--metric", "diagonal", "--quiet"]) == 0
    return folder


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """Return a function that runs a command line in the folder: its status, stdout and stderr."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")

    def run(line, *more):
        try:
            code = main([*line.split(), *map(str, more)])
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def done(run):
    """Return a function that runs a command line that must succeed: its stdout and stderr."""

    def done(line, *more):
        code, out, err = run(line, *more)
        assert code == 0, err
        return out, err

    return done


@pytest.fixture
def refused(run):
    """Return a function that runs a command line that must fail, and gives its message."""

    def refused(line, *more):
        code, out, err = run(line, *more)
        assert (code, out) == (1, "")
        assert "Traceback" not in err
        last = err.strip().splitlines()[-1]
        assert last.startswith("error: ")
        return last.removeprefix("error: ")

    return refused
