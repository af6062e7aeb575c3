"""What newcomers met: notes that say nothing, options that Python is named for, models lost."""

import os
import signal
import subprocess
import sys

import pytest
from cli_kit import TEST, table

from structsvm import load


def test_a_true_number_without_labels_is_asked_for_in_options(refused, tmp_path):
    (tmp_path / "new").mkdir()
    names = ",".join(load("m.structsvm").feature_names_in_)
    file = table(tmp_path / "new.csv", names + "\n" + "\n".join(["1,2,3,4,5,6", "6,5,4,3,2,1"]))
    said = refused(f"plot m.structsvm {file} --n-clusters true -o {tmp_path}/f.png")
    assert said == "--n-clusters true needs the true labels: give --labels, or a number"


def test_a_process_that_is_killed_while_baselines_are_tuned_leaves_its_model(folder, tmp_path):
    """SIGKILL, which no handler sees."""
    code = (
        "import os, signal, sys\n"
        "from structsvm.baselines import metrics as tuned_metrics\n"
        "from structsvm.cli import main\n"
        "tuned_metrics.fit = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "main(sys.argv[1:])\n"
    )
    line = ["fit", "change-point", "train", "--metric", "diagonal", "-o", str(tmp_path / "m")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, *line], cwd=folder, env=environment, capture_output=True
    )
    assert done.returncode == -signal.SIGKILL
    learner = load(tmp_path / "m")
    assert learner.baselines_.keys() == {"untrained"}
    assert learner.converged_


def test_a_link_to_a_recording_has_its_own_name(run, folder, tmp_path):
    """As in data sets of git-annex, whose files are called by the digits of their content."""
    (tmp_path / "store").mkdir()
    (tmp_path / "data").mkdir()
    for i, recording in enumerate(TEST):
        real = tmp_path / "store" / f"MD5-{i}.npz"
        real.write_bytes((folder / "test" / f"{recording.name}.npz").read_bytes())
        (tmp_path / "data" / f"{recording.name}.npz").symlink_to(real)
    code, _, err = run("predict m.structsvm", tmp_path / "data", "-o", tmp_path / "out")
    assert code == 0, err
    names = {file.name for file in (tmp_path / "out").iterdir()}
    assert names == {f"{recording.name}_segments.csv" for recording in TEST}
    code, out, _ = run("predict m.structsvm", *(tmp_path / "data").iterdir(), tmp_path / "store")
    assert {line.split(":")[0] for line in out.splitlines()} == {f"MD5-{i}" for i in range(4)}


@pytest.mark.parametrize("name", ["out.tsv", "out.json", "out.xlsx", "out.npz", "out.PNG"])
def test_a_folder_is_not_called_like_a_file_that_is_not_written(refused, folder, tmp_path, name):
    """Such a folder was made, with a table in it."""
    message = refused("predict m.structsvm test -o", tmp_path / name)
    assert "files are not written: name a file that ends with .csv, or a folder" in message
    assert not (tmp_path / name).exists()
