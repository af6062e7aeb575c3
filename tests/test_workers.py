"""Worker processes belong to the process that started them, and none outlives it or holds it up."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from structsvm.errors import DataError, StructSVMError
from structsvm.parallel import Processes
from structsvm.parallel.workers import worker_pids

FIT = """
    import multiprocessing, os, signal, sys, time, warnings
    import numpy as np
    from structsvm import MetricLearner

    def fit(backend="processes"):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], 20)
        Xs = [rng.normal(size=(40, 2)) + 2 * y[:, None] for _ in range(4)]
        return MetricLearner(n_jobs=2, backend=backend).fit(Xs, [y] * 4).solution_.w

    def child(answers):
        answers.put(fit())

    def told_by_child(method):
        context = multiprocessing.get_context(method)
        answers = context.Queue()
        process = context.Process(target=child, args=(answers,))
        process.start()
        w = answers.get(timeout=60)
        answered = time.monotonic()
        process.join(60)
        assert process.exitcode == 0
        assert time.monotonic() < answered + 5
        return w

    if __name__ == "__main__":
        expected = fit("serial")
"""


def script(tmp_path, text):
    path = tmp_path / "run.py"
    path.write_text(textwrap.dedent(FIT) + textwrap.indent(textwrap.dedent(text), " " * 4))
    return [sys.executable, str(path)]


@pytest.mark.parametrize("before", [True, False])
def test_a_forked_child_has_workers_of_its_own_and_exits_at_once(before, tmp_path):
    text = f"""
        if {before}:
            assert np.array_equal(fit(), expected)
        assert np.array_equal(told_by_child("fork"), expected)
        assert np.array_equal(fit(), expected)
    """
    subprocess.run(script(tmp_path, text), check=True, timeout=120)


def test_a_spawned_child_exits_at_once(tmp_path):
    text = 'assert np.array_equal(told_by_child("spawn"), expected)'
    subprocess.run(script(tmp_path, text), check=True, timeout=120)


def test_a_child_that_may_have_no_children_has_workers(tmp_path):
    text = """
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            assert np.array_equal(pool.apply_async(fit).get(60), expected)
            pool.apply_async(warnings.simplefilter, ["error"]).get(60)
            for backend in ("threads", "auto", "processes"):
                assert np.array_equal(pool.apply_async(fit, [backend]).get(60), expected)
    """
    subprocess.run(script(tmp_path, text), check=True, timeout=120)


REMOVE = """
    folder = sys.argv[1]
    os.mkdir(folder)
    os.chdir(folder)
    os.rmdir(folder)
"""


def test_workers_begin_where_the_working_folder_has_been_removed(tmp_path):
    text = REMOVE + "    assert np.array_equal(fit(), expected)"
    subprocess.run([*script(tmp_path, text), tmp_path / "here"], check=True, timeout=120)


def test_a_removed_working_folder_is_named(tmp_path):
    program = "from structsvm.cli import main; main(['fit', 'change-point', 'train', '-o', 'm'])"
    text = "import os, sys\n" + textwrap.dedent(REMOVE) + program
    done = subprocess.run(
        [sys.executable, "-P", "-c", text, tmp_path / "here"],  # as of an installed script
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr.startswith("error: the folder that this program works in has been removed")


def test_workers_end_with_a_process_that_is_killed(tmp_path):
    text = """
        from structsvm.parallel.workers import worker_pids
        fit()
        print(*worker_pids(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    found = subprocess.run(script(tmp_path, text), stdout=subprocess.PIPE, timeout=120, check=False)
    pids = [int(pid) for pid in found.stdout.split()]
    assert len(pids) == 2
    until = time.monotonic() + 5
    while any(is_running(pid) for pid in pids):
        assert time.monotonic() < until


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


def add(part, argument):
    return part + argument


def refuse(part, argument):
    raise DataError(f"part {part}")


class Stubborn(Exception):
    def __reduce__(self):
        raise TypeError("not to be sent")


def refuse_stubbornly(part, argument):
    raise Stubborn("no")


def print_something(part, argument):
    print("words in between")
    os.write(1, b"and bytes")
    return part


def test_errors_come_back_with_the_traceback_there():
    with Processes(2).open([1, 2, 3]) as session:
        with pytest.raises(DataError, match="part 1") as caught:
            session.map(refuse, 0)
        assert "in refuse" in str(caught.value.__cause__)
        with pytest.raises(StructSVMError, match="cannot be sent: Stubborn"):
            session.map(refuse_stubbornly, 0)
        assert session.map(add, 1) == [2, 3, 4]


def test_what_a_task_prints_does_not_get_into_the_answers():
    with Processes(2).open([1, 2, 3]) as session:
        assert session.map(print_something, 0) == [1, 2, 3]


def test_a_python_that_prints_as_it_begins_and_paths_that_are_no_texts(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('hello')")
    text = """
        import pathlib
        sys.path += [pathlib.Path("/nowhere")]
        assert np.array_equal(fit(), expected)
    """
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run(script(tmp_path, text), check=True, timeout=120, env=environment)


@pytest.mark.parametrize("program", [None, "", "/nowhere/python"])
def test_a_python_that_cannot_be_started(program, tmp_path):
    text = f"""
        from structsvm.errors import SettingsError
        sys.executable = {program!r}
        try:
            fit()
        except SettingsError as error:
            assert "use backend='threads'" in str(error)
        else:
            raise AssertionError
    """
    subprocess.run(script(tmp_path, text), check=True, timeout=120)


def test_messages_of_any_size():
    big = bytes(5_000_000)
    with Processes(2).open([b"1", b"2"]) as session:
        assert session.map(add, big) == [b"1" + big, b"2" + big]


def test_runs_at_once_have_different_workers_and_the_next_run_has_the_same():
    with Processes(2).open([1, 2]) as first:
        first.map(add, 0)
        with Processes(2).open([1, 2]) as second:
            assert second.map(add, 1) == [2, 3]
            assert first.map(add, 2) == [3, 4]
            pids = worker_pids()
            assert len(pids) >= 4
    with Processes(2).open([1, 2]) as third:
        assert third.map(add, 3) == [4, 5]
    assert worker_pids() == pids


@pytest.mark.parametrize("wait", ["idle", "between rounds"])
def test_workers_killed_while_they_wait_are_replaced(wait):
    with Processes(2).open([1, 2]) as session:
        session.map(add, 0)
        pids = worker_pids()
        if wait == "between rounds":
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            assert session.map(add, 1) == [2, 3]
    if wait == "idle":
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
    with Processes(2).open([1, 2]) as session:
        assert session.map(add, 5) == [6, 7]
    assert not set(pids) & set(worker_pids())
