"""A file that one run works on is refused to others, with the locks of either kind of system."""

import errno
import fcntl
import importlib.util
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from structsvm.errors import DataError
from structsvm.support import whole_files


def locking(handle, mode, n_bytes):
    """What msvcrt does: another error where the lock is held."""
    assert (mode, n_bytes) == (1, 1)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PermissionError(errno.EACCES, "Permission denied") from None


@pytest.fixture(params=["posix", "windows"])
def locks(request, monkeypatch):
    """The module as it is loaded on either system."""
    if request.param == "posix":
        return whole_files
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=1))
    spec = importlib.util.spec_from_file_location("locks_of_windows", whole_files.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert not hasattr(module, "fcntl")
    return module


def taken():
    return DataError("somebody else has it")


def test_a_locked_file_is_refused_to_others(locks, tmp_path):
    path = tmp_path / "labels.csv"
    for _ in range(2):
        with locks.alone_on(path, taken()):
            with pytest.raises(DataError, match="somebody else has it"):  # noqa: SIM117
                with locks.alone_on(path, taken()):
                    pytest.fail("two at once")
            with locks.alone_on(tmp_path / "other.csv", taken()):
                pass
        assert list(tmp_path.iterdir()) == []


def test_a_lock_is_released_after_an_error(locks, tmp_path):
    with pytest.raises(ZeroDivisionError), locks.alone_on(tmp_path / "a", taken()):
        raise ZeroDivisionError
    with locks.alone_on(tmp_path / "a", taken()):
        pass


def test_where_there_are_no_locks_nothing_is_held(locks, tmp_path, monkeypatch):
    def without(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks, "_lock", without)
    with locks.alone_on(tmp_path / "a", taken()), locks.alone_on(tmp_path / "a", taken()):
        pass
    with locks.alone_on(tmp_path / "missing" / "a", taken()):
        pass


def test_a_file_that_is_open_elsewhere_stays_and_locks_again(locks, tmp_path, monkeypatch):
    """Windows does not remove what is open."""

    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "in use")

    path = tmp_path / "a"
    with monkeypatch.context() as patched:
        with locks.alone_on(path, taken()):
            patched.setattr(locks.Path, "unlink", refuse)
        assert [one.suffix for one in tmp_path.iterdir()] == [".lock"]
    with locks.alone_on(path, taken()), pytest.raises(DataError):  # noqa: SIM117
        with locks.alone_on(path, taken()):
            pass


def test_the_lock_of_a_killed_process_is_dropped(tmp_path):
    path = tmp_path / "a"
    script = (
        "import os, signal, sys\n"
        "from structsvm.support.whole_files import alone_on\n"
        "with alone_on(sys.argv[1], ValueError()):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", script, str(path)], **pipes)
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(DataError), whole_files.alone_on(path, taken()):
        pass
    process.kill()
    process.communicate()
    with whole_files.alone_on(path, taken()):
        assert os.listdir(tmp_path)
