"""Processes of their own, for what a test cannot do in the one that it runs in."""

import os
import subprocess
import sys
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

STUCK = 600
"""Seconds after which a process is taken to wait for ever."""
LOADED = (
    *("structsvm.cli.fit", "structsvm.cli.predict", "structsvm.cli.evaluate", "structsvm.cli.show"),
    *("structsvm.oracles.sequential", "structsvm.masters.newton", "structsvm.support.compiled"),
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


@dataclass(frozen=True)
class Command:
    """A command that runs in a process of its own."""

    process: BaseProcess
    told: Path
    """What it has said on stderr."""

    def ended(self) -> tuple[int, str]:
        """Its status, and what it has said, once it has ended."""
        self.process.join(STUCK)
        return self.process.exitcode, self.told.read_text(encoding="utf-8")


def begun(words, folder) -> Command:
    """A command line of structsvm in a folder, as soon as code of ours runs.

    The process is forked from one that has loaded the library, which is done once.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(list(LOADED))
    number = len(list(Path(folder).glob("*.told")))
    told = Path(folder) / f"{number}.told"
    begins = context.Event()
    process = context.Process(target=_run, args=(words.split(), folder, told, begins))
    process.start()
    assert begins.wait(STUCK)
    return Command(process, told)


def _run(words, folder, told, begins):
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(told, os.O_WRONLY | os.O_CREAT), 2)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    begins.set()
    from structsvm.cli import main

    sys.exit(main(words))
