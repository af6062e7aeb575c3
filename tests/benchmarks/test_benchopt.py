"""The benchopt benchmark passes benchopt's own tests."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "benchopt"


def test_the_benchmark_passes_the_tests_of_benchopt(tmp_path):
    """But the tests of installing its parts, which want conda."""
    folder = shutil.copytree(BENCHMARK, tmp_path / "benchmark")  # it would leave its cache there
    root = BENCHMARK.parents[1]
    scripts = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",  # of pytest, which it calls
        "PYTHONPATH": str(root),
    }
    options = ["--skip-install", "-v", "-p", "no:cacheprovider"]
    command = [scripts / "benchopt", "test", folder, *options]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for solver in ("cutting-plane", "one-slack", "frank-wolfe", "subgradient"):
        assert re.search(rf"test_solver_run\[.*{solver}.*\] PASSED", done.stdout), done.stdout
