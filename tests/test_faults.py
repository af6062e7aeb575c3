"""Faults with the real thing: processes that are killed, disks that are full, two runs at once.

docs/reliability.md has the list of all faults, and the tests of the others.
"""

import io
import operator
import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import dask
import distributed
import numpy as np
import pytest
from enumerated import listed_risk
from recording_cases import changes
from strategies import LONG

from structsvm import DataError, MetricLearner, StructSVMError, load, save
from structsvm.cli import main
from structsvm.errors import CheckpointError, ModelFileError
from structsvm.io import read_recording
from structsvm.parallel import Dask
from structsvm.problem import PSD, SquaredNorm
from structsvm.solvers import CuttingPlane, Stopping, checkpoint, solver_from

XS, YS = changes(4, n_features=3, n_relevant=1)


@pytest.fixture(scope="module")
def learner():
    return MetricLearner(metric="diagonal").fit(XS, YS)


def risk():
    return listed_risk(PSD(3), SquaredNorm(0.05), n_samples=12, n_labels=60, seed=6)


class TestTwoRunsOnOneCheckpoint:
    method = solver_from("cutting-plane", Stopping(1e-4, 14))

    def test_a_second_run_on_one_checkpoint_is_refused_and_the_first_continues(
        self, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)
        file = tmp_path / "run.npz"
        refused = []

        def callback(entry):
            if entry.iteration in (0, 3):
                with pytest.raises(CheckpointError, match="another run keeps its state") as error:
                    self.method.solve(risk(), resume=file)
                refused.append(error)

        found = self.method.solve(risk(), callback, resume=file)
        assert len(refused) == 2
        np.testing.assert_array_equal(found.w, self.method.solve(risk()).w)
        assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]
        self.method.solve(risk(), resume=file)  # the first is over

    def test_a_second_run_is_refused_by_another_name_and_from_another_process(self, tmp_path):
        file = tmp_path / "run.npz"
        link = tmp_path / "link.npz"
        link.symlink_to(file)
        code = """
            import sys
            from pathlib import Path
            from structsvm.solvers.checkpoint import Checkpoint
            with Checkpoint(Path(sys.argv[1]), {}).held():
                print("held", flush=True)
                sys.stdin.read()
        """
        command = [sys.executable, "-c", textwrap.dedent(code), str(link)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other:
            assert other.stdout.readline() == "held\n"
            with pytest.raises(CheckpointError, match="another run"):
                self.method.solve(risk(), resume=file)
            other.kill()
            other.wait()
            self.method.solve(risk(), resume=file)  # the lock ended with the process

    def test_files_left_by_killed_writers_are_removed_by_the_next_run(self, tmp_path):
        from structsvm.support.whole_files import hidden

        file = tmp_path / "run.npz"
        (tmp_path / f"{hidden(file)}-0123.tmp").write_bytes(b"half")
        (tmp_path / ".another-0123.tmp").write_bytes(b"not ours")
        self.method.solve(risk(), resume=file)
        assert sorted(p.name for p in tmp_path.iterdir()) == [".another-0123.tmp", "run.npz"]


KILLED = """
    import sys, time
    from structsvm import MetricLearner
    from structsvm.datasets import relevant_changes
    from structsvm.io import arrays_and_labels
    from structsvm.solvers import CuttingPlane, Stopping, checkpoint

    checkpoint.SECONDS_BETWEEN = 0.0
    recordings = relevant_changes(4, n_samples=200, n_features=3, n_relevant=1, random_state=0)
    print("begun", flush=True)
    solver = CuttingPlane(Stopping(tol=1e-7, max_iter=60))
    learner = MetricLearner(solver=solver)
    slowly = lambda entry: time.sleep(0.02)  # so that signals come while it learns
    learner.fit(*arrays_and_labels(recordings), resume=sys.argv[1], callback=slowly)
    time.sleep(3600)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"] if LONG else ["SIGTERM"])
def test_a_fit_that_is_ended_goes_on_to_the_same_bits(name, tmp_path):
    """At moments that the speed of the machine chooses, many of them in `make fuzz`."""
    file = tmp_path / "run.npz"
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(file)]
    rng = np.random.default_rng(0)
    for _ in range(20 if LONG else 1):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "begun\n"
            time.sleep(rng.uniform(0.02, 0.3))
            process.send_signal(getattr(signal, name))
            assert process.wait() != 0
    solver = CuttingPlane(Stopping(tol=1e-7, max_iter=60))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = [MetricLearner(solver=solver).fit(XS, YS, resume=path) for path in (file, None)]
    assert runs[0].metric_.factor.tobytes() == runs[1].metric_.factor.tobytes()
    assert os.listdir(tmp_path) == ["run.npz"]


class TestPlacesThatCannotBeWritten:
    def test_writing_to_a_full_device_is_refused(self, learner, capsys, monkeypatch, tmp_path):
        """/dev/full has no room for anybody, root included."""
        with pytest.raises(ModelFileError, match="No space left on device"):
            save(learner, "/dev/full")
        save(learner, tmp_path / "m")
        np.savez(tmp_path / "w.npz", X=XS[0], y=YS[0])
        line = ["predict", str(tmp_path / "m"), str(tmp_path / "w.npz"), "-o", "/dev/full"]
        assert main([*line, "--quiet", "--force"]) in (1, 2)
        assert "Traceback" not in capsys.readouterr().err

    def test_writing_to_a_read_only_folder_is_refused(self, learner, tmp_path):
        """Root may write everywhere: the test is somebody else then."""
        model = tmp_path / "m"
        save(learner, model)
        whole = model.read_bytes()
        for path in (tmp_path, *tmp_path.parents[:2]):
            path.chmod(0o555)
        child = os.fork()
        if not child:
            code = 1
            try:
                if os.geteuid() == 0:
                    os.setgid(65534)
                    os.setuid(65534)
                try:
                    save(learner, model)
                except ModelFileError as error:
                    code = 0 if "Permission denied" in str(error) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        for path in (tmp_path, *tmp_path.parents[:2]):
            path.chmod(0o700)
        assert model.read_bytes() == whole
        assert os.listdir(tmp_path) == ["m"]


class TestLinks:
    def test_a_link_to_itself_is_refused_and_may_be_replaced(self, learner, tmp_path):
        loop = tmp_path / "loop"
        loop.symlink_to(loop)
        with pytest.raises(ModelFileError, match="loop"):
            load(loop)
        with pytest.raises(DataError):
            read_recording(loop)
        save(learner, loop)  # leads nowhere, and is replaced
        assert load(loop).metric_.price == learner.metric_.price


class Bomb:
    """What runs when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("exploded",)


def test_pickles_in_checkpoints_and_recordings_never_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bomb = np.array([[Bomb()]], dtype=object)
    np.savez(tmp_path / "run.npz", header=bomb, sha256=np.array("0"))
    np.savez(tmp_path / "walk.npz", X=bomb, y=np.array([0]))
    with pytest.raises(CheckpointError, match="damaged"):
        MetricLearner().fit(XS, YS, resume=tmp_path / "run.npz")
    with pytest.raises(DataError):
        read_recording(tmp_path / "walk.npz")
    assert not Path("exploded").exists()


def test_a_checkpoint_of_another_version_is_refused_by_its_number(tmp_path):
    file = tmp_path / "run.npz"
    MetricLearner().fit(XS, YS, resume=file)
    with np.load(file) as archive:
        arrays = dict(archive)
    header = arrays["header"].tobytes().replace(b'"version": 1', b'"version": 9')
    arrays["header"] = np.frombuffer(header, dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    file.write_bytes(buffer.getvalue())
    with pytest.raises(CheckpointError, match=r"format 9, and this version .* reads format 1"):
        MetricLearner().fit(XS, YS, resume=file)
    assert file.read_bytes() == buffer.getvalue()


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_is_killed_is_an_error(monkeypatch):
    monkeypatch.setattr("structsvm.parallel.cluster.WAIT_FOR_WORKERS", 1.0)
    monkeypatch.setitem(dask.config.config["distributed"]["comm"]["timeouts"], "connect", "2s")
    scheduler = "from distributed.cli.dask_scheduler import main; main()"
    worker = "from distributed.cli.dask_worker import main; main()"
    environment = os.environ | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s"}
    port = "tcp://127.0.0.1:"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"]
    head = subprocess.Popen(
        [sys.executable, "-c", scheduler, *options],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    line = next(line for line in head.stderr if port in line and "Scheduler at" in line)
    address = port + line.split(port)[1].split()[0]
    hand = subprocess.Popen(
        [sys.executable, "-c", worker, address, "--no-dashboard", "--nthreads", "1", "--no-nanny"],
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    try:
        with distributed.Client(address, set_as_default=False, timeout=10) as client:
            client.wait_for_workers(1, timeout=60)
            with Dask(client).open([1, 2, 3]) as session:
                assert session.map(operator.add, 1) == [2, 3, 4]
                head.kill()
                with pytest.raises(StructSVMError, match="scheduler of the Dask cluster does not"):
                    session.map(operator.add, 1)
    finally:
        for process in (head, hand):
            process.kill()
            process.wait()
        head.stderr.close()
