"""A program that is sent Ctrl-C, with all processes that it has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path


def output_of_interrupted(program: str, line: bytes, folder: Path, seconds: float = 0.0) -> bytes:
    """What a program prints after such a line, and Ctrl-C so many seconds later.

    The signal reaches the whole group of processes, as it does from a keyboard. The program has to
    end well, and to leave neither a process nor a file.
    """
    script = folder / "run.py"
    script.write_text(textwrap.dedent(program))
    environment = os.environ | {"TMPDIR": str(folder)}
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, env=environment, start_new_session=True
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline() != line:
            assert process.poll() is None
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGINT)
        output = process.stdout.read()
    assert process.returncode == 0
    assert _is_gone(process.pid)
    assert not list(folder.glob("structsvm-*"))
    return output


def _is_gone(leader: int) -> bool:
    """Whether all processes of a group end within ten seconds."""
    for _ in range(100):
        try:
            os.killpg(leader, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False
