"""What `from structsvm import MetricLearner` leaves for later."""

import subprocess
import sys

LATER = ("numba", "sklearn.linear_model", "sklearn.model_selection", "sklearn.cluster", "cvxpy")


def loaded(program: str, *names: str) -> list[str]:
    """Which of these modules a program has loaded."""
    code = f"import sys\n{program}\nprint(*[name for name in {names} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_learner_is_imported_without_the_compiler_and_without_classifiers():
    """They are loaded where they are used: with the first fit, or with baselines and scores."""
    assert loaded("from structsvm import MetricLearner", *LATER) == []


def test_files_are_read_without_what_sound_takes():
    assert loaded("import structsvm.io.files", "scipy.signal") == []
