"""What `from structsvm import MetricLearner` leaves for later."""

import subprocess
import sys

LATER = ("numba", "sklearn.linear_model", "sklearn.model_selection", "sklearn.cluster", "cvxpy")


def test_the_learner_is_imported_without_the_compiler_and_without_classifiers():
    """They are loaded where they are used: with the first fit, or with rivals and scores."""
    code = (
        "import sys\n"
        "from structsvm import MetricLearner\n"
        f"print(*[name for name in {LATER} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
