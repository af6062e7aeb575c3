"""Files that cannot be written, are left behind, are larger than they look, or have odd names."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pytest
from enumerated import listed_risk

from structsvm.atomic import write_atomically
from structsvm.errors import CheckpointWarning
from structsvm.parallel import leftovers
from structsvm.parallel.local import Processes
from structsvm.regularizers import SquaredNorm
from structsvm.solvers import checkpoint
from structsvm.solvers.auto import solver_from
from structsvm.solvers.base import Stopping
from structsvm.weights import PSD


def risk():
    return listed_risk(PSD(3), SquaredNorm(0.05), n_samples=12, n_labels=60, seed=6)


def python(code, *arguments, timeout=120):
    """Run a program of its own; its standard output."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class TestCheckpointsThatCannotBeWritten:
    """Real failures of the file system, to root as well: a limit of size, a folder that is gone."""

    def test_a_full_disk_takes_nothing_from_what_was_learned(self, tmp_path):
        """The disk is full for the first rounds; the file is there once it is not."""
        code = """
            import os, resource, sys, warnings
            sys.path.insert(0, sys.argv[1])
            from enumerated import listed_risk
            from structsvm.errors import CheckpointWarning
            from structsvm.regularizers import SquaredNorm
            from structsvm.solvers import checkpoint
            from structsvm.solvers.auto import solver_from
            from structsvm.solvers.base import Stopping
            from structsvm.weights import PSD

            checkpoint.EVERY, file = 0.0, sys.argv[2]
            risk = listed_risk(PSD(3), SquaredNorm(0.05), n_samples=12, n_labels=60, seed=6)
            method = solver_from("cutting-plane", Stopping(1e-4, 14))
            there = []

            def room(size):
                hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))

            def callback(entry):
                there.append(os.path.exists(file))
                room(hard if entry.iteration >= 3 else 64)

            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            expected = method.solve(risk)
            room(64)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                found = method.solve(risk, callback, resume=file)
            room(hard)
            assert found.w.tobytes() == expected.w.tobytes()
            assert [w.category for w in told] == [CheckpointWarning], told
            assert "cannot be written" in str(told[0].message), told[0]
            assert there[:4] == [False] * 4 and there[-1], there
            assert os.listdir(os.path.dirname(file)) == ["run.npz"]
            again = method.solve(risk, resume=file)
            assert again.w.tobytes() == expected.w.tobytes()
            print("done")
        """
        out = python(code, Path(__file__).parent, tmp_path / "run.npz")
        assert out == "done\n"

    @pytest.mark.parametrize("name", ["cutting-plane", "one-slack", "frank-wolfe", "subgradient"])
    def test_a_folder_that_is_gone_and_comes_back(self, name, tmp_path, monkeypatch):
        monkeypatch.setattr(checkpoint, "EVERY", 0.0)
        folder, away = tmp_path / "state", tmp_path / "away"
        folder.mkdir()
        file = folder / "run.npz"
        method = solver_from(name, Stopping(1e-6, 8))

        def callback(entry):
            if entry.iteration == 0:
                folder.rename(away)
            if entry.iteration == 2:
                folder.mkdir()

        with pytest.warns(CheckpointWarning, match=r"run.npz: cannot be written: No such") as told:
            found = method.solve(risk(), callback, resume=file)
        assert len([w for w in told if w.category is CheckpointWarning]) == 1
        np.testing.assert_array_equal(found.w, method.solve(risk()).w)
        assert file.is_file()


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Return the folder of temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


class TestCopiesOfRecordings:
    def test_they_are_readable_by_the_owner_alone(self, temporary):
        before = os.umask(0)
        try:
            with Processes(2).open(["some", "recordings"]):
                (folder,) = temporary.iterdir()
                modes = [stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()]
                assert stat.S_IMODE(folder.stat().st_mode) == 0o700
                assert modes == [0o600, 0o600]
        finally:
            os.umask(before)
        assert not list(temporary.iterdir())

    def test_those_of_a_killed_process_are_removed_by_the_next(self, temporary):
        code = """
            import sys, time
            from structsvm.parallel.local import Processes
            with Processes(1).open(["precious"]):
                print("open", flush=True)
                time.sleep(600)
        """
        environment = os.environ | {"TMPDIR": str(temporary)}
        command = [sys.executable, "-c", textwrap.dedent(code)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert process.stdout is not None
        with process, process.stdout:
            assert process.stdout.readline() == "open\n"
            (left,) = temporary.iterdir()
            leftovers.remove()
            assert left.exists()  # it is at work
            os.kill(process.pid, signal.SIGKILL)
        assert left.exists()
        with Processes(1).open(["other"]):
            assert not left.exists()

    def test_a_number_that_another_process_has_now(self, temporary):
        name = leftovers.prefix()
        mine = temporary / f"{name}x"
        before, pid = name.rstrip("-").rpartition("-")[0], os.getpid()
        assert before.endswith(f"-{pid}")
        earlier = temporary / f"{before}-1-x"
        elsewhere = temporary / f"structsvm-00000000-{pid}-1-x"
        strange = temporary / "structsvm-mine"
        target = temporary / "target"
        for folder in (mine, earlier, elsewhere, strange, target):
            folder.mkdir()
        link = temporary / f"{before}-2-x"
        link.symlink_to(target)
        leftovers.remove()
        assert not earlier.exists()
        for path in (mine, elsewhere, strange, target, link):
            assert path.exists(), path


class TestNames:
    @pytest.mark.parametrize("length", [255, 250, 230])
    def test_the_longest_names_can_be_written(self, tmp_path, length):
        path = tmp_path / ("a" * length)
        for content in (b"first", b"second"):
            write_atomically(path, content)
            assert path.read_bytes() == content
        assert [p.name for p in tmp_path.iterdir()] == [path.name]
