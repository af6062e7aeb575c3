"""``fit --split states`` and ``try --split states``: a choice for states that nobody labelled."""

import numpy as np
import pytest

from structsvm.cli import main
from structsvm.io import Recording, write_recording
from structsvm.learner.files import load

LEVELS = {"rest": (0.0, 0.0), "walk": (2.0, 0.0), "turn": (0.0, 2.0)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with six short recordings of three states, of three people."""
    folder = tmp_path_factory.mktemp("states")
    (folder / "r").mkdir()
    rng = np.random.default_rng(0)
    for i in range(6):
        y = np.repeat(rng.permutation([*LEVELS, "rest"]), 6)
        X = np.array([LEVELS[name] for name in y]) + rng.normal(scale=0.4, size=(y.size, 2))
        name = f"p{i // 2}_{i}"
        write_recording(Recording(name, X, y, ["a", "b"]), folder / "r" / f"{name}.npz")
    return folder


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """Return a function that runs a command line in the folder: its status and what it says."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")

    def run(line):
        code = main(line.split())
        return code, " ".join(capsys.readouterr().err.split())

    return run


def test_what_is_learned_is_chosen_on_hidden_states(run, folder):
    line = "fit change-point r -o m.structsvm --split states --groups ^p[0-9] --context lags"
    code, err = run(f"{line} --baselines none")
    assert code == 0, err
    assert "chosen on held-out states" in err
    assert "recordings with a state that the metric was not learned from" in err
    assert len(load(folder / "m.structsvm").training_data_) == 6
