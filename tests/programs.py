"""Separate processes for tests that cannot run in their own."""

import os
import subprocess
import sys
from functools import partial
from multiprocessing import forkserver, get_context
from pathlib import Path
from tempfile import TemporaryDirectory

CONTEXT = get_context("forkserver")

STUCK = 600
"""Seconds after which a process is taken to wait for ever."""
LOADED = (
    *("structsvm.cli.fit", "structsvm.cli.predict", "structsvm.cli.evaluate", "structsvm.cli.show"),
    "structsvm.cli.plot",
    *("structsvm.oracles.sequential", "structsvm.masters.newton", "structsvm.support.compilation"),
    *("structsvm.model_selection.recordings", "structsvm.solvers.auto", "sklearn.ensemble"),
)
"""What every command needs, and takes most of its time to load."""


def python(*arguments, cwd=None, **environment):
    """Run Python with such arguments: how it ends, and what it prints and says."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


class Command:
    """A command line of structsvm in a process of its own, as soon as code of ours runs.

    The process is forked from one that has loaded the library, which is done once.
    """

    def __init__(self, words, folder, out=os.devnull, encoding="utf-8"):
        """Begin it in a folder; it prints into a file, or has no stdout (None)."""
        self.told = Path(folder) / f"{len(list(Path(folder).glob('*.told')))}.told"
        begins = CONTEXT.Event()
        call = partial(_command, words.split(), begins)
        self.process = _forked(call, folder, out, self.told, encoding=encoding)
        assert begins.wait(STUCK)

    def ended(self) -> tuple[int, str]:
        """Its status, and what it has said, once it has ended."""
        self.process.join(STUCK)
        return self.process.exitcode, self.told.read_text(encoding="utf-8")


def _command(words, begins):
    from structsvm.cli import main

    begins.set()
    sys.exit(main(words))


def loaded(code, *arguments, cwd=None, **environment):
    """Run code as :func:`python` does, in a process that has loaded the library before."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        err = Path(folder) / "err"
        call = partial(_program, code, list(map(str, arguments)))
        process = _forked(call, cwd or os.getcwd(), out, err, environment)
        process.join(STUCK)
        said = [path.read_text(encoding="utf-8") for path in (out, err)]
        return subprocess.CompletedProcess(code, process.exitcode, *said)


def _program(code, arguments):
    sys.argv = ["-c", *arguments]
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})


def ready_to_fork():
    """Start the process that others are forked from, which loads the library once."""
    CONTEXT.set_forkserver_preload(list(LOADED))
    forkserver.ensure_running()


def _forked(call, folder, out, err, environment=None, encoding="utf-8"):
    ready_to_fork()
    arguments = (call, folder, out, err, environment or {}, encoding)
    process = CONTEXT.Process(target=_called, args=arguments)
    process.start()
    return process


def _called(call, folder, out, err, environment, encoding):
    os.chdir(folder)
    os.environ.update(environment)
    os.dup2(os.open(err, os.O_WRONLY | os.O_CREAT), 2)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    if out is None:
        os.close(1)
        sys.stdout = None
    else:
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT), 1)
        sys.stdout = os.fdopen(1, "w", encoding=encoding, closefd=False)
    call()
