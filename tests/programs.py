"""Python in a process of its own, for what a test cannot do in the one that it runs in."""

import os
import subprocess
import sys


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
